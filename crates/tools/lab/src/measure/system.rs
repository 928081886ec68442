//! Which systems there are, and where they come from. If one is not available, it says why.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use council_client::load::Servers;
use tools_testbed::peer::zookeeper::Distribution;
use tools_testbed::peer::{LoadProgram, Recipes, concoord, etcd, redis};
use tools_testbed::{PeerError, Software};

/// A system that can be measured.
#[derive(Clone, Debug)]
pub enum System {
    /// Diwan, or another build of it.
    Diwan {
        /// Its name in the report.
        name: String,
        /// The program, whose `serve` serves.
        program: PathBuf,
    },
    /// Diwan's live objects, by the path of the program.
    Objects(PathBuf),
    /// Apache ZooKeeper.
    ZooKeeper(Distribution),
    /// etcd.
    Etcd(etcd::Program),
    /// ConCoord.
    ConCoord(concoord::Package),
    /// Curator's recipes on servers that speak ZooKeeper's protocol.
    Curator {
        /// Its name in the report.
        name: &'static str,
        /// The servers.
        on: Software,
        /// What performs the recipes.
        load: LoadProgram,
        /// The release of Curator, and what it is on.
        version: String,
    },
    /// Hazelcast's CP subsystem.
    Hazelcast(Recipes),
    /// Redis, one server with replicas, and what performs recipes on it.
    Redis(redis::Package, Recipes),
    /// The HTTP server of live objects without them, by the path of this program: the floor under queries.
    BareHttp(PathBuf),
    /// Servers of ZooKeeper's protocol that the lab did not start.
    Elsewhere {
        /// Their name in the report.
        name: String,
        /// Where clients connect, and how they are let in.
        servers: Servers,
    },
}

/// Where systems come from.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The program that is measured as `diwan`.
    pub diwan: PathBuf,
    /// Another build, measured beside it as `other`.
    pub other: Option<PathBuf>,
    /// Where peers are kept once they are fetched.
    pub cache: PathBuf,
    /// Further servers, each ensemble under its name.
    pub addresses: Vec<(String, Servers)>,
    /// Further brokers of Kafka's protocol, each under its name.
    pub brokers: Vec<(String, SocketAddr)>,
}

impl System {
    /// The names that [`Sources::find`] knows beside those of addresses and [`System::OF_RECIPES`].
    pub const NAMES: [&str; 6] = ["diwan", "objects", "zookeeper", "etcd", "concoord", "other"];
    /// The names of floors under recipes.
    pub const FLOORS_OF_RECIPES: [&str; 1] = ["bare-http"];
    /// The names of those that take part in experiments on recipes.
    pub const OF_RECIPES: [&str; 6] = ["objects", "curator", "curator-diwan", "etcd", "hazelcast", "redis"];

    /// Its name in the report.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Diwan { name, .. } | Self::Elsewhere { name, .. } => name,
            Self::Objects(_) => "objects",
            Self::ZooKeeper(_) => "zookeeper",
            Self::Etcd(_) => "etcd",
            Self::ConCoord(_) => "concoord",
            Self::Curator { name, .. } => name,
            Self::Hazelcast(_) => "hazelcast",
            Self::Redis(..) => "redis",
            Self::BareHttp(_) => "bare-http",
        }
    }

    /// What serves, where it is configured by a `zoo.cfg`.
    #[must_use]
    pub fn software(&self) -> Option<Software> {
        match self {
            Self::Diwan { program, .. } => Some(Software::Diwan(program.clone())),
            Self::ZooKeeper(distribution) => Some(Software::ZooKeeper(distribution.clone())),
            _ => None,
        }
    }

    /// Its version, as it says itself.
    #[must_use]
    pub fn version(&self) -> String {
        match self {
            Self::Diwan { program, .. } | Self::Objects(program) => diwan_version(program),
            Self::ZooKeeper(distribution) => distribution.version(),
            Self::Etcd(program) => program.version(),
            Self::ConCoord(package) => package.version(),
            Self::Curator { version, .. } => version.clone(),
            Self::Hazelcast(recipes) => recipes.hazelcast(),
            Self::Redis(package, _) => package.version(),
            Self::BareHttp(_) => String::from("answers every request alike"),
            Self::Elsewhere { servers, .. } => place(servers),
        }
    }
}

/// Where servers are, and what stands between them and clients: it costs both sides something.
fn place(servers: &Servers) -> String {
    let addresses: Vec<_> = servers.list.iter().map(|server| server.address.to_string()).collect();
    let access = &servers.access;
    let tls = if access.is_encrypted() { ", by TLS" } else { "" };
    let sasl = access.sasl_user().map(|user| format!(", as the SASL user {user}")).unwrap_or_default();
    format!("at {}{tls}{sasl}", addresses.join(","))
}

fn diwan_version(program: &Path) -> String {
    let said = std::process::Command::new(program).arg("--version").output();
    said.map_or_else(|_| String::from("unknown"), |output| first_line(&output.stdout))
}

fn first_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).lines().next().unwrap_or("unknown").to_owned()
}

impl Sources {
    /// The system of that name, fetched or built if it is not there yet.
    ///
    /// # Errors
    /// `Missing`, with what is missing, if it cannot be had here.
    pub fn find(&self, name: &str) -> Result<System, PeerError> {
        if let Some((name, servers)) = self.addresses.iter().find(|(known, _)| known == name) {
            return Ok(System::Elsewhere { name: name.clone(), servers: servers.clone() });
        }
        match name {
            "diwan" => Ok(System::Diwan { name: name.to_owned(), program: self.diwan.clone() }),
            "objects" => Ok(System::Objects(self.diwan.clone())),
            "other" => match &self.other {
                Some(program) => Ok(System::Diwan { name: name.to_owned(), program: program.clone() }),
                None => Err(PeerError::Missing("no other build of Diwan is named (`--against`)".into())),
            },
            "zookeeper" => Distribution::find(&self.cache).map(System::ZooKeeper),
            "etcd" => etcd::Program::find(&self.cache).map(System::Etcd),
            "concoord" => concoord::Package::find(&self.cache).map(System::ConCoord),
            "curator" => {
                let distribution = Distribution::find(&self.cache)?;
                let of = distribution.version();
                self.curator("curator", Software::ZooKeeper(distribution), &of)
            }
            "curator-diwan" => {
                let of = diwan_version(&self.diwan);
                self.curator("curator-diwan", Software::Diwan(self.diwan.clone()), &of)
            }
            "hazelcast" => Recipes::find(&self.cache).map(System::Hazelcast),
            "redis" => {
                let package = redis::Package::find(&self.cache)?;
                Ok(System::Redis(package, Recipes::find(&self.cache)?))
            }
            "bare-http" => {
                std::env::current_exe().map(System::BareHttp).map_err(PeerError::io("this program"))
            }
            other => Err(PeerError::Missing(format!("there is no system `{other}`"))),
        }
    }

    fn curator(&self, name: &'static str, on: Software, of: &str) -> Result<System, PeerError> {
        let recipes = Recipes::find(&self.cache)?;
        let version = format!("{} on {of}", recipes.curator());
        Ok(System::Curator { name, on, load: recipes.load("Curator", "curator"), version })
    }
}

/// Takes `NAME=HOST:PORT,..` apart.
///
/// # Errors
/// It is of another form, or a host has no address.
pub fn named_addresses(text: &str) -> Result<(String, Servers), String> {
    let (name, list) =
        text.split_once('=').ok_or_else(|| format!("`{text}` is not of the form NAME=HOST:PORT,.."))?;
    let servers = Servers::resolve(list).map_err(|error| error.to_string())?;
    Ok((name.to_owned(), servers))
}
