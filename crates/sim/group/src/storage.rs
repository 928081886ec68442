//! What a start does with a member's disk: the steps that its lifecycle commands, as a server's `boot` takes them.

use base::LogIndex;
use consensus_raft::Entry;
use consensus_replica::Replay;
use consensus_replica::Replayed;
use consensus_replica::lifecycle::{DiskContent, NewMembership, storage};
use consensus_replica::start::Seat;
use sim_kit::disk::SimDisk;
use storage_raft_log::{Disk, Journal, JournalConfig, Recovered};

use crate::{NodeError, aside, raft_entry};

/// A journal that is open, and what it found.
pub type Opened = (Journal<SimDisk>, Recovered);

/// Finishes what a crash interrupted, and opens the journal if the disk holds data.
///
/// # Errors
/// The disk fails, or what it holds is damaged.
pub fn open(disk: &mut SimDisk, config: JournalConfig) -> Result<(DiskContent, Option<Opened>), NodeError> {
    aside::settle(disk).map_err(NodeError::of_disk)?;
    storage::settle(disk).map_err(NodeError::of_disk)?;
    if !aside::holds_data(disk) {
        let had_data = aside::had_data(disk).map_err(NodeError::of_disk)?;
        return Ok((DiskContent::Nothing { had_data }, None));
    }
    let opened = Journal::open(disk.clone(), config).map_err(NodeError::Open)?;
    Ok((DiskContent::of(&opened.1), Some(opened)))
}

/// Makes a disk without data that of a new membership.
///
/// # Errors
/// The disk fails.
pub fn write(disk: &SimDisk, new: &NewMembership, config: JournalConfig) -> Result<Opened, NodeError> {
    let config = JournalConfig { identity: new.identity, ..config };
    let (mut journal, recovered) = Journal::open(disk.clone(), config).map_err(NodeError::Open)?;
    let written = storage::write(&mut journal, &recovered, new);
    written.map_err(|error| NodeError::Fault(error.to_string()))?;
    Ok((journal, recovered))
}

/// Applies what is known to be committed, `piece_bytes` of the log at a time. Gives the member's seat, what it was applied to,
/// and the entries that were.
///
/// # Errors
/// The disk fails, or what it holds is damaged.
pub fn replay<D: Disk, R: Replayed>(
    journal: &mut Journal<D>,
    mut replay: Replay<R>,
    piece_bytes: u64,
) -> Result<(Seat, R, Vec<Entry>), NodeError> {
    let mut applied = Vec::new();
    while let Some(wanted) = replay.wants() {
        let entries = journal.entries(wanted.start, wanted.end, piece_bytes).map_err(NodeError::Read)?;
        applied.extend(entries.iter().cloned().map(raft_entry));
        let taken = replay.take(entries);
        taken.map_err(|fault| NodeError::Fault(fault.to_string()))?;
    }
    let (seat, replayed) = replay.finish();
    let last: LogIndex = seat.applied().0;
    applied.retain(|entry: &Entry| entry.index <= last);
    Ok((seat, replayed, applied))
}
