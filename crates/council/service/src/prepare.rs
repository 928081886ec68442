//! What a start judges before it changes anything: keys and certificates, ports, the data directory.
//!
//! [`Server::start`](crate::Server::start) begins with `prepare`, and [`check`] is the same and no more, so what
//! `diwan config check` says cannot differ from what `diwan serve` does.

use node_threads::Clock;
use std::net::TcpListener;

use crate::certificate_ends as ends;
use crate::config::ServerConfig;
use crate::error::StartError;
use crate::listeners::{self, Sockets};
use crate::peers;
use crate::recovery::{self, Condition};
use crate::{config_mapping, disk};
use net_peers::Credentials;
use net_tls::TlsContext;

/// What a start goes on with.
pub(crate) struct Prepared {
    pub(crate) tls: Option<TlsContext>,
    pub(crate) sockets: Sockets,
    /// Among other members.
    pub(crate) credentials: Option<Credentials>,
}

impl Prepared {
    /// What an operator should know although the server starts.
    pub(crate) fn warnings(&self, clock: Clock) -> Vec<String> {
        let now_s = clock.now().wall.ms() / 1000;
        let clients =
            self.tls.as_ref().and_then(|tls| ends::warning("clients", tls.path(), tls.not_after(), now_s));
        let members = self.credentials.as_ref().and_then(Credentials::tls);
        let members = members.as_ref().map(|tls| &tls.own);
        let end = members.and_then(|own| ends::warning("members", &own.path, own.not_after, now_s));
        let doubt = members.and_then(|own| own.doubt.as_ref()).map(ToString::to_string);
        clients.into_iter().chain(end).chain(doubt).collect()
    }
}

/// Judges everything that can be judged without a change, and takes the ports.
pub(crate) fn prepare(config: &ServerConfig, clock: Clock) -> Result<Prepared, StartError> {
    let tls = config.tls.clone().map(TlsContext::new).transpose()?;
    let life = clock.now().wall.ms().unsigned_abs();
    let settings_of = |ensemble| peers::settings(ensemble, life);
    let credentials = config.ensemble.as_ref().map(settings_of).map(Credentials::new).transpose()?;
    config_mapping::front(config, 1, [0; 32])?;
    let sockets = Sockets::bind(config)?;
    for page in listeners::pages(config).iter().filter(|page| !page.optional) {
        // Taken for good when the pages are served; the ports of clients are held meanwhile.
        page.probe()?;
    }
    recovery::judge_directories(&config.storage)?;
    probe_directories(config)?;
    Ok(Prepared { tls, sockets, credentials })
}

fn probe_directories(config: &ServerConfig) -> Result<(), StartError> {
    let storage = &config.storage;
    disk::probe(&storage.data_dir)?;
    if let Some(log_dir) = storage.log_dir.as_deref().filter(|log_dir| *log_dir != storage.data_dir) {
        disk::probe(log_dir)?;
    }
    Ok(())
}

/// Whether a server would start with this configuration. Nothing is changed: ports are taken for a moment, a directory
/// that is missing is made and removed again, and what the log holds is read only. `running` says that a server with
/// this configuration may be running: its ports and its directory are its own then.
///
/// Gives what an operator should know although the server would start.
///
/// # Errors
/// Why [`Server::start`](crate::Server::start) would fail.
pub fn check(config: &ServerConfig, running: bool) -> Result<Vec<String>, StartError> {
    let mut config = config.clone();
    if let Some(ensemble) = &mut config.ensemble {
        // A start waits for a port that is taken; the answer is known at once.
        ensemble.bind_retries = 0;
    }
    if running {
        take_any_ports(&mut config);
    }
    let clock = Clock::start();
    let held = match prepare(&config, clock) {
        Ok(prepared) => prepared,
        Err(StartError::Directory(disk::DirectoryError::Locked(_))) if running => {
            return Ok(vec![String::from("a server uses the data directory: its log was not looked at")]);
        }
        Err(error) => return Err(error),
    };
    let mut notes = held.warnings(clock);
    notes.extend(optional_pages(&config));
    match recovery::inspect(&config)? {
        Condition::Sound => {}
        Condition::Damaged(error) => notes.push(format!(
            "the data is damaged, so a start puts it aside in `put-aside` and asks the other members for theirs: {error}"
        )),
    }
    drop(held);
    Ok(notes)
}

/// The same addresses with ports that are free.
fn take_any_ports(config: &mut ServerConfig) {
    let listen = &mut config.listen;
    let pages = [&mut config.metrics.address, &mut config.admin.address];
    let clients = [&mut listen.client, &mut listen.secure];
    clients.into_iter().chain(pages).flatten().for_each(|address| address.set_port(0));
    if let Some(ensemble) = &mut config.ensemble {
        let number = ensemble.number;
        ensemble.members.iter_mut().filter(|own| own.number == number).for_each(|own| own.peer_port = 0);
    }
}

fn optional_pages(config: &ServerConfig) -> Vec<String> {
    let pages = listeners::pages(config);
    let taken = pages.iter().filter(|page| page.optional).filter_map(|page| {
        let source = TcpListener::bind(page.address).err()?;
        Some(format!(
            "{} would not be served over HTTP, for {} cannot be used: {source}",
            page.purpose, page.address
        ))
    });
    taken.collect()
}
