//! What a reactor does with the sockets of one service: the system calls behind [`net_event_loop::SocketDriver`].

use std::io;
use std::sync::Arc;

use net_event_loop::{Broken, FilePart, ReadOutcome};
use net_tls::{FirstByte, Security, SentFile, TlsContext, Transport, is_tls};

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
    /// What a client that speaks plain text where TLS is wanted is told, in plain text. Without it, it gets an alert of TLS.
    pub plain_refusal: Option<&'static [u8]>,
    /// TLS handshakes that may be under way, of all threads together. Those beyond are refused.
    pub handshakes_max: u64,
    /// The names of the settings in log lines.
    pub hints: TlsHints,
    /// What is counted.
    pub metrics: Arc<NetworkMetrics>,
}

/// The shortest time for a handshake, milliseconds: a client on the other side of the world has enough of it.
const HANDSHAKE_MS_MIN: u64 = 1_000;

/// The time for a handshake if `under_way` of `most` are under way: all of it up to half of them, then less.
fn under_load(ms: u64, under_way: u64, most: u64) -> u64 {
    let free = most.saturating_sub(under_way).saturating_mul(2);
    if free >= most { ms } else { (ms.saturating_mul(free) / most.max(1)).max(ms.min(HANDSHAKE_MS_MIN)) }
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
        if secure && self.config.metrics.handshakes() >= self.config.handshakes_max {
            self.config.metrics.handshake_refused();
            self.trouble.too_many(peer, self.config.handshakes_max);
            return None;
        }
        let speech = match (&self.config.tls, secure) {
            // A connection that says nothing costs no more than its socket.
            (Some(_), true) if self.config.plain_refusal.is_some() => Security::Undecided,
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
        let handshake = secure.then(|| self.config.metrics.handshake());
        Some(ClientSocket::new(transport, (peer, listener, secure), handshake, place))
    }

    /// How long a connection that begins now may take to agree on its encryption, milliseconds. The more handshakes are under
    /// way, the less: many that never end cannot keep others out for long.
    #[must_use]
    pub fn opening_ms(&self) -> u64 {
        let most = self.config.tls.as_ref().map_or(0, |context| context.handshake_timeout_ms());
        under_load(most, self.config.metrics.handshakes(), self.config.handshakes_max)
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

    /// The holder of the certificate that the client of an open socket has shown, as [`net_tls::TlsSession::subject`] names it.
    ///
    /// # Errors
    /// The name cannot be read: a client that shows a certificate must not be taken for one without.
    pub fn certificate_holder(&self, socket: &ClientSocket) -> Result<Option<String>, Broken> {
        let Some(session) = socket.tls().filter(|session| session.has_certificate()) else { return Ok(None) };
        session.subject().map(Some).ok_or_else(|| {
            self.trouble.has_unreadable_name(socket.peer());
            Broken
        })
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
        match socket.transport.decide(context).map_err(|_| Broken)? {
            FirstByte::Missing => return Ok(false),
            FirstByte::Tls => {
                socket.handshake.get_or_insert_with(|| self.config.metrics.handshake());
            }
            FirstByte::Plain if socket.is_secure => {
                self.trouble.is_plain(socket.peer());
                // In the client's own words, as far as there is room for them.
                let _ = socket.transport.write(self.config.plain_refusal.unwrap_or_default());
                socket.give_up();
                return Err(Broken);
            }
            FirstByte::End if socket.is_secure => return Err(Broken),
            FirstByte::Plain | FirstByte::End => {}
        }
        Ok(true)
    }

    /// See [`net_event_loop::SocketDriver::read`].
    ///
    /// # Errors
    /// It broke.
    #[inline]
    pub fn read(&self, socket: &mut ClientSocket, buffer: &mut [u8]) -> Result<ReadOutcome, Broken> {
        let read = socket.transport.read(buffer).map_err(|error| {
            self.trouble.broke(socket.peer(), !socket.is_open, &error);
            if !socket.is_open {
                socket.give_up();
            }
            Broken
        })?;
        if let ReadOutcome::Bytes { length, .. } = read
            && !std::mem::replace(&mut socket.has_spoken, true)
            && !socket.transport.is_encrypted()
            && is_tls(buffer.get(..length).unwrap_or_default())
        {
            self.trouble.is_tls(socket.peer());
        }
        Ok(read)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handshakes_have_less_time_the_more_of_them_there_are() {
        assert_eq!(under_load(5_000, 0, 4_096), 5_000);
        assert_eq!(under_load(5_000, 2_048, 4_096), 5_000);
        assert_eq!(under_load(5_000, 3_072, 4_096), 2_500);
        assert_eq!(under_load(5_000, 4_096, 4_096), HANDSHAKE_MS_MIN);
        assert_eq!(under_load(500, 4_096, 4_096), 500);
        assert_eq!(under_load(5_000, 1 << 40, u64::MAX), 5_000);
    }
}
