//! One member: its machines, and the turns of its core's and its journal's threads, written after `server`'s loops. A turn
//! is played at once and counts what it did; each thing that it tells carries what had been done until then. What it
//! refuses to know: what anything costs, and when it is over.

use std::collections::{BTreeMap, VecDeque};

use front::{FromCore, Front, FrontConfig, ToCore};
use journal::{Journal, JournalConfig, Space};
use member::{Core, CoreConfig, CoreEffect, JournalEvent, Now, PeerMessage, Replay, start};
use tree::{Roster, Tree};

use super::count::{Came, Count, of};
use super::disk::{Asked, CountingDisk};
use super::request::{Heard, RequestId};
use super::shard::Shard;
use crate::random::Random;

/// How often the tree is written to before mail is looked at again: `server`'s.
const APPLIES_IN_A_ROW: usize = 16;
/// What stands before a message between members: its length and its checksum.
const PEER_FRAME_BYTES: usize = 8;
/// What stands before the first command of a forwarded batch, and before each: see `member::batch`.
const BATCH_HEADER: usize = 9;
const COMMAND_HEADER: usize = 4;

/// What a turn tells somebody.
#[derive(Debug)]
pub(super) enum Told {
    /// A shard, its core.
    Core { shard: u16, messages: Vec<ToCore> },
    /// A shard, a client.
    Client { client: usize, heard: Heard },
    /// A core, a shard.
    Shard { shard: usize, items: Vec<FromCore> },
    /// A core, its journal.
    Journal(Vec<CoreEffect>),
    /// A journal, its core: when the disk is done.
    Durable(JournalEvent),
    /// A core, another member.
    Peer { to: u64, messages: Vec<PeerMessage>, bytes: usize },
    /// A core, all shards: the tree may be read again.
    Unlocked,
    /// The load, a member: what a client asks.
    Requests { client: usize, requests: Vec<RequestId> },
}

/// What a turn did.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) count: Count,
    /// What it asks of the disk, which it waits for at its end.
    pub(super) asked: Asked,
    /// What it tells, and what had been done until then.
    pub(super) told: Vec<(Count, Told)>,
}

impl Turn {
    pub(super) fn begin(came: Came) -> Self {
        Self { count: Count::begin(came), ..Self::default() }
    }

    pub(super) fn tell(&mut self, told: Told) {
        self.told.push((self.count, told));
    }

    pub(super) fn tell_unless_empty<T>(&mut self, items: Vec<T>, told: impl FnOnce(Vec<T>) -> Told) {
        if !items.is_empty() {
            self.tell(told(items));
        }
    }
}

/// What arrived from another member at once.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) from: u64,
    pub(super) messages: Vec<PeerMessage>,
    pub(super) bytes: usize,
}

/// See the module.
pub(super) struct Member {
    pub(super) id: u64,
    pub(super) tree: Tree,
    pub(super) core: Core,
    pub(super) shards: Vec<Shard>,
    journal: Journal<CountingDisk>,
    disk: CountingDisk,
    /// Mail of shards, of the journal, of other members.
    pub(super) commands: Vec<(u16, Vec<ToCore>)>,
    pub(super) answers: Vec<JournalEvent>,
    pub(super) peers: Vec<Arrived>,
    pub(super) effects: VecDeque<CoreEffect>,
    applies_left: usize,
    /// What the journal does when nothing waits: keep ahead after a flush, prepare the next segment.
    keeps_ahead: bool,
    prepares: bool,
    scratch: Vec<u8>,
}

impl Member {
    /// Member `id` of an ensemble that was founded by these, its disk blank.
    pub(super) fn new(id: u64, voters: &[u64], learners: &[u64], shards: u16, seed: u64) -> Self {
        let disk = CountingDisk::default();
        // As of a member that has run for a while: the first segment of a journal is small, and the next one large.
        let standard = JournalConfig::default();
        let journal_config = JournalConfig { first_segment_bytes: standard.segment_bytes, ..standard };
        let opened = Journal::open(disk.clone(), journal_config);
        let (mut journal, recovered) = opened.expect("a blank disk opens");
        let founding = start::founding(voters.to_vec(), learners.to_vec());
        journal.append(&founding).expect("a blank disk has room");
        journal.flush().expect("the disk never fails");
        let mut front_config = FrontConfig { connections_per_ip_max: 0, ..FrontConfig::default() };
        front_config.outstanding_max = (front_config.outstanding_max / usize::from(shards)).max(1);
        let config = core_config(id, voters, learners, shards);
        let (history, window) = (front_config.history_bytes_max, config.window_bytes_max);
        let replay = Replay::new(&recovered, journal.membership(), Tree::new(), history, window);
        let (seat, tree, _) = replay.finish();
        // Members must not draw the same election timeouts: they would stand against each other for ever.
        let mut name = [0; 32];
        name[..8].copy_from_slice(&Random::new(seed ^ (id << 48)).number().to_le_bytes());
        let level = config.feature_level;
        let mut core = Core::new(config, seat, &tree, name, now(0));
        for other in voters.iter().chain(learners).filter(|other| **other != id) {
            core.understands(*other, level);
            core.link(*other, true, now(0));
        }
        let shard = |number| Shard::new(Front::new(front_config.clone(), number), number);
        disk.asked();
        Self {
            id,
            tree,
            core,
            shards: (0..shards).map(shard).collect(),
            journal,
            disk,
            commands: Vec::new(),
            answers: Vec::new(),
            peers: Vec::new(),
            effects: VecDeque::new(),
            applies_left: 0,
            keeps_ahead: false,
            prepares: true,
            scratch: Vec::new(),
        }
    }

    pub(super) fn core_has_work(&self, now_ms: u64) -> bool {
        !(self.commands.is_empty() && self.answers.is_empty() && self.peers.is_empty())
            || self.core.has_work(self.tree.snapshot_side_bytes())
            || now_ms >= self.core.next_deadline_ms()
    }

    pub(super) fn journal_has_work(&self) -> bool {
        !self.effects.is_empty() || self.keeps_ahead || self.prepares
    }

    pub(super) fn flushes(&self) -> u64 {
        self.journal.stats().flushes
    }

    /// The core's thread: an application if it is in the middle of some, else all that lies there.
    pub(super) fn core_turn(&mut self, came: Came, now_ms: u64) -> Turn {
        let now = now(now_ms);
        let side_bytes = self.tree.snapshot_side_bytes();
        if self.applies_left > 0 && self.core.has_work(side_bytes) {
            self.applies_left -= 1;
            return self.apply(came, now);
        }
        self.applies_left = APPLIES_IN_A_ROW;
        let mut turn = Turn::begin(came);
        self.listen(&mut turn, now);
        self.core.advance(now);
        self.pass_on(&mut turn);
        turn
    }

    fn listen(&mut self, turn: &mut Turn, now: Now) {
        for answer in std::mem::take(&mut self.answers) {
            self.core.journal(answer, now).expect("the member is whole");
        }
        for (shard, messages) in std::mem::take(&mut self.commands) {
            let is_read = |message: &&ToCore| matches!(message, ToCore::Read { .. });
            let reads = messages.iter().filter(is_read).count();
            turn.count.add(of::core::COMMAND, messages.len() - reads);
            for message in messages {
                self.core.receive(shard, message, &self.tree);
            }
        }
        if now.mono_ms >= self.core.next_deadline_ms() {
            self.core.tick(now, &self.tree);
        }
        let leads = self.core.leader() == Some(self.id);
        for Arrived { from, messages, bytes } in std::mem::take(&mut self.peers) {
            turn.count.add(of::core::LANE, 1);
            turn.count.add_bytes(of::core::KIB, bytes);
            turn.count.add(of::core::MESSAGE, messages.len());
            for message in messages {
                if let (true, PeerMessage::Forward(content)) = (leads, &message) {
                    turn.count.add(of::core::RELAY, commands_in(content));
                }
                self.core.peer(from, message, now).expect("the member is whole");
            }
        }
    }

    /// A bounded piece of what is committed; shards are kept from the tree until it is done.
    fn apply(&mut self, came: Came, now: Now) -> Turn {
        let mut turn = Turn { count: Count::came(came), ..Turn::default() };
        let replaced = self.core.apply(&mut self.tree, now).expect("the member is whole");
        assert!(replaced.is_none(), "nobody lags so far that it is given a snapshot");
        let told = self.core.stream(0).iter();
        let changes = told.filter(|item| matches!(item, FromCore::Changes(_))).count();
        turn.count.add(of::core::APPLY, changes);
        for shard in 0..self.shards.len() {
            let told = self.core.stream(shard as u16).iter();
            let waited = told.filter(|item| matches!(item, FromCore::ReadDone { .. })).count();
            turn.count.add(of::core::WAITED, waited);
        }
        self.tell_shards(&mut turn);
        turn.tell(Told::Unlocked);
        self.core.advance(now);
        self.pass_on(&mut turn);
        turn
    }

    fn tell_shards(&mut self, turn: &mut Turn) {
        for shard in 0..self.shards.len() {
            let items = std::mem::take(self.core.stream(shard as u16));
            turn.tell_unless_empty(items, |items| Told::Shard { shard, items });
        }
    }

    /// What the core leaves for others: shards, the journal, and by member and lane what is sent there.
    fn pass_on(&mut self, turn: &mut Turn) {
        self.tell_shards(turn);
        turn.tell_unless_empty(self.core.take_effects(), Told::Journal);
        let mut lanes: BTreeMap<(u64, bool), (Vec<PeerMessage>, usize)> = BTreeMap::new();
        for (to, message) in self.core.take_outgoing() {
            self.scratch.clear();
            message.encode(&mut self.scratch);
            let lane = lanes.entry((to, message.is_bulky())).or_default();
            lane.0.push(message);
            lane.1 += self.scratch.len() + PEER_FRAME_BYTES;
        }
        for ((to, _), (messages, bytes)) in lanes {
            turn.count.add(of::core::LANE, 1);
            turn.count.add(of::core::MESSAGE, messages.len());
            turn.count.add_bytes(of::core::KIB, bytes);
            turn.tell(Told::Peer { to, messages, bytes });
        }
    }

    /// The journal's thread: one flush for all that waits; else what it does ahead of need.
    pub(super) fn journal_turn(&mut self, came: Came) -> Turn {
        if self.effects.is_empty() {
            return self.prepare(came);
        }
        let mut turn = Turn::begin(came);
        let mut last = 0;
        for effect in std::mem::take(&mut self.effects) {
            let CoreEffect::Persist { number, batch, .. } = effect else {
                panic!("nothing of a load leads to {effect:?}")
            };
            self.journal.append(&batch).expect("the disk has room");
            last = number;
        }
        self.journal.flush().expect("the disk never fails");
        assert_eq!(self.journal.space(), Space::Plenty);
        turn.asked = self.disk.asked();
        turn.count.add_bytes(of::journal::KIB, turn.asked.bytes);
        turn.tell(Told::Durable(JournalEvent::Persisted { number: last }));
        (self.keeps_ahead, self.prepares) = (true, true);
        turn
    }

    fn prepare(&mut self, came: Came) -> Turn {
        let mut turn = Turn { count: Count::came(came), ..Turn::default() };
        if std::mem::take(&mut self.keeps_ahead) {
            self.journal.keep_ahead().expect("the disk never fails");
        } else {
            let progress = self.journal.prepare().expect("the disk never fails");
            self.prepares = progress != journal::Progress::Idle;
        }
        turn.asked = self.disk.asked();
        turn.count.add_bytes(of::journal::KIB, turn.asked.bytes);
        turn
    }
}

/// A member's clocks at that time.
const fn now(now_ms: u64) -> Now {
    Now { mono_ms: now_ms, wall_ms: 1_700_000_000_000 + now_ms as i64 }
}

/// As a default configuration has it, but for snapshots, which are not simulated.
fn core_config(id: u64, voters: &[u64], learners: &[u64], shards: u16) -> CoreConfig {
    let numbers = voters.iter().map(|id| (*id, true)).chain(learners.iter().map(|id| (*id, false)));
    let member = |(number, votes)| tree::Member { votes, ..crate::ensemble::member_of(number) };
    let mut config = CoreConfig::new(id, shards);
    config.roster = (voters.len() + learners.len() > 1).then(|| Roster::new(numbers.map(member)));
    (config.snapshot_after_bytes, config.snapshot_after_commands) = (u64::MAX, u64::MAX);
    config
}

/// How many commands were forwarded together.
fn commands_in(content: &[u8]) -> usize {
    let mut rest = content.get(BATCH_HEADER..).unwrap_or_default();
    let mut commands = 0;
    while let Some((length, behind)) = rest.split_first_chunk::<COMMAND_HEADER>() {
        rest = behind.get(u32::from_le_bytes(*length) as usize..).unwrap_or_default();
        commands += 1;
    }
    commands
}
