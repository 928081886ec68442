//! One member with its shard and its journal, driven step by step without threads, sockets or clocks.
//!
//! Between any two steps anything else may happen: that is where threads of the real driver would interleave, and
//! where a crash may come. A test decides the order of steps, from a seed. Knows no rule of what is right.

mod journal_driver;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use consensus_raft::{Entry, EntryKind};
use council_frontend::{CloseReason, ConnId, FromCore, Front, FrontConfig, FrontEvent, Peer, ToCore};
use council_replica::journal_executor::ExecutorConfig;
use council_replica::{Core, CoreConfig, CoreEffect, MemberId, Now, PeerMessage, Replay, start};
use council_tree::{Changes, Command, Operation, Stamp, Tree};
use council_wire::{FRAME_HEADER, Frame, Reader, RequestHeader, next_frame};
use storage_raft_log::{Disk, Journal, JournalConfig, KeepPolicy, OpenError, ReadError};

use self::journal_driver::JournalDriver;

/// Turns after which a member that is alone serves, however long its log.
const ROUNDS_TO_SERVE: u64 = 100_000;

/// Turns in which nothing is applied, after which time has to pass.
const IDLE_ROUNDS: u64 = 100;

/// Why a node did not start, or stopped.
#[derive(Debug)]
pub enum NodeError {
    /// The journal could not be opened.
    Open(OpenError),
    /// The journal's snapshot or log could not be read.
    Read(ReadError),
    /// The disk failed under way, or the core found itself broken.
    Fault(String),
}

/// How a node is set up.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// The core's settings; it serves one shard here.
    pub core: CoreConfig,
    /// The shard's settings.
    pub front: FrontConfig,
    /// The journal's settings.
    pub journal: JournalConfig,
    /// What is kept when a snapshot is saved.
    pub keep: KeepPolicy,
    /// Bytes of log that a start reads at a time; 0 is an entry at a time.
    pub piece_bytes: u64,
    /// Chunks of a snapshot that are read at once for a member that asks for it.
    pub chunks_at_once: usize,
    /// Bytes of a snapshot that are written a second at the most.
    pub snapshot_bytes_per_second: u64,
    /// What decides how many steps the journal takes at a time. Without it, it goes on until it has nothing to do.
    pub journal_seed: Option<u64>,
    /// What passwords, ids and timeouts are drawn from.
    pub seed: [u8; 32],
    /// Who votes when the ensemble is founded.
    pub founders: Vec<u64>,
}

/// A journal of small files, so that a short run meets their ends.
#[must_use]
pub fn small_journal() -> JournalConfig {
    JournalConfig {
        segment_bytes: 64 << 10,
        first_segment_bytes: 16 << 10,
        reserve_bytes: 4 << 10,
        prepare_step_bytes: 16 << 10,
        ..JournalConfig::default()
    }
}

/// A step of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The shard drains its stream, then takes what its connections have sent.
    Shard,
    /// The core takes the shard's messages.
    Core,
    /// The core proposes and takes raft's turns.
    Advance,
    /// The journal goes on with what it was asked: it appends, flushes, answers, or does all of it and more.
    Journal,
    /// The core applies a bounded part of what is committed.
    Apply,
}

/// All steps, for those who draw one.
pub const STEPS: [Step; 5] = [Step::Shard, Step::Core, Step::Advance, Step::Journal, Step::Apply];

/// One running member.
pub struct Node<D: Disk> {
    tree: Tree,
    core: Core,
    front: Front,
    journal: JournalDriver<D>,
    stream: VecDeque<FromCore>,
    to_core: VecDeque<ToCore>,
    /// Bytes sent and not consumed, by connection.
    input: BTreeMap<ConnId, Vec<u8>>,
    /// Bytes answered and not taken, by connection.
    output: BTreeMap<ConnId, Vec<u8>>,
    closed: Vec<ConnId>,
    /// Connections that are to be read from no more for now.
    paused: BTreeSet<ConnId>,
    /// Connections whose clients read nothing, and those for which there is something to be sent.
    asleep: BTreeSet<ConnId>,
    unsent: BTreeSet<ConnId>,
    /// The most bytes that were kept for one of them, and how many were cut off for it, since the last time.
    unsent_bytes: usize,
    cut_off: u64,
    /// Which of its session's connections each one is.
    generations: BTreeMap<ConnId, u32>,
    /// Requests that became commands: their connections, their numbers and those of the commands.
    sequences: Vec<(ConnId, i32, u64)>,
    /// Entries applied, wholly or in part, for readers of the log, and the last that was among them.
    applied: Vec<Entry>,
    told_index: u64,
    /// Entries that the journal was asked to write, by index and term.
    written: Vec<(u64, u64)>,
    torn_tail: bool,
    /// The last transaction of the tree that this life began with, or was given since: it can remember no change up to
    /// there.
    began_zxid: i64,
    /// What was counted last: elections won, trees replaced, sessions taken up too late, sessions condemned.
    counted: [u64; 4],
    now: Now,
}

impl<D: Disk> Node<D> {
    /// Opens the journal on this disk and recovers the tree. One that is alone goes on until it serves.
    ///
    /// # Errors
    /// The journal refuses, or the disk fails on the way.
    pub fn start(disk: D, config: &NodeConfig, now: Now) -> Result<Self, NodeError> {
        let (mut journal, recovered) =
            Journal::open(disk, config.journal.clone()).map_err(NodeError::Open)?;
        if start::is_unfounded(&recovered) && !config.founders.is_empty() {
            let founding = start::founding(config.founders.clone(), Vec::new());
            journal.append_reserved(&founding).map_err(|error| NodeError::Fault(error.to_string()))?;
            journal.flush().map_err(fault)?;
        }
        let tree = load(&mut journal, config.seed)?;
        let began_zxid = tree.last_zxid().0;
        let mut replay = Replay::new(
            &recovered,
            journal.membership(),
            tree,
            config.front.history_bytes_max,
            config.core.window_bytes_max,
        );
        let mut applied = Vec::new();
        while let Some(wanted) = replay.wants() {
            let entries = journal.entries(wanted.start, wanted.end, config.piece_bytes);
            let entries = entries.map_err(NodeError::Read)?;
            applied.extend(entries.iter().cloned().map(raft_entry));
            let taken = replay.take(entries);
            taken.map_err(|fault| NodeError::Fault(fault.to_string()))?;
        }
        let (seat, tree, history) = replay.finish();
        applied.retain(|entry: &Entry| entry.index <= seat.applied().0);
        let told_index = seat.applied().0;
        let core = Core::new(config.core.clone(), seat, &tree, config.seed, now);
        let mut front = Front::new(config.front.clone(), 0);
        front.remember(history);
        let executor = ExecutorConfig {
            snapshot_bytes_per_second: config.snapshot_bytes_per_second,
            chunks_per_read: config.chunks_at_once,
            keep: config.keep,
        };
        let mut node = Self {
            tree,
            core,
            front,
            journal: JournalDriver::new(journal, &executor, config.journal_seed),
            stream: VecDeque::new(),
            to_core: VecDeque::new(),
            input: BTreeMap::new(),
            output: BTreeMap::new(),
            closed: Vec::new(),
            paused: BTreeSet::new(),
            asleep: BTreeSet::new(),
            unsent: BTreeSet::new(),
            unsent_bytes: 0,
            cut_off: 0,
            generations: BTreeMap::new(),
            sequences: Vec::new(),
            applied,
            told_index,
            written: Vec::new(),
            torn_tail: recovered.torn_tail.is_some(),
            began_zxid,
            counted: [0; 4],
            now,
        };
        let (mut rounds, mut idle) = (0, 0);
        let is_alone = |core: &Core| core.membership().voters == [core.id()] && core.peers().is_empty();
        while is_alone(&node.core) && !node.core.is_serving() {
            rounds += 1;
            let before = node.core.applied_index();
            if idle > IDLE_ROUNDS {
                // It takes a tick or more: what is committed is about to change the members.
                break;
            }
            if rounds > ROUNDS_TO_SERVE {
                return Err(NodeError::Fault(format!("it does not serve: {:?}", node.core.status())));
            }
            for step in [Step::Advance, Step::Journal, Step::Apply] {
                node.step(step)?;
            }
            idle = if node.core.applied_index() == before { idle + 1 } else { 0 };
        }
        Ok(node)
    }

    /// A message of another member.
    ///
    /// # Errors
    /// The core found itself broken: the member is dead.
    pub fn peer(&mut self, from: u64, message: PeerMessage) -> Result<(), NodeError> {
        let taken = self.core.peer(MemberId(from), message, self.now);
        self.collect();
        taken.map_err(|fault| NodeError::Fault(fault.to_string()))
    }

    /// The connection to another member stands, or broke.
    pub fn link(&mut self, peer: u64, up: bool) {
        self.core.link(MemberId(peer), up, self.now);
        self.collect();
    }

    /// What is to be sent to other members.
    pub fn take_outgoing(&mut self) -> Vec<(u64, PeerMessage)> {
        self.core.take_outgoing().into_iter().map(|(to, message)| (to.0, message)).collect()
    }

    fn collect(&mut self) {
        self.stream.extend(self.core.stream(0).drain(..));
        for effect in self.core.take_effects() {
            if let CoreEffect::Persist { batch, .. } = &effect {
                self.written.extend(batch.entries.iter().map(|entry| (entry.index, entry.term)));
            }
            self.journal.feed(effect);
        }
    }

    /// Whether the last life ended in the middle of a flush.
    #[must_use]
    pub const fn had_torn_tail(&self) -> bool {
        self.torn_tail
    }

    /// What was applied since the last time, in order; the last of it perhaps only in part.
    pub fn take_applied(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.applied)
    }

    /// Entries that the journal was asked to write since the last time, by index and term.
    pub fn take_written(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.written)
    }

    /// The index of the last entry applied.
    #[must_use]
    pub const fn applied_index(&self) -> u64 {
        self.core.applied_index()
    }

    /// The term in which this member leads, if it does.
    #[must_use]
    pub fn leads_in(&self) -> Option<u64> {
        self.core.leads_in()
    }

    /// What happened here since the last time.
    pub fn take_counts(&mut self) -> [(&'static str, u64); 6] {
        let counted = self.core.counts();
        let [reigns, installs, races, verdicts] = std::mem::replace(&mut self.counted, counted);
        let [abandoned, full] = self.journal.take_counts();
        [
            ("election", counted[0] - reigns),
            ("install", counted[1] - installs),
            ("attach race", counted[2] - races),
            ("verdict", counted[3] - verdicts),
            abandoned,
            full,
        ]
    }

    /// Whether a flush is what the journal does next.
    #[must_use]
    pub const fn awaits_flush(&self) -> bool {
        self.journal.awaits_flush()
    }

    /// From now on, the journal begins no more flushes than these.
    pub const fn allow_flushes(&mut self, most: u32) {
        self.journal.allow_flushes(most);
    }

    /// The wall clock is set.
    pub const fn jump(&mut self, by_ms: i64) {
        self.now.wall_ms += by_ms;
    }

    /// A client of this machine connects.
    pub fn connect(&mut self) -> ConnId {
        self.connect_from(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }

    /// A client connects from that address.
    pub fn connect_from(&mut self, ip: IpAddr) -> ConnId {
        let peer = Peer { ip, port: 40_000, secure: false, certificate_subject: None };
        let conn = self.front.accept(peer, self.front_now());
        self.input.insert(conn, Vec::new());
        self.output.insert(conn, Vec::new());
        conn
    }

    /// A client sends.
    pub fn send(&mut self, conn: ConnId, bytes: &[u8]) {
        if let Some(input) = self.input.get_mut(&conn) {
            input.extend_from_slice(bytes);
        }
    }

    /// A client reads what was answered.
    pub fn take(&mut self, conn: ConnId) -> Vec<u8> {
        self.output.get_mut(&conn).map(std::mem::take).unwrap_or_default()
    }

    /// A client reads nothing from now on, or reads again.
    pub fn sleep(&mut self, conn: ConnId, sleeps: bool) {
        if sleeps {
            self.asleep.insert(conn);
        } else {
            self.asleep.remove(&conn);
        }
    }

    /// The most bytes that were kept for a client that reads nothing, and how many were cut off for it, since the last
    /// time.
    pub const fn take_unsent(&mut self) -> (usize, u64) {
        (std::mem::replace(&mut self.unsent_bytes, 0), std::mem::replace(&mut self.cut_off, 0))
    }

    /// A client's socket closes.
    pub fn disconnect(&mut self, conn: ConnId) {
        self.front.disconnected(conn);
        self.input.remove(&conn);
        self.output.remove(&conn);
        self.asleep.remove(&conn);
        self.paused.remove(&conn);
    }

    /// Whether the server has closed this connection.
    #[must_use]
    pub fn is_closed(&self, conn: ConnId) -> bool {
        self.closed.contains(&conn)
    }

    /// Which of its session's connections this one is, once it has one.
    #[must_use]
    pub fn generation(&self, conn: ConnId) -> Option<u32> {
        self.generations.get(&conn).copied()
    }

    /// Requests that became commands since the last time: their connections, their numbers and those of the commands.
    pub fn take_sequences(&mut self) -> Vec<(ConnId, i32, u64)> {
        std::mem::take(&mut self.sequences)
    }

    /// The last transaction of the tree that this life began with, or was given since.
    #[must_use]
    pub const fn began_zxid(&self) -> i64 {
        self.began_zxid
    }

    /// A thread looks at its clock, which nobody else knows of yet.
    pub fn look_at_clock(&mut self, now_ms: u64) {
        let passed = now_ms.saturating_sub(self.now.mono_ms);
        self.now.mono_ms += passed;
        self.now.wall_ms += passed as i64;
    }

    /// Time passes.
    pub fn pass(&mut self, ms: u64) {
        self.now.mono_ms += ms;
        self.now.wall_ms += ms as i64;
        self.core.tick(self.now, &self.tree);
        let now = self.front_now();
        self.front.tick(now);
        self.collect();
    }

    /// Takes one step.
    ///
    /// # Errors
    /// The disk failed, or the core found itself broken: the member is dead.
    pub fn step(&mut self, step: Step) -> Result<(), NodeError> {
        if matches!(step, Step::Core | Step::Advance | Step::Apply) {
            self.hear_journal()?;
        }
        match step {
            Step::Shard => self.shard(),
            Step::Core => {
                for message in std::mem::take(&mut self.to_core) {
                    self.core.receive(0, message, &self.tree);
                }
            }
            Step::Advance => self.core.advance(self.now),
            Step::Journal => self.journal.run(self.now.mono_ms * 1000).map_err(fault)?,
            Step::Apply => {
                if self.core.has_work(self.tree.snapshot_side_bytes()) {
                    let committed: Vec<_> = self.core.committed().cloned().collect();
                    let applied = self.core.apply(&mut self.tree, self.now);
                    if applied.map_err(|fault| NodeError::Fault(fault.to_string()))?.is_some() {
                        self.began_zxid = self.tree.last_zxid().0;
                    }
                    // The next may have been begun: clients can be told of what is in it.
                    let (told, begun) = (self.told_index, self.core.applied_index() + 1);
                    self.applied.extend(
                        committed.into_iter().filter(|entry| (told + 1..=begun).contains(&entry.index)),
                    );
                    self.told_index = self.applied.last().map_or(told, |entry| entry.index.max(told));
                }
            }
        }
        self.collect();
        Ok(())
    }

    /// Takes all steps in turn until nothing is left to do.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn settle(&mut self) -> Result<(), NodeError> {
        // What the journal made durable is committed by the next turn of raft, so one quiet round is no proof.
        let mut quiet = 0;
        while quiet < 2 {
            for step in STEPS {
                self.step(step)?;
            }
            self.shard();
            quiet = if self.is_quiet() { quiet + 1 } else { 0 };
        }
        Ok(())
    }

    fn is_quiet(&self) -> bool {
        self.stream.is_empty()
            && self.to_core.is_empty()
            && self.journal.is_quiet()
            && !self.core.has_work(self.tree.snapshot_side_bytes())
            && self.core.status().waiting == 0
            && !self.front.has_long()
    }

    fn shard(&mut self) {
        let now = self.front_now();
        for item in std::mem::take(&mut self.stream) {
            if let FromCore::Connected { conn, generation, .. } = &item {
                self.generations.insert(*conn, *generation);
            }
            self.front.deliver(&item, &self.tree, now);
        }
        if self.now.mono_ms <= self.core.lease_until_ms() {
            // Whoever sleeps has nothing new to say; what it said before is offered once.
            let (asleep, paused) = (&self.asleep, &self.paused);
            let waits = |conn| asleep.contains(conn) && paused.contains(conn);
            let open = self.input.iter_mut().filter(|(conn, _)| !waits(*conn));
            for (conn, input) in open {
                let numbers = take_frames(&mut self.front, *conn, input, &self.tree, now);
                self.sequences.extend(numbers);
            }
        }
        self.front.go_on(&self.tree, now);
        self.unsent.extend(self.front.dirty());
        let (asleep, awake) = self.unsent.iter().partition(|conn| self.asleep.contains(conn));
        self.unsent = asleep;
        for conn in &self.unsent {
            self.unsent_bytes = self.unsent_bytes.max(self.front.unsent(*conn));
        }
        let awake: BTreeSet<ConnId> = awake;
        for conn in awake {
            while self.front.unsent(conn) > 0 {
                let bytes = self.front.output(conn).to_vec();
                self.front.sent(conn, bytes.len());
                if let Some(output) = self.output.get_mut(&conn) {
                    output.extend(bytes);
                }
            }
        }
        self.to_core.extend(self.front.to_core().drain(..));
        for event in self.front.events().collect::<Vec<_>>() {
            match event {
                FrontEvent::PauseReading(conn) => drop(self.paused.insert(conn)),
                FrontEvent::ResumeReading(conn) => drop(self.paused.remove(&conn)),
                FrontEvent::Close { conn, reason, .. } => {
                    self.cut_off += u64::from(reason == CloseReason::SlowClient);
                    self.asleep.remove(&conn);
                    self.paused.remove(&conn);
                    self.closed.push(conn);
                    self.front.disconnected(conn);
                    self.input.remove(&conn);
                }
                _ => {}
            }
        }
        self.to_core.extend(self.front.to_core().drain(..));
        self.front.sweep();
    }

    /// The core takes the journal's answers, before whatever else it does.
    fn hear_journal(&mut self) -> Result<(), NodeError> {
        for answer in self.journal.take_answers() {
            self.core.journal(answer, self.now).map_err(|fault| NodeError::Fault(fault.to_string()))?;
        }
        Ok(())
    }

    /// Its tree becomes another than the log says, as by a fault of memory: only its digest shows it.
    pub fn diverge(&mut self) {
        let version = self.tree.config_version() + 1;
        let text =
            self.tree.node("/zookeeper/config").and_then(|node| node.data()).unwrap_or_default().to_vec();
        let operation = Operation::SetConfig { text: &text, version };
        self.tree.apply(Stamp::default(), &Command::internal(operation), &mut Changes::new());
    }

    /// The tree as it is applied now.
    #[must_use]
    pub const fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The core, to ask it of its status or for a snapshot.
    pub const fn core(&mut self) -> &mut Core {
        &mut self.core
    }

    const fn front_now(&self) -> council_frontend::Now {
        council_frontend::Now { mono_us: self.now.mono_ms * 1000, wall_ms: self.now.wall_ms as u64 }
    }

    /// What time it is here.
    #[must_use]
    pub const fn now(&self) -> Now {
        self.now
    }
}

/// A connection's requests, one by one. Gives which of them became which commands.
fn take_frames(
    front: &mut Front,
    conn: ConnId,
    input: &mut Vec<u8>,
    tree: &Tree,
    now: council_frontend::Now,
) -> Vec<(ConnId, i32, u64)> {
    let mut numbers = Vec::new();
    while let Frame::Whole(frame) = next_frame(input, usize::MAX) {
        let end = FRAME_HEADER + frame.len();
        let xid = RequestHeader::read(&mut Reader::new(frame)).map_or(0, |header| header.xid);
        let used = front.receive(conn, &input[..end], tree, now);
        input.drain(..used);
        if let Some(ToCore::Command { conn: of, sequence, .. }) = front.to_core().last()
            && *of == conn
            && numbers.last().is_none_or(|(_, _, last)| last < sequence)
        {
            numbers.push((conn, xid, *sequence));
        }
        if used == 0 {
            break;
        }
    }
    numbers
}

fn fault(error: storage_raft_log::Fault) -> NodeError {
    NodeError::Fault(error.to_string())
}

/// As raft knows it.
#[must_use]
pub fn raft_entry(entry: storage_raft_log::Entry) -> Entry {
    let storage_raft_log::Entry { index, term, kind, data } = entry;
    let kind = match kind {
        storage_raft_log::EntryKind::Normal => EntryKind::Normal,
        storage_raft_log::EntryKind::Membership => EntryKind::Membership,
    };
    Entry { index, term, kind, data }
}

/// The tree of the newest snapshot; a fresh one if there is none.
pub(crate) fn load<D: Disk>(journal: &mut Journal<D>, seed: [u8; 32]) -> Result<Tree, NodeError> {
    let (table_seed, _) = seed.split_first_chunk::<8>().expect("a seed is 32 bytes");
    let table_seed = u64::from_le_bytes(*table_seed);
    let Some(mut reader) = journal.open_snapshot().map_err(NodeError::Read)? else {
        return Ok(Tree::seeded(table_seed));
    };
    let mut loader = Tree::loader(table_seed);
    while let Some(chunk) = journal.read_snapshot(&mut reader).map_err(NodeError::Read)? {
        loader.chunk(&chunk).map_err(|error| NodeError::Fault(error.to_string()))?;
    }
    loader.finish().map_err(|error| NodeError::Fault(error.to_string()))
}
