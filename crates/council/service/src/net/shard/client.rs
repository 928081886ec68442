//! One client's socket, as the shard's thread keeps it.

use std::net::SocketAddr;

use council_frontend::Peer;

use crate::metrics::network::Handshake;
use crate::net::listener::Place;
use net_tls::TlsSession;
use net_tls::Transport;

/// See the module.
pub(super) struct Client {
    pub(super) transport: Transport,
    pub(super) peer: SocketAddr,
    /// Whether the front knows it.
    pub(super) is_open: bool,
    /// While its encryption is being agreed on.
    pub(super) handshake: Option<Handshake>,
    /// Given back with the socket.
    _place: Place,
}

impl Client {
    pub(super) const fn new(
        transport: Transport,
        peer: SocketAddr,
        handshake: Option<Handshake>,
        place: Place,
    ) -> Self {
        Self { transport, peer, is_open: false, handshake, _place: place }
    }

    /// Who is at the other end.
    pub(super) fn for_front(&self) -> Peer {
        let session = self.transport.session();
        Peer {
            ip: self.peer.ip(),
            port: self.peer.port(),
            secure: session.is_some(),
            certificate_subject: session.and_then(TlsSession::subject).map(String::into_boxed_str),
        }
    }
}
