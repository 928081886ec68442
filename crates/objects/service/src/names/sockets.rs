//! The two sockets of a server of names, at one port.

use std::io;
use std::net::{SocketAddr, UdpSocket as StdUdpSocket};

use mio::net::{TcpListener, UdpSocket};

/// How often a port is looked for that is free for both.
const ATTEMPTS: usize = 16;

/// See the module.
pub(crate) struct Sockets {
    pub(crate) address: SocketAddr,
    pub(crate) datagrams: UdpSocket,
    pub(crate) listener: TcpListener,
}

impl Sockets {
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        let attempts = if address.port() == 0 { ATTEMPTS } else { 1 };
        let mut outcome = Self::bind_once(address);
        for _ in 1..attempts {
            if outcome.is_ok() {
                break;
            }
            outcome = Self::bind_once(address);
        }
        outcome
    }

    fn bind_once(address: SocketAddr) -> io::Result<Self> {
        let listener = net_reactor::bind(address, None)?;
        let address = listener.local_addr()?;
        let datagrams = StdUdpSocket::bind(address)?;
        datagrams.set_nonblocking(true)?;
        Ok(Self { address, datagrams: UdpSocket::from_std(datagrams), listener })
    }
}
