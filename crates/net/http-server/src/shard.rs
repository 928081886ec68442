//! One shard: the connections of one thread, over the sockets of a reactor.

use std::io;
use std::sync::Arc;

use base::{MonoTime, Now};
use net_event_loop::{Broken, EventLoop, FilePart, NoFile, ReadOutcome, Readiness, SocketDriver};
use net_reactor::{Accepted, ClientSocket, Service, Sockets};
use node_threads::Mailbox;

use crate::front::{Front, Peer};
use crate::handler::Handler;

/// What concerns the shard itself. It is left to its own thread.
pub(crate) enum Order {
    Accepted(Accepted),
    Stop,
}

/// See the module.
pub(crate) struct Shard<H: Handler> {
    driver: Driver,
    connections: EventLoop<ClientSocket>,
    front: Front<H>,
    orders: Arc<Mailbox<Order>>,
    mail: Arc<Mailbox<H::Mail>>,
    /// Of the last turn.
    now: MonoTime,
}

impl<H: Handler> Shard<H> {
    pub(crate) fn new(
        sockets: Sockets,
        front: Front<H>,
        (orders, mail): (Arc<Mailbox<Order>>, Arc<Mailbox<H::Mail>>),
    ) -> Self {
        let (driver, connections, now) = (Driver(sockets), EventLoop::default(), MonoTime::ZERO);
        Self { driver, connections, front, orders, mail, now }
    }

    fn take_in(&mut self, accepted: Accepted, now: Now) {
        let Some(socket) = self.driver.0.begin(accepted) else { return };
        let opening_ms = self.driver.0.opening_ms();
        self.connections.accept(&mut self.driver, &mut self.front, socket, opening_ms, now);
    }
}

impl<H: Handler> Service for Shard<H> {
    fn has_mail(&self) -> bool {
        !self.mail.is_empty() || !self.orders.is_empty()
    }

    fn read_mail(&mut self, now: Now) {
        let mut orders = Vec::new();
        self.orders.take_all(&mut orders);
        for order in orders {
            match order {
                Order::Accepted(accepted) => self.take_in(accepted, now),
                Order::Stop => {
                    self.front.stop(now);
                    self.connections.begin_shutdown(true, now);
                }
            }
        }
    }

    fn announced(&mut self, token: u32, readiness: Readiness) {
        self.connections.announced(token, readiness);
    }

    fn turn(&mut self, now: Now) {
        self.now = now.mono();
        self.mail.take_all(self.front.mail());
        self.connections.turn(&mut self.driver, &mut self.front, now);
    }

    fn wait_max_ms(&self) -> u64 {
        let most = self.connections.wait_max_ms(self.front.has_work());
        // A millisecond at least: what is due within it is not yet due at once.
        self.front.deadline().map_or(most, |at| most.min(at.since(self.now).max(1)))
    }

    fn is_done(&self) -> bool {
        self.connections.is_done()
    }

    fn end(&mut self, now: Now) -> io::Result<()> {
        self.connections.close_all(&mut self.driver, &mut self.front, now);
        Ok(())
    }
}

/// The sockets. A client is who its certificate says; without one, nobody in particular until the handler has looked at its
/// request.
struct Driver(Sockets);

impl SocketDriver for Driver {
    type Socket = ClientSocket;
    type Peer = Peer;
    type File = NoFile;

    fn watch(&mut self, socket: &mut ClientSocket, token: u32) -> Result<(), Broken> {
        self.0.watch(socket, token)
    }

    fn prepare(&mut self, socket: &mut ClientSocket) -> Result<bool, Broken> {
        self.0.prepare(socket)
    }

    fn open(&mut self, socket: &mut ClientSocket) -> Result<Option<Peer>, Broken> {
        if !self.0.open(socket)? {
            return Ok(None);
        }
        socket.authenticated();
        Ok(Some(Peer { certificate: self.0.certificate_holder(socket)?.map(Arc::from) }))
    }

    #[inline]
    fn read(&mut self, socket: &mut ClientSocket, buffer: &mut [u8]) -> Result<ReadOutcome, Broken> {
        self.0.read(socket, buffer)
    }

    #[inline]
    fn write(&mut self, socket: &mut ClientSocket, bytes: &[u8]) -> Result<usize, Broken> {
        self.0.write(socket, bytes)
    }

    fn write_with_file(
        &mut self,
        _: &mut ClientSocket,
        _: &[u8],
        part: FilePart<'_, NoFile>,
    ) -> Result<usize, Broken> {
        match *part.file {}
    }

    #[inline]
    fn wants_write(&self, socket: &ClientSocket) -> bool {
        self.0.wants_write(socket)
    }

    fn say_goodbye(&mut self, socket: &mut ClientSocket) {
        self.0.say_goodbye(socket);
    }

    fn close(&mut self, socket: ClientSocket, unsent_bytes: usize) {
        self.0.close(socket, unsent_bytes);
    }
}
