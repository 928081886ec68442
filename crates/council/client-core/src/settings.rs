//! The settings of a client, all of them data.

use std::time::Duration;

use crate::sasl::SaslUser;
use crate::state::Ticket;

/// See the module.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The servers, by name and port.
    pub hosts: Vec<(String, u16)>,
    /// The server to begin with. Clients that start together should differ in it.
    pub first_host: usize,
    /// The node that the client takes for its root; empty for the tree's own.
    pub chroot: String,
    /// Drawn by the driver: pauses between attempts are drawn from it.
    pub seed: u64,
    /// How long the session outlives its connection. The server decides.
    pub session_timeout: Duration,
    /// After how long without a byte a server is given up for the next one, if there are several. Without it, and at the longest,
    /// after two thirds of the session timeout. It is doubled with each server in a row that is given up within a second.
    pub server_silence: Option<Duration>,
    /// Whether a server that only reads will do.
    pub read_only: bool,
    /// The session to go on with, if not with a new one.
    pub resume: Option<Ticket>,
    /// Whether watches are set again after a reconnection.
    pub reset_watches: bool,
    /// Whether a session that has expired is followed by a new one.
    pub renew: bool,
    /// Whether connections are encrypted: the driver does that.
    pub encrypted: bool,
    /// The user that authenticates each connection by SASL.
    pub sasl: Option<SaslUser>,
    /// Identities of each connection: scheme and credentials.
    pub identities: Vec<(String, Vec<u8>)>,
    /// The longest reply that is taken, in bytes; a longer one breaks the connection.
    pub frame_bytes_max: usize,
    /// How much may wait.
    pub limits: Limits,
}

/// How much may wait for a connection or a reply. Beyond it a request is refused with
/// [`Error::TooManyRequests`](crate::Error::TooManyRequests), at once and without being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests that wait for a connection or for their reply.
    pub requests_max: usize,
    /// Bytes of requests that were not sent yet.
    pub request_bytes_max: usize,
}

impl Default for Limits {
    /// A million requests, 1 GiB: a user who waits for replies reaches neither.
    fn default() -> Self {
        Self { requests_max: 1 << 20, request_bytes_max: 1 << 30 }
    }
}

impl Default for Settings {
    /// No server yet; a session of 30 s, writing servers only, watches set again after a reconnection.
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            first_host: 0,
            chroot: String::new(),
            seed: 0,
            session_timeout: Duration::from_secs(30),
            server_silence: None,
            read_only: false,
            resume: None,
            reset_watches: true,
            renew: false,
            encrypted: false,
            sasl: None,
            identities: Vec::new(),
            frame_bytes_max: 64 << 20,
            limits: Limits::default(),
        }
    }
}
