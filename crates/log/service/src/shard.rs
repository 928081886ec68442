//! One shard: the connections of one reactor's thread.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use base::Now;
use log_broker::{
    Broker, BrokerDriver, CatalogCommand, DiskEvent, Front, Response, SegmentReader, TopicImage, TopicTicket,
    Waiter,
};
use log_wire::ErrorCode;
use net_event_loop::{Broken, EventLoop, ReadOutcome, Readiness, SocketDriver};
use net_reactor::{Accepted, ClientSocket, Service, Sockets};
use node_threads::Mailbox;
use parking_lot::{Mutex, MutexGuard};
use storage_dir_disk::DirDisk;

use crate::disk_loop::SharedDisk;
use crate::segments::Segments;

/// What a shard is told.
pub(crate) enum ShardMail {
    /// A new connection.
    Accepted(Accepted),
    /// An answer for one of its connections.
    Answer(Waiter, Response),
    /// A topic, as the council committed it.
    Topic(TopicImage),
    /// A topic is gone.
    TopicGone(Arc<str>),
    /// What a client has asked of a topic is done, or refused; with the id of a new one.
    TopicDone(TopicTicket, ErrorCode, [u8; 16]),
    /// Producer ids for this broker alone.
    ProducerIds(std::ops::Range<i64>),
    /// All topics were told.
    TopicsComplete,
    /// Close all connections and end.
    Stop,
}

/// What a shard shares with the other threads.
pub(crate) struct ShardLinks {
    pub(crate) broker: Arc<Mutex<Broker>>,
    pub(crate) mail: Vec<Arc<Mailbox<ShardMail>>>,
    pub(crate) disk: Arc<SharedDisk<DirDisk>>,
    /// What the disk tells; the first shard takes it in for all.
    pub(crate) disk_events: Option<Arc<Mailbox<DiskEvent>>>,
    pub(crate) catalog: Arc<Mailbox<CatalogCommand>>,
}

/// See the module.
pub(crate) struct Shard {
    driver: Driver,
    connections: EventLoop<ClientSocket>,
    front: Front,
    mail: Vec<ShardMail>,
    events: Vec<DiskEvent>,
    done: bool,
}

struct Driver {
    number: u16,
    links: ShardLinks,
    sockets: Sockets,
    segments: Segments,
    answers: Vec<(Waiter, Response)>,
    /// What became of commands that this thread carried out.
    events: Vec<DiskEvent>,
}

impl Driver {
    /// Whether commands were carried out here, so that there may be more.
    fn give_to_disk(&mut self, now: Now) -> bool {
        let mut broker = self.links.broker.lock();
        let mut commands = broker.take_disk_commands();
        if commands.is_empty() {
            return false;
        }
        let seat = self.links.disk.give(&mut commands);
        drop(broker);
        let Some(seat) = seat else {
            self.links.disk.wake();
            return false;
        };
        seat.run(&mut commands, &mut self.events);
        let mut broker = self.links.broker.lock();
        self.events.drain(..).for_each(|event| broker.disk_event(event, now));
        true
    }
}

impl Shard {
    pub(crate) fn new(
        number: u16,
        links: ShardLinks,
        sockets: Sockets,
        front: Front,
        directory: &Path,
    ) -> Self {
        let segments = Segments::new(directory);
        let driver = Driver { number, links, sockets, segments, answers: Vec::new(), events: Vec::new() };
        let (mail, events) = (Vec::new(), Vec::new());
        Self { driver, connections: EventLoop::default(), front, mail, events, done: false }
    }

    fn take_in(&mut self, accepted: Accepted, now: Now) {
        let Some(socket) = self.driver.sockets.begin(accepted) else { return };
        let opening_ms = self.driver.sockets.opening_ms();
        self.connections.accept(&mut self.driver, &mut self.front, socket, opening_ms, now);
    }

    fn topic(&self, topic: TopicImage, now: Now) {
        if let Err((id, damage)) = self.driver.links.broker.lock().topic_changed(topic, now) {
            tracing::error!(partition = id.index, %damage, "a partition is not served: what the disk holds of it is damaged");
        }
    }

    fn topics_complete(&self) {
        let unknown = self.driver.links.broker.lock().catalog_complete();
        if !unknown.is_empty() {
            let partitions = unknown.len();
            tracing::warn!(
                partitions,
                "the disk holds partitions of topics that the council does not know: they are kept, and not served"
            );
        }
    }

    fn take_disk_events(&mut self, now: Now) {
        let Some(mailbox) = &self.driver.links.disk_events else { return };
        mailbox.take_all(&mut self.events);
        if !self.events.is_empty() {
            let mut broker = self.driver.links.broker.lock();
            self.events.drain(..).for_each(|event| broker.disk_event(event, now));
        }
    }
}

impl Service for Shard {
    fn has_mail(&self) -> bool {
        let links = &self.driver.links;
        let own = links.mail.get(usize::from(self.driver.number)).is_some_and(|mail| !mail.is_empty());
        own || links.disk_events.as_ref().is_some_and(|events| !events.is_empty())
    }

    fn read_mail(&mut self, now: Now) {
        let mut mail = std::mem::take(&mut self.mail);
        if let Some(mailbox) = self.driver.links.mail.get(usize::from(self.driver.number)) {
            mailbox.take_all(&mut mail);
        }
        for message in mail.drain(..) {
            match message {
                ShardMail::Accepted(accepted) => self.take_in(accepted, now),
                ShardMail::Answer(waiter, response) => self.driver.answers.push((waiter, response)),
                ShardMail::Topic(topic) => self.topic(topic, now),
                ShardMail::TopicGone(name) => self.driver.links.broker.lock().topic_deleted(&name, now),
                ShardMail::TopicDone(ticket, error, id) => {
                    self.driver.links.broker.lock().topic_done(ticket, error, id);
                }
                ShardMail::ProducerIds(block) => self.driver.links.broker.lock().producer_ids_given(block, now),
                ShardMail::TopicsComplete => self.topics_complete(),
                ShardMail::Stop => self.done = true,
            }
        }
        self.mail = mail;
        self.take_disk_events(now);
    }

    fn announced(&mut self, token: u32, readiness: Readiness) {
        self.connections.announced(token, readiness);
    }

    fn turn(&mut self, now: Now) {
        self.connections.turn(&mut self.driver, &mut self.front, now);
    }

    fn wait_max_ms(&self) -> u64 {
        let most = self.connections.wait_max_ms(!self.driver.answers.is_empty());
        most.min(TICK_MS)
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn end(&mut self, now: Now) -> io::Result<()> {
        self.connections.close_all(&mut self.driver, &mut self.front, now);
        Ok(())
    }
}

/// How late a request that waits may be answered, milliseconds.
const TICK_MS: u64 = 50;

impl BrokerDriver for Driver {
    type Guard<'g> = MutexGuard<'g, Broker>;

    fn broker(&mut self) -> Self::Guard<'_> {
        self.links.broker.lock()
    }

    fn take_answers(&mut self, into: &mut Vec<(Waiter, Response)>) {
        into.append(&mut self.answers);
    }

    fn hand_on(&mut self, now: Now) {
        while self.give_to_disk(now) {}
        let (mut catalog, done) = {
            let mut broker = self.links.broker.lock();
            (broker.take_catalog_commands(), broker.take_done())
        };
        self.links.catalog.put_all(&mut catalog);
        for (waiter, response) in done {
            match self.links.mail.get(usize::from(waiter.shard)) {
                Some(mail) if waiter.shard != self.number => mail.put(ShardMail::Answer(waiter, response)),
                _ => self.answers.push((waiter, response)),
            }
        }
    }

    fn host(peer: &IpAddr) -> String {
        peer.to_string()
    }

    fn segments(&mut self) -> &mut impl SegmentReader {
        &mut self.segments
    }
}

impl SocketDriver for Driver {
    type Socket = ClientSocket;
    type Peer = IpAddr;

    fn watch(&mut self, socket: &mut ClientSocket, token: u32) -> Result<(), Broken> {
        self.sockets.watch(socket, token)
    }

    fn prepare(&mut self, socket: &mut ClientSocket) -> Result<bool, Broken> {
        self.sockets.prepare(socket)
    }

    fn open(&mut self, socket: &mut ClientSocket) -> Result<Option<IpAddr>, Broken> {
        Ok(self.sockets.open(socket)?.then(|| socket.peer().ip()))
    }

    #[inline]
    fn read(&mut self, socket: &mut ClientSocket, buffer: &mut [u8]) -> Result<ReadOutcome, Broken> {
        self.sockets.read(socket, buffer)
    }

    #[inline]
    fn write(&mut self, socket: &mut ClientSocket, bytes: &[u8]) -> Result<usize, Broken> {
        self.sockets.write(socket, bytes)
    }

    #[inline]
    fn wants_write(&self, socket: &ClientSocket) -> bool {
        self.sockets.wants_write(socket)
    }

    fn say_goodbye(&mut self, socket: &mut ClientSocket) {
        self.sockets.say_goodbye(socket);
    }

    fn close(&mut self, socket: ClientSocket, unsent_bytes: usize) {
        self.sockets.close(socket, unsent_bytes);
    }
}
