//! What a start of a node loads: the tree of its newest snapshot, with what is known to be committed applied to it. Knows no
//! core.

use consensus_raft::Entry;
use consensus_replica::start::Seat;
use council_frontend::History;
use council_replica::{ReplayedTree, replay};
use council_tree::Tree;
use storage_raft_log::{Disk, Journal, Recovered};

use crate::node_config::NodeConfig;
use sim_group::NodeError;

/// See the module.
pub struct Loaded<D: Disk> {
    pub(crate) journal: Journal<D>,
    pub(crate) seat: Seat,
    pub(crate) tree: Tree,
    pub(crate) history: History,
    /// The entries that were applied behind the snapshot.
    pub(crate) applied: Vec<Entry>,
    /// The last transaction of the snapshot's tree.
    pub(crate) began_zxid: i64,
    /// Whether the last life ended in the middle of a flush.
    pub(crate) torn_tail: bool,
}

impl<D: Disk> Loaded<D> {
    /// Of a journal that was opened.
    ///
    /// # Errors
    /// Its disk fails, or what it holds is damaged.
    pub fn of(
        mut journal: Journal<D>,
        recovered: &Recovered,
        config: &NodeConfig,
    ) -> Result<Self, NodeError> {
        let tree = load_tree(&mut journal, config.seed)?;
        let began_zxid = tree.last_zxid().0;
        let replay = replay(
            recovered,
            journal.membership(),
            tree,
            config.front.history_bytes_max,
            config.core.replica.window_bytes_max,
        );
        let (seat, replayed, applied) = sim_group::storage::replay(&mut journal, replay, config.piece_bytes)?;
        let ReplayedTree { tree, history, .. } = replayed;
        let torn_tail = recovered.torn_tail.is_some();
        Ok(Self { journal, seat, tree, history, applied, began_zxid, torn_tail })
    }
}

/// The tree of the newest snapshot; a fresh one if there is none.
pub(crate) fn load_tree<D: Disk>(journal: &mut Journal<D>, seed: [u8; 32]) -> Result<Tree, NodeError> {
    let (table_seed, _) = seed.split_first_chunk::<8>().expect("a seed is 32 bytes");
    let table_seed = u64::from_le_bytes(*table_seed);
    let Some(mut reader) = journal.open_snapshot().map_err(NodeError::Read)? else {
        return Ok(Tree::seeded(table_seed));
    };
    let mut loader = Tree::loader(table_seed);
    while let Some(chunk) = journal.read_snapshot(&mut reader).map_err(NodeError::Read)? {
        loader.chunk(&chunk).map_err(|error| NodeError::Snapshot(error.to_string()))?;
    }
    loader.finish().map_err(|error| NodeError::Snapshot(error.to_string()))
}
