//! What two members say first on a connection, and whether they go on.
//!
//! The dialler speaks first. The other answers with a byte: 0 and its own hello, or 1 and why not (two bytes of length,
//! text). Numbers are little-endian and of fixed width.

use std::io::{self, Read, Write};

use member::founding::Cluster;

const MAGIC: [u8; 8] = *b"DIWNPEER";
/// Raised when members of one build cannot understand those of another.
const VERSION: u16 = 1;
const HELLO_BYTES: usize = 71;
const REASON_BYTES_MAX: usize = 1024;

/// Which of the two connections between members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Small and urgent.
    Control,
    /// Large, and may wait.
    Bulk,
}

/// Who a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) lane: Lane,
    /// Which of the dialler's attempts: the two connections of one attempt belong together.
    pub(crate) attempt: u64,
    /// Its number in the configuration.
    pub(crate) number: u64,
    /// Its id and its ensemble, once it has a seat.
    pub(crate) seat: Option<(u64, Cluster)>,
    /// When its process started: a later life replaces an earlier one.
    pub(crate) life: u64,
    /// Whom the dialler wants to reach; 0 from the one who answers.
    pub(crate) wanted: u64,
    /// The highest feature level that it understands.
    pub(crate) level: u32,
}

impl Hello {
    fn encode(&self) -> [u8; HELLO_BYTES] {
        let mut out = Vec::with_capacity(HELLO_BYTES);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.push(u8::from(self.lane == Lane::Bulk));
        let (id, cluster) = self.seat.unwrap_or_default();
        for number in [self.attempt, self.number, id, self.life, self.wanted] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&cluster);
        out.extend_from_slice(&self.level.to_le_bytes());
        out.try_into().expect("a hello has its length")
    }

    fn decode(bytes: &[u8; HELLO_BYTES]) -> Result<Self, String> {
        let mut rest = &bytes[..];
        if take::<8>(&mut rest) != MAGIC {
            return Err(String::from("whoever is there is no member of an ensemble of Diwan's"));
        }
        let version = u16::from_le_bytes(take(&mut rest));
        if version != VERSION {
            return Err(format!(
                "it speaks version {version} of the members' protocol, and this member version {VERSION}; hint: \
                 run builds that follow one another"
            ));
        }
        let [lane] = take(&mut rest);
        let mut number = || u64::from_le_bytes(take(&mut rest));
        let (attempt, own, id, life, wanted) = (number(), number(), number(), number(), number());
        let cluster = take(&mut rest);
        let level = u32::from_le_bytes(take(&mut rest));
        Ok(Self {
            lane: if lane == 0 { Lane::Control } else { Lane::Bulk },
            attempt,
            number: own,
            seat: (id != 0).then_some((id, cluster)),
            life,
            wanted,
            level,
        })
    }

    /// Says it on a connection that this side has opened, and hears the answer.
    pub(crate) fn open(&self, connection: &mut (impl Read + Write)) -> io::Result<Result<Self, String>> {
        connection.write_all(&self.encode())?;
        connection.flush()?;
        let mut refused = [0];
        connection.read_exact(&mut refused)?;
        if refused == [0] {
            let mut bytes = [0; HELLO_BYTES];
            connection.read_exact(&mut bytes)?;
            return Ok(Self::decode(&bytes).and_then(|other| self.judge(&other).map(|()| other)));
        }
        let mut length = [0; 2];
        connection.read_exact(&mut length)?;
        let mut text = vec![0; usize::from(u16::from_le_bytes(length)).min(REASON_BYTES_MAX)];
        connection.read_exact(&mut text)?;
        Ok(Err(format!("it refuses: {}", String::from_utf8_lossy(&text))))
    }

    /// Hears the other side of a connection that it has opened, and answers.
    pub(crate) fn answer(&self, connection: &mut (impl Read + Write)) -> io::Result<Result<Self, String>> {
        let mut bytes = [0; HELLO_BYTES];
        connection.read_exact(&mut bytes)?;
        let judged = Self::decode(&bytes).and_then(|other| self.judge(&other).map(|()| other));
        let mut answer = Vec::with_capacity(1 + HELLO_BYTES);
        match &judged {
            Ok(other) => {
                answer.push(0);
                let own = Self { lane: other.lane, attempt: other.attempt, wanted: 0, ..*self };
                answer.extend_from_slice(&own.encode());
            }
            Err(reason) => {
                let text = reason.as_bytes();
                let text = text.get(..REASON_BYTES_MAX).unwrap_or(text);
                answer.push(1);
                answer.extend_from_slice(&(text.len() as u16).to_le_bytes());
                answer.extend_from_slice(text);
            }
        }
        connection.write_all(&answer)?;
        connection.flush()?;
        Ok(judged)
    }

    /// Whether the other is whom it should be.
    fn judge(&self, other: &Self) -> Result<(), String> {
        if other.number == self.number {
            return Err(format!(
                "two members say that they are number {}; hint: see their `myid`",
                self.number
            ));
        }
        if self.wanted != 0 && self.wanted != other.number {
            return Err(format!(
                "at the address of member {} is member {}; hint: see the `server.` lines of both",
                self.wanted, other.number
            ));
        }
        if other.wanted != 0 && other.wanted != self.number {
            return Err(format!(
                "this is member {}, and not {}; hint: see the `server.` lines of both",
                self.number, other.wanted
            ));
        }
        if let (Some((_, own)), Some((_, others))) = (self.seat, other.seat)
            && own != others
        {
            return Err(format!(
                "the data of member {} belongs to another ensemble than that of member {}; hint: one of the two \
                 was founded apart; where its data can be spared, empty its data directory",
                other.number, self.number
            ));
        }
        Ok(())
    }
}

fn take<const LENGTH: usize>(bytes: &mut &[u8]) -> [u8; LENGTH] {
    let (head, rest) = bytes.split_first_chunk().expect("a hello has its length");
    *bytes = rest;
    *head
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn hello(number: u64, wanted: u64, cluster: Option<u8>) -> Hello {
        let seat = cluster.map(|name| (number, [name; 16]));
        Hello { lane: Lane::Bulk, attempt: 3, number, seat, life: 77, wanted, level: 1 }
    }

    /// Two ends of a pipe, one after the other.
    fn talk(dialler: &Hello, other: &Hello) -> Result<Hello, String> {
        struct Half(Cursor<Vec<u8>>, Vec<u8>);
        impl Read for Half {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0.read(buffer)
            }
        }
        impl Write for Half {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.1.write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut far = Half(Cursor::new(dialler.encode().to_vec()), Vec::new());
        let heard = other.answer(&mut far).expect("it answers");
        if let Ok(heard) = heard {
            assert_eq!(heard, *dialler);
        }
        let mut near = Half(Cursor::new(far.1), Vec::new());
        dialler.open(&mut near).expect("it is answered")
    }

    #[test]
    fn members_of_one_ensemble_learn_who_the_other_is() {
        let other = talk(&hello(2, 1, Some(9)), &hello(1, 0, Some(9))).expect("welcome");
        assert_eq!((other.number, other.seat, other.attempt), (1, Some((1, [9; 16])), 3));
        assert_eq!(talk(&hello(2, 1, None), &hello(1, 0, Some(9))).expect("welcome").number, 1);
    }

    #[test]
    fn who_is_somebody_else_is_refused_with_a_reason() {
        let refusal = |dialler, other| talk(&dialler, &other).expect_err("refused");
        assert!(refusal(hello(2, 1, Some(9)), hello(1, 0, Some(8))).contains("another ensemble"));
        assert!(refusal(hello(2, 3, Some(9)), hello(1, 0, Some(9))).contains("this is member 1, and not 3"));
        assert!(refusal(hello(2, 1, None), hello(2, 0, None)).contains("number 2"));
    }

    #[test]
    fn a_stranger_is_told_from_a_member_of_another_build() {
        let mut bytes = hello(1, 0, None).encode();
        bytes[8] = 9;
        assert!(Hello::decode(&bytes).expect_err("another version").contains("version 9"));
        bytes[0] = b'G';
        assert!(Hello::decode(&bytes).expect_err("a stranger").contains("no member"));
    }
}
