//! Which services a configuration asks for.
//!
//! | source | council | log | objects |
//! |---|---|---|---|
//! | no file | yes | yes, if its port is free | yes, if their port is free |
//! | a `diwan.toml` that speaks of none or all | yes | yes | yes |
//! | one with keys of the council only | yes | no | no |
//! | one with keys of the log only | unless `log.council` names another | yes | beside the council, if their port is free |
//! | one with keys of the objects | yes | as above | yes |
//! | a `zoo.cfg` | yes | only if an option says where | only if an option speaks of them |
//! | a `server.properties` | unless `zookeeper.connect` names one | yes | only if an option speaks of them |

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::MemberNumber;
use council_service::ServerConfig;
use council_service::config::{EnsembleConfig, TlsConfig};
use log_config::properties::Property;
use log_service::ListenerConfig;
use objects_guest::CompilerProcess;
use objects_service::{Announced, GroupConfig, ObjectsConfig, PreparedNames, Zone};

use super::draft::{BrokerDraft, Draft, FileKind, NamesDraft, ObjectsDraft};
use super::{Checked, Problem, root_token};
use crate::broker::{BrokerSetup, Defaults, option, plaintext};

/// Where Kafka's clients connect, if no source says where.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9092);
/// The directory of the log below the data directory.
const DIRECTORY: &str = "log";
/// Where clients of objects connect, if no source says where.
const OBJECTS_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7180);
/// The directory of the objects below the data directory.
pub(crate) const OBJECTS_DIRECTORY: &str = "objects";
/// The zone of names, if no source says which.
const ZONE: &str = "diwan.internal";

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
    pub(super) objects: Option<ObjectsPlan>,
}

/// The objects that are to be served.
#[derive(Clone, Debug)]
pub(crate) struct ObjectsPlan {
    /// Where their clients connect.
    pub(crate) listen: SocketAddr,
    /// Where clients of other members are sent while this one leads, if a source says so.
    pub(crate) announce: Option<String>,
    /// Where they lie.
    pub(crate) data_dir: PathBuf,
    /// Whether a command creates the object that it is for.
    pub(crate) create_on_use: bool,
    /// How their clients' connections are encrypted, if they are.
    pub(crate) tls: Option<TlsConfig>,
    /// The SHA-256 of the token that may do everything at this member.
    pub(crate) root_token: Option<[u8; 32]>,
    /// Whether the server does without them if they cannot be served: nobody has asked for them.
    pub(crate) is_optional: bool,
    /// Names of objects, if they are to be served.
    pub(crate) names: Option<NamesPlan>,
}

/// Names of objects that are to be served.
#[derive(Clone, Debug)]
pub(crate) struct NamesPlan {
    /// Where queries are answered.
    pub(crate) listen: SocketAddr,
    /// Below which name.
    pub(crate) zone: Zone,
    /// This member's address in answers, if a source says so.
    pub(crate) announce: Option<IpAddr>,
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
        let objects = self.objects_plan(council).map_err(|problem| vec![problem])?;
        Ok(Services { council, broker, objects })
    }

    /// The objects that are to be served.
    fn objects_plan(&mut self, council: bool) -> Checked<Option<ObjectsPlan>> {
        let draft = std::mem::take(&mut self.objects);
        let ObjectsDraft { said, listen, announce, data_dir, create_on_use, tls, root_token_file, names } =
            draft;
        let is_wanted = match (self.file, listen) {
            (_, Some(None)) => false,
            (FileKind::Zoo | FileKind::Broker | FileKind::Toml { council: true }, _) => said,
            (FileKind::None | FileKind::Toml { council: false }, _) => council || said,
        };
        if is_wanted && !council {
            let what = "objects are served beside a council of the same process, and this one serves none";
            return Err(Problem::new(what).hint("remove the keys `objects.*`, or `log.council`"));
        }
        if !is_wanted {
            return Ok(None);
        }
        let root_token = root_token_file.map(|file| root_token::read(&file)).transpose()?;
        let directory = || self.config.storage.data_dir.join(OBJECTS_DIRECTORY);
        Ok(Some(ObjectsPlan {
            listen: listen.flatten().unwrap_or(OBJECTS_LISTEN),
            announce,
            data_dir: data_dir.unwrap_or_else(directory),
            create_on_use,
            tls: tls.of_objects()?,
            root_token,
            is_optional: !said,
            names: names.finish(),
        }))
    }
}

impl NamesDraft {
    fn finish(self) -> Option<NamesPlan> {
        let zone = || Zone::new(ZONE).expect("it is a zone");
        let Self { listen, zone: said, announce } = self;
        Some(NamesPlan { listen: listen?, zone: said.unwrap_or_else(zone), announce })
    }
}

impl NamesPlan {
    /// Whether the port for names can be had.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check(&self, running: bool) -> Checked<()> {
        let bound = if running { Ok(()) } else { PreparedNames::new(self.listen).map(drop) };
        bound.map_err(|error| self.refused(&error))
    }

    /// What is said when the port cannot be had.
    pub(crate) fn refused(&self, error: &std::io::Error) -> Problem {
        let what = format!("{} cannot be listened at for names, by UDP and TCP: {error}", self.listen);
        let hint = match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                "name a port above 1023 with `dns.listen` and redirect port 53 to it, or give the program the capability \
                 `cap_net_bind_service`"
            }
            _ => "name another address with `dns.listen` (`--dns`), or `off`",
        };
        Problem::new(what).hint(hint)
    }
}

impl ObjectsPlan {
    /// What the objects are started with beside a council whose members these are, but for names.
    pub(crate) fn service_config(
        &self,
        beside: Option<&ServerConfig>,
        members: Vec<(MemberNumber, bool)>,
    ) -> ObjectsConfig {
        let group = beside.and_then(|beside| beside.ensemble.as_ref()).map(|ensemble| GroupConfig {
            own: ensemble.number,
            members,
            election_tick_ms: u64::from(ensemble.election_tick_ms),
            lease_ms: u64::from(ensemble.lease_ms),
        });
        let mut objects = ObjectsConfig::new(self.data_dir.clone(), group);
        objects.announced = match &self.announce {
            Some(address) => Announced::At(address.clone()),
            None => {
                let ensemble = beside.and_then(|beside| beside.ensemble.as_ref());
                Announced::Listening { on_one_machine: ensemble.is_some_and(is_on_one_machine) }
            }
        };
        objects.compiler = Arc::new(CompilerProcess::of_this_program());
        if let Some(storage) = beside.map(|beside| &beside.storage) {
            objects.segment_bytes = storage.segment_bytes;
            objects.snapshots_kept = storage.snapshots_kept as usize;
            objects.snapshot_bytes_per_second = storage.snapshot_bytes_per_second;
            objects.flush_warning_ms = u64::from(storage.flush_warning_ms);
        }
        objects
    }

    /// Whether objects can be served.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check(&self, running: bool) -> Checked<()> {
        self.encryption()?;
        let bound = if running { Ok(()) } else { TcpListener::bind(self.listen).map(drop) };
        bound.map_err(|error| self.refused(&error))
    }

    /// What is said when the port cannot be had.
    pub(crate) fn refused(&self, error: &std::io::Error) -> Problem {
        Problem::new(format!("{} cannot be listened at for clients of objects: {error}", self.listen))
            .hint("name another address with `objects.listen` (`--objects`), or `off`")
    }
}

/// Whether all members are at addresses of loopback.
fn is_on_one_machine(ensemble: &EnsembleConfig) -> bool {
    let is_loopback = |host: &str| {
        host == "localhost"
            || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    };
    ensemble.members.iter().all(|member| is_loopback(&member.host))
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
