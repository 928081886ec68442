//! A broker's machine: its host, and the process on it if there is one.

mod compaction;
mod copy;
mod peers;
mod process;
mod shard;

use std::sync::Arc;

use base::Now;
use log_broker::{BrokerConfig, InternalTopic, ServerProperties};
use log_config::{BalanceMode, BalanceSettings};
use log_storage::StoreConfig;
use sim_kit::Host;
use sim_kit::disk::{Loss, SimDisk};
use sim_kit::random::Random;
use storage_wal::WalConfig;

use crate::council::Council;
use crate::history::{DELIVERIES_MAX, LOCK_MS};
use crate::setting::{SESSION_MS, Setting};
use crate::wire::Wires;
pub(crate) use copy::{CopiedRecord, CopyState, Lead};
pub(crate) use peers::{LinkId, PeerEvent, PeerPort};
pub(crate) use process::{Ended, Process, Step};

/// See the module.
pub(crate) struct Machine {
    pub(crate) host: Host,
    pub(crate) process: Option<Process>,
    config: BrokerConfig,
    store: StoreConfig,
    shards: u16,
    servers: usize,
    /// When its next process begins, if there is none.
    pub(crate) restart_at_ms: u64,
    /// How often a shard of its process has flushed itself.
    pub(crate) flushed_alone: u64,
    /// Its power has failed, and no process has begun since.
    pub(crate) is_without_power: bool,
    /// There are other brokers.
    has_others: bool,
    /// Until then it may not hear the others or the council, or stands still.
    apart_until_ms: u64,
    pub(crate) stop: Option<Stop>,
    /// Its disk was wiped: its broker must not start under its number again.
    pub(crate) is_wiped: bool,
    /// The number that it had before its disk was wiped, until no partition is kept under that any more.
    pub(crate) replaces: Option<i32>,
    /// When all know that it has another number than before.
    pub(crate) known_from_ms: u64,
}

/// How far an orderly stop has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// The process ends then at the latest.
    pub(crate) by_ms: u64,
    /// It leads nothing any more that another broker could lead.
    pub(crate) is_handed_over: bool,
}

/// How long a broker that was apart may take to hear what the others have decided meanwhile.
const CATCH_UP_MS: u64 = 3_000;

/// How late a coordinator's tick may be and still count as time that passed.
const PAUSE_MS_MAX: u64 = 200;

const SEGMENT_BYTES: u64 = 2_000;

/// Where the broker of that number stands: alone.
pub(crate) fn rack_of(node_id: i32) -> String {
    format!("rack-{node_id}")
}

/// What the broker of that number is told.
fn broker_config(node_id: i32, setting: &Setting) -> BrokerConfig {
    let mut config = BrokerConfig {
        node_id,
        offsets_topic: InternalTopic {
            partitions: 2,
            replication_factor: setting.internal_replicas,
            ..InternalTopic::default()
        },
        compaction_check_ms: setting.compaction_check_ms,
        rack: Some(rack_of(node_id)),
        ..BrokerConfig::default()
    };
    config.properties = share_properties(setting);
    config.share.state_topic.partitions = 2;
    config.share.state_topic.replication_factor = setting.internal_replicas;
    config.leaders.reads_by_rack = true;
    // Loads are measured twice a second, and links are so narrow that what producers write matters.
    config.balance = BalanceSettings {
        mode: if setting.balances { BalanceMode::All } else { BalanceMode::Off },
        interval_ms: 500,
        network_bytes_per_s: 10_000,
        move_bytes_per_s: 100_000,
    };
    if setting.balances {
        // Nothing is balanced while preferred leaders are to come back, and a run is short.
        config.leaders.preferred_after_ms = Some(1_500);
    }
    let groups = &mut config.groups;
    (groups.session_timeout_min_ms, groups.initial_rebalance_delay_ms) = (1_000, 300);
    groups.pause_ms_max = PAUSE_MS_MAX;
    let consumer = &mut groups.consumer;
    (consumer.session_timeout_ms, consumer.session_timeout_min_ms) = (SESSION_MS, SESSION_MS);
    (consumer.heartbeat_interval_ms, consumer.heartbeat_interval_min_ms) = (400, 400);
    config.transactions_topic.partitions = 2;
    config.transactions_topic.replication_factor = setting.internal_replicas;
    config.retention_check_ms = 1_000;
    config.transactions.producer_epoch_max = setting.epoch_max;
    if setting.tiny {
        config.segment_bytes_max = SEGMENT_BYTES;
        // The least map that there is.
        config.compaction_map_bytes_max = 1;
    }
    config
}

/// What it is told of the share group.
fn share_properties(setting: &Setting) -> ServerProperties {
    let lock_ms = LOCK_MS.to_string();
    let session_ms = SESSION_MS.to_string();
    let deliveries = DELIVERIES_MAX.to_string();
    let pairs = [
        ("group.share.delivery.count.limit", deliveries.as_str()),
        ("group.share.heartbeat.interval.ms", "400"),
        ("group.share.min.heartbeat.interval.ms", "400"),
        ("group.share.min.record.lock.duration.ms", &lock_ms),
        ("group.share.min.session.timeout.ms", &session_ms),
        ("group.share.record.lock.duration.ms", &lock_ms),
        ("group.share.session.timeout.ms", &session_ms),
    ];
    let of = |(name, value): (&str, &str)| (name.into(), value.into());
    ServerProperties(Arc::new(pairs.into_iter().filter(|_| setting.shares > 0).map(of).collect()))
}

/// How its store is made.
fn store_config(setting: &Setting) -> StoreConfig {
    let store = StoreConfig::default();
    if !setting.tiny {
        let wal = WalConfig { segment_bytes: 256 << 10, first_segment_bytes: 128 << 10, ..store.wal };
        return StoreConfig { wal, ..store };
    }
    StoreConfig {
        wal: WalConfig {
            segment_bytes: 16 << 10,
            first_segment_bytes: 8 << 10,
            reserved_bytes: 2 << 10,
            prepare_step_bytes: 4 << 10,
            write_buffer_bytes: 4 << 10,
            recycled_segments_max: 1,
        },
        write_behind_bytes: 1_000,
        memory_bytes_max: 8_000,
        write_behind_step_bytes: 1_500,
        open_files_max: 3,
        sync_step_partitions: 2,
        states_asked_max: 8,
    }
}

impl Machine {
    /// The machine of the broker of that number.
    pub(crate) fn new(node_id: i32, setting: &Setting, random: &mut Random) -> Self {
        let (config, store) = (broker_config(node_id, setting), store_config(setting));
        let host = Host::new(random, true);
        let (shards, servers) = (setting.shards, setting.servers);
        Self {
            host,
            process: None,
            config,
            store,
            shards,
            servers,
            restart_at_ms: 0,
            flushed_alone: 0,
            is_without_power: false,
            has_others: setting.brokers > 1,
            apart_until_ms: 0,
            stop: None,
            is_wiped: false,
            replaces: None,
            known_from_ms: 0,
        }
    }

    /// Its process, if clients can connect to it.
    pub(crate) fn serving(&mut self, now_ms: u64) -> Option<&mut Process> {
        let is_paused = self.host.is_paused(now_ms);
        self.process.as_mut().filter(|process| !is_paused && process.is_serving())
    }

    /// It may not hear the others or the council until then.
    pub(crate) fn is_apart(&mut self, until_ms: u64) {
        self.apart_until_ms = self.apart_until_ms.max(until_ms);
    }

    /// Whether it has heard everything that the others have decided, but for what is on its way.
    pub(crate) const fn is_in_touch(&self, now_ms: u64) -> bool {
        !self.has_others || now_ms >= self.apart_until_ms + CATCH_UP_MS
    }

    /// The number of its broker.
    pub(crate) const fn node_id(&self) -> i32 {
        self.config.node_id
    }

    /// Its broker gets another number, as the broker of a new machine would.
    pub(crate) const fn renumber(&mut self, node_id: i32) {
        self.replaces = Some(self.config.node_id);
        self.config.node_id = node_id;
        self.is_wiped = false;
    }

    /// It gets a blank disk. There is no process.
    pub(crate) fn wipe(&mut self, random: &mut Random) {
        self.host.disk = SimDisk::new(random.number());
        self.is_wiped = true;
    }

    /// Starts a process.
    pub(crate) fn start(&mut self, random: &mut Random, now: Now) {
        let config = BrokerConfig { seed: random.number(), ..self.config.clone() };
        let mut drawn = [0; 16];
        drawn.iter_mut().for_each(|byte| *byte = random.number() as u8);
        self.is_without_power = false;
        let of = (self.shards, self.servers, self.has_others);
        self.process = Some(Process::new(config, self.store, of, drawn, now));
    }

    /// The process is killed: its connections end, and what it has written stays.
    pub(crate) fn kill(&mut self, wires: &mut Wires, council: &mut Council) {
        if let Some(process) = self.process.take() {
            process.end(wires, council);
        }
        self.stop = None;
        self.host.end_process();
    }

    /// The power fails.
    pub(crate) fn crash(&mut self, loss: Loss, wires: &mut Wires, council: &mut Council) {
        if let Some(process) = self.process.take() {
            process.end(wires, council);
        }
        self.stop = None;
        self.host.crash(loss);
        self.is_without_power = true;
    }
}
