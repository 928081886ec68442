//! The state as a group replicates it: snapshots, digests, and what is applied at a start.

use std::sync::Arc;

use consensus_raft::Malformed;
use consensus_replica::{Replay, Replayed, ReplicatedState, ScanProgress, SnapshotLoader, Stamp, Unreadable};
use objects_state::{Loader, SnapshotProgress, State};
use storage_raft_log::{Membership, Recovered};

use super::ObjectsMachine;
use crate::entry;

/// Reads a state from the chunks of a snapshot.
#[derive(Debug, Default)]
pub struct StateLoader(Loader);

impl SnapshotLoader for StateLoader {
    type State = State;

    fn chunk(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        self.0.chunk(bytes).map_err(|_| Unreadable)
    }

    fn finish(self) -> Result<State, Unreadable> {
        self.0.finish().map_err(|_| Unreadable)
    }
}

impl ReplicatedState for ObjectsMachine {
    type State = State;
    type Loader = StateLoader;

    fn loader(_: u64) -> StateLoader {
        StateLoader::default()
    }

    /// It has no hash tables.
    fn seed(_: &State) -> u64 {
        0
    }

    fn position(state: &State) -> i64 {
        state.position() as i64
    }

    fn digest(state: &State) -> u64 {
        state.digest()
    }

    fn feature_level(state: &State) -> u32 {
        state.feature_level()
    }

    fn snapshot_begin(state: &mut State) {
        state.snapshot_begin();
    }

    fn snapshot_side_bytes(state: &State) -> usize {
        state.snapshot_side_bytes()
    }

    fn snapshot_chunk(state: &mut State, out: &mut Vec<u8>, bytes: usize) -> ScanProgress {
        match state.snapshot_chunk(out, bytes) {
            SnapshotProgress::More => ScanProgress::More,
            SnapshotProgress::Done { digest } => ScanProgress::Done { digest },
            SnapshotProgress::Rotten => ScanProgress::Rotten,
        }
    }

    /// The engine goes on, and is told of the versions that came. What it has begun may not be what is under way now.
    fn replace(state: &mut State, mut next: State) -> State {
        state.engine().forget_all();
        next.set_engine(Arc::clone(state.engine()));
        core::mem::replace(state, next)
    }
}

/// A state to which what is known to be committed is applied at a start, before there is a core.
pub struct ReplayedState {
    /// The state.
    pub state: State,
    effects: objects_state::Effects,
}

/// Begins with the state of the snapshot, a new one if there is none. The latest entries are kept, up to
/// `window_bytes_max`, for members that lag.
#[must_use]
pub fn replay(
    recovered: &Recovered,
    membership: &Membership,
    state: State,
    window_bytes_max: usize,
) -> Replay<ReplayedState> {
    let replayed = ReplayedState { state, effects: Vec::new() };
    Replay::new(recovered, membership, replayed, window_bytes_max)
}

impl Replayed for ReplayedState {
    fn apply(&mut self, stamp: Stamp, command: &[u8]) -> Result<(), Malformed> {
        let read = entry::decode(command)?;
        if read.source.is_none_or(|source| self.state.admit(source)) {
            // Nobody waits for it yet.
            self.state.apply(stamp.wall, &read.command, &mut self.effects);
            self.effects.clear();
        }
        Ok(())
    }
}
