//! What a run is like: drawn once, from the seed.

use std::collections::BTreeMap;

use sim_kit::random::Random;

use crate::history::Retention;
use crate::names::{SHARE_TOPIC, all_names};

/// How long a member may be silent, milliseconds: as the broker is configured.
pub(crate) const SESSION_MS: u64 = 3_000;

/// When a volatile topic is flushed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flushing {
    pub(crate) messages: Option<u64>,
    pub(crate) ms: Option<u64>,
}

/// See the module. Frequencies of faults are of a thousand moments.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) brokers: i32,
    /// How many replicas each topic has, and `min.insync.replicas`, if there are several brokers.
    pub(crate) replication: BTreeMap<&'static str, (i16, i16)>,
    /// How many replicas internal topics have.
    pub(crate) internal_replicas: i16,
    pub(crate) shards: u16,
    pub(crate) servers: usize,
    pub(crate) producers: usize,
    pub(crate) transactional: usize,
    /// The last epoch of a producer id: a small one is soon used up.
    pub(crate) epoch_max: i16,
    pub(crate) consumers: usize,
    pub(crate) partitions: i32,
    /// Whether segments and the write-ahead log are tiny, so that much happens to them.
    pub(crate) tiny: bool,
    /// Whether one of the topics is compacted.
    pub(crate) compacts: bool,
    /// How often it is looked for a partition to compact. If seldom, passes meet more keys than their map holds.
    pub(crate) compaction_check_ms: u64,
    /// If the first topic is volatile: when it is flushed. Then nothing else takes records of it.
    pub(crate) flushing: Option<Flushing>,
    /// What the first topic's records are kept for, if that is not long.
    pub(crate) retention: Option<Retention>,
    /// Whether tombstones stay for longer than a run.
    pub(crate) keeps_tombstones: bool,
    /// Members of the group of the classic protocol, and whether all of them are static.
    pub(crate) classic: usize,
    pub(crate) all_static: bool,
    /// Members of the group of KIP-848.
    pub(crate) consumer: usize,
    /// Members of the share group; without any there is neither its topic nor its producers.
    pub(crate) shares: usize,
    /// Whether brokers balance leaders and replicas by themselves.
    pub(crate) balances: bool,
    pub(crate) faults: Faults,
}

/// How often each fault strikes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// The broker's power fails.
    pub(crate) crash: u64,
    /// The broker's power fails as a producer is answered: of a thousand answers.
    pub(crate) acked: u64,
    /// The broker's process is killed.
    pub(crate) kill: u64,
    /// The broker's process stands still.
    pub(crate) pause: u64,
    /// Its disk stands still.
    pub(crate) stall: u64,
    /// Its disk is full.
    pub(crate) full: u64,
    /// A write or a flush fails.
    pub(crate) fail: u64,
    /// A client's connection breaks.
    pub(crate) cut: u64,
    /// The broker's connection with the council breaks.
    pub(crate) part: u64,
    /// Its session expires.
    pub(crate) expire: u64,
    /// A topic is deleted, and made again.
    pub(crate) remake: u64,
    /// Records are deleted.
    pub(crate) trim: u64,
    /// Only with several brokers: see [`ClusterFaults`].
    pub(crate) cluster: ClusterFaults,
}

/// How often faults strike that need several brokers.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterFaults {
    /// Nothing goes between two brokers for a while, or between one and all others.
    pub(crate) cut: u64,
    /// A broker's disk is wiped. Then each partition has three replicas at least.
    pub(crate) wipe: u64,
    /// A broker is asked to stop.
    pub(crate) stop: u64,
    /// Somebody wants a partition to have other replicas.
    pub(crate) reassign: u64,
    /// Somebody wants preferred leaders to lead.
    pub(crate) elect: u64,
}

impl Setting {
    #[expect(clippy::too_many_lines, reason = "one draw after the other")]
    pub(crate) fn draw(random: &mut Random, light: bool) -> Self {
        let mut faults = Faults::draw(random);
        let setting = Self {
            brokers: 1,
            replication: BTreeMap::new(),
            internal_replicas: 1,
            shards: 1 + random.below(4) as u16,
            servers: 1 + random.below(3) as usize,
            producers: 1 + random.below(3) as usize,
            consumers: 1 + random.below(3) as usize,
            partitions: 1 + random.below(3) as i32,
            tiny: random.chance(60),
            compacts: random.chance(60),
            flushing: None,
            retention: None,
            keeps_tombstones: false,
            classic: 0,
            all_static: false,
            consumer: 0,
            shares: 0,
            balances: false,
            faults: Faults::default(),
            transactional: random.below(3) as usize,
            compaction_check_ms: if random.chance(30) { 15_000 } else { 500 },
            epoch_max: if random.chance(50) { 3 + random.below(10) as i16 } else { i16::MAX },
        };
        let mut members = || if random.chance(50) { 2 + random.below(3) as usize } else { 0 };
        let (classic, consumer) = (members(), members());
        let all_static = random.chance(30);
        let retention = match random.below(100) {
            0..25 => Some(Retention::Time(2_000 + random.below(5_000) as i64)),
            // Only small segments are ever whole.
            25..45 if setting.tiny => Some(Retention::Bytes(3_000 + random.below(8_000) as i64)),
            _ => None,
        };
        let flushing = random.chance(40).then(|| Flushing {
            messages: random.chance(50).then(|| 1 + random.below(20)),
            ms: random.chance(60).then(|| 100 + random.below(2_000)),
        });
        let flushing = flushing.filter(|_| retention.is_none());
        if flushing.is_some() {
            faults.trim = 0;
            // Only a power failure shows what such a topic may lose.
            faults.crash = faults.crash.max(1);
        }
        let keeps_tombstones = random.chance(40);
        if light {
            faults = Faults::default();
        }
        Self { flushing, retention, keeps_tombstones, classic, all_static, consumer, faults, ..setting }
    }

    /// How many brokers there are, drawn on its own: a run with one is as if there could be no more.
    pub(crate) fn of_cluster(self, random: &mut Random, light: bool) -> Self {
        let brokers = match random.below(100) {
            0..50 => return self,
            50..58 => 2,
            58..84 => 3,
            84..92 => 4,
            _ => 5,
        };
        let mut draw = |name| {
            let replicas = if random.chance(15) { 1 } else { 2 + random.below(brokers.min(4) - 1) as i16 };
            (name, (replicas, 1 + random.below(replicas.unsigned_abs().into()).min(1) as i16))
        };
        let mut replication: BTreeMap<_, _> = all_names().map(&mut draw).collect();
        let mut internal_replicas = draw("").1.0;
        let shards = 1 + random.below(2) as u16;
        // What a power failure takes of a volatile topic is judged with one broker only.
        let (brokers, flushing) = (brokers as i32, None);
        let mut faults = self.faults.clone();
        if !light {
            faults.cluster = ClusterFaults::draw(random, brokers);
        }
        if faults.cluster.wipe > 0 {
            internal_replicas = internal_replicas.max(3);
            replication.values_mut().for_each(|(replicas, _)| *replicas = 3.max(*replicas));
        }
        let balances = random.chance(40);
        Self { brokers, replication, internal_replicas, shards, flushing, balances, faults, ..self }
    }

    /// Whether there is a share group, drawn on its own, too, behind the number of brokers.
    pub(crate) fn of_shares(mut self, random: &mut Random) -> Self {
        if !random.chance(40) {
            return self;
        }
        self.shares = 1 + random.below(3) as usize;
        if self.brokers > 1 {
            let fewest = if self.faults.cluster.wipe > 0 { 3 } else { 1 };
            let replicas = (1 + random.below(3) as i16).min(self.brokers as i16).max(fewest);
            self.replication.insert(SHARE_TOPIC, (replicas, 1));
        }
        self
    }
}

impl Faults {
    fn draw(random: &mut Random) -> Self {
        let mut often = |most: u64| if random.chance(50) { random.below(most + 1) } else { 0 };
        Self {
            crash: often(3),
            acked: often(10),
            kill: often(3),
            pause: often(3),
            stall: often(4),
            full: often(3),
            fail: often(2),
            cut: often(10),
            part: often(6),
            expire: often(2),
            remake: often(2),
            trim: often(3),
            cluster: ClusterFaults::default(),
        }
    }
}

impl ClusterFaults {
    fn draw(random: &mut Random, brokers: i32) -> Self {
        let mut often = |most: u64| if random.chance(50) { 1 + random.below(most) } else { 0 };
        let (cut, wipe) = (often(4), often(1));
        let wipe = if brokers >= 3 { wipe } else { 0 };
        Self { cut, wipe, stop: often(2), reassign: often(3), elect: often(2) }
    }
}
