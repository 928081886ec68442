//! Doing a job on a broker that speaks Kafka's protocol, or on a server of queues, and counting again what was acknowledged.

mod consume;
mod deliver;
mod failover;
mod groups;
mod idle;
mod produce;
mod producers;
mod queues;
mod reassign;
mod restart;
mod rolling;
mod settle;
mod share;
mod store;
mod takeover;
mod transact;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use log_client::load::{Measured, Recounted, recount};
use log_client::{Cluster, End, NewTopic};
use tools_testbed::meter::{Edge, Edges};

use super::{Job, Mode, Stand};
use crate::measure::Phase;
use crate::task::Outcome;

/// How a job is done in one turn.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// A number that no other turn of this broker has.
    pub number: u32,
    /// Before anything counts.
    pub warm_up: Duration,
    /// What counts.
    pub measured: Duration,
    /// How long the broker may be silent.
    pub patience: Duration,
}

impl Turn {
    /// How long a load at a fixed rate runs right before it counts, if it was over once before that.
    const SETTLED: Duration = Duration::from_secs(1);

    /// The same behind a warm-up of its own.
    fn warmed_up(self) -> Self {
        Self { warm_up: self.warm_up.min(Self::SETTLED), ..self }
    }
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// What was measured, and what was wrong. The phases' operations are messages.
    pub outcome: Outcome,
    /// Figures that are no rates and no latencies, by their names.
    pub figures: BTreeMap<&'static str, f64>,
}

/// The name of the phase of each job.
const PHASE: &str = "measured";
/// Between two looks whether a topic is there. Not a synchronisation: only how often we look.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What administrators' requests name as their client.
const CLIENT: &str = "diwan-lab";

/// Does a job. `edges` is told when what is measured begins and ends.
///
/// # Errors
/// The broker failed, was silent for too long, or answered with an error.
pub fn perform(job: &Job, stand: &mut Stand, turn: Turn, edges: &mut Edges<'_>) -> io::Result<Seen> {
    settle::settle(&stand.pids());
    let done = match job {
        _ if stand.contestant().queue_load().is_some() => queues::perform(job, stand, turn, edges),
        Job::Produce { .. } => produce::perform(job, stand, turn, edges),
        Job::Store { batch, batches } => store::perform((*batch, *batches), stand, turn, edges),
        Job::Consume { fetch_bytes, batches } => {
            consume::perform((*fetch_bytes, *batches), stand, turn, edges)
        }
        Job::Deliver { mode, batch, per_second } => {
            deliver::perform((*mode, *batch, *per_second), stand, turn, edges)
        }
        Job::Transact { clients, messages } => transact::perform((*clients, *messages), stand, turn, edges),
        Job::Idle { partitions } => idle::perform(*partitions, stand, turn, edges),
        Job::Failover { fault, times, per_second } => {
            failover::perform((*fault, *times, *per_second), stand, turn, edges)
        }
        Job::Group { members, deaths } => groups::perform((*members, *deaths), stand, turn),
        Job::Queue { messages } => share::perform(*messages, stand, turn, edges),
        Job::Takeover { leaders, times } => takeover::perform((*leaders, *times), stand, turn),
        Job::Rolling { producers, per_second } => rolling::perform((*producers, *per_second), stand, turn),
        Job::Reassign { bytes, per_second, without } => {
            reassign::perform((*bytes, *per_second, *without), stand, turn, edges)
        }
        Job::Restart { partitions, bytes } => restart::perform((*partitions, *bytes), stand, turn, edges),
    };
    // Its own words say more than a connection that was closed.
    done.map_err(|error| match stand.has_ended() {
        Some(log) => {
            let last = log.trim().lines().next_back().unwrap_or_default().to_owned();
            io::Error::other(format!("{error}; the broker has ended: {last}"))
        }
        None => error,
    })
}

/// A topic of one turn, which is deleted at its end.
struct Topic {
    /// The first broker.
    address: SocketAddr,
    /// All of them.
    bootstrap: String,
    name: String,
    partitions: i32,
}

impl Topic {
    /// Makes it.
    fn make(stand: &Stand, turn: (Turn, &str), partitions: i32, mode: Mode) -> io::Result<Self> {
        Self::make_as(stand, turn, partitions, mode, Cluster::create_topic)
    }

    /// Makes it with these replicas of its partitions, the preferred leader of each first.
    fn make_on(stand: &Stand, turn: (Turn, &str), replicas: &[Vec<i32>], mode: Mode) -> io::Result<Self> {
        let partitions = i32::try_from(replicas.len()).unwrap_or(i32::MAX);
        Self::make_as(stand, turn, partitions, mode, |cluster, new| cluster.create_topic_on(new, replicas))
    }

    fn make_as(
        stand: &Stand,
        (turn, name): (Turn, &str),
        partitions: i32,
        mode: Mode,
        create: impl FnOnce(&mut Cluster, &NewTopic) -> log_client::Result<()>,
    ) -> io::Result<Self> {
        let address = stand.address()?;
        let name = format!("lab-{}-{name}", turn.number);
        let replicas = stand.replicas();
        let settings = mode.setting(stand.contestant()).into_iter().chain(replicas.setting());
        let new = NewTopic {
            name: name.clone(),
            partitions,
            replicas: replicas.count,
            settings: settings.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        };
        let bootstrap = stand.bootstrap()?;
        let topic = Self { address, bootstrap, name, partitions };
        create(&mut topic.cluster()?, &new).map_err(io::Error::other)?;
        topic.wait(turn)?;
        Ok(topic)
    }

    /// A client of all brokers.
    fn cluster(&self) -> io::Result<Cluster> {
        Cluster::connect(&self.bootstrap, CLIENT).map_err(io::Error::other)
    }

    /// Waits until every partition has a leader that knows of it. Brokers answer that a topic is made before that, and serve
    /// before that when they are started again.
    fn wait(&self, turn: Turn) -> io::Result<()> {
        let all: Vec<i32> = (0..self.partitions).collect();
        let began = Instant::now();
        let mut cluster = self.cluster()?;
        loop {
            let looked = cluster.topic(&self.name, false);
            match looked.and_then(|_| cluster.offsets(&self.name, &all, End::Latest)) {
                Ok(_) => return Ok(()),
                Err(error) if error.is_retriable() && began.elapsed() < turn.patience => {
                    thread::sleep(LOOK_EVERY);
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }

    /// Reads all of it.
    fn recount(&self, turn: Turn) -> io::Result<Recounted> {
        recount(&self.bootstrap, &self.name, self.partitions, turn.patience)
    }

    /// Whether it holds as many messages as were acknowledged.
    fn check(&self, acknowledged: u64, turn: Turn, outcome: &mut Outcome) -> io::Result<()> {
        let found = self.recount(turn)?.messages;
        compare(acknowledged, found, outcome);
        Ok(())
    }

    /// Deletes it.
    fn delete(self) -> io::Result<()> {
        let mut cluster = self.cluster()?;
        cluster.delete_topic(&self.name).map_err(io::Error::other)
    }
}

/// What was acknowledged must be there, and nothing else.
fn compare(acknowledged: u64, found: u64, outcome: &mut Outcome) {
    outcome.checked.writes += acknowledged.min(found);
    if acknowledged == 0 || found != acknowledged {
        outcome.wrong.push(format!("{acknowledged} messages were acknowledged, and {found} are there"));
    }
}

/// What a load tells at its two edges, as the laboratory's.
fn both<'e, 'f>(edges: &'e mut Edges<'f>) -> impl FnMut() + use<'e, 'f> {
    let mut passed = [Edge::Begin, Edge::End].into_iter();
    move || passed.next().into_iter().for_each(|edge| edges(edge, PHASE))
}

/// What a load measured; its operations are messages.
fn phase(measured: &Measured) -> Phase {
    let mut phase = Phase::new(PHASE);
    (phase.operations, phase.elapsed) = (measured.messages, measured.elapsed);
    for value in measured.latency.iter_recorded() {
        phase.latency.saturating_record_n(value.value_iterated_to().max(1), value.count_at_value());
    }
    phase
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_are_missing_or_too_many_are_wrong() {
        for (acknowledged, found) in [(10, 9), (10, 11), (0, 0)] {
            let mut outcome = Outcome::default();
            compare(acknowledged, found, &mut outcome);
            assert_eq!(outcome.wrong.len(), 1, "{acknowledged} {found}");
        }
        let mut outcome = Outcome::default();
        compare(10, 10, &mut outcome);
        assert!(outcome.wrong.is_empty());
        assert_eq!(outcome.checked.writes, 10);
    }
}
