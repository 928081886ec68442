//! A command as the log has it: where it comes from, and the state's own encoding.
//!
//! Layout: 0, the member's number (1 byte), its process and its sequence (8 bytes each, little-endian), the command; or
//! 1, the command, which a leader gives of its own accord: a tick, an expiry, a feature level. Doing one of those again
//! is harmless, so they have no number.

use consensus_raft::Malformed;
use objects_state::{Command, GivenBy, Source};

const OF_MEMBER: u8 = 0;
const OF_LEADER: u8 = 1;
/// What stands before a member's command.
const HEAD: usize = 18;

/// A command of the log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LogCommand {
    /// The member that gave it, unless it was the leader itself.
    pub(crate) source: Option<Source>,
    pub(crate) command: Command,
}

/// Encodes a member's command.
pub(crate) fn of_member(source: Source, command: &Command) -> Vec<u8> {
    let mut out = Vec::with_capacity(192);
    out.extend_from_slice(&[0; HEAD]);
    renumber(&mut out, source);
    command.encode(&mut out);
    out
}

/// Gives an encoded member's command another number.
pub(crate) fn renumber(encoded: &mut [u8], source: Source) {
    if let Some(head) = encoded.first_chunk_mut::<HEAD>() {
        head[0] = OF_MEMBER;
        head[1] = source.member;
        head[2..10].copy_from_slice(&source.incarnation.to_le_bytes());
        head[10..].copy_from_slice(&source.sequence.to_le_bytes());
    }
}

/// Appends a command of the leader's own.
pub(crate) fn of_leader(command: &Command, out: &mut Vec<u8>) {
    out.push(OF_LEADER);
    command.encode(out);
}

/// Who gave an encoded command, and the rest of it.
pub(crate) fn split(bytes: &[u8]) -> Result<(Option<Source>, &[u8]), Malformed> {
    match bytes {
        [OF_LEADER, command @ ..] => Ok((None, command)),
        [OF_MEMBER, ..] => {
            let (head, command) =
                bytes.split_first_chunk::<HEAD>().ok_or(Malformed("a command without its source"))?;
            let [_, member, rest @ ..] = head;
            let (incarnation, sequence) = rest.split_at(8);
            let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let (incarnation, sequence) = (number(incarnation), number(sequence));
            Ok((Some(Source { member: *member, incarnation, sequence }), command))
        }
        _ => Err(Malformed("a command of an unknown source")),
    }
}

/// Reads a command of the log.
pub(crate) fn decode(bytes: &[u8]) -> Result<LogCommand, Malformed> {
    let (source, command) = split(bytes)?;
    let command = Command::decode(command).map_err(|malformed| Malformed(malformed.0))?;
    Ok(LogCommand { source, command })
}

/// Whether [`decode`] would read it.
pub(crate) fn is_readable(bytes: &[u8]) -> bool {
    split(bytes).is_ok_and(|(_, command)| Command::check(command).is_ok())
}

/// Whether the member of that number may give it to the leader.
pub(crate) fn is_given_by(bytes: &[u8], member: u8) -> bool {
    split(bytes).is_ok_and(|(source, command)| {
        source.is_some_and(|source| source.member == member) && Command::check(command) == Ok(GivenBy::Member)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: Source = Source { member: 3, incarnation: 1 << 60, sequence: 5 };

    #[test]
    fn commands_come_back_with_their_source() {
        let command = Command::CancelTicket { caller: None, ticket: 9 };
        let mut bytes = of_member(SOURCE, &command);
        assert_eq!(decode(&bytes), Ok(LogCommand { source: Some(SOURCE), command: command.clone() }));
        let next = Source { sequence: 6, ..SOURCE };
        renumber(&mut bytes, next);
        assert_eq!(decode(&bytes), Ok(LogCommand { source: Some(next), command }));
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut]).is_err() && !is_readable(&bytes[..cut]), "{cut}");
        }
        assert!(is_readable(&bytes));
        let mut bytes = Vec::new();
        of_leader(&Command::Tick, &mut bytes);
        assert_eq!(decode(&bytes), Ok(LogCommand { source: None, command: Command::Tick }));
    }

    #[test]
    fn member_gives_what_is_its_own_and_nothing_that_leaders_command() {
        let cancel = Command::CancelTicket { caller: None, ticket: 9 };
        let bytes = of_member(SOURCE, &cancel);
        assert!(is_given_by(&bytes, 3) && !is_given_by(&bytes, 2));
        for command in [Command::Tick, Command::FeatureLevel(1)] {
            let bytes = of_member(SOURCE, &command);
            assert!(is_readable(&bytes) && !is_given_by(&bytes, 3));
        }
        let mut bytes = Vec::new();
        of_leader(&cancel, &mut bytes);
        assert!(!is_given_by(&bytes, 3));
    }
}
