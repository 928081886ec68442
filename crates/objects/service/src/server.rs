//! A member with the threads that serve its clients over HTTP.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use base::MemberNumber;
use consensus_replica::lifecycle::MEMBER_ALONE;
use net_http_server::{HttpConfig, HttpLimits, HttpServer, LargeBodies, PreparedServer, ShardMail};
use net_peers::SharedPort;
use net_reactor::{LimitNames, Turns};
use net_tls::TlsContext;
use node_pages::Source;
use node_threads::{Clock, Descriptors};
use objects_http::EdgeConfig;
use objects_replica::edge::Answer;
use objects_state::limits::MODULE_BYTES_MAX;
use parking_lot::Mutex;

use crate::config::{Announced, HttpOptions, ObjectsConfig};
use crate::edges::EdgeAnswers;
use crate::encryption::{self, EncryptionFigures, TLS_HINTS};
use crate::error::{ServerFault, StartError, system};
use crate::front::Front;
use crate::member::Member;
use crate::names::{NamesServer, PreparedNames};
use crate::sender::Senders;
use crate::to_edge::ToEdge;

/// How log lines call the limits of connections.
const LIMIT_NAMES: LimitNames =
    LimitNames { connections_max: "objects.connections", per_ip_max: "objects.connections-per-ip" };
/// Modules of types are uploaded there, the longest that there may be.
const MODULES: LargeBodies = LargeBodies { path: "/v1/types/", bytes_max: MODULE_BYTES_MAX as usize };
/// So many answers are delivered on the core's own thread, if the edge sleeps.
const ANSWERS_FEW: usize = 2;

/// A server that holds its port, and serves nobody yet.
pub struct Prepared {
    http: PreparedServer<ToEdge>,
    tls: Option<Arc<TlsContext>>,
    names: Option<PreparedNames>,
}

impl Prepared {
    /// Takes the port. `threads` serve connections; 0 stands for all cores but one. With `tls` all of them are encrypted.
    ///
    /// # Errors
    /// The port cannot be had, or the system refuses a poll.
    pub fn new(address: SocketAddr, threads: usize, tls: Option<Arc<TlsContext>>) -> io::Result<Self> {
        let config = HttpConfig {
            address,
            threads: threads_of(threads),
            limits: HttpLimits { large_bodies: Some(MODULES), ..HttpLimits::default() },
            connections_max: 0,
            per_address_max: 0,
            names: LIMIT_NAMES,
            descriptors: Descriptors::of_process(0),
            tls: tls.clone().map(encryption::of_http),
            hints: TLS_HINTS,
            thread_names: ("objects edge", "objects accept"),
        };
        Ok(Self { http: PreparedServer::new(config)?, tls, names: None })
    }

    /// Has it answer queries for names, too. What it answers is in [`ObjectsConfig::names`].
    #[must_use]
    pub fn with_names(self, names: PreparedNames) -> Self {
        Self { names: Some(names), ..self }
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.http.address()
    }

    /// Starts the member and serves its clients. They are refused until it serves ([`Server::is_serving`]).
    ///
    /// # Errors
    /// [`StartError`], with everything undone that had begun.
    pub fn start(
        self,
        config: ObjectsConfig,
        options: HttpOptions,
        port: Option<&SharedPort>,
    ) -> Result<Server, StartError> {
        let (clock, address) = (Clock::start(), self.http.address());
        let turns: Vec<Arc<OnceLock<Arc<Turns>>>> = self.http.mail().iter().map(|_| Arc::default()).collect();
        let edge = |(mail, turns): (&ShardMail<ToEdge>, &Arc<OnceLock<Arc<Turns>>>)| {
            Arc::new(EdgeMail { mail: mail.clone(), turns: Arc::clone(turns) }) as Arc<dyn EdgeAnswers>
        };
        let edges = self.http.mail().iter().zip(&turns).map(edge).collect();
        let own = config.group.as_ref().map_or(MEMBER_ALONE.number(), |group| group.own);
        let exposed_at = (!address.ip().is_loopback()).then_some(address);
        // A port that the system has chosen is known only now.
        let announced = config.announced.address(address).map_or(Announced::Nothing, Announced::At);
        let (data_dir, bytes_per_second) = (config.data_dir.clone(), config.snapshot_bytes_per_second);
        let mail = self.http.mail().to_vec();
        let member = Member::start(ObjectsConfig { exposed_at, announced, ..config }, port, edges, clock)?;
        let front = |number: u16| {
            let requests = Arc::clone(&member.requests()[usize::from(number)]);
            let to_core = (requests, Arc::clone(member.turns()));
            let config = edge_config((own, number), options, !address.ip().is_loopback());
            let told = (Arc::clone(member.counted()), Arc::clone(member.standing()));
            let (mail, supervisor) = (mail[usize::from(number)].clone(), Arc::clone(member.supervisor()));
            let senders = Senders::new(data_dir.clone(), bytes_per_second, mail, supervisor);
            Front::new(config, to_core, told, senders, clock)
        };
        let http = self.http.start(clock, member.supervisor(), front).map_err(system("start a thread"))?;
        for (place, own) in turns.iter().zip(http.turns()) {
            let _ = place.set(Arc::clone(own));
        }
        let names = match self.names.zip(member.names()) {
            Some((names, desk)) => Some(
                names
                    .start(desk, member.standing(), clock, member.supervisor())
                    .map_err(system("start a thread"))?,
            ),
            None => None,
        };
        let tls = self.tls.map(|context| {
            let network = Arc::clone(http.metrics());
            Arc::new(EncryptionFigures { context, network })
        });
        Ok(Server { address, member, tls, http: Mutex::new(Some(http)), names: Mutex::new(names) })
    }
}

/// Settings of one edge of a member.
fn edge_config((own, number): (MemberNumber, u16), options: HttpOptions, any_host: bool) -> EdgeConfig {
    let HttpOptions { create_on_use, root_token } = options;
    EdgeConfig { create_on_use, any_host, root_token, ..EdgeConfig::new(u64::from(own.0), number) }
}

/// How many threads serve connections.
fn threads_of(configured: usize) -> u16 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if configured == 0 { cores.saturating_sub(1).clamp(1, 16) } else { configured };
    u16::try_from(threads).unwrap_or(u16::MAX)
}

/// A running member and its HTTP server. Dropping it stops it.
pub struct Server {
    address: SocketAddr,
    member: Member,
    tls: Option<Arc<EncryptionFigures>>,
    http: Mutex<Option<HttpServer>>,
    names: Mutex<Option<NamesServer>>,
}

impl Server {
    /// Where clients connect.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where queries for names are answered, if they are.
    #[must_use]
    pub fn names_address(&self) -> Option<SocketAddr> {
        self.names.lock().as_ref().map(|names| names.address)
    }

    /// Whether clients are served.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.member.standing().is_serving()
    }

    /// Whether its objects have failed, or it was stopped.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.member.standing().has_ended()
    }

    /// Who is to be a member, and whether it is to vote: the leader makes it so.
    pub fn want(&self, members: Vec<(MemberNumber, bool)>) {
        self.member.want(members);
    }

    /// Its figures.
    pub fn figures(&self) -> impl Iterator<Item = Arc<dyn Source>> {
        let encryption = self.tls.as_ref().map(|tls| Arc::clone(tls) as Arc<dyn Source>);
        std::iter::once(self.member.figures()).chain(encryption)
    }

    /// Whether clients have to speak TLS.
    #[must_use]
    pub const fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Reads keys and certificates again. Connections that begin from now on use them; those that are there notice nothing.
    pub fn reload(&self) {
        if let Some(EncryptionFigures { context, .. }) = self.tls.as_deref() {
            encryption::told(context, context.reload().map(|()| true));
        }
    }

    /// The same, if their files have changed and that is to be noticed. To be called now and then.
    pub fn reload_if_changed(&self) {
        if let Some(EncryptionFigures { context, .. }) =
            self.tls.as_deref().filter(|tls| tls.context.reloads())
        {
            encryption::told(context, context.reload_if_changed());
        }
    }

    /// Stops: another member leads first, what was read is answered, connections are closed, the journal is closed
    /// cleanly.
    pub fn stop(&self) {
        self.member.step_aside();
        if let Some(mut http) = self.http.lock().take() {
            http.stop();
        }
        drop(self.names.lock().take());
        self.member.stop();
    }

    /// Waits until it was stopped, or has to stop because of a fault.
    ///
    /// # Errors
    /// The fault.
    pub fn wait(&self) -> Result<(), ServerFault> {
        self.member.wait()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The core's way to an edge.
struct EdgeMail {
    mail: ShardMail<ToEdge>,
    /// Once the edge's thread runs.
    turns: Arc<OnceLock<Arc<Turns>>>,
}

impl EdgeAnswers for EdgeMail {
    fn put(&self, answers: &mut Vec<Answer>) {
        let mut mail: Vec<_> = answers.drain(..).map(ToEdge::Answer).collect();
        match self.turns.get().filter(|_| mail.len() <= ANSWERS_FEW) {
            Some(turns) => {
                self.mail.put_all_quietly(&mut mail);
                turns.take_or_wake();
            }
            None => self.mail.put_all(&mut mail),
        }
    }

    fn leader(&self, address: Option<&str>) {
        self.mail.put(ToEdge::Leader(address.map(String::from)));
    }

    fn core_ended(&self) {
        self.mail.put(ToEdge::CoreEnded);
    }
}
