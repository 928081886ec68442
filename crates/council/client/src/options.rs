//! How a client is to behave.

use std::sync::Arc;
use std::time::Duration;

use council_client_core::{Limits, Settings, Ticket};
use rustls::ClientConfig;

use crate::access::Access;
use crate::entropy::entropy;
use crate::event::Watcher;
use crate::{Client, ConnectError, ConnectString};

/// The options of a client.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) session_timeout: Duration,
    pub(crate) server_silence: Option<Duration>,
    pub(crate) read_only: bool,
    pub(crate) watcher: Option<Watcher>,
    pub(crate) ticket: Option<Ticket>,
    pub(crate) frame_bytes_max: usize,
    pub(crate) reset_watches: bool,
    pub(crate) renew: bool,
    pub(crate) limits: Limits,
    pub(crate) access: Access,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            session_timeout: Duration::from_secs(30),
            server_silence: None,
            read_only: false,
            watcher: None,
            ticket: None,
            frame_bytes_max: 64 << 20,
            reset_watches: true,
            renew: false,
            limits: Limits::default(),
            access: Access::default(),
        }
    }
}

impl Options {
    /// The defaults: a session of 30 s, writing servers only, watches set again after a reconnection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How long the session outlives its connection. The server decides: see [`Client::session_timeout`].
    #[must_use]
    pub const fn session_timeout(mut self, timeout: Duration) -> Self {
        self.session_timeout = timeout;
        self
    }

    /// After how long without a sign of life a server is given up for the next one, if the connect string names several: two
    /// thirds of the session timeout unless said, as ZooKeeper's clients do. The session goes on. Servers are asked for a sign
    /// of life three times within it. If one server after the other is given up, it is doubled each time.
    #[must_use]
    pub const fn server_silence(mut self, silence: Duration) -> Self {
        self.server_silence = Some(silence);
        self
    }

    /// Whether a server that only reads will do.
    #[must_use]
    pub const fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// The watcher that gets each change of the connection's state.
    #[must_use]
    pub fn watcher(mut self, watcher: &Watcher) -> Self {
        self.watcher = Some(watcher.clone());
        self
    }

    /// Goes on with a session instead of opening one.
    #[must_use]
    pub fn resume(mut self, ticket: Ticket) -> Self {
        self.ticket = Some(ticket);
        self
    }

    /// TLS, SASL and identities all at once, in place of those that were named before.
    #[must_use]
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Adds an identity to each connection before anything else is sent.
    #[must_use]
    pub fn identity(mut self, scheme: &str, credentials: &[u8]) -> Self {
        self.access = self.access.identity(scheme, credentials);
        self
    }

    /// The longest reply that is taken (64 MiB unless said); a longer one breaks the connection.
    #[must_use]
    pub const fn frame_bytes_max(mut self, bytes: usize) -> Self {
        self.frame_bytes_max = bytes;
        self
    }

    /// Whether watches are set again after a reconnection.
    #[must_use]
    pub const fn reset_watches(mut self, reset: bool) -> Self {
        self.reset_watches = reset;
        self
    }

    /// Whether a session that has expired is followed by a new one, under the same handle (no unless said). All
    /// watchers get the expiry and are gone, as are the ephemeral nodes; a request that was under way or waited fails
    /// with [`crate::Error::SessionExpired`]. Recipes that go on after an expired session need it.
    #[must_use]
    pub const fn renew_session(mut self, renew: bool) -> Self {
        self.renew = renew;
        self
    }

    /// How many requests may wait for a connection or a reply; one more is refused.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Encrypts each connection. The configuration says which authorities are trusted and which certificate is shown; the
    /// name that the server's certificate must have is the one of the connect string.
    #[must_use]
    pub fn tls(mut self, config: Arc<ClientConfig>) -> Self {
        self.access = self.access.tls(config);
        self
    }

    /// Authenticates each connection by SASL DIGEST-MD5 before anything else is sent. A server that does not accept the
    /// user, or does not know the password itself, ends the session with [`crate::Error::AuthFailed`].
    #[must_use]
    pub fn sasl(mut self, user: &str, password: &str) -> Self {
        self.access = self.access.sasl(user, password);
        self
    }

    /// Starts a client. It connects, and reconnects, by itself; operations may be submitted at once.
    ///
    /// # Errors
    /// When the connect string is not one, or this host has no thread left.
    pub fn connect(self, servers: &str) -> Result<Client, ConnectError> {
        Client::start(ConnectString::parse(servers)?, self)
    }

    /// What of it the state machine takes.
    pub(crate) fn settings(self, servers: ConnectString) -> Result<Settings, ConnectError> {
        let [a, b, c, d, e, f, g, h, ..] = entropy()?;
        Ok(Settings {
            hosts: servers.hosts,
            first_host: std::process::id() as usize,
            chroot: servers.chroot,
            seed: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            session_timeout: self.session_timeout,
            server_silence: self.server_silence,
            read_only: self.read_only,
            resume: self.ticket,
            reset_watches: self.reset_watches,
            renew: self.renew,
            encrypted: self.access.tls.is_some(),
            sasl: self.access.sasl,
            identities: self.access.identities,
            frame_bytes_max: self.frame_bytes_max,
            limits: self.limits,
        })
    }
}
