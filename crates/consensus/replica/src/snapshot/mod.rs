//! Snapshots: of this member's own state, on their way to members that lag, and on their way here.
//!
//! The journal writes one at a time, so a member takes none of its own while another's is on its way here.

pub(crate) mod chunks;
mod receive;
mod send;
mod take;
#[cfg(test)]
mod tests;

use consensus_raft::{LogIndex, MemberId, RaftNode};

pub(crate) use self::chunks::ChunkReader;
pub(crate) use self::receive::Received;
use self::receive::SnapshotReceiver;
use self::send::SnapshotSender;
pub use self::take::LastSnapshot;
use self::take::SnapshotTaker;
use crate::output::Output;
use crate::state_machine::ReplicatedState;
use crate::view::View;
use crate::{Fault, ReplicaConfig};

/// After how long without a message the other side of a transfer is given up, milliseconds.
const TIMEOUT_MS: u64 = 10_000;
/// After how long chunks are asked for again, milliseconds.
const ASK_AGAIN_MS: u64 = 1_000;

/// See the module.
pub(crate) struct Snapshots<R: ReplicatedState> {
    pub(crate) own: SnapshotTaker,
    pub(crate) sent: SnapshotSender,
    pub(crate) received: SnapshotReceiver<R>,
    /// What the newest one on the disk covers.
    durable: LogIndex,
}

impl<R: ReplicatedState> Snapshots<R> {
    /// `recovered_index` is what the snapshot covers that this member started from; 0 for none.
    pub(crate) fn new(config: &ReplicaConfig, recovered_index: LogIndex, state: &R::State) -> Self {
        Self {
            own: SnapshotTaker::new(config, recovered_index),
            sent: SnapshotSender::default(),
            received: SnapshotReceiver::new(R::seed(state)),
            durable: recovered_index,
        }
    }

    /// What the newest one on this member's disk covers, whoever took it; 0 if there is none.
    pub(crate) const fn durable(&self) -> LogIndex {
        self.durable
    }

    /// A chunk is on the disk: of our own snapshot, or of one that is coming in.
    pub(crate) fn chunk_written<X: Clone>(&mut self, view: &View, out: &mut Output<X>) {
        if self.own.is_scanning() {
            self.own.written();
        }
        self.received.chunk_written(view, out);
    }

    /// A snapshot is durable: our own, or one that came in.
    pub(crate) fn saved<X: Clone>(
        &mut self,
        index: LogIndex,
        raft: &mut RaftNode,
        view: &View,
        out: &mut Output<X>,
    ) {
        self.durable = self.durable.max(index);
        if let Some(offer) = self.received.saved(index, out) {
            return raft.offer_snapshot(Some(offer));
        }
        self.own.saved(view.now.mono());
        raft.offer_snapshot(self.own.offer());
    }

    /// A snapshot could not be written.
    ///
    /// # Errors
    /// [`Fault`] if raft relies on it already.
    pub(crate) fn failed<X: Clone>(&mut self, reason: &str, out: &mut Output<X>) -> Result<(), Fault> {
        if self.received.is_finishing() {
            return Err(Fault::SnapshotLost { reason: reason.to_string() });
        }
        match self.received.is_receiving() {
            true => self.received.give_up(out),
            false => self.own.failed(),
        }
        Ok(())
    }

    /// The other side is done with what it was sent. Says whether it has taken it over.
    pub(crate) fn taken(
        &mut self,
        peer: MemberId,
        index: LogIndex,
        whole: bool,
        raft: &mut RaftNode,
    ) -> bool {
        let ends = self.sent.taken(peer, index);
        if ends {
            raft.snapshot_sent(peer, whole);
        }
        ends && whole
    }

    /// Asks again for what does not come, and gives up on who has fallen silent.
    pub(crate) fn tick<X: Clone>(&mut self, raft: &mut RaftNode, view: &View, out: &mut Output<X>) {
        self.sent.tick(view.now, raft, out);
        self.received.tick(raft.committed(), view, out);
    }

    /// The connection to that member broke.
    pub(crate) fn disconnected(&mut self, peer: MemberId, raft: &mut RaftNode) {
        self.sent.stop(peer, raft);
        self.received.stop(peer);
    }

    /// Whether no committed entry may be applied now. `side_bytes`: see
    /// [`crate::ReplicatedState::snapshot_side_bytes`].
    pub(crate) fn hold_entries(&self, side_bytes: usize) -> bool {
        self.own.holds_writes(side_bytes) || self.received.awaits_turn()
    }

    /// Whether a snapshot of our own is to begin now.
    pub(crate) const fn is_due(&self, between_entries: bool) -> bool {
        self.own.is_due() && between_entries && !self.received.is_active()
    }
}
