//! The core of one member: a replica over the machine of live objects. What a driver tells it goes to the one or the other.
//!
//! It is driven like the core of any other service: see [`consensus_replica`] for the turn of a driver.

use base::{MonoTime, Now};
use consensus_raft::{Entry, LogIndex, Membership, Term};
use consensus_replica::founding::Cluster;
use consensus_replica::start::Seat;
use consensus_replica::{
    Denials, Fault, JournalEvent, JournalRequest, MemberId, Refusal, Replica, Tenure, WantedMembers,
};
use objects_state::State;

use crate::edge::{Answer, Request};
use crate::incarnation;
use crate::machine::ObjectsMachine;
use crate::{CoreConfig, CoreStatus, PeerMessage};

/// One member's core.
pub struct Core {
    replica: Replica<ObjectsMachine>,
}

impl Core {
    /// Takes the member's seat. `state` is the one that came with it; the rest of the log is applied as it commits.
    /// `wanted` are the members that are to be, where these are changed. The seed must be random: with the wall clock it
    /// names this process among all of this member.
    #[must_use]
    pub fn new(
        config: &CoreConfig,
        seat: &Seat,
        state: &State,
        wanted: Option<WantedMembers>,
        seed: [u8; 32],
        now: Now,
    ) -> Self {
        let (raft_seed, rest) = seed.split_first_chunk::<8>().expect("a seed is 32 bytes");
        let drawn = rest.first_chunk::<8>().expect("a seed is 32 bytes");
        let incarnation = incarnation::begun(now, u64::from_le_bytes(*drawn));
        let machine = ObjectsMachine::new(config, state, incarnation, now);
        let raft_seed = u64::from_le_bytes(*raft_seed);
        let replica = Replica::new(config.for_replica(), seat, state, machine, wanted, raft_seed, now);
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

    /// An edge's mailbox: to be handed over before the state is unlocked.
    ///
    /// # Panics
    /// When there is no such edge.
    pub fn answers(&mut self, edge: u16) -> &mut Vec<Answer> {
        self.replica.machine().0.out.of(edge)
    }

    /// One message of an edge. Those of one edge come in the order in which it sent them.
    pub fn receive(&mut self, request: Request, state: &State, now: Now) {
        // A process that stood still has a lease only as far as its clock says so, whatever it was told before.
        let has_lease = now.mono() <= self.replica.lease_until();
        let (machine, group) = self.replica.machine();
        group.set_now(now);
        machine.receive(request, has_lease, state, group);
        self.look_after_backup();
    }

    /// The members that are to be are these from now on. The leader makes it so.
    pub fn want_members(&mut self, wanted: Option<WantedMembers>) {
        self.replica.machine().1.want_members(wanted);
    }

    /// Begins a snapshot at the next chance, unless all that is applied is in one already.
    pub fn request_snapshot(&mut self) {
        self.replica.request_snapshot();
    }

    /// This member is about to stop: another should lead.
    pub fn step_aside(&mut self) {
        self.replica.step_aside();
    }

    /// See [`Replica::advance`].
    pub fn advance(&mut self, now: Now) {
        let (machine, group) = self.replica.machine();
        group.set_now(now);
        machine.addresses.tell(group);
        self.replica.advance(now);
    }

    /// See [`Replica::apply`].
    ///
    /// # Errors
    /// [`Fault`] when the log holds what this build cannot read: this member must stop.
    pub fn apply(&mut self, state: &mut State, now: Now) -> Result<Option<State>, Fault> {
        let replaced = self.replica.apply(state, now)?;
        self.look_after_backup();
        Ok(replaced)
    }

    /// Has a snapshot taken for who asked for a backup, of the state that its question was judged by or a later one.
    fn look_after_backup(&mut self) {
        if !self.replica.look().backups.wants_snapshot() {
            return;
        }
        let index = self.replica.request_whole_snapshot();
        let durable = self.replica.durable_snapshot();
        let machine = self.replica.machine().0;
        machine.backups.awaits(index);
        machine.backups.saved(durable, &mut machine.out);
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
    pub fn tick(&mut self, now: Now, state: &State) {
        self.replica.tick(now, state);
        self.replica.machine().0.pass_time(now);
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
        let failed = match &event {
            JournalEvent::SnapshotFailed(reason) => Some(reason.clone()),
            _ => None,
        };
        self.replica.journal(event, now)?;
        let durable = self.replica.durable_snapshot();
        let machine = self.replica.machine().0;
        machine.backups.saved(durable, &mut machine.out);
        if let Some(reason) = failed {
            machine.backups.failed(&reason, now.mono(), &mut machine.out);
        }
        Ok(())
    }

    /// A message of another member. The driver knows who sent it.
    ///
    /// # Errors
    /// [`Fault`] when a majority says that this member's state is not theirs: it must stop.
    pub fn peer(&mut self, from: MemberId, message: PeerMessage, now: Now) -> Result<(), Fault> {
        self.replica.peer(from, message, now)
    }

    /// Messages to another member were dropped on the way.
    pub fn lost(&mut self, peer: MemberId, now: Now) {
        self.replica.machine().0.addresses.forget(peer, false);
        self.replica.lost(peer, now);
    }

    /// The connection to another member stands, or broke. What was sent on one that broke may be lost.
    pub fn link(&mut self, peer: MemberId, up: bool, now: Now) {
        self.replica.machine().0.addresses.forget(peer, true);
        self.replica.link(peer, up, now);
    }

    /// Another member's build understands this level.
    pub fn understands(&mut self, peer: MemberId, level: u32) {
        self.replica.understands(peer, level);
    }
}

/// What a core tells of itself, at any time and without changing anything.
impl Core {
    /// This member's id.
    #[must_use]
    pub const fn id(&self) -> MemberId {
        self.replica.id()
    }

    /// Whether this member serves callers.
    #[must_use]
    pub const fn is_serving(&self) -> bool {
        self.replica.is_serving()
    }

    /// Whether this member was removed, and parts from its callers or has done so.
    #[must_use]
    pub const fn is_leaving(&self) -> bool {
        self.replica.is_leaving()
    }

    /// Until when callers may be answered from this member's state without asking the leader.
    #[must_use]
    pub fn lease_until(&self) -> MonoTime {
        self.replica.lease_until()
    }

    /// Who leads, as far as is known here.
    #[must_use]
    pub fn leader(&self) -> Option<MemberId> {
        self.replica.leader()
    }

    /// Where clients of the leader connect, if that is another member and has told it.
    #[must_use]
    pub fn leader_address(&self) -> Option<&str> {
        let leader = self.replica.leader().filter(|leader| *leader != self.replica.id())?;
        self.replica.look().addresses.of(leader)
    }

    /// The term in which this member leads, if it does.
    #[must_use]
    pub fn leads_in(&self) -> Option<Term> {
        self.replica.leads_in()
    }

    /// The engine's term.
    #[must_use]
    pub fn term(&self) -> Term {
        self.replica.term()
    }

    /// The index of the last entry applied.
    #[must_use]
    pub const fn applied_index(&self) -> LogIndex {
        self.replica.applied_index()
    }

    /// What is committed and not wholly applied here, in order: for readers of the log.
    pub fn committed(&self) -> impl Iterator<Item = &Entry> {
        self.replica.committed()
    }

    /// Who votes and who learns.
    #[must_use]
    pub const fn membership(&self) -> &Membership {
        self.replica.membership()
    }

    /// The other members.
    #[must_use]
    pub fn peers(&self) -> Vec<MemberId> {
        self.replica.peers()
    }

    /// Whether this member's seat is still its own. If not, this core is of no more use.
    #[must_use]
    pub const fn tenure(&self) -> Tenure {
        self.replica.tenure()
    }

    /// The group that this member belongs to.
    #[must_use]
    pub const fn cluster(&self) -> Cluster {
        self.replica.cluster()
    }

    /// Members that lately said that this one was replaced.
    #[must_use]
    pub fn denials(&self) -> Denials {
        self.replica.denials()
    }

    /// Takes what was refused of other members' messages since the last time, by sender and reason.
    pub fn take_refusals(&mut self) -> Vec<Refusal> {
        self.replica.take_refusals()
    }

    /// Up to which index a leader counts on this member's log while it is shorter; 0 for nothing.
    #[must_use]
    pub fn lacks(&self) -> LogIndex {
        self.replica.lacks()
    }

    /// For how long this member's disk has held up what the others' have done, milliseconds.
    #[must_use]
    pub const fn disk_stalled_ms(&self) -> u64 {
        self.replica.disk_stalled_ms()
    }

    /// Whether the next command was put off because it takes a whole turn.
    #[must_use]
    pub const fn puts_off(&self) -> bool {
        self.replica.puts_off()
    }

    /// The state's digest right behind every 128th of the latest positions, oldest first.
    pub fn digests(&self) -> impl Iterator<Item = (u64, u64)> {
        self.replica.digests().map(|(position, digest)| (position as u64, digest))
    }

    /// A picture of this core.
    #[must_use]
    pub fn status(&self) -> CoreStatus {
        let (replica, machine) = (&self.replica, self.replica.look());
        let proposed = machine.commands.counts();
        let [rounds, condemned, forgiven_ms] = machine.sessions.counts();
        CoreStatus {
            term: replica.term(),
            leader: replica.leader(),
            leading: replica.group().leads(),
            serving: replica.group().serves(),
            lease_until: replica.lease_until(),
            membership: replica.membership().clone(),
            progress: replica.progress(),
            applied_index: replica.applied_index(),
            incarnation: machine.commands.incarnation(),
            commands_waiting: machine.commands.waiting(),
            command_bytes_waiting: machine.commands.waiting_bytes(),
            requests_joined: machine.joined.len(),
            requests_waiting: machine.waiting.len()
                + machine.long_queries.len()
                + usize::from(machine.backups.is_under_way()),
            watches: machine.watches.len(),
            sessions_tracked: machine.sessions.tracked(),
            entries: proposed.entries,
            commands: proposed.commands,
            rounds,
            condemned,
            forgiven_ms,
            writable: machine.commands.is_writable(),
            refused_messages: replica.refused_messages(),
            leads_won: replica.leads_won(),
            leads_transferred: replica.leads_transferred(),
            states_replaced: replica.states_replaced(),
            disk_stalled_ms: replica.disk_stalled_ms(),
            snapshotting: replica.is_scanning(),
            last_snapshot: replica.last_snapshot(),
        }
    }
}
