//! The thread that owns the connection: moves bytes and time between the sockets and the state machine, and resolves names.
//! It knows no protocol.

use std::io;
use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use council_client_core::{Action, ConnectFailure, Error, Target};
use mio::{Events, Interest, Poll, Token};
use rustls::ClientConfig;

use crate::delivery::{Delivery, Machine};
use crate::entropy::entropy;
use crate::failure::of_io;
use crate::link::Link;
use crate::mailbox::{Command, Mailbox};

/// The token of a wake-up by a handle.
pub(crate) const WAKE: Token = Token(0);
const SOCKET: Token = Token(1);
const READ_BYTES: usize = 64 * 1024;
/// How long the thread sleeps when nothing is due.
const IDLE: Duration = Duration::from_secs(60);

pub(crate) struct Driver {
    poll: Poll,
    mailbox: Arc<Mailbox>,
    machine: Machine,
    delivery: Delivery,
    tls: Option<Arc<ClientConfig>>,
    link: Option<Link>,
    scratch: Vec<u8>,
    /// From when the machine's time counts.
    start: Instant,
}

impl Driver {
    pub(crate) fn new(
        poll: Poll,
        mailbox: Arc<Mailbox>,
        machine: Machine,
        delivery: Delivery,
        tls: Option<Arc<ClientConfig>>,
    ) -> Self {
        let (link, scratch, start) = (None, vec![0; READ_BYTES], Instant::now());
        Self { poll, mailbox, machine, delivery, tls, link, scratch, start }
    }

    pub(crate) fn run(mut self) {
        let mut events = Events::with_capacity(8);
        while self.machine.over().is_none() {
            let wait = self.machine.deadline().map_or(IDLE, |at| at.saturating_sub(self.now()));
            if let Err(error) = self.poll.poll(&mut events, Some(wait))
                && error.kind() != io::ErrorKind::Interrupted
            {
                break;
            }
            for command in self.mailbox.take() {
                self.command(command);
            }
            if events.iter().any(|event| event.token() == SOCKET)
                && let Err(error) = self.receive()
            {
                self.lose(of_io(&error));
            }
            self.machine.tick(self.now(), &mut self.delivery);
            self.act();
            if let Err(error) = self.flush() {
                self.lose(of_io(&error));
            }
        }
        self.machine.abandon(&mut self.delivery);
        self.delivery.status.server(None);
        let error = self.machine.over().cloned().unwrap_or(Error::Closed);
        for command in self.mailbox.finish(error) {
            self.command(command);
        }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn command(&mut self, command: Command) {
        let (now, to) = (self.now(), &mut self.delivery);
        match command {
            Command::Submit(asked, sink) => self.machine.submit(asked, sink, to),
            Command::AddAuth { scheme, credentials, sink } => {
                self.machine.add_auth(scheme, credentials, sink, to);
            }
            Command::Forget { path, kind, completer } => {
                completer.complete(self.machine.forget_watches(&path, kind, to));
            }
            Command::Listen(watcher) => self.machine.listen(watcher, to),
            Command::Unlisten(watcher) => self.machine.unlisten(&watcher),
            Command::Disconnect => self.machine.disconnect(now, to),
            Command::Abandon => self.machine.abandon(to),
            Command::Close => self.machine.close(now, to),
        }
    }

    /// Does what the machine wants done with connections.
    fn act(&mut self) {
        while let Some(action) = self.machine.action() {
            match action {
                Action::Close => {
                    self.link = None;
                    self.delivery.status.server(None);
                }
                Action::Resolve { host, port } => {
                    let addresses = (host.as_str(), port).to_socket_addrs();
                    let addresses = addresses.map(Iterator::collect).map_err(|error| error.to_string());
                    self.machine.resolved(addresses, &mut self.delivery);
                    self.machine.tick(self.now(), &mut self.delivery);
                }
                Action::Connect(target) => {
                    if let Err(error) = self.dial(target) {
                        self.lose(of_io(&error));
                    }
                }
            }
        }
    }

    fn dial(&mut self, target: Target) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        let mut link = Link::dial(target, self.tls.as_ref())?;
        self.poll.registry().register(link.stream.socket(), SOCKET, interest)?;
        self.link = Some(link);
        Ok(())
    }

    /// The connection is of no more use, as the socket says.
    fn lose(&mut self, failure: ConnectFailure) {
        let link = self.link.take();
        let failure = match (failure, link) {
            (ConnectFailure::Closed, Some(link)) if link.stream.is_handshaking() && link.open => {
                ConnectFailure::ClosedInHandshake
            }
            (other, _) => other,
        };
        self.delivery.status.server(None);
        self.machine.disconnected(self.now(), failure, &mut self.delivery);
    }

    fn receive(&mut self) -> io::Result<()> {
        // What the machine wants closed is closed first: nothing more is read from it.
        self.act();
        let Some(link) = &mut self.link else { return Ok(()) };
        if !link.open {
            if !link.has_opened()? {
                return Ok(());
            }
            self.delivery.status.server(Some(link.target.address));
            self.machine.connected(self.start.elapsed(), entropy()?);
        }
        while let Some(link) = &mut self.link {
            match link.stream.read(&mut self.scratch) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    let bytes = self.scratch.get(..count).unwrap_or_default();
                    self.machine.received(self.start.elapsed(), bytes, &mut self.delivery);
                    self.act();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(link) = self.link.as_mut().filter(|link| link.open) else { return Ok(()) };
        link.stream.flush()?;
        let out = self.machine.output();
        let mut written = 0;
        let result = loop {
            let Some(rest) = out.get(written..).filter(|rest| !rest.is_empty()) else { break Ok(()) };
            match link.stream.write(rest) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.machine.sent(self.start.elapsed(), written);
        result
    }
}
