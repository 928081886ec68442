//! The core of one member: a replica over the council's machine. What a driver tells it goes to the one or the other.

mod accessors;
#[cfg(test)]
mod tests;

use base::{MonoTime, Now};
use consensus_replica::start::Seat;
use consensus_replica::{Fault, JournalEvent, JournalRequest, MemberId, Replica};
use council_frontend::{FromCore, ToCore};
use council_tree::Tree;

use crate::machine::CouncilMachine;
use crate::{CoreConfig, PeerMessage};

/// One member's core.
pub struct Core {
    replica: Replica<CouncilMachine>,
}

impl Core {
    /// Takes the member's seat. `tree` is the one that came with it; the rest of the log is applied as it commits.
    #[must_use]
    pub fn new(config: &CoreConfig, seat: &Seat, tree: &Tree, seed: [u8; 32], now: Now) -> Self {
        let (raft_seed, _) = seed.split_first_chunk::<8>().expect("a seed is 32 bytes");
        let machine = CouncilMachine::new(config, tree, seed, now);
        let wanted = machine.ensemble.wanted();
        let raft_seed = u64::from_le_bytes(*raft_seed);
        let replica = Replica::new(config.for_replica(), seat, tree, machine, wanted, raft_seed, now);
        Self { replica }
    }

    /// Takes what the journal is to do, in order.
    pub fn take_requests(&mut self) -> Vec<JournalRequest> {
        self.replica.take_requests()
    }

    /// Takes what is to be sent to other members, in order for each.
    pub fn take_outgoing(&mut self) -> Vec<(MemberId, PeerMessage)> {
        self.replica.take_outgoing()
    }

    /// A shard's stream: to be appended to its mailbox before the tree is unlocked.
    pub fn stream(&mut self, shard: u16) -> &mut Vec<FromCore> {
        self.replica.machine().0.out.stream(shard)
    }

    /// Begins a snapshot at the next chance, unless all that is applied is in one already.
    pub fn request_snapshot(&mut self) {
        self.replica.request_snapshot();
    }

    /// This member is about to stop: another should lead.
    pub fn step_aside(&mut self) {
        self.replica.step_aside();
    }

    /// One message of a shard. Messages of one shard come in the order in which it sent them.
    pub fn receive(&mut self, shard: u16, message: ToCore, tree: &Tree) {
        let (machine, group) = self.replica.machine();
        machine.receive(shard, message, tree, group);
    }

    /// See [`Replica::advance`].
    pub fn advance(&mut self, now: Now) {
        self.replica.advance(now);
    }

    /// See [`Replica::apply`].
    ///
    /// # Errors
    /// [`Fault`] when the log holds what this build cannot read: this member must stop.
    pub fn apply(&mut self, tree: &mut Tree, now: Now) -> Result<Option<Tree>, Fault> {
        self.replica.apply(tree, now)
    }

    /// See [`Replica::has_work`].
    #[must_use]
    pub fn has_work(&self, side_bytes: usize) -> bool {
        self.replica.has_work(side_bytes)
    }

    /// See [`Replica::has_little_to_apply`].
    #[must_use]
    pub fn has_little_to_apply(&self) -> bool {
        self.replica.has_little_to_apply()
    }

    /// Time has passed. Call it at least as often as [`Core::next_deadline`] says.
    pub fn tick(&mut self, now: Now, tree: &Tree) {
        self.replica.tick(now, tree);
    }

    /// When [`Core::tick`] should be called at the latest.
    #[must_use]
    pub fn next_deadline(&self) -> MonoTime {
        self.replica.next_deadline()
    }

    /// An answer of the journal.
    ///
    /// # Errors
    /// [`Fault`] when the answer shows that this member must stop.
    pub fn journal(&mut self, event: JournalEvent, now: Now) -> Result<(), Fault> {
        self.replica.journal(event, now)
    }

    /// A message of another member. The driver knows who sent it.
    ///
    /// # Errors
    /// [`Fault`] when a majority says that this member's tree is not theirs: it must stop.
    pub fn peer(&mut self, from: MemberId, message: PeerMessage, now: Now) -> Result<(), Fault> {
        self.replica.peer(from, message, now)
    }

    /// Messages to another member were dropped on the way.
    pub fn lost(&mut self, peer: MemberId, now: Now) {
        self.replica.lost(peer, now);
    }

    /// The connection to another member stands, or broke. What was sent on one that broke may be lost.
    pub fn link(&mut self, peer: MemberId, up: bool, now: Now) {
        self.replica.link(peer, up, now);
    }

    /// Another member's build understands this level.
    pub fn understands(&mut self, peer: MemberId, level: u32) {
        self.replica.understands(peer, level);
    }
}
