//! One client's socket, as a reactor keeps it.

use std::net::SocketAddr;

use net_tls::{TlsSession, Transport};

use crate::gate::ConnectionPermit;
use crate::metrics::Handshake;

/// See the module.
pub struct ClientSocket {
    pub(crate) transport: Transport,
    peer: SocketAddr,
    /// The number of the socket that accepted it.
    listener: u16,
    /// Whether the frontend knows it.
    pub(crate) is_open: bool,
    /// Whether it has to be encrypted.
    pub(crate) is_secure: bool,
    /// Whether something was read from it.
    pub(crate) has_spoken: bool,
    /// While its encryption is being agreed on.
    pub(crate) handshake: Option<Handshake>,
    /// Given back with the socket.
    place: ConnectionPermit,
}

impl ClientSocket {
    pub(crate) const fn new(
        transport: Transport,
        (peer, listener, is_secure): (SocketAddr, u16, bool),
        handshake: Option<Handshake>,
        place: ConnectionPermit,
    ) -> Self {
        Self { transport, peer, listener, is_open: false, is_secure, has_spoken: false, handshake, place }
    }

    /// The number of the socket that accepted it.
    #[must_use]
    pub const fn listener(&self) -> u16 {
        self.listener
    }

    /// The client has proved who it is, or need not.
    pub fn authenticated(&self) {
        self.place.authenticated();
    }

    /// No encryption was agreed on: what still comes has no meaning.
    pub(crate) fn give_up(&mut self) {
        self.transport.give_up();
        (self.handshake, self.has_spoken) = (None, true);
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
