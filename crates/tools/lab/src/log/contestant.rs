//! Which brokers there are, and where they come from.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;

use tools_testbed::peer::kafka::Distribution;
use tools_testbed::peer::{LoadProgram, Queues, RabbitMq};
use tools_testbed::{BrokerSoftware, PeerError, QueueSoftware};

use crate::measure::Sources;

/// What can be measured.
#[derive(Clone, Debug)]
pub enum Contestant {
    /// Diwan, or another build of it.
    Diwan {
        /// Its name in the report.
        name: String,
        /// The program, whose `serve` serves.
        program: PathBuf,
    },
    /// Apache Kafka.
    Kafka(Distribution),
    /// RabbitMQ, with the program that loads it.
    RabbitMq(RabbitMq, Queues),
    /// ActiveMQ Classic, with the program that loads it.
    ActiveMq(Queues),
    /// A broker of Kafka's protocol that the laboratory did not start.
    Elsewhere {
        /// Its name in the report.
        name: String,
        /// Where clients connect.
        address: SocketAddr,
    },
    /// A server that only sends a file, or writes one: this program, whose `floor` serves.
    Bare(PathBuf),
    /// One that only writes a file, and rests before it takes what came.
    Resting(PathBuf),
}

impl Contestant {
    /// The names that [`Contestant::find`] knows.
    pub const NAMES: [&str; 7] = ["diwan", "other", "kafka", "rabbitmq", "activemq", "bare", "resting"];

    /// The contestant of that name, fetched if it is not there yet.
    ///
    /// # Errors
    /// `Missing`, with what is missing, if it cannot be had here.
    pub fn find(name: &str, sources: &Sources) -> Result<Self, PeerError> {
        if let Some((name, address)) = sources.brokers.iter().find(|(known, _)| known == name) {
            return Ok(Self::Elsewhere { name: name.clone(), address: *address });
        }
        match name {
            "diwan" => Ok(Self::Diwan { name: name.to_owned(), program: sources.diwan.clone() }),
            "other" => match &sources.other {
                Some(program) => Ok(Self::Diwan { name: name.to_owned(), program: program.clone() }),
                None => Err(PeerError::Missing("no other build of Diwan is named (`--against`)".into())),
            },
            "kafka" => Distribution::find(&sources.cache).map(Self::Kafka),
            "rabbitmq" => Ok(Self::RabbitMq(RabbitMq::find(&sources.cache)?, Queues::find(&sources.cache)?)),
            "activemq" => Queues::find(&sources.cache).map(Self::ActiveMq),
            "bare" => std::env::current_exe().map(Self::Bare).map_err(PeerError::io("this program")),
            "resting" => std::env::current_exe().map(Self::Resting).map_err(PeerError::io("this program")),
            other => Err(PeerError::Missing(format!("there is no broker `{other}`"))),
        }
    }

    /// Its name in the report.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Diwan { name, .. } | Self::Elsewhere { name, .. } => name,
            Self::Kafka(_) => "kafka",
            Self::RabbitMq(..) => "rabbitmq",
            Self::ActiveMq(_) => "activemq",
            Self::Bare(_) => "bare",
            Self::Resting(_) => "resting",
        }
    }

    /// Its version, as it says itself.
    #[must_use]
    pub fn version(&self) -> String {
        match self {
            Self::Diwan { program, .. } => {
                let said = std::process::Command::new(program).arg("--version").output();
                said.map_or_else(
                    |_| String::from("unknown"),
                    |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
                )
            }
            Self::Kafka(distribution) => distribution.version(),
            Self::RabbitMq(package, _) => format!("{}, classic queues", package.version()),
            Self::ActiveMq(queues) => format!("{}, KahaDB", queues.version()),
            Self::Elsewhere { address, .. } => format!("at {address}"),
            Self::Bare(_) => String::from("of this program: sends a file, or writes one, and nothing else"),
            Self::Resting(_) => {
                String::from("of this program: writes a file, after a rest of half a millisecond each time")
            }
        }
    }

    /// Whether a part of it, or of what loads it, is only compiled while it runs: it needs a longer warm-up.
    #[must_use]
    pub const fn is_jvm(&self) -> bool {
        matches!(self, Self::Kafka(_) | Self::RabbitMq(..) | Self::ActiveMq(_))
    }

    /// Whether several of it can be started as one cluster.
    #[must_use]
    pub const fn has_clusters(&self) -> bool {
        matches!(self, Self::Diwan { .. } | Self::Kafka(_))
    }

    /// What serves, if it is a broker of Kafka's protocol.
    pub(super) fn software(&self) -> Option<BrokerSoftware> {
        match self {
            Self::Diwan { program, .. } => Some(BrokerSoftware::Whole(program.clone())),
            Self::Kafka(distribution) => Some(BrokerSoftware::Kafka(distribution.clone())),
            _ => None,
        }
    }

    /// What serves, if it is a server of queues.
    pub(super) fn queue_software(&self, heap_mb: u32, is_flushed: bool) -> Option<QueueSoftware> {
        match self {
            Self::RabbitMq(package, _) => Some(QueueSoftware::RabbitMq(package.clone())),
            Self::ActiveMq(queues) => {
                Some(QueueSoftware::ActiveMq { queues: queues.clone(), heap_mb, is_flushed })
            }
            _ => None,
        }
    }

    /// What loads it, if it is a server of queues.
    pub(super) fn queue_load(&self) -> Option<LoadProgram> {
        match self {
            Self::RabbitMq(_, queues) => Some(queues.load("rabbitmq")),
            Self::ActiveMq(queues) => Some(queues.load("activemq")),
            _ => None,
        }
    }
}

/// Takes `NAME=HOST:PORT` apart.
///
/// # Errors
/// It is of another form, or the host has no address.
pub fn named_broker(text: &str) -> Result<(String, SocketAddr), String> {
    let (name, place) =
        text.split_once('=').ok_or_else(|| format!("`{text}` is not of the form NAME=HOST:PORT"))?;
    let mut addresses = place.to_socket_addrs().map_err(|error| format!("`{place}`: {error}"))?;
    let address = addresses.next().ok_or_else(|| format!("`{place}` has no address"))?;
    Ok((name.to_owned(), address))
}
