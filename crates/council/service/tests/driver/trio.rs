//! Three members in one process.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU8, Ordering};

use council_service::config::{EnsembleConfig, MemberConfig, MemberNumber};
use council_service::{Server, ServerConfig};

use crate::fixture::{Directory, until, word};

/// Members 1 and 2 vote, as does 3 unless it only observes.
pub(crate) struct Ensemble {
    pub(crate) directories: BTreeMap<u64, Directory>,
    pub(crate) members: BTreeMap<u64, Server>,
    named: Vec<MemberConfig>,
    adjust: Box<Adjust>,
}

/// Changes what a member is told.
type Adjust = dyn Fn(&mut ServerConfig);

/// An address of loopback's that no other test has, so that no other takes a port between being found and being used.
fn own_host() -> Ipv4Addr {
    static COUNT: AtomicU8 = AtomicU8::new(1);
    let [high, low] = ((std::process::id() % 0xffff) as u16).to_be_bytes();
    Ipv4Addr::new(127, high.max(1), low, COUNT.fetch_add(1, Ordering::Relaxed))
}

impl Ensemble {
    /// Three members that serve.
    pub(crate) fn start(observer: bool) -> Self {
        Self::start_with(observer, |_| ())
    }

    /// Three members that serve, each with what `adjust` makes of what it is told of the ensemble.
    pub(crate) fn start_told(observer: bool, adjust: impl Fn(&mut EnsembleConfig) + 'static) -> Self {
        Self::start_with(observer, move |config| adjust(config.ensemble.as_mut().unwrap()))
    }

    /// Three members that serve, each with what `adjust` makes of its settings.
    pub(crate) fn start_with(observer: bool, adjust: impl Fn(&mut ServerConfig) + 'static) -> Self {
        let mut ensemble = Self::of(observer, Box::new(adjust));
        (1..=3).for_each(|number| ensemble.start_member(number));
        ensemble.until_all_serve();
        ensemble
    }

    /// Three members that have directories and addresses and do not run.
    pub(crate) fn named() -> Self {
        Self::of(false, Box::new(|_| ()))
    }

    fn of(observer: bool, adjust: Box<Adjust>) -> Self {
        let host = own_host();
        // Nobody else has the host, nor listens everywhere at a port that the system does not give out by itself.
        let member = |number: u8| MemberConfig {
            number: MemberNumber(number),
            host: host.to_string(),
            peer_port: 2880 + u16::from(number),
            election_port: 3888,
            votes: number < 3 || !observer,
            client: Some(String::from("2181")),
        };
        let named = (1..=3).map(member).collect();
        let directories = (1..=3).map(|number| (number, Directory::new())).collect();
        Self { directories, members: BTreeMap::new(), named, adjust }
    }

    /// What a member is told.
    pub(crate) fn config(&self, number: u64) -> ServerConfig {
        let host = self.named[0].host.parse().unwrap();
        let page = Some(SocketAddr::new(host, 0));
        let mut config = self.directories[&number].config();
        config.metrics.address = page;
        config.admin.address = page;
        config.settings.push((String::from("zookeeper.initLimit"), String::from("7")));
        config.ensemble = Some(EnsembleConfig {
            number: MemberNumber::try_from(number).unwrap(),
            members: self.named.clone(),
            listen_on_all_addresses: false,
            bind_retries: 5,
            tls: None,
            secret: None,
            // A busy machine must not make a member miss its leader.
            election_tick_ms: 200,
            lease_ms: 2_000,
        });
        (self.adjust)(&mut config);
        config
    }

    pub(crate) fn start_member(&mut self, number: u64) {
        let server = Server::start(self.config(number)).unwrap();
        self.members.insert(number, server);
    }

    /// Where a member answers the others.
    pub(crate) fn peer_addr(&self, number: u64) -> SocketAddr {
        let member = self.named.iter().find(|member| u64::from(member.number) == number).unwrap();
        SocketAddr::new(member.host.parse().unwrap(), member.peer_port)
    }

    pub(crate) fn until_all_serve(&self) {
        until("all serve", || self.members.values().all(Server::is_serving));
    }

    /// The members whose word `srvr` says this.
    pub(crate) fn by_mode(&self, mode: &str) -> Vec<u64> {
        let line = format!("\nMode: {mode}\n");
        let is = |server: &Server| word(server, b"srvr").contains(&line);
        self.members.iter().filter(|(_, server)| is(server)).map(|(number, _)| *number).collect()
    }
}
