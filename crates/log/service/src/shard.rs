//! One shard: the connections of one reactor's thread.

use std::io;
use std::path::Path;
use std::sync::Arc;

use base::{MonoTime, Now};
use log_broker::{
    Broker, BrokerDriver, Client, DiskCommand, DiskEvent, Front, Notice, Peer, Refusal, Response,
    SegmentReader, Waiter,
};
use log_links::LinkEvent;
use net_event_loop::{Broken, EventLoop, FilePart, ReadOutcome, Readiness, SocketDriver};
use net_reactor::{Accepted, ClientSocket, SentFile, Service, Sockets};
use node_threads::Mailbox;
use parking_lot::{Mutex, MutexGuard};
use storage_dir_disk::DirDisk;

use crate::compaction::Compaction;
use crate::config::SetLogLevel;
use crate::council::Council;
use crate::disk_loop::SharedDisk;
use crate::listener::ListenerClients;
use crate::mail::ShardMail;
use crate::peers::Peers;
use crate::refusals::Refusals;
use crate::segments::Segments;
use crate::volume::VolumeWatch;

/// What a shard shares with the other threads.
pub(crate) struct ShardLinks {
    pub(crate) broker: Arc<Mutex<Broker>>,
    pub(crate) mail: Vec<Arc<Mailbox<ShardMail>>>,
    pub(crate) disk: Arc<SharedDisk<DirDisk>>,
    /// What the disk tells; the first shard takes it in for all.
    pub(crate) disk_events: Option<Arc<Mailbox<DiskEvent>>>,
    pub(crate) council: Arc<Council>,
    pub(crate) compaction: Arc<Compaction>,
    pub(crate) refusals: Arc<Refusals>,
    pub(crate) peers: Arc<Peers>,
    pub(crate) set_log_level: SetLogLevel,
}

/// What a shard has of each listener.
pub(crate) struct ShardListener {
    pub(crate) sockets: Sockets,
    pub(crate) clients: ListenerClients,
}

/// See the module.
pub(crate) struct Shard {
    driver: Driver,
    connections: EventLoop<ClientSocket>,
    front: Front<SentFile>,
    mail: Vec<ShardMail>,
    events: Vec<DiskEvent>,
    heard: Vec<LinkEvent>,
    /// The first shard looks at it for all.
    volume: Option<VolumeWatch>,
    /// When segments that were not read lately are to be closed.
    close_due: MonoTime,
    /// Of the last turn.
    now: MonoTime,
    done: bool,
}

struct Driver {
    number: u16,
    links: ShardLinks,
    listeners: Vec<ShardListener>,
    segments: Segments,
    answers: Vec<(Waiter, Response)>,
    /// Room for answers of all threads.
    done: Vec<(Waiter, Response)>,
    /// Room for what the disk is to do.
    commands: Vec<DiskCommand>,
    /// What became of commands that this thread carried out.
    events: Vec<DiskEvent>,
}

impl Driver {
    /// What is for other brokers goes to them, and what has to be read for them is read.
    fn tell_peers(&mut self, now: Now) {
        loop {
            let mut broker = self.links.broker.lock();
            if let Some(announced) = broker.take_announced() {
                self.links.peers.set_announced(announced);
            }
            let messages = broker.take_peer_messages(now);
            let read = broker.next_replica_read();
            if messages.is_empty() && read.is_none() {
                return;
            }
            let mut sending = self.links.peers.begin();
            drop(broker);
            let full = sending.send(messages);
            drop(sending);
            let bytes = read.map(|read| (read.read(&mut self.segments), read));
            let mut broker = self.links.broker.lock();
            full.into_iter().for_each(|peer| broker.peer_is_full(peer, true));
            if let Some((bytes, read)) = bytes {
                broker.replica_was_read(&read, bytes, now);
            }
        }
    }

    /// Whether commands were carried out here, so that there may be more.
    fn give_to_disk(&mut self, now: Now) -> bool {
        let mut broker = self.links.broker.lock();
        broker.swap_disk_commands(&mut self.commands);
        if self.commands.is_empty() {
            return false;
        }
        let seat = self.links.disk.give(&mut self.commands);
        drop(broker);
        let Some(seat) = seat else {
            self.links.disk.wake();
            return false;
        };
        seat.run(&mut self.commands, &mut self.events);
        let mut broker = self.links.broker.lock();
        self.events.drain(..).for_each(|event| broker.disk_event(event, now));
        true
    }
}

impl Shard {
    pub(crate) fn new(
        number: u16,
        links: ShardLinks,
        listeners: Vec<ShardListener>,
        front: Front<SentFile>,
        directory: &Path,
    ) -> Self {
        let segments = Segments::new(directory);
        let volume = (number == 0).then(|| VolumeWatch::new(directory));
        let (answers, done, commands, events) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let driver = Driver { number, links, listeners, segments, answers, done, commands, events };
        let (mail, events, heard) = (Vec::new(), Vec::new(), Vec::new());
        let (connections, close_due, now) = (EventLoop::default(), MonoTime::ZERO, MonoTime::ZERO);
        Self { driver, connections, front, mail, events, heard, volume, close_due, now, done: false }
    }

    fn take_in(&mut self, accepted: Accepted, now: Now) {
        let Some(listener) = self.driver.listeners.get(usize::from(accepted.listener())) else { return };
        let Some(socket) = listener.sockets.begin(accepted) else { return };
        let opening_ms = listener.sockets.opening_ms();
        self.connections.accept(&mut self.driver, &mut self.front, socket, opening_ms, now);
    }

    fn take_disk_events(&mut self, now: Now) {
        let Some(mailbox) = &self.driver.links.disk_events else { return };
        mailbox.take_all(&mut self.events);
        let volume = self.volume.as_mut().and_then(|volume| volume.look(now));
        self.events.extend(volume.map(DiskEvent::Volume));
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
        let of_first = || {
            links.disk_events.as_ref().is_some_and(|events| !events.is_empty()) || links.peers.has_events()
        };
        own || (self.driver.number == 0 && of_first())
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
                ShardMail::Council(event) => self.driver.links.broker.lock().keeper_event(event, now),
                ShardMail::Compaction(event) => {
                    self.driver.links.broker.lock().compaction_event(event, now);
                }
                ShardMail::Drain => self.driver.links.broker.lock().drain(now),
                ShardMail::Stop => self.done = true,
            }
        }
        self.mail = mail;
        self.take_disk_events(now);
        if self.driver.number == 0 {
            self.driver.links.peers.hear(&self.driver.links.broker, &mut self.heard, now);
        }
    }

    fn announced(&mut self, token: u32, readiness: Readiness) {
        self.connections.announced(token, readiness);
    }

    fn turn(&mut self, now: Now) {
        self.now = now.mono();
        if self.close_due <= now.mono() {
            self.close_due = now.mono().plus_ms(CLOSE_MS);
            self.driver.segments.close_unused();
        }
        self.connections.turn(&mut self.driver, &mut self.front, now);
    }

    fn wait_max_ms(&self) -> u64 {
        // A millisecond at least: what is due within it is not yet due at once.
        let due = self.front.next_deadline().map_or(TICK_MS, |due| due.since(self.now).clamp(1, TICK_MS));
        self.connections.wait_max_ms(!self.driver.answers.is_empty()).min(due)
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn end(&mut self, now: Now) -> io::Result<()> {
        self.connections.close_all(&mut self.driver, &mut self.front, now);
        self.driver.hand_on(now);
        Ok(())
    }
}

#[expect(clippy::too_many_lines, reason = "a list: an arm for each notice")]
fn log(notice: &Notice, set_log_level: &SetLogLevel) {
    match notice {
        Notice::LogLevel(level) => (set_log_level.0)(level),
        Notice::TopicCreated(topic) => tracing::info!(%topic, "a topic was created"),
        Notice::TopicDeleted(topic) => tracing::info!(%topic, "a topic was deleted"),
        Notice::BadTopic(topic, why) => {
            tracing::warn!(%topic, why, "what the council holds of a topic cannot be used");
        }
        Notice::BadAccess(path) => tracing::error!(
            path,
            "what the council holds of a user, of rules or of quotas cannot be used: nobody gets a right by it"
        ),
        Notice::BadConfigs(path, why) => {
            tracing::warn!(
                path,
                why,
                "configurations in the council cannot be used: those of before stay in force"
            );
        }
        Notice::Damaged(id, damage) => {
            let partition = id.index;
            tracing::error!(partition, %damage, "a partition is not served: what the disk holds of it is damaged");
        }
        Notice::NotSent(id) => {
            let partition = id.index;
            tracing::error!(
                partition,
                "followers of a partition are not sent what the disk holds of it: it cannot be read"
            );
        }
        Notice::NotHandedOver(id, broker, behind) => tracing::info!(
            partition = id.index,
            broker,
            behind,
            "a partition keeps its leader for now: the replica that is to lead does not come near the end of the log in time"
        ),
        Notice::Balanced { topic, partition, before, after, why } => tracing::info!(
            %topic,
            partition,
            ?before,
            ?after,
            why,
            "a partition gets other replicas, or another leader, which is the first of them: brokers carry unequal loads"
        ),
        Notice::MayHaveLost { topic, partition, missing, kept } => tracing::error!(
            %topic,
            partition,
            ?missing,
            kept,
            "an unclean leader was elected: records at the offset `kept` and above that only the missing replicas had are lost"
        ),
        Notice::NotCompacted(id, error) => {
            let partition = id.index;
            tracing::error!(partition, %error, "a partition is not compacted for now: its segments stay as they are");
        }
        Notice::FutureTimestamp(id, timestamp_ms) => {
            let partition = id.index;
            tracing::warn!(
                partition,
                timestamp_ms,
                "a record has a timestamp in the future: its segment is kept for longer than `retention.ms`"
            );
        }
        Notice::DeadLetters(group, why) => {
            tracing::warn!(%group, why, "dead letters of a share group wait, and so does the group after some of them");
        }
        Notice::Unclaimed(partitions) => tracing::warn!(
            partitions,
            "the disk holds partitions of topics that the council does not know: they are kept, and not served"
        ),
    }
}

/// How long a segment that nobody reads stays open, milliseconds.
const CLOSE_MS: u64 = 2_000;
/// How often coordinators look at the time, milliseconds; the longest that a thread sleeps.
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
        self.tell_peers(now);
        while self.give_to_disk(now) {
            self.tell_peers(now);
        }
        let (changes, notices, mut compaction) = {
            let mut broker = self.links.broker.lock();
            broker.append_done(&mut self.done);
            (broker.take_changes(), broker.take_notices(), broker.take_compaction_commands())
        };
        if !compaction.is_empty() {
            self.links.compaction.commands.put_all(&mut compaction);
        }
        if !changes.is_empty() {
            self.links.council.ask(changes);
        }
        notices.iter().for_each(|notice| log(notice, &self.links.set_log_level));
        for (waiter, response) in self.done.drain(..) {
            match self.links.mail.get(usize::from(waiter.shard)) {
                Some(mail) if waiter.shard != self.number => mail.put(ShardMail::Answer(waiter, response)),
                _ => self.answers.push((waiter, response)),
            }
        }
    }

    fn authenticated(&mut self, socket: &ClientSocket) {
        socket.authenticated();
    }

    fn refused(&mut self, client: &Client, refusal: Refusal, why: &'static str) {
        self.links.refusals.client(client, refusal, why);
    }

    fn segments(&mut self) -> &mut impl SegmentReader<File = SentFile> {
        &mut self.segments
    }
}

impl Driver {
    fn of(&self, socket: &ClientSocket) -> Result<&ShardListener, Broken> {
        self.listeners.get(usize::from(socket.listener())).ok_or(Broken)
    }
}

impl SocketDriver for Driver {
    type Socket = ClientSocket;
    type Peer = Peer;
    type File = SentFile;

    fn watch(&mut self, socket: &mut ClientSocket, token: u32) -> Result<(), Broken> {
        self.of(socket)?.sockets.watch(socket, token)
    }

    fn prepare(&mut self, socket: &mut ClientSocket) -> Result<bool, Broken> {
        self.of(socket)?.sockets.prepare(socket)
    }

    fn open(&mut self, socket: &mut ClientSocket) -> Result<Option<Peer>, Broken> {
        let listener = self.of(socket)?;
        if listener.sockets.open(socket)? { listener.clients.peer(socket).map(Some) } else { Ok(None) }
    }

    #[inline]
    fn read(&mut self, socket: &mut ClientSocket, buffer: &mut [u8]) -> Result<ReadOutcome, Broken> {
        self.of(socket)?.sockets.read(socket, buffer)
    }

    #[inline]
    fn write(&mut self, socket: &mut ClientSocket, bytes: &[u8]) -> Result<usize, Broken> {
        self.of(socket)?.sockets.write(socket, bytes)
    }

    fn write_with_file(
        &mut self,
        socket: &mut ClientSocket,
        bytes: &[u8],
        part: FilePart<'_, SentFile>,
    ) -> Result<usize, Broken> {
        self.of(socket)?.sockets.write_with_file(socket, bytes, part)
    }

    #[inline]
    fn wants_write(&self, socket: &ClientSocket) -> bool {
        self.of(socket).is_ok_and(|listener| listener.sockets.wants_write(socket))
    }

    fn say_goodbye(&mut self, socket: &mut ClientSocket) {
        if let Ok(listener) = self.of(socket) {
            listener.sockets.say_goodbye(socket);
        }
    }

    fn close(&mut self, socket: ClientSocket, unsent_bytes: usize) {
        if let Ok(listener) = self.of(&socket) {
            listener.sockets.close(socket, unsent_bytes);
        }
    }
}
