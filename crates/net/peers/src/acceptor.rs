//! The thread that answers members who dial: all of them at once, each as far as its socket lets it.
//!
//! Who connects is a stranger until it has proved to be a member. It costs an entry in a table of limited size
//! ([`crate::places`]) and has a few seconds for everything together.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token, Waker};
use node_threads::{Descriptors, Mailbox};

use crate::credentials::Credentials;
use crate::dial::HANDSHAKE_TIMEOUT;
use crate::established::Established;
use crate::incoming::{Incoming, Progress};
use crate::places::Places;
use crate::shared_port::FurtherGroups;

const DOOR: Token = Token(0);
const STOP: Token = Token(1);
/// The first incoming's; each later one has the next.
const FIRST_TICKET: usize = 2;
/// After how long it is tried again when the system has no descriptor left.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(10);

/// See the module.
pub struct Acceptor {
    listener: mio::net::TcpListener,
    poll: Poll,
    credentials: Arc<Credentials>,
    established: Arc<Mailbox<Established>>,
    further: Arc<FurtherGroups>,
    descriptors: Descriptors,
    incomings: BTreeMap<usize, (Incoming, Origin)>,
    places: Places,
    next_ticket: usize,
    /// More may wait to be accepted than there were descriptors for.
    exhausted: bool,
}

/// Where a connection comes from.
#[derive(Clone, Copy, Debug)]
struct Origin {
    address: IpAddr,
    /// A member is said to be there.
    members: bool,
}

impl Acceptor {
    /// A acceptor at a listener, and what stops it.
    ///
    /// # Errors
    /// The system refuses a poll.
    pub fn new(
        listener: TcpListener,
        credentials: Arc<Credentials>,
        established: Arc<Mailbox<Established>>,
        descriptors: Descriptors,
    ) -> io::Result<(Self, Waker)> {
        listener.set_nonblocking(true)?;
        let mut listener = mio::net::TcpListener::from_std(listener);
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, DOOR, Interest::READABLE)?;
        let waker = Waker::new(poll.registry(), STOP)?;
        let (incomings, places) = (BTreeMap::new(), Places::default());
        let next_ticket = FIRST_TICKET;
        let acceptor = Self {
            listener,
            poll,
            credentials,
            established,
            further: Arc::default(),
            descriptors,
            incomings,
            places,
            next_ticket,
            exhausted: false,
        };
        Ok((acceptor, waker))
    }

    /// The other groups of this process that are reached at this port, too.
    #[must_use]
    pub const fn further_groups(&self) -> &Arc<FurtherGroups> {
        &self.further
    }

    /// Answers until the waker rings.
    ///
    /// # Errors
    /// The system refuses to poll.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(256);
        loop {
            let first = self.incomings.values().map(|(incoming, _)| incoming.until).min();
            let left = first.map(|until| until.saturating_duration_since(Instant::now()));
            let timeout = left.into_iter().chain(self.exhausted.then_some(EXHAUSTED_PAUSE)).min();
            match self.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            }
            for event in &events {
                match event.token() {
                    STOP => return Ok(()),
                    DOOR => self.accept(),
                    Token(ticket) => self.drive(ticket),
                }
            }
            self.end_late(Instant::now());
            if self.exhausted {
                self.accept();
            }
        }
    }

    fn accept(&mut self) {
        self.exhausted = false;
        loop {
            match self.listener.accept() {
                Ok((stream, from)) => self.receive(stream, from),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    self.exhausted = true;
                    return;
                }
            }
        }
    }

    fn receive(&mut self, stream: mio::net::TcpStream, from: SocketAddr) {
        let address = from.ip().to_canonical();
        let origin = Origin { address, members: self.credentials.names.is_members(address) };
        if !origin.members && !self.credentials.asks_for_proof() {
            return self.complain(
                origin,
                &format!(
                    "no member is said to be at that address; hint: see the `server.` lines, or have members prove who \
                     they are: {} or {}",
                    self.credentials.hints.secret, self.credentials.hints.tls
                ),
            );
        }
        if !self.descriptors.admit_peer(stream.as_fd(), origin.members) {
            return self.complain(
                origin,
                "the limit of open files is nearly reached; hint: raise it (`ulimit -n`, `LimitNOFILE`)",
            );
        }
        let until = Instant::now() + HANDSHAKE_TIMEOUT;
        let Ok(mut incoming) = Incoming::new(stream, address, until, &self.credentials) else { return };
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let both = Interest::READABLE | Interest::WRITABLE;
        if self.poll.registry().register(&mut incoming.stream, Token(ticket), both).is_err() {
            return;
        }
        if let Some(goes) = self.places.take(ticket, address, origin.members) {
            self.credentials.refusals.count_late();
            self.end(goes, "too many wait to be let in, and it has waited longest");
        }
        self.incomings.insert(ticket, (incoming, origin));
        self.drive(ticket);
    }

    fn drive(&mut self, ticket: usize) {
        let Some((incoming, origin)) = self.incomings.get_mut(&ticket) else { return };
        let origin = *origin;
        match incoming.drive(&self.credentials, &self.further) {
            Ok(Progress::Waits { certified: false }) => {}
            Ok(Progress::Waits { certified: true }) => self.places.certify(ticket),
            Ok(Progress::Proved(hello, seated)) => {
                let Some(incoming) = self.remove(ticket) else { return };
                let proved = self.credentials.asks_for_proof();
                let established = match self.further.find(hello.group) {
                    Some(group) => Arc::clone(&group.established),
                    None => Arc::clone(&self.established),
                };
                match incoming.establish(hello, seated, proved) {
                    Ok(connection) => established.put(connection),
                    Err(error) => self.complain(origin, &error.to_string()),
                }
            }
            Err(why) => {
                self.credentials.refusals.count(&why);
                self.end(ticket, &why.to_string());
            }
        }
    }

    fn end_late(&mut self, now: Instant) {
        let late = self.incomings.iter().filter(|(_, (incoming, _))| incoming.until <= now);
        for ticket in late.map(|(ticket, _)| *ticket).collect::<Vec<_>>() {
            self.credentials.refusals.count_late();
            self.end(ticket, "it did not say in time who it is");
        }
    }

    fn end(&mut self, ticket: usize, why: &str) {
        let origin = self.incomings.get(&ticket).map(|(_, origin)| *origin);
        drop(self.remove(ticket));
        if let Some(origin) = origin {
            self.complain(origin, why);
        }
    }

    fn remove(&mut self, ticket: usize) -> Option<Incoming> {
        self.places.leave(ticket);
        let (mut incoming, _) = self.incomings.remove(&ticket)?;
        // A socket that cannot be taken out is closed or given to another poll: it is out either way.
        let _ = self.poll.registry().deregister(&mut incoming.stream);
        Some(incoming)
    }

    /// Strangers have one subject together: there may be any number of them.
    fn complain(&self, Origin { address, members }: Origin, why: &str) {
        let complaints = &self.credentials.complaints;
        match members {
            true => complaints.warn(&format!("a connection from {address} was not let in"), why),
            false => complaints.warn(
                "a connection from an address of no member was not let in",
                &format!("{address}: {why}"),
            ),
        }
    }
}

#[cfg(test)]
#[path = "acceptor_tests.rs"]
mod tests;
