//! The engine, driven: proposals in, what to persist and what to apply out.

use std::collections::VecDeque;

use bytes::Bytes;
use raft::eraftpb::{self, MessageType};
use raft::{RawNode, ReadOnlyOption, StateRole};

use crate::seed::Seed;
use crate::window::Window;
use crate::{Config, Entry, HardState, MemberId, Persist, Ready, Recovered, Role};

/// The proposal was not taken: this member does not lead, or too much is under way. Nothing was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProposalRefused;

/// One member's seat in the council.
pub struct Council {
    node: RawNode<Window>,
    seed: Seed,
    election_ticks: usize,
    role: Role,
    /// Numbers of turns whose entries or votes are on their way to the disk.
    persisting: VecDeque<u64>,
    /// The hard state that the journal was last told of, but for its commit index.
    told: HardState,
}

impl Council {
    /// Takes the seat with what the journal recovered, everything up to `applied` being applied already.
    ///
    /// # Panics
    /// When `recovered` contradicts itself: the journal has verified it, so this is our own mistake.
    #[must_use]
    pub fn new(config: &Config, recovered: &Recovered, applied: u64) -> Self {
        let engine = raft::Config {
            id: config.id.0,
            election_tick: config.election_ticks,
            heartbeat_tick: config.heartbeat_ticks,
            applied,
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
        let mut council = Self {
            node,
            seed: Seed::new(config.seed),
            election_ticks: config.election_ticks,
            role: Role::Follower,
            persisting: VecDeque::new(),
            told: recovered.hard_state,
        };
        council.draw_timeout();
        council
    }

    /// Asks for votes now instead of at the next timeout: right for a member that is alone.
    pub fn campaign(&mut self) {
        // The only error is that this member may not campaign; then it waits as any other.
        let _ = self.node.campaign();
        self.draw_timeout();
    }

    /// One tick of the member's clock.
    pub fn tick(&mut self) {
        self.node.tick();
        self.draw_timeout();
    }

    /// Appends entries with these contents, in order, all or none.
    ///
    /// # Errors
    /// [`ProposalRefused`] when this member does not lead or too much is uncommitted; try again later.
    pub fn propose(&mut self, contents: Vec<Bytes>) -> Result<(), ProposalRefused> {
        let mut message = eraftpb::Message::default();
        message.set_msg_type(MessageType::MsgPropose);
        message.from = self.node.raft.id;
        let entry = |data| eraftpb::Entry { data, ..Default::default() };
        message.set_entries(contents.into_iter().map(entry).collect::<Vec<_>>().into());
        let taken = self.node.raft.step(message).map_err(|_| ProposalRefused);
        self.draw_timeout();
        taken
    }

    /// Everything up to the [`Persist`] of this number is durable.
    pub fn persisted(&mut self, number: u64) {
        while self.persisting.front().is_some_and(|first| *first <= number) {
            self.persisting.pop_front();
        }
        self.node.on_persist_ready(number);
        self.draw_timeout();
    }

    /// Everything up to `index` is applied.
    pub fn applied(&mut self, index: u64) {
        self.node.advance_apply_to(index);
    }

    /// Forgets entries up to `index`: applied, and durable in the journal.
    pub fn compact(&mut self, index: u64) {
        self.node.mut_store().compact(index);
    }

    /// Takes one turn, if there is anything to do.
    pub fn ready(&mut self) -> Option<Ready> {
        if !self.node.has_ready() {
            return None;
        }
        let mut turn = self.node.ready();
        assert!(turn.snapshot().is_empty(), "a snapshot came to an ensemble of one");
        assert!(turn.messages().is_empty(), "an ensemble of one sends no messages");
        assert!(turn.persisted_messages().is_empty(), "an ensemble of one sends no messages");
        let role = turn.ss().map(|state| role_of(state.raft_state)).filter(|role| *role != self.role);
        self.role = role.unwrap_or(self.role);
        let committed = turn.take_committed_entries().iter().map(Entry::from_engine).collect();
        let number = turn.number();
        let entries = turn.take_entries();
        let hard_state = turn.hs().map(HardState::from_engine);
        self.node.mut_store().append(&entries);
        let persist = self.persist(number, hard_state, &entries);
        self.node.advance_append_async(turn);
        if persist.is_none() && self.persisting.is_empty() {
            self.node.on_persist_ready(number);
        }
        self.draw_timeout();
        Some(Ready { persist, committed, role })
    }

    /// What of a turn must reach the disk. A commit index that moved alone need not: it is learned again.
    fn persist(
        &mut self,
        number: u64,
        hard_state: Option<HardState>,
        entries: &[eraftpb::Entry],
    ) -> Option<Persist> {
        let voted =
            hard_state.is_some_and(|state| (state.term, state.vote) != (self.told.term, self.told.vote));
        self.told = hard_state.unwrap_or(self.told);
        if entries.is_empty() && !voted {
            return None;
        }
        self.persisting.push_back(number);
        Some(Persist {
            number,
            hard_state: Some(self.told),
            entries: entries.iter().map(Entry::from_engine).collect(),
        })
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

    /// The term this member is in.
    #[must_use]
    pub fn term(&self) -> u64 {
        self.node.raft.term
    }

    /// How many turns wait for the disk.
    #[must_use]
    pub fn persisting(&self) -> usize {
        self.persisting.len()
    }

    /// The engine draws election timeouts from a random source of its own; runs must replay, so the seed's take
    /// their place wherever the engine may have drawn.
    fn draw_timeout(&mut self) {
        let timeout = self.seed.draw(self.election_ticks, 2 * self.election_ticks);
        self.node.raft.set_randomized_election_timeout(timeout);
    }
}

const fn role_of(state: StateRole) -> Role {
    match state {
        StateRole::Leader => Role::Leader,
        StateRole::Candidate | StateRole::PreCandidate => Role::Candidate,
        StateRole::Follower => Role::Follower,
    }
}
