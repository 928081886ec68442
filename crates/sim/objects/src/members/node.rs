//! One whole member: the shipped core, its edges and its journal, driven step by step without threads, sockets or clocks.
//! Between any two steps anything else may happen: that is where threads of the real driver would interleave, and where a
//! crash may come. Knows no rule of what is right.

use std::sync::Arc;

use base::{LogIndex, MonoTime, Now, Random, Term};
use consensus_raft::Entry;
use consensus_replica::journal_executor::ExecutorConfig;
use consensus_replica::lifecycle::Ending;
use consensus_replica::{Fault, JournalRequest, MemberId, WantedMembers};
use objects_http::EdgeConfig;
use objects_replica::edge::{Answer, Request, SessionProof, Subject};
use objects_replica::{Core, CoreConfig, PeerMessage, ReplayedState, replay};
use objects_state::guest::{Engine, NoEngine};
use objects_state::{Command, Identity, Loader, ObjectName, Origin, Principal, SessionId, State};
use sim_group::{JournalDriver, NodeError};
use sim_kit::disk::SimDisk;
use storage_raft_log::{Journal, JournalConfig, KeepPolicy, Recovered};

use super::client::ROOT_TOKEN;
use super::deaths::Deaths;
use super::edge::{EdgeNews, EdgeThread, FromClient};
use super::engine::FakeEngine;
use super::uneven::Uneven;
use super::wasm::PacedGuests;

/// How a node is set up.
#[derive(Clone, Debug)]
pub(crate) struct NodeConfig {
    pub(crate) core: CoreConfig,
    pub(crate) journal: JournalConfig,
    pub(crate) keep: KeepPolicy,
    pub(crate) piece_bytes: u64,
    pub(crate) chunks_at_once: usize,
    pub(crate) snapshot_bytes_per_second: u64,
    /// How long a call waits before it is answered by its ticket, milliseconds.
    pub(crate) hold_ms: u64,
    /// Which modules members run.
    pub(crate) modules: Modules,
    /// By how much this member's engine differs from the others', if it does.
    pub(crate) uneven: Option<u8>,
}

/// The modules of users that members run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modules {
    None,
    /// Words, which the engine of the state's own tests takes for modules.
    Words,
    /// WebAssembly; with what the engines of the run draw from.
    WebAssembly(u64),
}

impl Modules {
    pub(crate) const fn are_wasm(self) -> bool {
        matches!(self, Self::WebAssembly(_))
    }
}

/// How often a process asks for a run beside the commands before it has ended, at the most.
const LONG_RUN_ASKED_MAX: u64 = 60;

/// What runs modules in a process: each life of a member has one of its own.
fn engine(modules: Modules, life: u64, deaths: &Arc<Deaths>) -> Arc<dyn Engine> {
    match modules {
        Modules::None => Arc::new(NoEngine),
        Modules::Words => Arc::new(FakeEngine::patient(LONG_RUN_ASKED_MAX)),
        Modules::WebAssembly(seed) => Arc::new(PacedGuests::new(Random::new(seed ^ life << 32), deaths)),
    }
}

/// A step of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// An edge's thread makes its round.
    Edge(u16),
    /// The core takes what an edge asks.
    CoreOf(u16),
    /// The core proposes and takes raft's turns.
    Advance,
    /// The journal goes on with what it was asked.
    Journal,
    /// The core applies a bounded part of what is committed.
    Apply,
}

impl Step {
    /// A number of its own, for traces.
    pub(crate) const fn number(self) -> u64 {
        match self {
            Self::Advance => 0,
            Self::Journal => 1,
            Self::Apply => 2,
            Self::Edge(edge) => 0x100 + edge as u64,
            Self::CoreOf(edge) => 0x200 + edge as u64,
        }
    }
}

/// What a start loads: the state of the newest snapshot, with what is known to be committed applied to it.
pub(crate) struct Loaded {
    journal: Journal<SimDisk>,
    seat: consensus_replica::start::Seat,
    state: State,
    applied: Vec<Entry>,
    torn_tail: bool,
}

impl Loaded {
    /// Of a journal that was opened.
    pub(crate) fn of(
        mut journal: Journal<SimDisk>,
        recovered: &Recovered,
        config: &NodeConfig,
        (life, deaths): (u64, &Arc<Deaths>),
    ) -> Result<Self, NodeError> {
        let mut state = load_state(&mut journal)?;
        let engine = engine(config.modules, life, deaths);
        state.set_engine(match config.uneven {
            Some(by) => Arc::new(Uneven::new(engine, by)),
            None => engine,
        });
        let window = config.core.replica.window_bytes_max;
        let replay = replay(recovered, journal.membership(), state, window);
        let (seat, replayed, applied) = sim_group::storage::replay(&mut journal, replay, config.piece_bytes)?;
        let ReplayedState { state, .. } = replayed;
        let torn_tail = recovered.torn_tail.is_some();
        Ok(Self { journal, seat, state, applied, torn_tail })
    }
}

fn load_state(journal: &mut Journal<SimDisk>) -> Result<State, NodeError> {
    let malformed = |error| NodeError::Snapshot(format!("{error:?}"));
    let Some(mut reader) = journal.open_snapshot().map_err(NodeError::Read)? else { return Ok(State::new()) };
    let mut loader = Loader::default();
    while let Some(chunk) = journal.read_snapshot(&mut reader).map_err(NodeError::Read)? {
        loader.chunk(&chunk).map_err(malformed)?;
    }
    loader.finish().map_err(malformed)
}

/// A sign of a session's client that a member which serves has heard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sign {
    pub(crate) session: SessionId,
    /// How long ago it was, milliseconds.
    pub(crate) age_ms: u64,
}

/// A request that a core has taken in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) number: u64,
    /// That of its state then.
    pub(crate) position: u64,
    /// By the clock of its machine.
    pub(crate) mono_ms: u64,
    /// Whether its principal was known then, and had any right; and so were its type and object, if that is one of users.
    pub(crate) gets_in: bool,
}

/// What happened at a member since it was looked at last.
#[derive(Default)]
pub(crate) struct NodeNews {
    pub(crate) edges: Vec<EdgeNews>,
    /// Entries applied, wholly or in part; the last perhaps only in part.
    pub(crate) applied: Vec<Entry>,
    /// The last entry that is applied wholly.
    pub(crate) applied_index: LogIndex,
    /// Entries that the journal was asked to write.
    pub(crate) written: Vec<(LogIndex, Term)>,
    /// Positions and digests of its state, behind steps of applying.
    pub(crate) digests: Vec<(u64, u64)>,
    pub(crate) signs: Vec<Sign>,
    /// Requests that the core has taken in.
    pub(crate) taken: Vec<Taken>,
    pub(crate) outgoing: Vec<(MemberId, PeerMessage)>,
    /// Another state has taken the place of its own.
    pub(crate) replaced: u64,
    /// Elections that it has won.
    pub(crate) won: u64,
    /// Sessions that it has found silent.
    pub(crate) condemned: u64,
    pub(crate) abandoned: u64,
    pub(crate) without_room: u64,
}

/// See the module.
pub(crate) struct Node {
    state: State,
    core: Core,
    edges: Vec<EdgeThread>,
    journal: JournalDriver<SimDisk>,
    told_index: LogIndex,
    news: NodeNews,
    /// Leads won, states replaced, sessions condemned, as they were looked at last.
    counted: [u64; 3],
    torn_tail: bool,
    /// How its core has ended, if it has found its state wrong.
    differs: Option<Ending>,
    now: Now,
}

impl Node {
    /// Goes on with what was loaded.
    pub(crate) fn begin(
        loaded: Loaded,
        config: &NodeConfig,
        wanted: Option<WantedMembers>,
        (seed, mut random): ([u8; 32], Random),
        now: Now,
    ) -> Self {
        let Loaded { journal, seat, state, applied, torn_tail } = loaded;
        let told_index = seat.applied().0;
        let core = Core::new(&config.core, &seat, &state, wanted, seed, now);
        let executor = ExecutorConfig {
            snapshot_bytes_per_second: config.snapshot_bytes_per_second,
            chunks_per_read: config.chunks_at_once,
            keep: config.keep,
        };
        let edge = |number| {
            let member = config.core.replica.member.0;
            let edge_config = EdgeConfig {
                hold_ms: config.hold_ms,
                any_host: true,
                root_token: objects_http::hash_of_token(ROOT_TOKEN),
                ..EdgeConfig::new(member, number)
            };
            EdgeThread::new(edge_config, random.fork())
        };
        let edges = (0..config.core.edges).map(edge).collect();
        let mut node = Self {
            state,
            core,
            edges,
            journal: JournalDriver::new(journal, &executor, Some(random.number())),
            told_index,
            news: NodeNews { applied, ..NodeNews::default() },
            counted: [0; 3],
            torn_tail,
            differs: None,
            now,
        };
        node.look_at_digest();
        node
    }

    pub(crate) const fn had_torn_tail(&self) -> bool {
        self.torn_tail
    }

    pub(crate) fn edges(&self) -> u16 {
        self.edges.len() as u16
    }

    /// Something of a client comes to one of its edges.
    pub(crate) fn receive(&mut self, edge: u16, from: FromClient) {
        if let Some(edge) = self.edges.get_mut(usize::from(edge)) {
            edge.receive(from);
        }
    }

    /// A message of another member.
    pub(crate) fn peer(&mut self, from: MemberId, message: PeerMessage) -> Result<(), NodeError> {
        let taken = self.core.peer(from, message, self.now);
        self.collect();
        taken.map_err(|fault| NodeError::Fault(fault.to_string()))
    }

    /// The connection to another member stands, or broke.
    pub(crate) fn link(&mut self, peer: MemberId, up: bool) {
        self.core.link(peer, up, self.now);
        self.collect();
    }

    /// Messages to another member were dropped on the way.
    pub(crate) fn lost(&mut self, peer: MemberId) {
        self.core.lost(peer, self.now);
    }

    /// A thread looks at its clock.
    pub(crate) fn look_at_clock(&mut self, mono: MonoTime) {
        let passed = mono.since(self.now.mono());
        self.now.advance_ms(passed);
        self.now.wall = self.now.wall.plus_ms(passed as i64);
    }

    /// The wall clock is set.
    pub(crate) const fn jump(&mut self, by_ms: i64) {
        self.now.wall = self.now.wall.plus_ms(by_ms);
    }

    /// Time has passed: the core is told if it is due.
    pub(crate) fn pass(&mut self) {
        if self.now.mono() >= self.core.next_deadline() {
            self.core.tick(self.now, &self.state);
            self.collect();
        }
    }

    /// From now on, the journal begins no more flushes than these.
    pub(crate) const fn allow_flushes(&mut self, most: u32) {
        self.journal.allow_flushes(most);
    }

    /// Whether a flush is what the journal does next.
    pub(crate) const fn awaits_flush(&self) -> bool {
        self.journal.awaits_flush()
    }

    /// Takes one step.
    ///
    /// # Errors
    /// The disk failed, or the core found itself broken: the member is dead.
    pub(crate) fn step(&mut self, step: Step) -> Result<(), NodeError> {
        if matches!(step, Step::CoreOf(_) | Step::Advance | Step::Apply) {
            self.hear_journal()?;
        }
        match step {
            Step::Edge(edge) => self.round(edge),
            Step::CoreOf(edge) => self.listen(edge),
            Step::Advance => self.core.advance(self.now),
            Step::Journal => {
                let run = self.journal.run(self.now.mono().ms() * 1000);
                run.map_err(|fault| NodeError::Fault(fault.to_string()))?;
            }
            Step::Apply => self.apply()?,
        }
        self.collect();
        Ok(())
    }

    fn round(&mut self, edge: u16) {
        let now = self.now.mono();
        if let Some(edge) = self.edges.get_mut(usize::from(edge)) {
            edge.round(now);
            self.news.edges.push(edge.take_news());
        }
    }

    /// The core takes what an edge asks.
    fn listen(&mut self, edge: u16) {
        let Some(edge) = self.edges.get_mut(usize::from(edge)) else { return };
        for request in edge.take_asks() {
            self.note(&request);
            self.core.receive(request, &self.state, self.now);
        }
    }

    /// Notes whose client a request is a sign of, if this member serves: what the core should make of it.
    fn note(&mut self, request: &Request) {
        let (position, mono_ms) = (self.state.position(), self.now.mono().ms());
        if let Some(Origin { number, .. }) = objects_replica::edge::origin_of(request) {
            let gets_in = is_known(request, &self.state);
            self.news.taken.push(Taken { number, position, mono_ms, gets_in });
        }
        if !self.core.is_serving() || self.now.mono() > self.core.lease_until() {
            return;
        }
        let now = self.now.mono();
        if let Request::Heard { sessions, .. } = request {
            let open = sessions.iter().filter(|(session, _)| self.state.session(*session).is_some());
            let signs = open.map(|(session, at)| Sign { session: *session, age_ms: now.since(*at) });
            self.news.signs.extend(signs);
        } else if let Some(proof) = proof_of(request, &self.state)
            && let Some(open) = self.state.session(proof.session)
            && open.secret_hash == proof.secret_hash
            && admitted(request, &self.state).is_some_and(|principal| principal.name == open.principal)
        {
            self.news.signs.push(Sign { session: proof.session, age_ms: 0 });
        }
    }

    fn apply(&mut self) -> Result<(), NodeError> {
        if !self.core.has_work(self.state.snapshot_side_bytes()) {
            return Ok(());
        }
        let committed: Vec<_> = self.core.committed().cloned().collect();
        let applied = self.core.apply(&mut self.state, self.now);
        if let Err(fault) = applied {
            self.differs = match fault {
                Fault::Divergence { .. } => Some(Ending::Diverged),
                Fault::Rotten { .. } => Some(Ending::Rotten),
                _ => None,
            };
            return Err(NodeError::Fault(fault.to_string()));
        }
        // The next may have been begun: clients can be told of what is in it.
        let (told, begun) = (self.told_index, self.core.applied_index().next());
        let is_new = |entry: &Entry| (told.next()..=begun).contains(&entry.index);
        self.news.applied.extend(committed.into_iter().filter(is_new));
        self.told_index = self.news.applied.last().map_or(told, |entry| entry.index.max(told));
        self.look_at_digest();
        Ok(())
    }

    fn look_at_digest(&mut self) {
        let seen = (self.state.position(), self.state.digest());
        if self.news.digests.last() != Some(&seen) {
            self.news.digests.push(seen);
        }
    }

    /// What the core's thread hands on at the end of a step.
    fn collect(&mut self) {
        for (number, edge) in (0..).zip(&mut self.edges) {
            let answers: &mut Vec<Answer> = self.core.answers(number);
            edge.hear(answers);
        }
        for request in self.core.take_requests() {
            if let JournalRequest::Persist { batch, .. } = &request {
                self.news.written.extend(batch.entries.iter().map(|entry| (entry.index, entry.term)));
            }
            self.journal.feed(request);
        }
        self.news.outgoing.append(&mut self.core.take_outgoing());
    }

    /// The core takes the journal's answers, before whatever else it does.
    fn hear_journal(&mut self) -> Result<(), NodeError> {
        for answer in self.journal.take_answers() {
            let taken = self.core.journal(answer, self.now);
            taken.map_err(|fault| NodeError::Fault(fault.to_string()))?;
        }
        Ok(())
    }

    /// What happened since the last time.
    pub(crate) fn take_news(&mut self) -> NodeNews {
        let status = self.core.status();
        let counted = [status.leads_won, status.states_replaced, status.condemned];
        let [won, replaced, condemned] = std::mem::replace(&mut self.counted, counted);
        let [(_, abandoned), (_, without_room)] = self.journal.take_counts();
        NodeNews {
            won: counted[0] - won,
            replaced: counted[1] - replaced,
            condemned: counted[2] - condemned,
            applied_index: status.applied_index,
            abandoned,
            without_room,
            ..std::mem::take(&mut self.news)
        }
    }

    /// Backups that edges are to send: the edge, the attempt, and which snapshot.
    pub(crate) fn take_backups(&mut self) -> Vec<(u16, u64, LogIndex)> {
        let of = |(number, edge): (u16, &mut EdgeThread)| {
            edge.take_backups().into_iter().map(move |(attempt, index)| (number, attempt, index))
        };
        (0..).zip(&mut self.edges).flat_map(of).collect()
    }

    /// The file of one is open, or cannot be read.
    pub(crate) fn backup_opened(&mut self, edge: u16, attempt: u64, position: Option<u64>) {
        if let Some(edge) = self.edges.get_mut(usize::from(edge)) {
            edge.backup_opened(attempt, position);
        }
    }

    /// The core has ended, and its process goes on: edges tell their clients.
    pub(crate) fn core_ended(&mut self) {
        self.edges.iter_mut().for_each(EdgeThread::core_ended);
        let news: Vec<_> = self.edges.iter_mut().map(EdgeThread::take_news).collect();
        self.news.edges.extend(news);
    }

    /// The state as it is applied now.
    pub(crate) const fn state(&self) -> &State {
        &self.state
    }

    /// How its core has ended, if it has found its state wrong.
    pub(crate) const fn differs(&self) -> Option<Ending> {
        self.differs
    }

    /// Its memory changes by itself.
    #[cfg(test)]
    pub(crate) fn rot(&mut self, object: &objects_state::ObjectName) {
        self.state.rot(object);
    }

    /// Its core, to ask it of its status.
    pub(crate) const fn core(&mut self) -> &mut Core {
        &mut self.core
    }

    /// Whether nothing of clients is under way here.
    pub(crate) fn is_idle(&self) -> bool {
        let status = self.core.status();
        let waiting = status.commands_waiting + status.requests_joined + status.requests_waiting;
        waiting + status.watches == 0 && self.edges.iter().all(EdgeThread::is_idle)
    }
}

/// The session in whose name a request comes.
fn proof_of(request: &Request, state: &State) -> Option<SessionProof> {
    match request {
        Request::ByToken { request, .. } => proof_of(request, state),
        Request::Command { command, secret_hash } => match command.caller()?.identity {
            Identity::Session { session, .. } => Some(SessionProof { session, secret_hash: (*secret_hash)? }),
            _ => None,
        },
        // What is refused for its type is looked at no further.
        Request::OfType { type_name, request, .. } => {
            state.type_named(type_name).and_then(|_| proof_of(request, state))
        }
        Request::Query { proof, .. } | Request::Collect { proof, .. } => *proof,
        Request::Renew { proof, .. } | Request::Watch { subject: Subject::Session(proof), .. } => {
            Some(*proof)
        }
        _ => None,
    }
}

/// Whether a member needs not ask what was committed to know what is asked for, and by whom.
fn is_known(request: &Request, state: &State) -> bool {
    let asked = if let Request::ByToken { request, .. } = request { request } else { request };
    let is_there = match asked {
        Request::OfType { type_name, request, .. } => {
            let kind = state.type_named(type_name);
            let object = match (&**request, kind) {
                (Request::Command { command: Command::Call(call), .. }, Some(kind)) => {
                    Some(ObjectName { kind, name: call.object.name.clone() })
                }
                _ => None,
            };
            kind.is_some() && object.is_none_or(|object| state.describe(&object).is_some())
        }
        _ => true,
    };
    is_there && principal_of(request, state).is_some()
}

/// Who asks, if that is known and may ask anything.
fn principal_of(request: &Request, state: &State) -> Option<Principal> {
    let principal = match request {
        Request::ByToken { hash, .. } => state.principal_of(hash)?,
        request => request.principal()?.clone(),
    };
    state.admit_principal(&principal).ok()?;
    Some(principal)
}

/// Who asks, unless it is refused for want of rights: then nothing is heard of anybody.
fn admitted(request: &Request, state: &State) -> Option<Principal> {
    let principal = principal_of(request, state)?;
    let asked = if let Request::ByToken { request, .. } = request { request } else { request };
    if let Request::Command { command, .. } = asked {
        let mut command = command.clone();
        command.caller_mut()?.principal = principal.clone();
        state.judge_command(&command).ok()?;
    }
    Some(principal)
}
