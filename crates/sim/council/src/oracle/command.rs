//! What a log entry says, read apart from `member` and `tree`: their own reading of it may be what is wrong. The layouts are
//! those that `crates/council/replica/src/batch.rs` and `crates/council/tree/src/command.rs` write down. Knows no tree.

use council_wire::OpCode;

use super::Origin;
use super::access::Identities;

/// The only version there is of an entry, and of a command.
const VERSION: u8 = 1;
/// Set beside a command's kind where its origin follows.
const HAS_ORIGIN: u8 = 0x80;
/// The kind of a command that refuses many; the origin is that of the first.
const REFUSE_MANY: u8 = 10;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// What a client asked for, in its own bytes.
    Client(OpCode, Vec<u8>),
    /// This session begins, with that timeout.
    Begin(i64, i32),
    /// This session moves to its connection of that number, with that timeout.
    Attach(i64, u32, i32),
    /// Its client ends this session.
    Close(i64),
    /// This session ends if it is still at its connection of that number.
    Expire(i64, u32),
    /// This container or TTL node goes if it is due; a container that was never used after so many milliseconds.
    Reap(String, i64),
    /// The next epoch begins.
    RaiseEpoch,
    /// These are the members.
    SetConfig(Vec<u8>),
    /// All members understand that much.
    FeatureLevel(u32),
    /// A client's command was refused before it came into the log, with this code.
    Refuse(i32),
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Which of which connection, if a client sent it.
    pub origin: Option<Origin>,
    /// The switches of the server that took it.
    pub policy: u8,
    /// Who its client was.
    pub who: Identities,
    /// What is to be done.
    pub deed: Deed,
}

/// An entry's stamp and its commands, in order.
///
/// # Errors
/// What cannot be made sense of.
pub fn read_entry(entry: &[u8]) -> Result<(i64, Vec<Command>), &'static str> {
    let mut bytes = Bytes(entry);
    if bytes.number::<1>()? != u64::from(VERSION) {
        return Err("an entry of an unknown version");
    }
    let (time_ms, mut commands) = (bytes.number::<8>()? as i64, Vec::new());
    while !bytes.0.is_empty() {
        let length = bytes.number::<4>()?;
        commands.extend(read_commands(bytes.take(length)?)?);
    }
    Ok((time_ms, commands))
}

/// A command, or each of those that one refuses.
fn read_commands(command: &[u8]) -> Result<Vec<Command>, &'static str> {
    let mut bytes = Bytes(command);
    if bytes.number::<1>()? != u64::from(VERSION) {
        return Err("a command of an unknown version");
    }
    let kind = bytes.number::<1>()? as u8;
    let origin = match kind & HAS_ORIGIN {
        0 => None,
        _ => Some((bytes.number::<8>()? as i64, bytes.unsigned()? as u32, bytes.unsigned()?)),
    };
    let policy = bytes.number::<1>()? as u8;
    let (mut shown, mut who) = (Bytes(bytes.field()?), Vec::new());
    while !shown.0.is_empty() {
        who.push((shown.text()?, shown.text()?));
    }
    let who = Identities::of(who);
    let (deed, count) = match kind & !HAS_ORIGIN {
        REFUSE_MANY => (Deed::Refuse(bytes.signed()? as i32), bytes.unsigned()?),
        kind => (read_deed(kind, &mut bytes)?, 1),
    };
    let numbered = |behind| origin.map(|(session, generation, first)| (session, generation, first + behind));
    let command = |behind| Command { origin: numbered(behind), policy, who: who.clone(), deed: deed.clone() };
    Ok((0..count).map(command).collect())
}

fn read_deed(kind: u8, bytes: &mut Bytes<'_>) -> Result<Deed, &'static str> {
    Ok(match kind {
        0 => {
            let opcode = OpCode::from_code(bytes.signed()? as i32).ok_or("an unknown operation")?;
            Deed::Client(opcode, std::mem::take(&mut bytes.0).to_vec())
        }
        1 => Deed::Begin(bytes.number::<8>()? as i64, bytes.signed()? as i32),
        2 => Deed::Attach(bytes.number::<8>()? as i64, bytes.unsigned()? as u32, bytes.signed()? as i32),
        3 => Deed::Close(bytes.number::<8>()? as i64),
        4 => Deed::Expire(bytes.number::<8>()? as i64, bytes.unsigned()? as u32),
        5 => {
            let never_used_ms = bytes.signed()?;
            Deed::Reap(bytes.text()?, never_used_ms)
        }
        6 => Deed::RaiseEpoch,
        7 => {
            bytes.signed()?;
            Deed::SetConfig(bytes.field()?.to_vec())
        }
        8 => Deed::FeatureLevel(bytes.unsigned()? as u32),
        9 => Deed::Refuse(bytes.signed()? as i32),
        _ => return Err("an unknown kind of command"),
    })
}

/// What is left to be read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [u8], &'static str> {
        let count = usize::try_from(count).map_err(|_| "a length beyond all memory")?;
        let (taken, rest) = self.0.split_at_checked(count).ok_or("something that ends early")?;
        self.0 = rest;
        Ok(taken)
    }

    /// A number of so many bytes, the lowest first.
    fn number<const BYTES: u64>(&mut self) -> Result<u64, &'static str> {
        Ok(self.take(BYTES)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Seven bits a byte, the lowest first; the eighth says that more follow.
    fn unsigned(&mut self) -> Result<u64, &'static str> {
        let mut number = 0;
        for place in 0..10 {
            let byte = self.number::<1>()?;
            number |= (byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("a number without an end")
    }

    /// The same, its sign in the lowest bit.
    fn signed(&mut self) -> Result<i64, &'static str> {
        let number = self.unsigned()?;
        let half = (number / 2) as i64;
        Ok(if number.is_multiple_of(2) { half } else { -1 - half })
    }

    fn field(&mut self) -> Result<&'a [u8], &'static str> {
        let length = self.unsigned()?;
        self.take(length)
    }

    fn text(&mut self) -> Result<String, &'static str> {
        String::from_utf8(self.field()?.to_vec()).map_err(|_| "text that is none")
    }
}

#[cfg(test)]
mod tests {
    use council_tree::{Command as Product, IdentityList, Operation, Policy};
    use council_wire::SessionId;

    use super::*;

    /// An entry as members write it, of one command.
    fn entry_of(command: &Product<'_>) -> Vec<u8> {
        let mut encoded = Vec::new();
        command.encode(&mut encoded);
        let mut entry = vec![VERSION];
        entry.extend_from_slice(&(-7_i64).to_le_bytes());
        entry.extend_from_slice(&(encoded.len() as u32).to_le_bytes());
        entry.extend_from_slice(&encoded);
        entry
    }

    #[test]
    fn command_is_read_as_members_write_it() {
        let mut identities = IdentityList::new();
        identities.add("ip", "::1");
        let origin = council_tree::Origin { session: SessionId(-3), generation: 300, sequence: 1 << 40 };
        let body = [1, 2, 255];
        let operation = Operation::Client { opcode: OpCode::SetData, body: &body };
        let policy = Policy::ENFORCE_QUOTA;
        let written =
            Product { origin: Some(origin), policy, identities: identities.identities(), operation };
        let (time_ms, commands) = read_entry(&entry_of(&written)).expect("an entry");
        let who = Identities::of(vec![("ip".into(), "::1".into())]);
        let deed = Deed::Client(OpCode::SetData, body.to_vec());
        let read = Command { origin: Some((-3, 300, 1 << 40)), policy: policy.bits(), who, deed };
        assert_eq!((time_ms, commands), (-7, vec![read]));
    }

    #[test]
    fn refusal_of_many_is_read_as_one_of_each() {
        let origin = council_tree::Origin { session: SessionId(5), generation: 2, sequence: 7 };
        let operation = Operation::RefuseMany { refusal: council_wire::ErrorCode::SystemError, count: 3 };
        let written = Product { origin: Some(origin), ..Product::internal(operation) };
        let (_, commands) = read_entry(&entry_of(&written)).expect("an entry");
        let read = commands.into_iter().map(|command| (command.origin, command.deed));
        let refused = Deed::Refuse(council_wire::ErrorCode::SystemError.code());
        assert!(read.eq([7, 8, 9].map(|sequence| (Some((5, 2, sequence)), refused.clone()))));
    }

    #[test]
    fn deeds_of_the_ensemble_are_read_as_members_write_them() {
        let session = SessionId(5 << 56);
        let refusal = council_wire::ErrorCode::SystemError;
        for (operation, deed) in [
            (
                Operation::CreateSession { session, timeout_ms: 4_000, password: [9; 16] },
                Deed::Begin(5 << 56, 4_000),
            ),
            (Operation::Attach { session, generation: 2, timeout_ms: -1 }, Deed::Attach(5 << 56, 2, -1)),
            (Operation::CloseSession { session }, Deed::Close(5 << 56)),
            (Operation::Expire { session, generation: 200 }, Deed::Expire(5 << 56, 200)),
            (Operation::Reap { path: "/c", never_used_ms: -2 }, Deed::Reap("/c".into(), -2)),
            (Operation::RaiseEpoch, Deed::RaiseEpoch),
            (Operation::SetConfig { text: b"x", version: 1 << 33 }, Deed::SetConfig(b"x".to_vec())),
            (Operation::FeatureLevel(3), Deed::FeatureLevel(3)),
            (Operation::Refuse(refusal), Deed::Refuse(refusal.code())),
        ] {
            let (_, commands) = read_entry(&entry_of(&Product::internal(operation))).expect("an entry");
            assert_eq!(commands.into_iter().map(|command| command.deed).collect::<Vec<_>>(), [deed]);
        }
    }

    #[test]
    fn damaged_entry_is_refused() {
        let whole = entry_of(&Product::internal(Operation::FeatureLevel(3)));
        for length in (0..whole.len()).filter(|length| *length != 9) {
            assert!(read_entry(&whole[..length]).is_err(), "{length} bytes");
        }
    }
}
