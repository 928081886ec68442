//! What a member says of itself to another, and whether the other believes it.
//!
//! A hello claims; the handshake has it proved. The rules here hold however it is proved: a number from 1 to 255
//! that is named in the configuration or in the ensemble's roster, an id that carries this number, one ensemble, and
//! a connection that is meant for the member that answers it. Knows no socket and no key.

use base::MemberId;
use net_peer_pairs::Lane;

/// An ensemble's id.
pub type Cluster = [u8; 16];

/// Bytes of a hello: lane, five numbers, ensemble, feature level.
pub(crate) const HELLO_BYTES: usize = 61;
/// The greatest number of a member.
const NUMBER_MAX: u64 = u8::MAX as u64;

/// Who a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) lane: Lane,
    /// Which of the dialler's attempts: the two connections of one attempt belong together.
    pub(crate) attempt: u64,
    /// Its number in the configuration.
    pub(crate) number: u64,
    /// Its id and its ensemble, once it has a seat.
    pub(crate) seat: Option<(MemberId, Cluster)>,
    /// When its process started: a later life replaces an earlier one.
    pub(crate) life: u64,
    /// The member that the dialler wants to reach; 0 from the one that answers.
    pub(crate) wanted: u64,
    /// The highest feature level that it understands.
    pub(crate) level: u32,
}

impl Hello {
    pub(crate) fn encode(&self) -> [u8; HELLO_BYTES] {
        let mut out = Vec::with_capacity(HELLO_BYTES);
        out.push(u8::from(self.lane == Lane::Bulk));
        let (id, cluster) = self.seat.unwrap_or_default();
        for number in [self.attempt, self.number, id.0, self.life, self.wanted] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&cluster);
        out.extend_from_slice(&self.level.to_le_bytes());
        out.try_into().expect("a hello has its length")
    }

    pub(crate) fn decode(bytes: &[u8; HELLO_BYTES]) -> Result<Self, String> {
        let mut rest = &bytes[..];
        let lane = match take(&mut rest) {
            [0] => Lane::Control,
            [1] => Lane::Bulk,
            [_] => return Err(String::from("it asks for a connection of an unknown kind")),
        };
        let mut number = || u64::from_le_bytes(take(&mut rest));
        let (attempt, own, id, life, wanted) = (number(), number(), number(), number(), number());
        let cluster = take(&mut rest);
        let level = u32::from_le_bytes(take(&mut rest));
        let seat = MemberId(id).known().map(|id| (id, cluster));
        Ok(Self { lane, attempt, number: own, seat, life, wanted, level })
    }

    /// Whether a member that dialled this one is let in. `named` says which numbers the configuration and the roster
    /// have.
    ///
    /// # Errors
    /// Why not, for the logs of both.
    pub(crate) fn judge_dialler(&self, other: &Self, named: impl Fn(u64) -> bool) -> Result<(), String> {
        if other.wanted != self.number {
            return Err(format!(
                "this is member {}, and not {}; hint: see the `server.` lines of both",
                self.number, other.wanted
            ));
        }
        self.judge_number(other.number)?;
        if !named(other.number) {
            return Err(format!(
                "member {0} is named neither in the configuration of member {1} nor in its ensemble; hint: add it with \
                 `diwan member add`, or a `server.{0}` line",
                other.number, self.number
            ));
        }
        self.judge_seat(other)
    }

    /// Whether the one that answered this member's call is the member that it wanted.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn judge_answerer(&self, other: &Self) -> Result<(), String> {
        if other.number != self.wanted {
            return Err(format!(
                "at the address of member {} is member {}; hint: see the `server.` lines of both",
                self.wanted, other.number
            ));
        }
        if other.wanted != 0 || other.lane != self.lane || other.attempt != self.attempt {
            return Err(String::from("its answer belongs to another connection"));
        }
        self.judge_number(other.number)?;
        self.judge_seat(other)
    }

    /// Whether both have data, and of two ensembles.
    pub(crate) fn is_apart_from(&self, other: &Self) -> bool {
        matches!((self.seat, other.seat), (Some((_, own)), Some((_, theirs))) if own != theirs)
    }

    fn judge_number(&self, number: u64) -> Result<(), String> {
        if !(1..=NUMBER_MAX).contains(&number) {
            return Err(format!("it says that it is number {number}, and members have 1 to 255"));
        }
        if number == self.number {
            return Err(format!("two members say that they are number {number}; hint: see their `myid`"));
        }
        Ok(())
    }

    fn judge_seat(&self, other: &Self) -> Result<(), String> {
        let Some((id, theirs)) = other.seat else { return Ok(()) };
        if u64::from(id.number()) != other.number {
            return Err(format!("its id {id} is none of member {}", other.number));
        }
        match self.seat {
            Some((_, own)) if own != theirs => Err(format!(
                "the data of member {} belongs to another ensemble than that of member {}; hint: one of the two \
                 was founded apart; where its data can be spared, empty its data directory",
                other.number, self.number
            )),
            _ => Ok(()),
        }
    }
}

fn take<const LENGTH: usize>(bytes: &mut &[u8]) -> [u8; LENGTH] {
    let (head, rest) = bytes.split_first_chunk().expect("a hello has its length");
    *bytes = rest;
    *head
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(number: u64, wanted: u64, cluster: Option<u8>) -> Hello {
        let seat = cluster.map(|name| (MemberId(number), [name; 16]));
        Hello { lane: Lane::Bulk, attempt: 3, number, seat, life: 77, wanted, level: 1 }
    }

    fn dialler_refusal(other: Hello) -> String {
        let named = |number| (1..=3).contains(&number);
        hello(1, 0, Some(9)).judge_dialler(&other, named).expect_err("refused")
    }

    #[test]
    fn hello_comes_back_whole() {
        for told in [hello(2, 1, Some(9)), Hello { lane: Lane::Control, ..hello(255, 0, None) }] {
            assert_eq!(Hello::decode(&told.encode()), Ok(told));
        }
        let mut bytes = hello(2, 1, None).encode();
        bytes[0] = 2;
        assert!(Hello::decode(&bytes).is_err());
    }

    #[test]
    fn dialler_is_let_in_when_it_is_named_and_wants_this_member() {
        let judge = |other: &Hello| hello(1, 0, Some(9)).judge_dialler(other, |number| number == 2);
        assert_eq!(judge(&hello(2, 1, Some(9))), Ok(()));
        assert_eq!(judge(&hello(2, 1, None)), Ok(()));
        let later_disk = Hello { seat: Some((MemberId(2 + 256 * 77), [9; 16])), ..hello(2, 1, None) };
        assert_eq!(judge(&later_disk), Ok(()));
    }

    #[test]
    fn dialler_is_refused_with_the_reason() {
        assert!(dialler_refusal(hello(200, 1, None)).contains("member 200 is named neither"));
        assert!(dialler_refusal(hello(2, 0, Some(9))).contains("this is member 1, and not 0"));
        assert!(dialler_refusal(hello(2, 3, Some(9))).contains("this is member 1, and not 3"));
        assert!(dialler_refusal(hello(1, 1, Some(9))).contains("number 1"));
        assert!(dialler_refusal(hello(0, 1, None)).contains("1 to 255"));
        assert!(dialler_refusal(hello(256, 1, None)).contains("1 to 255"));
        assert!(dialler_refusal(hello(2, 1, Some(8))).contains("another ensemble"));
        let leaders_id = Hello { seat: Some((MemberId(3), [9; 16])), ..hello(2, 1, None) };
        assert!(dialler_refusal(leaders_id).contains("its id 3 is none of member 2"));
    }

    #[test]
    fn answerer_is_the_member_that_was_wanted() {
        let judge = |other: Hello| hello(2, 1, Some(9)).judge_answerer(&other);
        assert_eq!(judge(hello(1, 0, Some(9))), Ok(()));
        assert!(judge(hello(3, 0, Some(9))).expect_err("another").contains("is member 3"));
        assert!(judge(hello(1, 2, Some(9))).is_err(), "a hello of a dialler, sent back");
        assert!(judge(Hello { attempt: 4, ..hello(1, 0, Some(9)) }).is_err());
        assert!(judge(Hello { seat: Some((MemberId(3), [9; 16])), ..hello(1, 0, None) }).is_err());
    }
}
