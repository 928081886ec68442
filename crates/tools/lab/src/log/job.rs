//! What is measured of a broker.

use std::time::Duration;

use super::Contestant;

/// Bytes of a message in all experiments on the log: as in Kafka's own evaluation.
pub(crate) const MESSAGE_BYTES: usize = 200;

/// When a message counts as taken. It means the same for every broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// When the operating system has it: Kafka's default, and Diwan's `diwan.durability=replicated`. On RabbitMQ these are
    /// transient messages, on ActiveMQ those of a journal that is never flushed.
    PageCache,
    /// When it is on the disk, flushed: Kafka's `flush.messages=1`, and Diwan's default. On RabbitMQ these are persistent
    /// messages, on ActiveMQ those of a journal that is always flushed.
    Flushed,
}

impl Mode {
    /// Its name in the report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PageCache => "page cache",
            Self::Flushed => "flushed",
        }
    }

    /// The setting of a topic that gives a broker this mode, if it is not its default.
    #[must_use]
    pub const fn setting(self, of: &Contestant) -> Option<(&'static str, &'static str)> {
        match (self, of) {
            (Self::PageCache, Contestant::Diwan { .. }) => Some(("diwan.durability", "replicated")),
            (Self::Flushed, Contestant::Kafka(_)) => Some(("flush.messages", "1")),
            _ => None,
        }
    }
}

/// What happens to a broker of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The leader of the partition is killed (SIGKILL), and started again once another broker has taken over.
    LeaderIsKilled,
    /// The leader of the partition is stopped (SIGSTOP), and goes on once another broker has taken over.
    LeaderStandsStill,
    /// A broker that follows the leader of the partition is stopped for so long.
    FollowerStandsStill(Duration),
}

impl Fault {
    /// Its name in the report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LeaderIsKilled => "leader killed",
            Self::LeaderStandsStill => "leader stands still",
            Self::FollowerStandsStill(_) => "follower stands still",
        }
    }
}

/// One thing that is measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Job {
    /// Producers write, each to a partition of its own.
    Produce {
        /// When they are answered.
        mode: Mode,
        /// How many, each with a connection and a partition.
        producers: usize,
        /// Messages of a request.
        batch: usize,
        /// Requests that each keeps outstanding; 0 if they send at a fixed rate.
        outstanding: usize,
        /// Requests a second of all together, if they send at a fixed rate.
        requests_per_second: f64,
        /// Whether they number their messages, and wait for all replicas.
        is_idempotent: bool,
    },
    /// A number of messages is written; counted is what they take on the disk.
    Store {
        /// Messages of a request.
        batch: usize,
        /// Requests.
        batches: u64,
    },
    /// One consumer reads a partition again and again.
    Consume {
        /// Bytes of an answer.
        fetch_bytes: i32,
        /// What the partition holds, in batches of 50 messages.
        batches: u64,
    },
    /// One producer at a fixed rate, and one consumer, which waits for each message.
    Deliver {
        /// When the producer is answered.
        mode: Mode,
        /// Messages of a request.
        batch: usize,
        /// Messages a second.
        per_second: f64,
    },
    /// Clients read, and write what they read with their offsets, transaction by transaction.
    Transact {
        /// How many, each with a partition to read and one to write.
        clients: i32,
        /// Messages of a transaction.
        messages: usize,
    },
    /// Partitions with a message each, which nobody uses.
    Idle {
        /// How many.
        partitions: i32,
    },
    /// One producer at a steady rate, which retries, on several brokers of which one has a fault.
    Failover {
        /// What happens.
        fault: Fault,
        /// How often it happens, if it is to the leader.
        times: u32,
        /// Messages a second.
        per_second: f64,
    },
    /// A consumer group with many members, of which one dies; counted is the time until others read its partitions.
    Group {
        /// How many.
        members: i32,
        /// How often it happens.
        deaths: u32,
    },
    /// One consumer takes what a queue, or a share group on a topic, holds, and acknowledges every message by itself.
    Queue {
        /// How many there are.
        messages: u64,
    },
    /// A broker of three that leads so many partitions is killed; counted is the time until all of them acknowledge again.
    Takeover {
        /// Partitions.
        leaders: i32,
        /// How often it happens.
        times: u32,
    },
    /// All brokers of a cluster are stopped and started again, one after the other, while producers go on, which retry.
    Rolling {
        /// How many, each with a partition.
        producers: i32,
        /// Messages a second of all together.
        per_second: f64,
    },
    /// Replicas move to another broker while producers go on, which retry.
    Reassign {
        /// Bytes of messages that move.
        bytes: u64,
        /// Messages a second of the producers.
        per_second: f64,
        /// How long the producers are measured before that.
        without: Duration,
    },
    /// The broker is killed and started again; counted is the time until a message is acknowledged.
    Restart {
        /// Partitions.
        partitions: i32,
        /// Bytes of all messages.
        bytes: u64,
    },
}

impl Job {
    /// Whether that contestant can do it.
    #[must_use]
    pub const fn is_for(&self, contestant: &Contestant) -> bool {
        match contestant {
            Contestant::Diwan { .. } | Contestant::Kafka(_) => true,
            Contestant::RabbitMq(..) | Contestant::ActiveMq(_) => {
                matches!(
                    self,
                    Self::Produce { producers: 1, .. }
                        | Self::Store { .. }
                        | Self::Consume { .. }
                        | Self::Queue { .. }
                )
            }
            // It is not started again, and its files are not looked at.
            Contestant::Elsewhere { .. } => !matches!(
                self,
                Self::Store { .. }
                    | Self::Idle { .. }
                    | Self::Restart { .. }
                    | Self::Failover { .. }
                    | Self::Group { .. }
                    | Self::Queue { .. }
                    | Self::Takeover { .. }
                    | Self::Rolling { .. }
                    | Self::Reassign { .. }
            ),
            Contestant::Resting(_) => matches!(self, Self::Produce { mode: Mode::PageCache, .. }),
            Contestant::Bare(_) => {
                matches!(self, Self::Consume { .. } | Self::Produce { mode: Mode::PageCache, .. })
            }
        }
    }

    /// How long it takes, roughly, if a broker that died is back after `restart`, and a point is measured for so long after such a
    /// warm-up.
    #[must_use]
    pub fn estimate(&self, restart: Duration, warm_up: Duration, measured: Duration) -> Duration {
        // Rates that a small machine reaches: bytes a second, and partitions.
        let written = |bytes: u64| Duration::from_millis(bytes / 100_000);
        let made = |partitions: i32| Duration::from_millis(u64::from(partitions.unsigned_abs()) * 3);
        let bytes = |batches: u64, batch: usize| batches * (batch * MESSAGE_BYTES) as u64;
        match self {
            // What was written is read again.
            Self::Produce { .. } | Self::Transact { .. } => warm_up + measured * 2,
            Self::Deliver { .. } => warm_up + measured,
            Self::Store { batch, batches } => written(2 * bytes(*batches, *batch)) + Duration::from_secs(4),
            Self::Consume { batches, .. } => written(2 * bytes(*batches, 50)) + warm_up + measured,
            Self::Failover { fault, times, .. } => {
                // A client waits 30 s for an answer of a leader that stands still.
                let each = match fault {
                    Fault::LeaderIsKilled => Duration::from_secs(5) + restart + measured,
                    Fault::LeaderStandsStill => Duration::from_secs(35) + measured,
                    Fault::FollowerStandsStill(time) => *time * 2,
                };
                warm_up + each * *times
            }
            Self::Group { members, deaths } => {
                made(2 * *members) + (Duration::from_secs(5) + restart) * (1 + *deaths)
            }
            Self::Queue { messages } => written(2 * messages * MESSAGE_BYTES as u64) + warm_up + measured,
            // It is missed first.
            Self::Takeover { leaders, times } => made(3 * *leaders) + restart * 2 * *times,
            Self::Rolling { .. } => warm_up + restart * 4,
            Self::Reassign { bytes, without, .. } => written(4 * bytes) + warm_up + *without,
            Self::Idle { partitions } => made(*partitions) + measured * 2,
            Self::Restart { partitions, bytes } => {
                made(*partitions) + written(2 * bytes) + Duration::from_secs(5)
            }
        }
    }
}
