//! The commands of an entry, for readers of the log.

use consensus_raft::Entry;
use consensus_replica::{EntryCommands, Fault};
use council_tree::{Command, Stamp};

/// All commands of a committed entry and the time at which its leader made it.
///
/// # Errors
/// [`Fault`] when the entry is not of a form that this build can read.
pub fn commands_of(entry: &Entry) -> Result<(Stamp, Vec<Command<'_>>), Fault> {
    let mut commands = EntryCommands::of(entry, 0)?;
    let (stamp, mut all) = (Stamp { time: commands.stamp().wall }, Vec::new());
    while let Some(command) = commands.next_command()? {
        let malformed = |error| Fault::MalformedEntry { index: entry.index, what: format!("a {error}") };
        all.push(Command::decode(command).map_err(malformed)?);
    }
    Ok((stamp, all))
}
