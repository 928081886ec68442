//! What a reactor does with the sockets of one service: the system calls behind [`net_event_loop::SocketDriver`].

use std::io;
use std::sync::Arc;

use net_event_loop::{Broken, FilePart, ReadOutcome};
use net_tls::{Security, SentFile, TlsContext, Transport};

use crate::handshake_trouble::{HandshakeTrouble, TlsHints};
use crate::listener::Accepted;
use crate::metrics::NetworkMetrics;
use crate::reactor::Watcher;
use crate::socket::ClientSocket;

/// How a service's sockets are treated.
#[derive(Clone)]
pub struct SocketsConfig {
    /// What encrypted connections are offered.
    pub tls: Option<Arc<TlsContext>>,
    /// Whether plain connections may turn out to be encrypted.
    pub plain_takes_tls: bool,
    /// The names of the settings in log lines.
    pub hints: TlsHints,
    /// What is counted.
    pub metrics: Arc<NetworkMetrics>,
}

/// See the module.
pub struct Sockets {
    config: SocketsConfig,
    watcher: Watcher,
    trouble: HandshakeTrouble,
}

impl Sockets {
    /// Of one service on one reactor.
    #[must_use]
    pub fn new(config: SocketsConfig, watcher: Watcher) -> Self {
        let trouble = HandshakeTrouble::new(config.hints);
        Self { config, watcher, trouble }
    }

    /// The socket of a connection that was accepted; nothing if it could not begin.
    #[must_use]
    pub fn begin(&self, accepted: Accepted) -> Option<ClientSocket> {
        let Accepted { stream, peer, listener, secure, place } = accepted;
        let speech = match (&self.config.tls, secure) {
            (Some(context), true) => match context.session() {
                Ok(session) => Security::Tls(Box::new(session)),
                Err(error) => {
                    tracing::warn!(%peer, %error, "an encrypted connection could not begin");
                    return None;
                }
            },
            (Some(_), false) if self.config.plain_takes_tls => Security::Undecided,
            _ => Security::Plain,
        };
        let transport = Transport::new(stream, speech);
        let handshake = transport.is_encrypted().then(|| self.config.metrics.handshake());
        Some(ClientSocket::new(transport, (peer, listener), handshake, place))
    }

    /// How long a connection may take to agree on its encryption, milliseconds.
    #[must_use]
    pub fn opening_ms(&self) -> u64 {
        self.config.tls.as_ref().map_or(0, |context| context.handshake_timeout_ms())
    }

    /// Opens a socket if it can be opened now: see [`net_event_loop::SocketDriver::open`].
    ///
    /// # Errors
    /// It broke, or its client may not connect.
    pub fn open(&self, socket: &mut ClientSocket) -> Result<bool, Broken> {
        if socket.transport.is_encrypted() {
            // The handshake's own answers.
            socket.transport.write(&[]).map_err(|_| Broken)?;
        }
        if socket.transport.is_opening() {
            return Ok(false);
        }
        let (peer, ip) = (socket.peer(), socket.peer().ip());
        let verifies = self.config.tls.as_ref().is_some_and(|context| context.verifies_hostname());
        if verifies && socket.tls().is_some_and(|session| !session.names(ip)) {
            tracing::warn!(%peer, "a client's certificate does not name the client's address");
            return Err(Broken);
        }
        socket.is_open = true;
        match socket.handshake.take() {
            Some(handshake) => handshake.done(),
            None => self.config.metrics.plain(ip),
        }
        Ok(true)
    }

    /// See [`net_event_loop::SocketDriver::watch`].
    ///
    /// # Errors
    /// It cannot be polled.
    pub fn watch(&self, socket: &mut ClientSocket, token: u32) -> Result<(), Broken> {
        let peer = socket.peer();
        self.watcher.watch(socket.transport.stream(), token).map_err(|error| {
            tracing::warn!(%peer, %error, "a connection could not be polled");
            Broken
        })
    }

    /// See [`net_event_loop::SocketDriver::prepare`].
    ///
    /// # Errors
    /// It broke.
    pub fn prepare(&self, socket: &mut ClientSocket) -> Result<bool, Broken> {
        let Some(context) = &self.config.tls else { return Ok(true) };
        let decided = socket.transport.decide(context).map_err(|_| Broken)?;
        if decided && socket.transport.is_encrypted() {
            socket.handshake.get_or_insert_with(|| self.config.metrics.handshake());
        }
        Ok(decided)
    }

    /// See [`net_event_loop::SocketDriver::read`].
    ///
    /// # Errors
    /// It broke.
    #[inline]
    pub fn read(&self, socket: &mut ClientSocket, buffer: &mut [u8]) -> Result<ReadOutcome, Broken> {
        socket.transport.read(buffer).map_err(|error| {
            self.trouble.broke(socket.peer(), !socket.is_open, &error);
            Broken
        })
    }

    /// See [`net_event_loop::SocketDriver::write`].
    ///
    /// # Errors
    /// It broke.
    #[inline]
    pub fn write(&self, socket: &mut ClientSocket, bytes: &[u8]) -> Result<usize, Broken> {
        socket.transport.write(bytes).map_err(|error| {
            tracing::debug!(peer = %socket.peer(), %error, "a connection broke");
            Broken
        })
    }

    /// See [`net_event_loop::SocketDriver::write_with_file`].
    ///
    /// # Errors
    /// It broke, or the file could not be read.
    pub fn write_with_file(
        &self,
        socket: &mut ClientSocket,
        bytes: &[u8],
        part: FilePart<'_, SentFile>,
    ) -> Result<usize, Broken> {
        socket.transport.write_with_file(bytes, part).map_err(|error| {
            match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    tracing::error!(peer = %socket.peer(), %error, "an answer could not be sent to its end");
                }
                _ => tracing::debug!(peer = %socket.peer(), %error, "a connection broke"),
            }
            Broken
        })
    }

    /// See [`net_event_loop::SocketDriver::wants_write`].
    #[inline]
    #[must_use]
    pub fn wants_write(&self, socket: &ClientSocket) -> bool {
        socket.transport.wants_write()
    }

    /// See [`net_event_loop::SocketDriver::say_goodbye`].
    pub fn say_goodbye(&self, socket: &mut ClientSocket) {
        socket.transport.say_goodbye();
    }

    /// See [`net_event_loop::SocketDriver::close`].
    pub fn close(&self, socket: ClientSocket, unsent_bytes: usize) {
        if unsent_bytes > 0 {
            tracing::debug!(peer = %socket.peer(), unsent_bytes, "a connection ends before all was sent");
        }
    }
}
