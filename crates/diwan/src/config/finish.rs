//! The checks that need more than one setting, once all have come in.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use council_connect::jaas;
use council_service::config::{
    ClientAuth, EnsembleConfig, EnsembleSecret, Framing, MemberConfig, PeerTlsConfig, SaslConfig,
    SessionConfig, TlsConfig,
};
use council_service::digest;

use super::{directories, members};
use crate::broker::any_address;
use node_config::{Checked, Problem, Setting};

use super::Configuration;
use super::draft::{Draft, Endpoint, EnsembleDraft};
use super::services::Services;
use super::stores::{StoreKeys, offered};

const CLIENTS_KEY: StoreKeys =
    StoreKeys { kind: "ssl.keyStore.type", password_file: "ssl.keyStore.passwordPath" };
const CLIENTS_TRUST: StoreKeys =
    StoreKeys { kind: "ssl.trustStore.type", password_file: "ssl.trustStore.passwordPath" };
const MEMBERS_KEY: StoreKeys =
    StoreKeys { kind: "ssl.quorum.keyStore.type", password_file: "ssl.quorum.keyStore.passwordPath" };
const MEMBERS_TRUST: StoreKeys =
    StoreKeys { kind: "ssl.quorum.trustStore.type", password_file: "ssl.quorum.trustStore.passwordPath" };

/// The AdminServer's port, where a `zoo.cfg` does not say it.
const ADMIN_PORT: u16 = 8080;
/// The port of Prometheus' metrics, where a `zoo.cfg` does not say it.
const METRICS_PORT: u16 = 7000;

impl Draft {
    /// The whole configuration, or everything that is wrong with it.
    pub(crate) fn finish(mut self) -> Result<Configuration, Vec<Problem>> {
        let services = self.services();
        let steps: [fn(&mut Self) -> Checked<()>; 10] = [
            Self::finish_storage,
            Self::finish_servers,
            Self::finish_listen,
            Self::finish_sessions,
            Self::finish_tls,
            Self::finish_sasl,
            Self::finish_auth,
            Self::finish_http,
            Self::finish_rest,
            // Last: others look for `myid` where the configuration says that the data is.
            Self::finish_directories,
        ];
        let serves_council = services.as_ref().map_or(true, |services| services.council);
        let judged = steps.iter().filter(|_| serves_council);
        let mut problems: Vec<Problem> = judged.filter_map(|step| step(&mut self).err()).collect();
        match services {
            Ok(Services { council, mut broker, objects }) if problems.is_empty() => {
                let ensemble = self.config.ensemble.as_ref().filter(|_| council);
                broker.iter_mut().for_each(|plan| plan.take_security(ensemble));
                let council = council.then_some(self.config);
                Ok(Configuration { council, logging: self.log, broker, objects })
            }
            services => {
                problems.extend(services.err().into_iter().flatten());
                Err(problems)
            }
        }
    }

    fn finish_storage(&mut self) -> Checked<()> {
        if self.zoo && !self.data_dir_said {
            return Err(
                Problem::new("`dataDir` is not set").hint("say where the data lies: `dataDir=DIRECTORY`")
            );
        }
        let storage = &mut self.config.storage;
        storage.log_dir.take_if(|log_dir| *log_dir == storage.data_dir);
        Ok(())
    }

    fn finish_directories(&mut self) -> Checked<()> {
        directories::give_to_council(&mut self.config.storage)
    }

    fn finish_servers(&mut self) -> Checked<()> {
        if self.ensemble.members.len() > 1 {
            return self.finish_ensemble();
        }
        let Some(alone) = self.ensemble.members.first().cloned() else { return Ok(()) };
        // As in ZooKeeper: without a number this server is not the one that the line names, and its port is only a
        // default.
        let is_own = members::own_number(&self.config.storage.data_dir).is_ok_and(|own| own == alone.number);
        if is_own || self.client.port.is_none() { self.take_client_address(&alone) } else { Ok(()) }
    }

    /// The client address of this server may stand in its `server.` line as well, which is what other members and
    /// clients read in `/zookeeper/config`. The line decides, as in ZooKeeper's `setupClientPort`: other settings must
    /// say the same, or every address with the same port.
    fn take_client_address(&mut self, member: &MemberConfig) -> Checked<()> {
        let Some(line) = member.client_address() else { return Ok(()) };
        let (host, port) = line;
        let everywhere = is_every_address(host);
        let differs = |said: String, hint: String| {
            let line =
                format!("{}:{port}", if host.contains(':') { format!("[{host}]") } else { host.into() });
            Err(Problem::new(format!(
                "clients are to connect at {said}, but at {line} by the line `server.{}`, which other members and clients \
                 read",
                member.number
            ))
            .hint(hint))
        };
        if self.client.said {
            // `council.listen.client` may be narrower than the line, but not elsewhere.
            let Some(listen) = self.config.listen.client else { return Ok(()) };
            let fits = listen.port() == 0 || listen.port() == port;
            if fits && (everywhere || listen.ip().is_unspecified() || same_host(host, listen.ip())) {
                return Ok(());
            }
            return differs(
                listen.to_string(),
                String::from("name the same address in both, or only in the line"),
            );
        }
        if let Some(said) = self.client.port {
            let said_host = self.client.host.as_deref().filter(|host| !is_every_address(host));
            let fits = match said_host {
                None => said == port,
                Some(said_host) => said == port && same_address(said_host, host),
            };
            if !fits {
                let said = said_host
                    .map_or_else(|| format!("port {said} of every address"), |host| format!("{host}:{said}"));
                let hint = "name the same in `clientPort` and `clientPortAddress`, or remove both: the line suffices";
                return differs(said, String::from(hint));
            }
        }
        self.client.port = Some(port);
        self.client.host = (!everywhere).then(|| String::from(host));
        Ok(())
    }

    fn finish_ensemble(&mut self) -> Checked<()> {
        let draft = std::mem::take(&mut self.ensemble);
        let number = match draft.number {
            Some(number) => number,
            None => members::own_number(&self.config.storage.data_dir)?.into(),
        };
        let Some(own) = draft.members.iter().find(|member| u64::from(member.number) == number).cloned()
        else {
            let known: Vec<_> = draft.members.iter().map(|member| member.number.to_string()).collect();
            return Err(Problem::new(format!(
                "this server is number {number}, but the servers named are {}",
                known.join(", ")
            ))
            .hint("see `myid` in the data directory (`council.ensemble.number`), and the `server.` lines"));
        };
        self.take_client_address(&own)?;
        let secret = draft.secret_file.as_deref().map(secret).transpose()?;
        let (election_tick_ms, lease_ms) = (draft.election_tick_ms, draft.lease_ms);
        let (listen_on_all_addresses, bind_retries) = (draft.listen_on_all_addresses, draft.bind_retries);
        let members = draft.members.clone();
        let tls = draft.tls.then(|| draft.peer_tls()).transpose()?;
        self.config.ensemble = Some(EnsembleConfig {
            number: own.number,
            members,
            listen_on_all_addresses,
            bind_retries,
            tls,
            secret,
            election_tick_ms,
            lease_ms,
        });
        Ok(())
    }

    fn finish_listen(&mut self) -> Checked<()> {
        let listen = &mut self.config.listen;
        if self.zoo && !self.client.said {
            listen.client = None;
        }
        if let Some(address) = self.client.address("clientPort", "clientPortAddress")? {
            listen.client = Some(address);
        }
        if let Some(address) = self.secure.address("secureClientPort", "secureClientPortAddress")? {
            listen.secure = Some(address);
        }
        if listen.client.is_none() && listen.secure.is_none() && !self.client_port_said {
            return Err(Problem::new("there is no port for clients").hint("set `clientPort` (2181 is usual)"));
        }
        Ok(())
    }

    fn finish_sessions(&mut self) -> Checked<()> {
        let standard = SessionConfig::of_tick(self.tick_ms.unwrap_or(self.config.session.tick_ms));
        let session = SessionConfig {
            tick_ms: standard.tick_ms,
            timeout_min_ms: self.timeout_min_ms.unwrap_or(standard.timeout_min_ms),
            timeout_max_ms: self.timeout_max_ms.unwrap_or(standard.timeout_max_ms),
        };
        if session.timeout_min_ms > session.timeout_max_ms {
            return Err(Problem::new(format!(
                "the shortest session timeout ({} ms) is longer than the longest ({} ms)",
                session.timeout_min_ms, session.timeout_max_ms
            ))
            .hint("unless said they are 2 and 20 ticks: see `tickTime`, `minSessionTimeout`, `maxSessionTimeout`"));
        }
        self.config.session = session;
        Ok(())
    }

    fn finish_tls(&mut self) -> Checked<()> {
        let listen = &self.config.listen;
        if listen.secure.is_none() && !listen.client_takes_tls {
            return Ok(());
        }
        self.config.auth.x509_enabled = true;
        let draft = std::mem::take(&mut self.tls);
        let Some(key_store) = draft.key_store.finish(&CLIENTS_KEY)? else {
            return Err(Problem::new("a TLS port has no key")
                .hint("set `ssl.keyStore.location` (`council.tls.key-store`)"));
        };
        let trust_store = draft.trust_store.finish(&CLIENTS_TRUST)?;
        let client_auth = draft.client_auth.unwrap_or_default();
        if trust_store.is_none() && client_auth != ClientAuth::None {
            return Err(Problem::new("clients must show a certificate, but no trusted authority is configured").hint(
                "set `ssl.trustStore.location` (`council.tls.trust-store`), or `ssl.clientAuth=none` (`council.tls.client-auth`)",
            ));
        }
        self.config.tls = Some(TlsConfig {
            key_store,
            trust_store,
            client_auth,
            protocols: draft.protocols.unwrap_or_else(|| offered(draft.protocol)),
            cipher_suites: draft.cipher_suites,
            verify_client_hostname: draft.verify_hostname && draft.verify_client_hostname,
            revocation_lists: draft.revocation_lists,
            reload: draft.reload,
            handshake_timeout_ms: draft.handshake_timeout_ms,
            // As under ZooKeeper; see `Framing`.
            framing: Framing::LengthPrefixed,
        });
        Ok(())
    }

    fn finish_sasl(&mut self) -> Checked<()> {
        let Some(file) = self.sasl.file.take() else { return Ok(()) };
        let mut users = jaas::users(&file, &self.sasl.section)?;
        if let Some(password) = self.sasl.super_password.take() {
            users.set("super", password);
        }
        self.config.auth.sasl = Some(SaslConfig {
            users,
            super_users: std::mem::take(&mut self.sasl.super_users),
            allow_failed_clients: self.sasl.allow_failed_clients,
        });
        // Diwan's own file has no line for providers: if it names users, their scheme is on.
        self.config.auth.sasl_scheme |= !self.zoo;
        Ok(())
    }

    fn finish_auth(&mut self) -> Checked<()> {
        let auth = &mut self.config.auth;
        if auth.super_digest.as_ref().is_some_and(|id| !digest::is_id(auth.digest_algorithm, &id.0)) {
            // The text is not repeated: it may be the password.
            return Err(Problem::new(
                "`DigestAuthenticationProvider.superDigest` (`council.auth.super-digest`) is no `super:<hash>`: behind the colon \
                 must be the hash of `super:password` in base64, by the algorithm of \
                 `DigestAuthenticationProvider.digestAlg`",
            )
            .hint("`diwan digest super` asks for the password and makes the line"));
        }
        if self.ensemble_provider {
            auth.ensemble_names = Some(std::mem::take(&mut self.ensemble_names));
        }
        let enforce = std::mem::take(&mut self.enforce);
        let schemes = if enforce.sasl { vec![String::from("sasl")] } else { enforce.schemes };
        if !enforce.sasl && !enforce.enabled {
            return Ok(());
        }
        if schemes.is_empty() {
            return Err(Problem::new("clients must authenticate, but no scheme is named")
                .hint("name some: `enforce.auth.schemes=digest,sasl`"));
        }
        for scheme in &schemes {
            let there = match scheme.as_str() {
                "ip" => true,
                "digest" => auth.digest_enabled,
                "x509" => auth.x509_enabled,
                "sasl" => auth.sasl_scheme && auth.sasl.is_some(),
                "ensemble" => auth.ensemble_names.is_some(),
                _ => false,
            };
            if !there {
                let what = format!("clients must authenticate by `{scheme}`, but that scheme is not set up");
                return Err(Problem::new(what).hint(setting_up(scheme)));
            }
        }
        auth.enforced_schemes = Some(schemes);
        Ok(())
    }

    fn finish_http(&mut self) -> Checked<()> {
        if self.metrics.prometheus && !self.metrics.said {
            let port = self.metrics.port.unwrap_or(METRICS_PORT);
            self.config.metrics.address = Some(bind(self.metrics.host.as_deref(), port)?);
            self.config.metrics.optional = false;
        }
        let unsaid = self.admin.enabled.is_none() && self.admin.port.is_none() && self.admin.host.is_none();
        if self.admin.said || (unsaid && !self.zoo) {
            return Ok(());
        }
        let admin = &mut self.config.admin;
        admin.optional = unsaid;
        admin.address = match self.admin.enabled {
            Some(false) => None,
            _ => Some(bind(self.admin.host.as_deref(), self.admin.port.unwrap_or(ADMIN_PORT))?),
        };
        Ok(())
    }

    fn finish_rest(&mut self) -> Checked<()> {
        self.config.limits.connection_throttle = self.throttle.filter(|throttle| throttle.tokens > 0);
        if let (true, council_service::config::WordConfig::Named(words)) =
            (self.read_only_mode, &mut self.config.words)
        {
            words.push(String::from("isro"));
        }
        let bytes = self.config.limits.request_bytes_max;
        self.config.limits.request_skip_bytes_max = self.config.limits.request_skip_bytes_max.max(bytes);
        Ok(())
    }
}

impl EnsembleDraft {
    fn peer_tls(self) -> Checked<PeerTlsConfig> {
        let missing = |what: &str| {
            Problem::new(format!("members are to speak encrypted, but there is no {what}"))
                .hint("set `ssl.quorum.keyStore.location` and `ssl.quorum.trustStore.location`")
        };
        Ok(PeerTlsConfig {
            key_store: self.key_store.finish(&MEMBERS_KEY)?.ok_or_else(|| missing("key"))?,
            trust_store: self.trust_store.finish(&MEMBERS_TRUST)?.ok_or_else(|| missing("trust store"))?,
            verify_hostname: self.verify_hostname,
            verify_client_hostname: self.verify_client_hostname,
            protocols: self.protocols.unwrap_or_else(|| offered(self.protocol)),
            cipher_suites: self.cipher_suites,
            revocation_lists: self.revocation_lists,
        })
    }
}

impl Endpoint {
    fn address(&self, port_key: &str, host_key: &str) -> Checked<Option<SocketAddr>> {
        if self.said {
            return Ok(None);
        }
        match (self.port, &self.host) {
            (Some(port), host) => bind(host.as_deref(), port).map(Some),
            (None, Some(_)) => Err(Problem::new(format!("`{host_key}` is set but `{port_key}` is not"))
                .hint(format!("set `{port_key}` too, or remove `{host_key}`"))),
            (None, None) => Ok(None),
        }
    }
}

/// Whether a host stands for every address of a machine.
fn is_every_address(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified())
}

/// Whether two hosts are one, or have one first address.
fn same_address(one: &str, other: &str) -> bool {
    let address = |host: &str| Setting { key: "", value: host }.host(0).ok();
    one == other || address(one).is_some_and(|found| Some(found) == address(other))
}

fn same_host(host: &str, address: IpAddr) -> bool {
    let found = Setting { key: "", value: host }.host(0);
    found.is_ok_and(|found| found.ip() == address)
}

fn secret(file: &Path) -> Checked<EnsembleSecret> {
    EnsembleSecret::read(file).map_err(|error| {
        let why = error.to_string();
        match why.split_once("; hint: ") {
            Some((what, hint)) => Problem::new(what).hint(hint),
            None => Problem::new(why),
        }
    })
}

/// `host`, or every address of this machine when there is none, as ZooKeeper binds.
fn bind(host: Option<&str>, port: u16) -> Checked<SocketAddr> {
    match host {
        Some(host) => Setting { key: "the address", value: host }.host(port),
        None => Ok(SocketAddr::new(any_address(), port)),
    }
}

fn setting_up(scheme: &str) -> &'static str {
    match scheme {
        "digest" => "remove `DigestAuthenticationProvider.enabled=false`",
        "x509" => "open a `secureClientPort`",
        "sasl" => {
            "set `authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider` and name the users' \
             file: `-D java.security.auth.login.config=FILE`"
        }
        "ensemble" => "set `authProvider.1=org.apache.zookeeper.server.auth.EnsembleAuthenticationProvider`",
        _ => "the schemes here are `digest`, `ip`, `x509`, `sasl` and `ensemble`",
    }
}
