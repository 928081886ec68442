//! What the commands of live objects mean: the machine that the replica drives.

mod access;
mod apply;
mod levels;
mod receive;
mod state;
mod timeouts;

use base::{MonoTime, Now};
use consensus_raft::{LogIndex, Malformed, MemberId, Membership};
use consensus_replica::{Persisting, Stamp, StateMachine};
use objects_state::{Command, Effects, Problem, Slug, State};

pub use self::state::{ReplayedState, StateLoader, replay};
use crate::CoreConfig;
use crate::addresses::Addresses;
use crate::backups::Backups;
use crate::commands::Commands;
use crate::disagreement::Disagreement;
use crate::entry;
use crate::gone::GoneRequests;
use crate::group::Group;
use crate::joined::JoinedRequests;
use crate::long_queries::LongQueries;
use crate::long_runs::LongRuns;
use crate::mailboxes::Mailboxes;
use crate::message::ObjectsMessage;
use crate::moments::Moments;
use crate::rates::Rates;
use crate::readiness::{ASK_MS, Readiness};
use crate::sessions::{Condemned, Sessions};
use crate::stamps::Stamps;
use crate::waiting::WaitingRequests;
use crate::watches::Watches;

/// After how long a tick that was proposed and not applied is taken for lost, milliseconds.
const TICK_LOST_MS: u64 = 1_000;

/// See the module.
pub struct ObjectsMachine {
    pub(crate) out: Mailboxes,
    pub(crate) commands: Commands,
    pub(crate) sessions: Sessions,
    pub(crate) joined: JoinedRequests,
    pub(crate) watches: Watches,
    pub(crate) moments: Moments,
    pub(crate) addresses: Addresses,
    pub(crate) waiting: WaitingRequests,
    pub(crate) readiness: Readiness,
    pub(crate) long_runs: LongRuns,
    pub(crate) long_queries: LongQueries,
    pub(crate) backups: Backups,
    disagreement: Disagreement,
    stamps: Stamps,
    /// When a tick is due, as far as is known here.
    tick_due: MonoTime,
    /// When one was proposed that is not applied yet.
    tick_proposed: Option<MonoTime>,
    gone: GoneRequests,
    /// Who is in the group.
    members: Membership,
    /// How often tokens and rights had changed when what goes on was judged last.
    access_changes: u64,
    /// How many calls are let in.
    rates: Rates,
    /// Whether this process has given its first command.
    is_known: bool,
    began: Now,
    /// What the present command did; empty between commands.
    effects: Effects,
    config: CoreConfig,
}

impl ObjectsMachine {
    pub(crate) fn new(config: &CoreConfig, state: &State, incarnation: u64, now: Now) -> Self {
        let known = state.last_of(config.replica.member.number().0);
        let (readiness, mut long_runs) = (Readiness::new(state), LongRuns::new(state));
        long_runs.look(state, !readiness.must_wait());
        Self {
            out: Mailboxes::new(config.edges, state.position()),
            commands: Commands::new(config, incarnation, known, now),
            sessions: Sessions::new(config),
            joined: JoinedRequests::new(),
            watches: Watches::new(state.position()),
            moments: Moments::default(),
            addresses: Addresses::new(config.serves_at.clone()),
            waiting: WaitingRequests::default(),
            readiness,
            long_runs,
            long_queries: LongQueries::new(state),
            backups: Backups::default(),
            disagreement: Disagreement::new(state),
            stamps: Stamps::new(state.stamp(), now),
            tick_due: MonoTime::MAX,
            tick_proposed: None,
            gone: GoneRequests::new(),
            members: Membership::default(),
            access_changes: state.access_changes(),
            rates: Rates::default(),
            is_known: false,
            began: now,
            effects: Vec::new(),
            config: config.clone(),
        }
    }

    /// These sessions have been silent for their whole time to live.
    fn expire(&mut self, condemned: Vec<Condemned>) {
        for (session, generation) in condemned {
            self.commands.lead(&Command::ExpireSession { session, generation });
        }
    }

    /// The leader lets the deadlines pass that are due.
    fn propose_tick(&mut self, group: &Group) {
        let now = group.now().mono();
        let is_under_way = self.tick_proposed.is_some_and(|at| now < at.plus_ms(TICK_LOST_MS));
        if group.leads() && self.tick_due <= now && !is_under_way {
            self.tick_proposed = Some(now);
            self.commands.lead(&Command::Tick);
        }
    }

    /// Members' engines are done with versions.
    fn propose_ready(&mut self, group: &Group) {
        if group.leads() {
            for command in self.readiness.due(group.view()) {
                self.commands.lead(&command);
            }
        }
    }

    /// Members' engines are done with runs.
    fn propose_ends(&mut self, group: &Group) {
        if group.leads() {
            for command in self.long_runs.due(group.view()) {
                self.commands.lead(&command);
            }
        }
    }

    fn raise_level(&mut self, state: &State, group: &mut Group) {
        if let Some(level) = group.level_to_raise(state.feature_level(), state.position() <= 1) {
            self.commands.lead(&Command::FeatureLevel(level));
        }
    }

    fn look_for_deadlines(&mut self, state: &State, now: Now) {
        self.tick_due =
            state.next_deadline().map_or(MonoTime::MAX, |deadline| self.stamps.due(deadline, now));
    }
}

impl StateMachine for ObjectsMachine {
    type Message = ObjectsMessage;
    type Waiter = u64;
    /// Meanwhile the leader hears which run differs.
    const PARTING_MS: u64 = 500;

    fn is_readable(command: &[u8]) -> bool {
        entry::is_readable(command)
    }

    /// A tick: what is due under the new leader's clock passes.
    fn first_command(&self, out: &mut Vec<u8>) {
        entry::of_leader(&Command::Tick, out);
    }

    fn propose_waiting(&mut self, group: &mut Group) {
        self.propose_tick(group);
        self.propose_ready(group);
        self.propose_ends(group);
        self.sessions.report(Some(group.view().own()), group);
        if !self.commands.propose_waiting(&mut self.stamps, group) {
            self.tick_proposed = None;
            self.readiness.forget_proposed();
            self.long_runs.forget_proposed();
            self.disagreement.forget_proposed();
        }
    }

    fn forward_waiting(&mut self, leader: Option<MemberId>, group: &mut Group) {
        self.sessions.report(leader, group);
        self.readiness.report(leader, group);
        self.long_runs.report(leader, group);
        self.commands.forward_waiting(leader, group);
    }

    fn persisting(&mut self, number: u64, log_bytes: u64) -> Persisting {
        let commands = self.commands.handed_over(number, log_bytes);
        Persisting { commands, reserved: !self.commands.is_writable() }
    }

    fn journal_room(&mut self, after: u64, bytes: u64) {
        self.commands.room(after, bytes);
    }

    fn disk_space(&mut self, writable: bool) {
        self.commands.space(writable);
        if !writable {
            for pending in self.commands.take_ungiven(MonoTime::MAX) {
                let problem = Problem::new(Slug::DiskFull, "the disk has no room for commands");
                pending.origin.into_iter().for_each(|origin| self.out.refuse(origin, problem.clone()));
            }
            for origin in self.commands.take_resting(MonoTime::MAX) {
                let problem = Problem::new(Slug::DiskFull, "the disk has no room for commands");
                self.out.refuse(origin, problem);
            }
        }
    }

    fn leader_changed(&mut self, _: bool, now: Now) {
        self.commands.leader_changed(now);
        self.tick_proposed = None;
        self.readiness.leader_changed();
        self.long_runs.leader_changed();
        self.disagreement.forget_proposed();
    }

    fn give_again(&mut self, now: Now) {
        self.commands.give_again(now);
    }

    fn is_stuck(&mut self, group: &Group) -> bool {
        self.commands.is_stuck(group.now())
    }

    fn begin_turn(&mut self, _: &State, group: &mut Group) {
        if self.members != *group.view().members() {
            self.members.clone_from(group.view().members());
        }
    }

    fn holds_up(&self) -> bool {
        false
    }

    fn must_wait(&self) -> bool {
        self.readiness.must_wait()
    }

    fn cost_to_apply(state: &State, command: &[u8]) -> u64 {
        apply::cost(state, command)
    }

    fn prefetch<'a>(_: &State, _: impl Iterator<Item = &'a [u8]>) -> usize {
        0
    }

    fn apply(
        &mut self,
        state: &mut State,
        stamp: Stamp,
        command: &[u8],
        group: &mut Group,
    ) -> Result<usize, Malformed> {
        self.apply_one(state, stamp, command, group)
    }

    fn commands_applied(&mut self, stamp: Stamp, _: u64, group: &Group) {
        self.stamps.noted(stamp.wall, group.now());
    }

    fn entry_applied(&mut self, _: LogIndex) {}

    fn end_turn(&mut self, state: &State, now: Now) {
        self.out.set_position(state.position());
        self.look_for_deadlines(state, now);
        self.readiness.look(state);
        self.long_runs.look(state, !self.readiness.must_wait());
        self.gone.applied_before(self.commands.sequences().0);
        for request in self.waiting.reached(state.position()) {
            self.reached(request, state, now.mono());
        }
    }

    fn go_on(&mut self, waiter: u64, state: &State, group: &mut Group) {
        if let Some((request, since)) = self.waiting.take(waiter) {
            self.free(request, since, state, group);
        }
    }

    fn state_replaced(&mut self, state: &State, group: &mut Group) {
        self.take_over(state, group);
    }

    fn disagrees(&mut self, group: &mut Group) {
        self.disagreement.tell(group);
    }

    fn message(&mut self, from: MemberId, message: ObjectsMessage, group: &mut Group) {
        match message {
            ObjectsMessage::Forward(content) => self.commands.relay(from, &content, group),
            ObjectsMessage::HeardAsk { round } => self.sessions.asked(from, round, group, &mut self.out),
            ObjectsMessage::Heard { round, ages } => {
                let condemned = self.sessions.peer_heard(from, round, &ages, group);
                self.expire(condemned);
            }
            ObjectsMessage::Compiled(versions) => self.readiness.hear(from, versions),
            ObjectsMessage::Ended(runs) => self.long_runs.hear(from, runs),
            ObjectsMessage::Serves(address) => self.addresses.hear(from, address, group),
            ObjectsMessage::Ran(told) => self.disagreement.hear(from, told),
        }
    }

    /// A member that has no callers is not known as one: each may have some.
    fn serves_clients(&self, _: MemberId) -> bool {
        true
    }

    /// With its first command a process is known to the state, and what still comes of an earlier one is over. So it gives
    /// one of its own, which does nothing else.
    fn serving(&mut self, serves: bool) {
        if serves && !core::mem::replace(&mut self.is_known, true) {
            self.commands.take_own(&Command::CancelTicket { caller: None, ticket: 0 }, self.began);
        }
    }

    fn stood_still(&mut self, for_ms: u64, now: Now) {
        self.sessions.forgive(for_ms, now);
    }

    fn lead(&mut self, state: &State, group: &mut Group) {
        self.raise_level(state, group);
        self.look_for_deadlines(state, group.now());
        self.long_runs.look(state, !self.readiness.must_wait());
        if let Some(command) = self.disagreement.due(state, group.now().mono()) {
            self.commands.lead(&command);
        }
        let condemned = self.sessions.lead(group, &mut self.out);
        self.expire(condemned);
    }

    fn lead_ended(&mut self) {
        self.sessions.lead_ended();
        self.tick_proposed = None;
    }

    fn members_changed(&mut self) {
        self.sessions.members_changed();
    }

    fn deadlines(&self, now: Now) -> impl Iterator<Item = MonoTime> {
        let tick = self.tick_proposed.is_none().then_some(self.tick_due);
        let ready = self.readiness.is_open().then(|| now.mono().plus_ms(ASK_MS));
        // Without a leader none of them goes, however late it is.
        let late = |at: MonoTime| if at > now.mono() { at } else { now.mono().plus_ms(ASK_MS) };
        let rest = self.commands.rest_ends().map(late);
        let long = self.long_runs.asks_at(now.mono());
        let queries = self.long_queries.asks_at(now.mono());
        self.sessions.deadlines().into_iter().chain([tick, ready, rest, long, queries]).flatten()
    }
}
