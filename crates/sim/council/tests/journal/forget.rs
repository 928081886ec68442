//! An identity that was written and never used is removed. Wherever a crash comes, the next start finds that identity
//! unused, or a directory of which a new journal can be made.

use consensus_replica::lifecycle::{DiskContent, NewMembership, storage};
use sim_council::disk::{Loss, SimDisk};
use sim_council::node::small_journal;
use storage_raft_log::{Journal, JournalConfig};

fn membership(name: u8) -> (JournalConfig, NewMembership) {
    let new = NewMembership::alone([name; 16], [name; 16]);
    (JournalConfig { identity: new.identity, ..small_journal() }, new)
}

/// A founder's identity whose first record did not become durable, as a start finds it: some of that is there.
fn unused(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    let (config, new) = membership(1);
    let (mut journal, recovered) = Journal::open(disk.clone(), config.clone()).unwrap();
    disk.crash_at(disk.operations() + 1 + seed % 2);
    assert!(storage::write(&mut journal, &recovered, &new).is_err());
    drop(journal);
    disk.crash(Loss::Some);
    drop(Journal::open(disk.clone(), config).unwrap());
    disk
}

/// What a start finds; a directory without data becomes another identity's.
fn start(disk: &mut SimDisk) -> DiskContent {
    storage::settle(disk).unwrap();
    let had_identity = disk.content("meta").is_some();
    let (config, new) = membership(2);
    let (mut journal, recovered) = Journal::open(disk.clone(), config).unwrap();
    if !had_identity {
        storage::write(&mut journal, &recovered, &new).unwrap();
        return DiskContent::Nothing { had_data: false };
    }
    DiskContent::of(&recovered)
}

#[test]
fn identity_that_is_forgotten_is_unused_or_gone_wherever_a_crash_comes() {
    let (mut kept, mut gone) = (0, 0);
    for seed in 0..40 {
        for operation in 1..12 {
            for loss in [Loss::All, Loss::Nothing, Loss::Some] {
                let mut disk = unused(seed);
                if !matches!(start(&mut disk.fork(seed)), DiskContent::Unused(_)) {
                    continue;
                }
                disk.crash_at(disk.operations() + operation);
                let done = storage::forget(&mut disk).is_ok();
                disk.crash(loss);
                match start(&mut disk) {
                    DiskContent::Nothing { .. } => gone += 1,
                    DiskContent::Unused(_) if !done => kept += 1,
                    content => panic!("seed {seed}, operation {operation}: {content:?}"),
                }
            }
        }
    }
    assert!(kept > 10 && gone > 100, "kept {kept}, gone {gone}");
}
