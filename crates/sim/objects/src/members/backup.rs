//! Backups that clients are given, as the file is read by whoever restores it: the snapshot on the member's disk becomes a state of
//! its own, and that the first of a new group.

use base::LogIndex;
use objects_replica::revival;
use objects_state::{Loader, State};
use sim_group::small_journal;
use sim_kit::disk::SimDisk;
use storage_raft_log::{Disk, Identity, Journal, LooseSnapshot};

use super::Members;

/// What was read of a backup.
#[derive(Clone, Debug)]
pub(crate) struct BackupSeen {
    /// The attempt that was given it.
    pub(crate) attempt: u64,
    pub(crate) member: u64,
    pub(crate) position: u64,
    pub(crate) digest: u64,
    /// Where a group goes on that is made of it.
    pub(crate) restored: u64,
    /// What is wrong with it by itself.
    pub(crate) wrong: Option<String>,
}

impl Members {
    /// Edges of a member are to send files: they are read.
    pub(super) fn open_backups(&mut self, number: u64) {
        let asked = self.node(number).map(|node| node.take_backups()).unwrap_or_default();
        for (edge, attempt, index) in asked {
            let now_ms = self.sim.now_ms();
            let machine = self.machine(number);
            let (disk, wall) = (machine.host.disk.clone(), machine.host.now(now_ms).wall);
            let read = read(disk, index).map(|state| {
                let (position, digest) = (state.position(), state.digest());
                let (restored, wrong) = restore(state, (index, number), wall);
                BackupSeen { attempt, member: number, position, digest, restored, wrong }
            });
            let position = match read {
                Ok(seen) => {
                    self.sim.count("backup", 1);
                    let position = seen.position;
                    self.record.backups.push(seen);
                    Some(position)
                }
                Err(words) => {
                    let may_fail = self.may_fail(number);
                    assert!(may_fail, "member {number} cannot read its snapshot {}: {words}", index.0);
                    None
                }
            };
            if let Some(node) = self.node(number) {
                node.backup_opened(edge, attempt, position);
            }
        }
    }
}

/// The state in the snapshot that covers this entry, or in a newer one.
fn read(mut disk: SimDisk, index: LogIndex) -> Result<State, String> {
    let words = |error: &dyn core::fmt::Debug| format!("{error:?}");
    let names = disk.list("snapshot").map_err(|error| words(&error))?;
    let covers = |name: &String| {
        let covered = u64::from_str_radix(name.strip_suffix(".snap")?, 16).ok()?;
        (covered >= index.0).then_some(covered)
    };
    let covered = names.iter().filter_map(covers).min().ok_or("it has gone")?;
    let path = format!("snapshot/{covered:016x}.snap");
    let mut snapshot = LooseSnapshot::open(disk, &path).map_err(|error| words(&error))?;
    let mut loader = Loader::new();
    while let Some(chunk) = snapshot.next_chunk().map_err(|error| words(&error))? {
        loader.chunk(&chunk).map_err(|error| words(&error))?;
    }
    let state = loader.finish().map_err(|error| words(&error))?;
    let meta = snapshot.meta();
    match (meta.digest, meta.position.cast_unsigned()) == (state.digest(), state.position()) {
        true => Ok(state),
        false => Err(format!("its end does not fit its content: {meta:?}")),
    }
}

/// Makes a group of it on a blank disk. Gives where that goes on, and what is wrong.
fn restore(
    mut state: State,
    (index, number): (LogIndex, u64),
    wall: base::WallTime,
) -> (u64, Option<String>) {
    let counts = state.counts();
    let member = base::MemberId::founder(base::MemberNumber::of(number));
    let meta = revival::begin(&mut state, (index, base::Term(1)), member, wall);
    let (position, digest) = (state.position(), state.digest());
    let disk = SimDisk::new(number);
    let identity = Identity { cluster: [7; 16], incarnation: [8; 16], member };
    let config = storage_raft_log::JournalConfig { identity, ..small_journal() };
    let written = Journal::open(disk.clone(), config).map_err(|error| format!("{error:?}")).and_then(
        |(mut journal, _)| {
            revival::write_snapshot(&mut journal, &mut state, meta).map_err(|error| format!("{error:?}"))?;
            journal.close().map(drop).map_err(|error| format!("{error:?}"))?;
            read(disk, index)
        },
    );
    let wrong = match written {
        Err(words) => Some(words),
        Ok(again) if (again.digest(), again.counts()) != (digest, counts) => {
            Some(format!("{:?} are restored of {counts:?}", again.counts()))
        }
        Ok(again) => again.check().err().map(|error| format!("{error:?}")),
    };
    (position, wrong)
}
