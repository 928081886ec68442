//! The tree at a start: what is known to be committed is applied to it before there is a core.

use std::sync::Arc;

use consensus_raft::Malformed;
use consensus_replica::{Replay, Replayed, Stamp};
use council_frontend::History;
use council_tree::{Changes, Command, Tree};
use storage_raft_log::{Membership, Recovered};

/// A tree, and the latest of the changes that were made to it.
pub struct ReplayedTree {
    /// The tree.
    pub tree: Tree,
    /// What lately changed in it.
    pub history: History,
    changes: Changes,
}

/// Begins with the tree of the snapshot, a new one if there is none. Of the changes made on the way the latest are
/// remembered, up to `history_bytes_max`, and of the entries themselves `window_bytes_max`, for members that lag.
#[must_use]
pub fn replay(
    recovered: &Recovered,
    membership: &Membership,
    tree: Tree,
    history_bytes_max: usize,
    window_bytes_max: usize,
) -> Replay<ReplayedTree> {
    let mut history = History::new(history_bytes_max);
    history.start(tree.last_zxid());
    let replayed = ReplayedTree { tree, history, changes: Changes::new() };
    Replay::new(recovered, membership, replayed, window_bytes_max)
}

impl Replayed for ReplayedTree {
    fn apply(&mut self, stamp: Stamp, command: &[u8]) -> Result<(), Malformed> {
        let command = Command::decode(command).map_err(|_| Malformed("a command that cannot be read"))?;
        // The client that sent it is not connected yet, and will find its outcome in the tree.
        let _ = self.tree.apply(council_tree::Stamp { time: stamp.wall }, &command, &mut self.changes);
        if !self.changes.is_empty() {
            let changes: Arc<[_]> = self.changes.drain().collect();
            self.history.push(&changes);
        }
        Ok(())
    }
}
