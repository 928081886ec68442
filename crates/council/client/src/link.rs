//! One connection of a client to a server: its stream, and whether it was made.

use std::io;
use std::sync::Arc;

use council_client_core::Target;
use mio::net::TcpStream;
use rustls::ClientConfig;

use crate::stream::Stream;

/// See the module.
pub(crate) struct Link {
    pub(crate) stream: Stream,
    pub(crate) target: Target,
    /// Whether TCP has connected.
    pub(crate) open: bool,
}

impl Link {
    /// Begins to connect.
    pub(crate) fn dial(target: Target, tls: Option<&Arc<ClientConfig>>) -> io::Result<Self> {
        let stream = Stream::new(TcpStream::connect(target.address)?, &target.host, tls)?;
        Ok(Self { stream, target, open: false })
    }

    /// Whether TCP has connected by now.
    pub(crate) fn has_opened(&mut self) -> io::Result<bool> {
        let socket = self.stream.socket();
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        match socket.peer_addr() {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotConnected => return Ok(false),
            Err(error) => return Err(error),
        }
        // Small requests must not wait for each other.
        socket.set_nodelay(true)?;
        self.open = true;
        Ok(true)
    }
}
