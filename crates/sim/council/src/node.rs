//! One member with its shards and its journal, driven step by step without threads, sockets or clocks.
//!
//! Between any two steps anything else may happen: that is where threads of the real driver would interleave, and
//! where a crash may come. A test decides the order of steps, from a seed. Knows no rule of what is right.

mod shard;

use base::{LogIndex, MonoTime, Now, Term};
use consensus_replica::{JournalRequest, MemberId, start};
use std::net::{IpAddr, Ipv4Addr};

use consensus_raft::Entry;
use consensus_replica::journal_executor::ExecutorConfig;
use council_frontend::Front;
use council_replica::{Core, PeerMessage};
use council_tree::{Changes, Command, Operation, Stamp, Tree};
use storage_raft_log::{Disk, Journal};

use crate::random::Random;
use shard::Shard;
pub use shard::{ShardCounts, SocketId};
use sim_group::JournalDriver;

use crate::loaded::Loaded;
pub use crate::node_config::NodeConfig;
pub use sim_group::{NodeError, raft_entry, small_journal};

/// Turns after which a member that is alone serves, however long its log.
const ROUNDS_TO_SERVE: u64 = 100_000;

/// Turns in which nothing is applied, after which time has to pass.
const IDLE_ROUNDS: u64 = 100;

/// A step of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Every shard makes a round.
    Shards,
    /// One of them does.
    Shard(u16),
    /// The core takes the messages of all shards.
    Core,
    /// The core takes those of one: the others' may come only when it looks again.
    CoreOf(u16),
    /// The core proposes and takes raft's turns.
    Advance,
    /// The journal goes on with what it was asked: it appends, flushes, answers, or does all of it and more.
    Journal,
    /// The core applies a bounded part of what is committed.
    Apply,
}

impl Step {
    /// A number of its own, for traces.
    #[must_use]
    pub const fn number(self) -> u64 {
        match self {
            Self::Shards => 0,
            Self::Core => 1,
            Self::Advance => 2,
            Self::Journal => 3,
            Self::Apply => 4,
            Self::Shard(shard) => 0x1_0000 + shard as u64,
            Self::CoreOf(shard) => 0x2_0000 + shard as u64,
        }
    }
}

/// All steps, for those who draw one.
pub const STEPS: [Step; 5] = [Step::Shards, Step::Core, Step::Advance, Step::Journal, Step::Apply];

/// One running member.
pub struct Node<D: Disk> {
    tree: Tree,
    core: Core,
    shards: Vec<Shard>,
    /// How many connections there were.
    connections: u32,
    /// What the core's thread has told the shards' threads of the lease, and of how often the members had changed.
    told_lease_until: MonoTime,
    roster_seen: u64,
    journal: JournalDriver<D>,
    /// Entries applied, wholly or in part, for readers of the log, and the last that was among them.
    applied: Vec<Entry>,
    told_index: LogIndex,
    /// Entries that the journal was asked to write, by index and term.
    written: Vec<(LogIndex, Term)>,
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
        Self::begin(Loaded::of(journal, &recovered, config)?, config, now)
    }

    /// Goes on with what was loaded. One that is alone goes on until it serves.
    ///
    /// # Errors
    /// The disk fails on the way.
    #[expect(clippy::too_many_lines, reason = "makes every part of a node")]
    pub fn begin(loaded: Loaded<D>, config: &NodeConfig, now: Now) -> Result<Self, NodeError> {
        let Loaded { journal, seat, tree, history, applied, began_zxid, torn_tail } = loaded;
        let told_index = seat.applied().0;
        let core = Core::new(&config.core, &seat, &tree, config.seed, now);
        let shard = |number| {
            let mut front = Front::new(config.front.clone(), number);
            front.remember(history.clone());
            Shard::new(number, front)
        };
        let executor = ExecutorConfig {
            snapshot_bytes_per_second: config.snapshot_bytes_per_second,
            chunks_per_read: config.chunks_at_once,
            keep: config.keep,
        };
        let mut node = Self {
            tree,
            core,
            shards: (0..config.core.shards).map(shard).collect(),
            connections: 0,
            told_lease_until: MonoTime::ZERO,
            roster_seen: 0,
            journal: JournalDriver::new(journal, &executor, config.journal_seed),
            applied,
            told_index,
            written: Vec::new(),
            torn_tail,
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
        node.publish();
        Ok(node)
    }

    /// A message of another member.
    ///
    /// # Errors
    /// The core found itself broken: the member is dead.
    pub fn peer(&mut self, from: MemberId, message: PeerMessage) -> Result<(), NodeError> {
        let taken = self.core.peer(from, message, self.now);
        self.collect();
        taken.map_err(|fault| NodeError::Fault(fault.to_string()))
    }

    /// The connection to another member stands, or broke.
    pub fn link(&mut self, peer: MemberId, up: bool) {
        self.core.link(peer, up, self.now);
        self.collect();
    }

    /// What is to be sent to other members.
    pub fn take_outgoing(&mut self) -> Vec<(MemberId, PeerMessage)> {
        self.core.take_outgoing()
    }

    fn collect(&mut self) {
        for (number, shard) in (0..).zip(&mut self.shards) {
            shard.hear(self.core.stream(number));
        }
        for effect in self.core.take_requests() {
            if let JournalRequest::Persist { batch, .. } = &effect {
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
    pub fn take_written(&mut self) -> Vec<(LogIndex, Term)> {
        std::mem::take(&mut self.written)
    }

    /// The index of the last entry applied.
    #[must_use]
    pub const fn applied_index(&self) -> LogIndex {
        self.core.applied_index()
    }

    /// The term in which this member leads, if it does.
    #[must_use]
    pub fn leads_in(&self) -> Option<Term> {
        self.core.leads_in()
    }

    /// What happened here since the last time.
    pub fn take_counts(&mut self) -> [(&'static str, u64); 6] {
        let counted = self.core.counts();
        let [reigns, installs, races, verdicts] = std::mem::replace(&mut self.counted, counted);
        let [abandoned, full] = self.journal.take_counts();
        [
            ("election", counted[0] - reigns),
            ("snapshot installed", counted[1] - installs),
            ("attach race", counted[2] - races),
            ("expiry decided", counted[3] - verdicts),
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
        self.now.wall = self.now.wall.plus_ms(by_ms);
    }

    /// How many shards serve clients.
    #[must_use]
    pub fn shard_count(&self) -> u16 {
        self.shards.len() as u16
    }

    /// Sockets give and take in parts from now on, as this decides.
    pub fn read_in_parts(&mut self, mut chance: Random) {
        self.shards.iter_mut().for_each(|shard| shard.read_in_parts(chance.fork()));
    }

    /// A client of this machine connects to the first shard.
    pub fn connect(&mut self) -> SocketId {
        self.connect_from(IpAddr::V4(Ipv4Addr::LOCALHOST), 0)
    }

    /// A client connects from that address to that shard.
    pub fn connect_from(&mut self, ip: IpAddr, shard: u16) -> SocketId {
        self.connections += 1;
        let socket = SocketId { shard, number: self.connections };
        self.shard(socket).connect(socket.number, ip);
        socket
    }

    /// A client sends.
    pub fn send(&mut self, socket: SocketId, bytes: &[u8]) {
        self.shard(socket).send(socket.number, bytes);
    }

    /// A client reads what was answered.
    pub fn take(&mut self, socket: SocketId) -> Vec<u8> {
        self.shard(socket).take(socket.number)
    }

    /// A client reads nothing from now on, or reads again.
    pub fn sleep(&mut self, socket: SocketId, sleeps: bool) {
        self.shard(socket).sleep(socket.number, sleeps);
    }

    /// What happened at the shards since the last time.
    pub fn take_shard_counts(&mut self) -> ShardCounts {
        self.shards.iter_mut().map(Shard::take_counts).fold(ShardCounts::default(), ShardCounts::and)
    }

    /// A client closes its socket.
    pub fn disconnect(&mut self, socket: SocketId) {
        self.shard(socket).disconnect(socket.number);
    }

    /// Whether the server has closed this connection.
    #[must_use]
    pub fn is_closed(&self, socket: SocketId) -> bool {
        self.shards[usize::from(socket.shard)].is_closed(socket.number)
    }

    /// Which of its session's connections this one is, once it has one.
    #[must_use]
    pub fn generation(&self, socket: SocketId) -> Option<u32> {
        self.shards[usize::from(socket.shard)].generation(socket.number)
    }

    fn shard(&mut self, socket: SocketId) -> &mut Shard {
        &mut self.shards[usize::from(socket.shard)]
    }

    /// Requests that became commands since the last time: their connections, their numbers and those of the commands.
    pub fn take_sequences(&mut self) -> Vec<(SocketId, i32, u64)> {
        self.shards.iter_mut().flat_map(Shard::take_sequences).collect()
    }

    /// The last transaction of the tree that this life began with, or was given since.
    #[must_use]
    pub const fn began_zxid(&self) -> i64 {
        self.began_zxid
    }

    /// A thread looks at its clock, which nobody else knows of yet.
    pub fn look_at_clock(&mut self, now: MonoTime) {
        let passed = now.since(self.now.mono());
        self.now.advance_ms(passed);
        self.now.wall = self.now.wall.plus_ms(passed as i64);
    }

    /// Time passes.
    pub fn pass(&mut self, ms: u64) {
        self.now.advance_ms(ms);
        self.now.wall = self.now.wall.plus_ms(ms as i64);
        self.core.tick(self.now, &self.tree);
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
            Step::Shards => (0..self.shard_count()).for_each(|number| self.round(number)),
            Step::Shard(number) => self.round(number),
            Step::Core => (0..self.shard_count()).for_each(|number| self.listen(number)),
            Step::CoreOf(number) => self.listen(number),
            Step::Advance => self.core.advance(self.now),
            Step::Journal => self.journal.run(self.now.mono().ms() * 1000).map_err(fault)?,
            Step::Apply => {
                if self.core.has_work(self.tree.snapshot_side_bytes()) {
                    let committed: Vec<_> = self.core.committed().cloned().collect();
                    let applied = self.core.apply(&mut self.tree, self.now);
                    if applied.map_err(|fault| NodeError::Fault(fault.to_string()))?.is_some() {
                        self.began_zxid = self.tree.last_zxid().0;
                    }
                    // The next may have been begun: clients can be told of what is in it.
                    let (told, begun) = (self.told_index, self.core.applied_index().next());
                    self.applied.extend(
                        committed.into_iter().filter(|entry| (told.next()..=begun).contains(&entry.index)),
                    );
                    self.told_index = self.applied.last().map_or(told, |entry| entry.index.max(told));
                }
            }
        }
        self.collect();
        if matches!(step, Step::Core | Step::CoreOf(_) | Step::Advance | Step::Apply) {
            self.publish();
        }
        Ok(())
    }

    /// The core takes a shard's messages.
    fn listen(&mut self, shard: u16) {
        for message in self.shards[usize::from(shard)].take_messages() {
            self.core.receive(shard, message, &self.tree);
        }
    }

    /// What the core's thread tells the shards' threads at the end of its round.
    fn publish(&mut self) {
        self.told_lease_until = self.core.lease_until();
        if self.roster_seen != self.core.roster_changes() {
            self.roster_seen = self.core.roster_changes();
            if self.core.is_leaving() {
                self.shards.iter_mut().for_each(Shard::part);
            }
        }
    }

    fn round(&mut self, shard: u16) {
        let may_answer = self.now.mono() <= self.told_lease_until;
        let now = self.now;
        self.shards[usize::from(shard)].round(&self.tree, may_answer, now);
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
            self.step(Step::Shards)?;
            quiet = if self.is_quiet() { quiet + 1 } else { 0 };
        }
        Ok(())
    }

    fn is_quiet(&self) -> bool {
        self.shards.iter().all(Shard::is_quiet)
            && self.journal.is_quiet()
            && !self.core.has_work(self.tree.snapshot_side_bytes())
            && self.core.status().waiting == 0
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

    /// What time it is here.
    #[must_use]
    pub const fn now(&self) -> Now {
        self.now
    }
}

fn fault(error: storage_raft_log::Fault) -> NodeError {
    NodeError::Fault(error.to_string())
}
