//! The engine, driven: proposals and messages in, what to persist, to send and to apply out.

mod inbound;

use std::collections::VecDeque;

use bytes::Bytes;
use raft::eraftpb::{self, MessageType};
use raft::{INVALID_ID, ProgressState, RawNode, ReadOnlyOption, SnapshotStatus, StateRole};

use inbound::Doubt;

use crate::window::Window;
use crate::{
    Change, Config, Entry, EntryKind, Envelope, HardState, LogIndex, Malformed, MemberId, Membership,
    Message, Persist, Progress, Ready, Recovered, Role, SnapshotOffer, Term,
};
use base::Random;

/// The proposal was not taken: this member does not lead, or too much is under way. Nothing was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProposalRefused;

/// Entries that a member may lack that follows closely.
const CLOSE_ENTRIES: u64 = 64;

/// What decides whether the engine has drawn a new election timeout.
type Stance = (Term, StateRole, u64);

/// One member's seat in raft.
pub struct RaftNode {
    node: RawNode<Window>,
    seed: Random,
    election_ticks: usize,
    timeout: usize,
    stance: Stance,
    role: Role,
    /// Numbers of turns whose entries or votes are on their way to the disk.
    persisting: VecDeque<u64>,
    /// Whether the disk holds a vote or anything of a log.
    touched: bool,
    /// The last turn with a new term or vote.
    voted: u64,
    /// Messages that wait for the disk, each with the turn that must be durable first.
    withheld: VecDeque<(u64, Envelope)>,
    /// Committed entries from a change of members on, with the turn that makes their commit durable: a start under the
    /// members before it must not take the lead among them.
    committed: VecDeque<(u64, Vec<Entry>)>,
    /// Of those, what is durable.
    released: Vec<Entry>,
    outbox: Vec<Envelope>,
    /// The hard state that the journal was last told of, but for its commit index.
    told: HardState,
    /// What the member has applied; the engine may hear of it only when it is durable.
    applied: LogIndex,
    /// The last leader that was heard of, and its term: a term has no other.
    led: (Term, Option<MemberId>),
    /// The last term in which this member's request for votes has left it.
    asked_votes_in: Term,
    doubt: Option<Doubt>,
    /// What was last acknowledged: in which term, to whom, up to where.
    acknowledged: (Term, MemberId, LogIndex),
}

impl RaftNode {
    /// Takes the seat with what the journal recovered, everything up to `applied` being applied already.
    ///
    /// # Panics
    /// When `recovered` contradicts itself: the journal has verified it, so this is our own mistake.
    #[must_use]
    #[expect(clippy::too_many_lines, reason = "every field of a seat in raft")]
    pub fn new(config: &Config, recovered: &Recovered, applied: LogIndex) -> Self {
        let engine = raft::Config {
            id: config.id.0,
            election_tick: config.election_ticks,
            heartbeat_tick: config.heartbeat_ticks,
            applied: applied.0,
            max_size_per_msg: config.append_bytes_max,
            max_inflight_msgs: config.appends_in_flight_max,
            check_quorum: true,
            pre_vote: true,
            read_only_option: ReadOnlyOption::Safe,
            batch_append: false,
            max_uncommitted_size: config.uncommitted_bytes_max,
            ..raft::Config::default()
        };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let node = RawNode::new(&engine, Window::new(recovered), &logger)
            .expect("the engine refuses what the journal recovered");
        let stance = stance_of(&node);
        let mut node = Self {
            node,
            seed: Random::new(config.seed),
            election_ticks: config.election_ticks,
            timeout: 0,
            stance,
            role: Role::Follower,
            persisting: VecDeque::new(),
            touched: recovered.is_touched(),
            voted: 0,
            withheld: VecDeque::new(),
            committed: VecDeque::new(),
            released: Vec::new(),
            outbox: Vec::new(),
            told: recovered.hard_state,
            applied,
            led: (Term::ZERO, None),
            asked_votes_in: Term::ZERO,
            doubt: None,
            acknowledged: (Term::ZERO, MemberId(INVALID_ID), LogIndex::ZERO),
        };
        node.draw_timeout();
        node
    }

    /// Asks for votes now instead of at the next timeout: right for a member that is alone, or whose leader is known
    /// to be gone.
    pub fn campaign(&mut self) {
        if self.may_campaign() {
            // The only error is that this member may not campaign; then it waits as any other.
            let _ = self.node.campaign();
        }
        self.draw_timeout();
    }

    /// Whether the engine can campaign. Asked by its owner it would do so, and win, among no voters at all; and between
    /// a snapshot that is taken over and its being applied it would look for entries that are gone.
    fn may_campaign(&self) -> bool {
        let raft = &self.node.raft;
        self.doubt.is_none()
            && raft.promotable()
            && LogIndex(raft.raft_log.applied()) >= self.node.store().compacted()
    }

    /// One tick of the member's clock.
    pub fn tick(&mut self) {
        if !self.may_campaign() {
            // It must not campaign. But the time in which it refuses its vote, because it has heard of a leader, must
            // run out as everybody's does: where its vote is needed, nobody would ever lead again.
            let ticks = self.election_ticks;
            let raft = &mut self.node.raft;
            raft.election_elapsed = raft.election_elapsed.min(ticks - 1);
            raft.set_randomized_election_timeout(2 * ticks - 1);
        }
        self.node.tick();
        self.leave_joint();
        self.hold_timeout();
    }

    /// The engine ends joint consensus by itself only under the leader that began it; a later one does it here.
    fn leave_joint(&mut self) {
        // Refused unless this member leads, in joint consensus, with no change under way.
        let _ = self.propose_change(&Change::default());
    }

    /// Appends entries with these contents, in order, all or none.
    ///
    /// # Errors
    /// [`ProposalRefused`] when this member does not lead or too much is uncommitted; try again later.
    pub fn propose(&mut self, contents: Vec<Bytes>) -> Result<(), ProposalRefused> {
        if self.node.raft.state != StateRole::Leader {
            return Err(ProposalRefused);
        }
        let mut message = eraftpb::Message::default();
        message.set_msg_type(MessageType::MsgPropose);
        message.from = self.node.raft.id;
        let entry = |data| eraftpb::Entry { data, ..Default::default() };
        message.set_entries(contents.into_iter().map(entry).collect::<Vec<_>>().into());
        let taken = self.node.raft.step(message).map_err(|_| ProposalRefused);
        self.hold_timeout();
        taken
    }

    /// Appends a membership change; it takes effect when [`Self::apply_change`] is called with its entry.
    ///
    /// # Errors
    /// [`ProposalRefused`] when this member does not lead or another change is under way.
    pub fn propose_change(&mut self, change: &Change) -> Result<(), ProposalRefused> {
        let raft = &self.node.raft;
        let joint = !raft.prs().conf().to_conf_state().voters_outgoing.is_empty();
        if raft.state != StateRole::Leader || raft.has_pending_conf() || joint != change.steps.is_empty() {
            return Err(ProposalRefused);
        }
        let proposed = self.node.propose_conf_change(change.encode(), change.to_engine());
        self.hold_timeout();
        proposed.map_err(|_| ProposalRefused)
    }

    /// A committed membership entry takes effect; says who the members are from now on.
    ///
    /// # Errors
    /// [`Malformed`] when the entry is no membership change that this build can read.
    pub fn apply_change(&mut self, entry: &Entry) -> Result<Membership, Malformed> {
        let change = Change::decode(&entry.data)?;
        // What the engine refuses here it refuses on every member alike: nothing changes.
        let _ = self.node.apply_conf_change(&change.to_engine());
        let membership = self.membership();
        let raft = &mut self.node.raft;
        if raft.state == StateRole::Leader && !raft.promotable() {
            // It leads no more than it votes; the engine would go on and fail where it looks itself up.
            raft.become_follower(raft.term, INVALID_ID);
        }
        self.node.mut_store().set_membership(membership.clone());
        self.hold_timeout();
        Ok(membership)
    }

    /// Asks whether this member's leader still leads: the answer, a [`Ready::barriers`] of that number, names the
    /// index that must be applied before a read is as new as this call. It may be lost; then ask again under a new
    /// number.
    pub fn read_barrier(&mut self, number: u64) {
        let id = self.node.raft.id;
        self.node.read_index([id.to_le_bytes(), number.to_le_bytes()].concat());
        self.hold_timeout();
    }

    /// Whom this member has voted for in the present term.
    #[must_use]
    pub fn voted_for(&self) -> Option<MemberId> {
        MemberId(self.node.raft.vote).known()
    }

    /// Hands the lead to that member, if it can keep up.
    pub fn transfer(&mut self, to: MemberId) {
        // A follower would pass the wish on to its leader.
        if self.node.raft.state == StateRole::Leader {
            self.node.transfer_leader(to.0);
            self.hold_timeout();
        }
    }

    /// Believes in no leader any more: votes are given, and this member may campaign.
    pub fn forget_leader(&mut self) {
        let raft = &mut self.node.raft;
        if raft.state == StateRole::Follower && raft.leader_id != INVALID_ID {
            raft.become_follower(raft.term, INVALID_ID);
        }
        self.hold_timeout();
    }

    /// Messages to that member were lost on the way.
    pub fn unreachable(&mut self, peer: MemberId) {
        self.node.report_unreachable(peer.0);
    }

    /// The state that was offered to that member has arrived there, or has not.
    pub fn snapshot_sent(&mut self, peer: MemberId, arrived: bool) {
        let status = if arrived { SnapshotStatus::Finish } else { SnapshotStatus::Failure };
        self.node.report_snapshot(peer.0, status);
    }

    /// Takes over the state that a message offered, whoever leads by now: it was committed. Its content must be at
    /// hand; the next [`Ready::snapshot`] says when it counts. False when this member needs it no more.
    pub fn install(&mut self, mut message: Message) -> bool {
        let raft = &mut self.node.raft;
        if raft.state != StateRole::Follower {
            raft.become_follower(raft.term, INVALID_ID);
        }
        let installed = raft.restore(message.0.take_snapshot());
        self.hold_timeout();
        installed
    }

    /// The state that members may be given who lag behind what is kept here.
    pub fn offer_snapshot(&mut self, offer: Option<SnapshotOffer>) {
        self.node.mut_store().offer(offer);
    }

    /// Whether somebody lags so far behind that only a snapshot helps, and none is offered.
    #[must_use]
    pub fn wants_snapshot(&self) -> bool {
        self.node.store().wants_offer()
    }

    /// Whether a start would find a vote, or anything of a log. What is on its way to the disk counts for nothing yet.
    #[must_use]
    pub const fn is_touched(&self) -> bool {
        self.touched
    }

    /// Everything up to the [`Persist`] of this number is durable.
    pub fn persisted(&mut self, number: u64) {
        while self.persisting.front().is_some_and(|first| *first <= number) {
            self.persisting.pop_front();
            self.touched = true;
        }
        self.node.on_persist_ready(number);
        let durable = self.persisting.front().copied().unwrap_or(u64::MAX);
        while let Some((_, envelope)) = self.withheld.pop_front_if(|(after, _)| *after < durable) {
            self.release(envelope);
        }
        while let Some((_, entries)) = self.committed.pop_front_if(|(after, _)| *after < durable) {
            self.released.extend(entries);
        }
        self.tell_applied();
        self.hold_timeout();
    }

    /// Everything up to `index` is applied.
    pub fn applied(&mut self, index: LogIndex) {
        self.applied = index;
        self.tell_applied();
        self.hold_timeout();
    }

    fn tell_applied(&mut self) {
        let log = &self.node.raft.raft_log;
        let durable = self.applied.0.min(log.committed).min(log.persisted);
        if durable > log.applied() {
            self.node.advance_apply_to(durable);
        }
    }

    /// Forgets entries up to `index`, applied and durable in the journal, from the oldest on and `count_max` of them at
    /// the most, as long as more than so many bytes are kept.
    pub fn compact(&mut self, index: LogIndex, bytes_max: usize, count_max: usize) {
        // The engine still looks at what it has not been told to be applied and durable.
        let index = index.min(LogIndex(self.node.raft.raft_log.applied()));
        self.node.mut_store().compact(index, bytes_max, count_max);
    }

    /// Takes one turn, if there is anything to do.
    #[expect(clippy::too_many_lines, reason = "one turn of the engine, in the order that it demands")]
    pub fn ready(&mut self) -> Option<Ready> {
        if !self.node.has_ready() {
            let committed = core::mem::take(&mut self.released);
            return (!committed.is_empty()).then(|| Ready { committed, ..Ready::default() });
        }
        self.note_leader();
        self.settle_doubt();
        let mut turn = self.node.ready();
        let role = turn.ss().map(|state| role_of(state.raft_state)).filter(|role| *role != self.role);
        self.role = role.unwrap_or(self.role);
        let mut committed = core::mem::take(&mut self.released);
        let fresh: Vec<_> = turn.take_committed_entries().iter().map(Entry::from_engine).collect();
        let number = turn.number();
        let entries = turn.take_entries();
        let hard_state = turn.hs().map(HardState::from_engine);
        let snapshot = offer_of(turn.snapshot());
        if let Some(snapshot) = &snapshot {
            self.node.mut_store().restart_behind(snapshot);
            committed.clear();
            self.committed.clear();
        }
        self.node.mut_store().append(&entries);
        let barriers = turn.take_read_states().iter().filter_map(barrier_of).collect();
        let at_once = turn.take_messages();
        let after_disk = turn.take_persisted_messages();
        let changes = fresh.iter().any(|entry| entry.kind == EntryKind::Membership);
        let persist = self.persist(number, hard_state, &entries, snapshot.is_some() || changes);
        match self.committed.back().map(|(last, _)| *last).or(changes.then_some(number)) {
            Some(last) => self.committed.push_back((if changes { number } else { last }, fresh)),
            None => committed.extend(fresh),
        }
        self.node.advance_append_async(turn);
        if persist.is_none() && self.persisting.is_empty() {
            self.node.on_persist_ready(number);
        }
        if self.persisting.front().is_none_or(|first| *first > self.voted) {
            at_once.into_iter().for_each(|message| self.release(envelope(message)));
        } else {
            // The only voter leads as soon as it wants to. Were its term forgotten in a crash, it would lead in the same
            // term again, and learners would take other entries for those that they have.
            self.withheld.extend(at_once.into_iter().map(|message| (self.voted, envelope(message))));
        }
        match self.persisting.back() {
            None => after_disk.into_iter().for_each(|message| self.release(envelope(message))),
            Some(last) => {
                self.withheld.extend(after_disk.into_iter().map(|message| (*last, envelope(message))))
            }
        }
        self.hold_timeout();
        Some(Ready { persist, committed, role, snapshot, barriers })
    }

    /// A message may leave: all that it depends on is durable.
    fn release(&mut self, envelope: Envelope) {
        if envelope.message.0.get_msg_type() == MessageType::MsgRequestVote {
            self.asked_votes_in = envelope.message.term();
        }
        self.outbox.push(envelope);
    }

    /// What of a turn must reach the disk. A commit index that moved alone need not: it is learned again.
    fn persist(
        &mut self,
        number: u64,
        hard_state: Option<HardState>,
        entries: &[eraftpb::Entry],
        must: bool,
    ) -> Option<Persist> {
        let voted =
            hard_state.is_some_and(|state| (state.term, state.vote) != (self.told.term, self.told.vote));
        self.told = hard_state.unwrap_or(self.told);
        if entries.is_empty() && !voted && !must {
            return None;
        }
        self.persisting.push_back(number);
        if voted {
            self.voted = number;
        }
        Some(Persist {
            number,
            hard_state: Some(self.told),
            entries: entries.iter().map(Entry::from_engine).collect(),
        })
    }

    /// Whether a message only tells its receiver, which has been sent all entries, up to where they are committed. It may be
    /// left out: the next entries or the next heartbeat say that too. Not while a change of members is under way: a member
    /// that is removed may be sent nothing later.
    #[must_use]
    pub fn only_tells_commit(&self, to: MemberId, message: &Message) -> bool {
        let raft = &self.node.raft;
        message.0.get_msg_type() == MessageType::MsgAppend
            && message.0.entries.is_empty()
            && raft.prs().get(to.0).is_some_and(|progress| progress.state == ProgressState::Replicate)
            && !raft.has_pending_conf()
    }

    /// Whether neither a change of members nor a transfer of leadership is under way, as far as is known here.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let raft = &self.node.raft;
        !raft.has_pending_conf()
            && raft.lead_transferee.is_none()
            && raft.prs().conf().to_conf_state().voters_outgoing.is_empty()
    }

    /// Whether that member is sent entries as they come, and lacks few.
    #[must_use]
    pub fn follows_closely(&self, peer: MemberId) -> bool {
        let last = self.last_index();
        self.node.raft.prs().get(peer.0).is_some_and(|progress| {
            progress.state == ProgressState::Replicate
                && last.since(LogIndex(progress.matched)) <= CLOSE_ENTRIES
        })
    }

    /// What is to be sent, in order for each receiver; to be drained.
    pub const fn outbox(&mut self) -> &mut Vec<Envelope> {
        &mut self.outbox
    }

    /// This member's part.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// This member.
    #[must_use]
    pub fn id(&self) -> MemberId {
        MemberId(self.node.raft.id)
    }

    /// Who leads, as far as this member knows.
    #[must_use]
    pub fn leader(&self) -> Option<MemberId> {
        MemberId(self.node.raft.leader_id).known()
    }

    /// The term this member is in.
    #[must_use]
    pub fn term(&self) -> Term {
        Term(self.node.raft.term)
    }

    /// The highest index known to be committed.
    #[must_use]
    pub fn committed(&self) -> LogIndex {
        LogIndex(self.node.raft.raft_log.committed)
    }

    /// The last index of the log.
    #[must_use]
    pub fn last_index(&self) -> LogIndex {
        LogIndex(self.node.raft.raft_log.last_index())
    }

    /// Bytes of entries that are kept for members that lag.
    #[must_use]
    pub fn window_bytes(&self) -> usize {
        self.node.store().bytes()
    }

    /// Who the members are, as far as it is applied.
    #[must_use]
    pub fn membership(&self) -> Membership {
        Membership::from_engine(&self.node.raft.prs().conf().to_conf_state())
    }

    /// Whether the lead is being handed over: nothing is taken meanwhile.
    #[must_use]
    pub fn is_handing_over(&self) -> bool {
        self.node.raft.lead_transferee.is_some()
    }

    /// How far the others have come; known to a leader alone.
    #[must_use]
    pub fn progress(&self) -> Vec<Progress> {
        let raft = &self.node.raft;
        if raft.state != StateRole::Leader {
            return Vec::new();
        }
        let voters = raft.prs().conf().voters().clone();
        let mut all: Vec<_> = raft
            .prs()
            .iter()
            .filter(|(id, _)| **id != raft.id)
            .map(|(id, progress)| Progress {
                id: MemberId(*id),
                matched: LogIndex(progress.matched),
                active: progress.recent_active,
                wants_snapshot: progress.state == ProgressState::Snapshot,
                votes: voters.contains(*id),
            })
            .collect();
        all.sort_unstable_by_key(|progress| progress.id);
        all
    }

    /// How far that member has come; known to a leader alone, of members.
    #[must_use]
    pub fn matched(&self, peer: MemberId) -> Option<LogIndex> {
        self.node.raft.prs().get(peer.0).map(|progress| LogIndex(progress.matched))
    }

    /// How many turns wait for the disk.
    #[must_use]
    pub fn persisting(&self) -> usize {
        self.persisting.len()
    }

    /// The engine draws election timeouts from a random source of its own; runs must replay, so the seed's stand in
    /// their place. A new one is drawn when the engine's stance changes, and held against the engine otherwise.
    fn hold_timeout(&mut self) {
        if stance_of(&self.node) == self.stance {
            self.node.raft.set_randomized_election_timeout(self.timeout);
        } else {
            self.draw_timeout();
        }
    }

    fn draw_timeout(&mut self) {
        self.stance = stance_of(&self.node);
        self.timeout = self.election_ticks + self.seed.below(self.election_ticks as u64) as usize;
        self.node.raft.set_randomized_election_timeout(self.timeout);
    }
}

fn stance_of(node: &RawNode<Window>) -> Stance {
    (Term(node.raft.term), node.raft.state, node.raft.leader_id)
}

const fn envelope(message: eraftpb::Message) -> Envelope {
    Envelope { to: MemberId(message.to), message: Message(message) }
}

fn offer_of(snapshot: &eraftpb::Snapshot) -> Option<SnapshotOffer> {
    let meta = snapshot.get_metadata();
    let membership = Membership::from_engine(meta.get_conf_state());
    (meta.index > 0).then_some(SnapshotOffer {
        index: LogIndex(meta.index),
        term: Term(meta.term),
        membership,
    })
}

/// The number under which a barrier was asked for, and its index.
fn barrier_of(state: &raft::ReadState) -> Option<(u64, LogIndex)> {
    let number = state.request_ctx.last_chunk::<8>()?;
    Some((u64::from_le_bytes(*number), LogIndex(state.index)))
}

const fn role_of(state: StateRole) -> Role {
    match state {
        StateRole::Leader => Role::Leader,
        StateRole::Candidate | StateRole::PreCandidate => Role::Candidate,
        StateRole::Follower => Role::Follower,
    }
}
