//! Which services a configuration asks for, and the log among them.
//!
//! | source | council | log |
//! |---|---|---|
//! | no file | yes | yes, if its port is free |
//! | a `diwan.toml` that speaks of neither or both | yes | yes |
//! | one with keys of the council only | yes | no |
//! | one with keys of the log only | unless `log.council` names another | yes |
//! | a `zoo.cfg` | yes | only if an option says where |
//! | a `server.properties` | unless `zookeeper.connect` names one | yes |

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;

use council_service::ServerConfig;
use council_service::config::EnsembleConfig;
use log_config::properties::Property;
use log_service::ListenerConfig;

use super::draft::{BrokerDraft, Draft, FileKind};
use super::{Checked, Problem};
use crate::broker::{BrokerSetup, Defaults, option, plaintext};

/// Where Kafka's clients connect, if no source says where.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9092);
/// The directory of the log below the data directory.
const DIRECTORY: &str = "log";

/// The log that is to be served.
#[derive(Clone, Debug)]
pub(crate) struct BrokerPlan {
    /// What it is started with.
    pub(crate) setup: BrokerSetup,
    /// Whether the server does without it if it cannot be served: nobody has asked for it.
    pub(crate) is_optional: bool,
}

/// What is to be served, and what of it cannot be.
#[derive(Debug)]
pub(super) struct Services {
    pub(super) council: bool,
    pub(super) broker: Option<BrokerPlan>,
}

impl Draft {
    /// Which services are to be served.
    ///
    /// # Errors
    /// Every reason why not.
    pub(super) fn services(&mut self) -> Result<Services, Vec<Problem>> {
        let broker = std::mem::take(&mut self.broker);
        let (is_said, file) = (broker.said, self.file);
        let is_wanted = match (file, broker.listen) {
            (_, Some(None)) => false,
            (FileKind::Zoo, listen) => listen.is_some(),
            (FileKind::Toml { council: true }, _) => is_said,
            _ => true,
        };
        let setup = if is_wanted { Some(broker.finish(file, &self.config.storage.data_dir)?) } else { None };
        let uses_other = setup.as_ref().is_some_and(|setup| setup.council.is_some());
        let council = match file {
            FileKind::Broker | FileKind::Toml { council: false } => !uses_other,
            FileKind::None => !(uses_other && is_said),
            FileKind::Zoo | FileKind::Toml { council: true } => true,
        };
        if !council && setup.is_none() {
            let what = "neither the council nor the log is to be served";
            return Err(vec![Problem::new(what).hint("remove `off` from `log.listen` (`--log`)")]);
        }
        let is_optional = !is_said && file != FileKind::Broker;
        let broker = setup.map(|setup| BrokerPlan { setup, is_optional });
        Ok(Services { council, broker })
    }
}

impl BrokerDraft {
    fn finish(self, file: FileKind, data_dir: &Path) -> Result<BrokerSetup, Vec<Problem>> {
        let mut properties = self.file;
        properties.extend(self.options);
        if let Some(listen) = self.listen.flatten() {
            properties.push(option("listeners", plaintext(listen)));
        }
        if let Some(directory) = &self.data_dir {
            let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
            properties.push(option("log.dirs", directory.display().to_string()));
        }
        if let Some(council) = &self.council {
            properties.push(option("zookeeper.connect", council.as_str()));
        }
        let listen = (file != FileKind::Broker).then_some(LISTEN);
        BrokerSetup::of(properties, &Defaults { listen, directory: data_dir.join(DIRECTORY) })
    }

    /// Takes one of Kafka's keys from a line of a `diwan.toml`, or from an option.
    pub(super) fn take(&mut self, key: &str, value: &str) {
        self.said = true;
        self.options.push(option(key, value));
    }

    /// Takes a whole `server.properties`.
    pub(super) fn take_file(&mut self, properties: Vec<Property>) {
        self.said = true;
        self.file = properties;
    }
}

impl BrokerPlan {
    /// Brokers beside members that talk encrypted do so, too, with the same keys and certificates, unless a source says how they
    /// talk. A certificate of a member is one of the broker that has its number.
    pub(super) fn take_security(&mut self, ensemble: Option<&EnsembleConfig>) {
        let config = &mut self.setup.config;
        let Some(ensemble) = ensemble.filter(|_| !self.setup.says_peer_security) else { return };
        if i32::from(ensemble.number.0) == config.broker.node_id {
            config.peer_tls.clone_from(&ensemble.tls);
        }
    }

    /// Whether the log can be served beside this council.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check(&self, council: Option<&ServerConfig>, running: bool) -> Checked<()> {
        if let Some(council) = council.filter(|_| self.setup.council.is_none()) {
            let (what, hint) = match &council.auth.enforced_schemes {
                _ if council.listen.client.is_none() => {
                    ("has no plain client port", "open one for this machine, `council.listen.client`")
                }
                Some(_) => ("wants its clients to authenticate", "let the log use another council"),
                None => ("", ""),
            };
            if !what.is_empty() {
                let hint = format!("{hint}, or name a council that it can use with `log.council`");
                return Err(Problem::new(format!("the log uses the council, which {what}")).hint(hint));
            }
        }
        let taken = |listener: &ListenerConfig| {
            let address = listener.address;
            TcpListener::bind(address).err().map(|error| (address, error))
        };
        let listeners = if running { &[][..] } else { &self.setup.config.listeners };
        match listeners.iter().find_map(taken) {
            None => Ok(()),
            Some((address, error)) => {
                Err(Problem::new(format!("{address} cannot be listened at for Kafka's clients: {error}"))
                    .hint("name another address with `log.listen` (`--log`), or `off`"))
            }
        }
    }
}
