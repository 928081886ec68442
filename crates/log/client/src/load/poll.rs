//! Waiting for the connections of a load.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::{Events, Poll};

use super::socket::Socket;

const EVENTS_MAX: usize = 1_024;
/// Between two looks at whether a time is over.
const TURN_MAX: Duration = Duration::from_millis(20);

/// All connections of a load.
pub(super) struct Sockets {
    poll: Poll,
    events: Events,
    sockets: Vec<Socket>,
}

impl Sockets {
    /// So many connections to that address.
    pub(super) fn connect(address: SocketAddr, count: usize) -> io::Result<Self> {
        Self::connect_each(std::iter::repeat_n(address, count))
    }

    /// A connection to each of these.
    pub(super) fn connect_each(addresses: impl IntoIterator<Item = SocketAddr>) -> io::Result<Self> {
        let poll = Poll::new()?;
        let each = addresses.into_iter().enumerate();
        let sockets = each.map(|(token, address)| Socket::connect(address, poll.registry(), token));
        let sockets = sockets.collect::<io::Result<_>>()?;
        Ok(Self { poll, events: Events::with_capacity(EVENTS_MAX), sockets })
    }

    /// One more connection. Gives its number.
    pub(super) fn open(&mut self, address: SocketAddr) -> io::Result<usize> {
        let number = self.sockets.len();
        self.sockets.push(Socket::connect(address, self.poll.registry(), number)?);
        Ok(number)
    }

    /// Closes a connection; the others keep their numbers.
    pub(super) fn close(&mut self, number: usize) -> io::Result<()> {
        match self.sockets.get_mut(number) {
            Some(socket) => socket.close(self.poll.registry()),
            None => Ok(()),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.sockets.len()
    }

    pub(super) fn at(&mut self, number: usize) -> io::Result<&mut Socket> {
        self.sockets.get_mut(number).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Waits for connections that can be read or written, until `until` at the longest, sends what waits, and gives the
    /// numbers of those with something to read.
    pub(super) fn wait(&mut self, until: Option<Instant>, readable: &mut Vec<usize>) -> io::Result<()> {
        readable.clear();
        let left = until.map_or(TURN_MAX, |until| until.saturating_duration_since(Instant::now()));
        match self.poll.poll(&mut self.events, Some(left.min(TURN_MAX))) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            other => other?,
        }
        for event in &self.events {
            let Some(socket) = self.sockets.get_mut(event.token().0) else { continue };
            if event.is_writable() {
                socket.flush()?;
            }
            if event.is_readable() {
                socket.receive()?;
                readable.push(event.token().0);
            }
        }
        Ok(())
    }
}
