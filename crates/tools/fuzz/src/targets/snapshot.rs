//! Any bytes as a snapshot of the tree.

use council_tree::{Changes, Command, SnapshotProgress, Stamp, Tree};

use super::command;
use crate::golden;

/// The first byte says how long the pieces are in which the rest arrives.
pub(crate) fn run(bytes: &[u8]) {
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let whole = load(bytes, bytes.len());
    let cut = load(bytes, usize::from(*cut) + 1);
    match (whole, cut) {
        (None, None) => {}
        (Some(mut whole), Some(cut)) => {
            assert_eq!(whole.digest(), cut.digest());
            let again = load(&save(&mut whole), 100).expect("our own snapshot loads");
            assert_eq!(whole.digest(), again.digest());
        }
        _ => panic!("how a snapshot is cut decides whether it loads"),
    }
}

fn load(bytes: &[u8], piece: usize) -> Option<Tree> {
    let mut loader = Tree::loader(0);
    for chunk in bytes.chunks(piece.max(1)) {
        loader.chunk(chunk).ok()?;
    }
    loader.finish().ok()
}

fn save(tree: &mut Tree) -> Vec<u8> {
    let mut out = Vec::new();
    tree.snapshot_begin();
    while !matches!(tree.snapshot_chunk(&mut out, 1 << 10), SnapshotProgress::Done { .. }) {}
    out
}

/// The trees that the captured writes make.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let trees = golden::conversations().into_iter().map(|frames| {
        let mut tree = Tree::new();
        for command in command::commands(&frames) {
            let command = Command::decode(&command).expect("our own command");
            tree.apply(
                Stamp { time: base::WallTime::of_ms(1_700_000_000_000) },
                &command,
                &mut Changes::new(),
            );
        }
        let mut out = vec![60];
        out.extend(save(&mut tree));
        out
    });
    let mut seeds: Vec<_> = trees.collect();
    seeds.sort();
    seeds.dedup();
    seeds
}
