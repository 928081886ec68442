//! The bytes of the log, read without the code that wrote them: who gave a command, and the command.

use objects_state::{Command, Source};

/// A command of the log.
pub(super) struct LogCommand {
    /// The member that gave it, unless it was the leader itself.
    pub(super) source: Option<Source>,
    pub(super) command: Command,
}

/// # Errors
/// What cannot be made sense of.
pub(super) fn read(bytes: &[u8]) -> Result<LogCommand, String> {
    let (kind, rest) = bytes.split_first().ok_or("a command of no bytes")?;
    let (source, rest) = match kind {
        0 => {
            let (member, rest) = rest.split_first().ok_or("a command without its member")?;
            let (incarnation, rest) = number(rest)?;
            let (sequence, rest) = number(rest)?;
            (Some(Source { member: *member, incarnation, sequence }), rest)
        }
        1 => (None, rest),
        _ => return Err(format!("a command of kind {kind}")),
    };
    let command = Command::decode(rest).map_err(|malformed| format!("{malformed:?}"))?;
    Ok(LogCommand { source, command })
}

fn number(bytes: &[u8]) -> Result<(u64, &[u8]), String> {
    let (number, rest) = bytes.split_first_chunk::<8>().ok_or("a command without its number")?;
    Ok((u64::from_le_bytes(*number), rest))
}
