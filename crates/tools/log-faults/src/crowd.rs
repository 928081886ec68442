//! All clients of one scenario: started together, stopped together.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use log_client::{Cluster, NewTopic};
use tools_testbed::Failure;

use crate::commits::Commits;
use crate::ledger::Ledger;
use crate::reader::{Reader, Seen, differences};
use crate::shared::Shared;
use crate::writer::Writer;

/// What all write and read.
const TOPIC: &str = "records";
const PARTITIONS: i32 = 4;
const REPLICAS: i16 = 3;
const WRITERS: usize = 4;
const READERS: usize = 2;
/// One client that commits offsets, and one that reads them.
const COMMITTERS: usize = 2;
/// How long an answer is waited for: longer than leaders take to be replaced, shorter than faults last.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long brokers that start together may take to know each other.
const GATHERING_MAX: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// See the module.
pub(crate) struct Crowd {
    brokers: String,
    shared: Arc<Shared>,
    writers: Vec<JoinHandle<Ledger>>,
    readers: Vec<JoinHandle<Seen>>,
    committers: Vec<JoinHandle<()>>,
}

impl Crowd {
    /// Makes the topic, and starts everybody.
    pub(crate) fn start(brokers: &[SocketAddr]) -> Result<Self, Failure> {
        let brokers = brokers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        make_topic(&brokers)?;
        let (shared, commits) = (Arc::new(Shared::default()), Arc::new(Commits::default()));
        let mut crowd =
            Self { brokers, shared, writers: Vec::new(), readers: Vec::new(), committers: Vec::new() };
        for number in 0..WRITERS {
            let writer = Writer::new(number, crowd.client()?, (TOPIC, PARTITIONS), Arc::clone(&crowd.shared));
            let writer = writer.map_err(Failure::client("a writer"))?;
            crowd.writers.push(spawn(move || writer.work())?);
        }
        for number in WRITERS..WRITERS + READERS {
            let reader = Reader::new(crowd.client()?, (TOPIC, PARTITIONS));
            let shared = Arc::clone(&crowd.shared);
            crowd.readers.push(spawn(move || reader.work(number, &shared))?);
        }
        for number in 0..COMMITTERS {
            let (cluster, shared, commits) =
                (crowd.client()?, Arc::clone(&crowd.shared), Arc::clone(&commits));
            crowd.committers.push(spawn(move || match number {
                0 => commits.write(cluster, TOPIC, WRITERS + READERS, &shared),
                _ => commits.read(cluster, TOPIC, WRITERS + READERS + 1, &shared),
            })?);
        }
        crowd.all_go_on()?;
        Ok(crowd)
    }

    /// A client of its own.
    pub(crate) fn client(&self) -> Result<Cluster, Failure> {
        client(&self.brokers).map_err(Failure::client("no broker answers"))
    }

    /// Lets everybody work for so long.
    pub(crate) fn work_for(&self, time: Duration) -> Result<(), Failure> {
        self.shared.work_for(time)
    }

    /// Waits until everybody has been answered something that it asked for from now on: until whatever befell it is over.
    pub(crate) fn all_go_on(&self) -> Result<(), Failure> {
        self.shared.all_go_on(WRITERS + READERS + COMMITTERS)
    }

    /// The broker that leads the first partition.
    pub(crate) fn leader(&self) -> Result<i32, Failure> {
        let began = Instant::now();
        while began.elapsed() < GATHERING_MAX {
            let mut client = self.client()?;
            client.topic(TOPIC, false).map_err(Failure::client("the topic"))?;
            if let Some(leader) = client.leader(TOPIC, 0) {
                return Ok(leader);
            }
            thread::sleep(LOOK_EVERY);
        }
        Err(Failure::broken("nobody leads the first partition"))
    }

    /// Stops everybody and judges what they have seen, while all brokers serve. What was found holds afterwards.
    pub(crate) fn stop(self) -> Result<(Outcome, Vec<String>), Failure> {
        self.shared.stop();
        let mut ledger = Ledger::default();
        for writer in self.writers {
            ledger.join(writer.join().map_err(|_| Failure::broken("a writer panicked"))?);
        }
        let mut seen = Vec::new();
        for reader in self.readers {
            seen.push(reader.join().map_err(|_| Failure::broken("a reader panicked"))?);
        }
        for committer in self.committers {
            committer.join().map_err(|_| Failure::broken("a client that commits panicked"))?;
        }
        self.shared.check()?;
        let (answers, slowest) = self.shared.figures();
        let notes = vec![
            format!("{} records acknowledged", ledger.count()),
            format!("{answers} answers, the slowest after {} ms", slowest.as_millis()),
        ];
        let outcome = Outcome { brokers: self.brokers, ledger, seen };
        outcome.judge()?;
        Ok((outcome, notes))
    }
}

/// What clients know in the end.
pub(crate) struct Outcome {
    brokers: String,
    ledger: Ledger,
    seen: Vec<Seen>,
}

impl Outcome {
    /// Reads everything, and compares it with what was acknowledged and what was seen.
    pub(crate) fn judge(&self) -> Result<(), Failure> {
        let cluster = client(&self.brokers).map_err(Failure::client("no broker answers"))?;
        let all = Reader::new(cluster, (TOPIC, PARTITIONS)).read_all().map_err(Failure::broken)?;
        let mut wrong = self.ledger.judge(&all);
        wrong.truncate(10);
        wrong.extend(self.seen.iter().flat_map(|seen| differences(seen, &all)));
        wrong.extend(self.seen.iter().flat_map(gaps));
        if wrong.is_empty() { Ok(()) } else { Err(Failure::Broken(wrong)) }
    }
}

/// Where a reader has skipped something: there is no offset without a record.
fn gaps(seen: &Seen) -> Option<String> {
    seen.iter().find_map(|(partition, records)| {
        let expected = 0..i64::try_from(records.len()).unwrap_or(i64::MAX);
        let missing = expected.zip(records.keys()).find(|(expected, offset)| expected != *offset);
        missing.map(|(expected, _)| format!("a reader has skipped offset {expected} of {partition}"))
    })
}

fn client(brokers: &str) -> log_client::Result<Cluster> {
    let mut cluster = Cluster::connect(brokers, "log-faults")?;
    cluster.set_patience(PATIENCE);
    Ok(cluster)
}

/// Makes the topic once all brokers know each other, for it is to have a replica on each.
fn make_topic(brokers: &str) -> Result<(), Failure> {
    let new = NewTopic {
        name: TOPIC.into(),
        partitions: PARTITIONS,
        replicas: REPLICAS,
        settings: BTreeMap::new(),
    };
    let began = Instant::now();
    loop {
        let made = client(brokers).and_then(|mut cluster| cluster.create_topic(&new));
        match made {
            Ok(()) => return Ok(()),
            Err(_) if began.elapsed() < GATHERING_MAX => thread::sleep(LOOK_EVERY),
            Err(error) => return Err(Failure::broken(format!("the topic cannot be made: {error}"))),
        }
    }
}

fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>, Failure> {
    thread::Builder::new().spawn(work).map_err(Failure::io("a thread"))
}
