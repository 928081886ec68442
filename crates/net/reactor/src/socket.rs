//! One client's socket, as a reactor keeps it.

use std::net::SocketAddr;

use net_tls::{TlsSession, Transport};

use crate::connection_limiter::ConnectionPermit;
use crate::metrics::Handshake;

/// See the module.
pub struct ClientSocket {
    pub(crate) transport: Transport,
    peer: SocketAddr,
    /// Whether the frontend knows it.
    pub(crate) is_open: bool,
    /// While its encryption is being agreed on.
    pub(crate) handshake: Option<Handshake>,
    /// Given back with the socket.
    _place: ConnectionPermit,
}

impl ClientSocket {
    pub(crate) const fn new(
        transport: Transport,
        peer: SocketAddr,
        handshake: Option<Handshake>,
        place: ConnectionPermit,
    ) -> Self {
        Self { transport, peer, is_open: false, handshake, _place: place }
    }

    /// Where the client is.
    #[must_use]
    pub const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Its encryption, if it is encrypted.
    #[must_use]
    pub fn tls(&self) -> Option<&TlsSession> {
        self.transport.session()
    }
}
