//! Any bytes as commands of the log: applying them ends, and a tree that took them still agrees with its snapshot.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tree::{Changes, Command, SnapshotProgress, Stamp, Tree};

fuzz_target!(|bytes: &[u8]| {
    let mut tree = Tree::new();
    let mut changes = Changes::new();
    let mut rest = bytes;
    while let Some((length, more)) = rest.split_first() {
        let Some((command, more)) = more.split_at_checked(usize::from(*length)) else { break };
        if let Ok(command) = Command::decode(command) {
            changes.clear();
            tree.apply(Stamp { time_ms: 1 }, &command, &mut changes);
        }
        rest = more;
    }
    let mut snapshot = Vec::new();
    tree.snapshot_begin();
    let digest = loop {
        if let SnapshotProgress::Done { digest } = tree.snapshot_chunk(&mut snapshot, 100) {
            break digest;
        }
    };
    let mut loader = Tree::loader();
    loader.chunk(&snapshot).expect("our own snapshot loads");
    let loaded = loader.finish().expect("our own snapshot loads");
    assert_eq!((loaded.digest(), digest), (tree.digest(), tree.digest()));
});
