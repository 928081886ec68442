//! The tree as the state that is replicated.

use consensus_replica::{ReplicatedState, ScanProgress, SnapshotLoader, Unreadable};
use council_tree::{Loader, SnapshotProgress, Tree};

use super::CouncilMachine;

/// Reads a tree from the chunks of a snapshot.
pub(crate) struct TreeLoader(Loader);

impl SnapshotLoader for TreeLoader {
    type State = Tree;

    fn chunk(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        self.0.chunk(bytes).map_err(|_| Unreadable)
    }

    fn finish(self) -> Result<Tree, Unreadable> {
        self.0.finish().map_err(|_| Unreadable)
    }
}

impl ReplicatedState for CouncilMachine {
    type State = Tree;
    type Loader = TreeLoader;

    fn loader(seed: u64) -> TreeLoader {
        TreeLoader(Tree::loader(seed))
    }

    fn seed(tree: &Tree) -> u64 {
        tree.table_seed()
    }

    /// The zxid.
    fn position(tree: &Tree) -> i64 {
        tree.last_zxid().0
    }

    fn digest(tree: &Tree) -> u64 {
        tree.digest()
    }

    fn feature_level(tree: &Tree) -> u32 {
        tree.feature_level()
    }

    fn snapshot_begin(tree: &mut Tree) {
        tree.snapshot_begin();
    }

    fn snapshot_side_bytes(tree: &Tree) -> usize {
        tree.snapshot_side_bytes()
    }

    fn snapshot_chunk(tree: &mut Tree, out: &mut Vec<u8>, bytes: usize) -> ScanProgress {
        match tree.snapshot_chunk(out, bytes) {
            SnapshotProgress::More => ScanProgress::More,
            SnapshotProgress::Done { digest } => ScanProgress::Done { digest },
        }
    }

    fn replace(tree: &mut Tree, next: Tree) -> Tree {
        tree.replace(next)
    }
}
