//! Three brokers that are one cluster: the fixture of scripts about replicas, and about brokers that end.
//!
//! Only the first of the real brokers is a controller, so that the cluster keeps one when the others end. Scripts do not end
//! the first.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tools_testbed::{BrokerCluster, BrokerConfig, BrokerSoftware, PeerError, Surroundings};

use crate::flags::flags;
use crate::play::{Record, Stage, play};
use crate::script::{Action, BROKERS, Script};
use crate::settings;

/// Three JVMs have to fit beside everything else.
const HEAP_MB: u32 = 384;
/// Of both, beside what every broker has. The leaders of internal topics follow from few partitions, and no leader moves by itself.
const SETTINGS: &[(&str, &str)] = &[
    ("auto.leader.rebalance.enable", "false"),
    ("offsets.topic.num.partitions", "3"),
    ("transaction.state.log.num.partitions", "3"),
    ("share.coordinator.state.topic.num.partitions", "3"),
    ("replica.selector.class", "org.apache.kafka.common.replica.RackAwareReplicaSelector"),
];
/// Of the real one, which otherwise takes nine seconds to find that a broker is dead.
const SETTINGS_OF_KAFKA: &[(&str, &str)] =
    &[("broker.session.timeout.ms", "4000"), ("broker.heartbeat.interval.ms", "500")];
/// Of ours, whose council otherwise shows a broker that was killed for thirty seconds.
const SETTINGS_OF_OURS: &[(&str, &str)] = &[("zookeeper.session.timeout.ms", "6000")];

/// Three brokers of one kind.
pub struct Trio {
    cluster: Mutex<BrokerCluster>,
    addresses: Vec<SocketAddr>,
}

impl Trio {
    /// Starts them on empty folders.
    ///
    /// # Errors
    /// One of them does not start.
    pub fn start(software: &BrokerSoftware, folder: &Path) -> Result<Self, PeerError> {
        let own: &[_] = match software {
            BrokerSoftware::Kafka(_) => SETTINGS_OF_KAFKA,
            BrokerSoftware::Diwan(_) | BrokerSoftware::Whole(_) => SETTINGS_OF_OURS,
        };
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let config = BrokerConfig {
            folder: folder.to_owned(),
            users: Vec::new(),
            heap_mb: HEAP_MB,
            settings: settings::OF_ALL.iter().chain(SETTINGS).chain(own).map(owned).collect(),
            flags: flags(software),
        };
        let rack = |id: usize| vec![(String::from("broker.rack"), format!("rack-{id}"))];
        let around = Surroundings {
            settings: (1..=BROKERS).map(rack).collect(),
            controllers: Some(1),
            ..Surroundings::default()
        };
        let cluster = BrokerCluster::start_in(software, &config, BROKERS, &around)?;
        Ok(Self { addresses: cluster.addresses(), cluster: Mutex::new(cluster) })
    }

    /// Where the first of them listens.
    #[must_use]
    pub fn first(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// Plays a script, and starts the brokers that it has ended and not started again.
    ///
    /// # Errors
    /// The script is none, or a broker does not start again.
    pub fn play(&self, script: &Script, stage: Stage<'_>) -> Result<Record, String> {
        let stage = Stage { addresses: &self.addresses, cluster: Some(&self.cluster), ..stage };
        let record = play(script, &stage)?;
        if script.steps.iter().any(|step| matches!(step.action, Action::End(_))) {
            self.all_run().map_err(|error| error.to_string())?;
        }
        Ok(record)
    }

    /// Starts again what has ended; says which.
    ///
    /// # Errors
    /// It does not start again.
    pub fn revive(&self) -> Result<Vec<String>, PeerError> {
        let ended = self.all_run()?;
        Ok(ended.into_iter().map(|(id, log)| format!("broker {id} of a cluster has ended:\n{log}")).collect())
    }

    fn all_run(&self) -> Result<Vec<(i32, String)>, PeerError> {
        let mut cluster = self.cluster.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ended = Vec::new();
        for id in (1..).take(BROKERS) {
            if let Some(log) = cluster.last_words(id)? {
                cluster.restart(id)?;
                ended.push((id, log));
            }
        }
        Ok(ended)
    }
}
