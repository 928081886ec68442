//! All connections to other members, as the thread that owns them drives them: it polls here when it sleeps. Sockets and
//! bytes are here; which connection is kept, and who is told as connected, is decided by the table of [`net_peer_pairs`].

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use base::{MemberId, MonoTime};
use bytes::Bytes;
use mio::{Events, Poll, Registry, Token, Waker};
use net_peer_pairs::{Dropped, Lane as LaneName, Pair, PairRef, PeerNumber, PeerPairs, Pulse, Verdict};
use node_threads::ThreadWaker;
use parking_lot::Mutex;

use crate::channel::{Channel, ChannelNumber, Channels};
use crate::credentials::{Credentials, LocalIdentity};
use crate::dial::Diallers;
use crate::established::Established;
use crate::frame::{self, Said};
use crate::lane::Lane;
use crate::roster::Roster;

const WAKER: Token = Token(usize::MAX);
/// Bytes read at once.
const ARENA_BYTES: usize = 128 << 10;

/// What became of the connections.
#[derive(Debug)]
pub enum News {
    /// A member is connected, whose build understands this feature level.
    Up(MemberId, u32),
    /// A member is not connected any more.
    Down(MemberId),
    /// A member says something.
    Message(Message),
    /// What was to be sent to a member on a channel was dropped.
    Lost(MemberId, ChannelNumber),
}

/// What a member says on a channel.
#[derive(Debug)]
pub struct Message {
    /// Who.
    pub from: MemberId,
    /// On which connections it came.
    pub pair: PairRef,
    /// Which part of the process it is for.
    pub channel: ChannelNumber,
    /// Its bytes, as the sender's `encode` appended them.
    pub bytes: Bytes,
}

/// Where the thread sleeps that owns connections; apart from them, for another thread may use them meanwhile.
pub struct Polling(Mutex<(Poll, Events)>);

/// See the module.
pub struct PeerConnections {
    own: PeerNumber,
    polling: Arc<Polling>,
    registry: Registry,
    polled: bool,
    waker: Arc<ThreadWaker>,
    credentials: Arc<Credentials>,
    channels: Channels,
    diallers: Diallers,
    /// Who the members are by this member's log, as text, once it has said so.
    roster: Option<String>,
    /// Another member has told a newer one.
    rosters_told: bool,
    pairs: PeerPairs<Lane>,
    arena: Box<[u8]>,
    frames: Vec<Bytes>,
    news: VecDeque<News>,
    now: MonoTime,
    /// How long it sleeps at most.
    pings: Duration,
}

impl PeerConnections {
    /// A poll and its waker, made before the mailboxes that ring it.
    ///
    /// # Errors
    /// The system refuses a poll.
    pub fn poll() -> io::Result<(Poll, Arc<ThreadWaker>)> {
        let poll = Poll::new()?;
        let waker = ThreadWaker::of_poll(Waker::new(poll.registry(), WAKER)?);
        Ok((poll, waker))
    }

    /// One without connections; members are dialled from now on. `channels` are those on which messages are taken.
    ///
    /// # Errors
    /// The system refuses another handle of the poll.
    pub fn new(
        credentials: Arc<Credentials>,
        (poll, waker): (Poll, Arc<ThreadWaker>),
        mut diallers: Diallers,
        channels: &[Channel],
    ) -> io::Result<Self> {
        let registry = poll.registry().try_clone()?;
        let (own, timing) = (credentials.identity.number, credentials.timing);
        diallers.know(&credentials.names.to_dial(), own, |_| false);
        Ok(Self {
            own,
            polling: Arc::new(Polling::new(poll)),
            registry,
            polled: false,
            waker,
            credentials,
            channels: Channels::new(channels),
            diallers,
            roster: None,
            rosters_told: false,
            pairs: PeerPairs::with_timing(own, timing),
            arena: vec![0; ARENA_BYTES].into_boxed_slice(),
            frames: Vec::new(),
            news: VecDeque::new(),
            now: MonoTime::ZERO,
            pings: Duration::from_millis(timing.ping_ms),
        })
    }

    /// Who this member says it is.
    #[must_use]
    pub fn identity(&self) -> &LocalIdentity {
        &self.credentials.identity
    }

    /// A connection was established.
    pub fn take(&mut self, established: Established, now: MonoTime) {
        let (hello, offer) = (established.hello, established.offer());
        let number = hello.known_number();
        // The other may have been named when that was agreed upon.
        let verdict = match self.credentials.names.is_named(number) {
            true => Some(self.pairs.offered(&offer, now)),
            false => None,
        };
        match verdict {
            None | Some(Verdict::Refused(_)) => {
                return self.diallers.connected(number, self.pairs.pair_with(offer.number).is_some());
            }
            Some(Verdict::Joins) => {}
            Some(Verdict::Replaces(dropped)) => self.end(dropped),
        }
        let token = token(number, hello.lane);
        let lane = match Lane::new(established, &self.registry, token) {
            Ok(lane) => lane,
            Err(error) => {
                tracing::warn!(member = number.0, %error, "a connection to a member cannot be used");
                self.diallers.connected(number, false);
                return self.pairs.pair_with(offer.number).into_iter().for_each(|pair| self.drop_pair(pair));
            }
        };
        self.credentials.connected.begin(number, hello.life);
        if let (pair, Some((id, level))) = self.pairs.connect(&offer, lane, now) {
            self.tell_up(pair, id, level);
        }
        self.diallers.connected(number, true);
    }

    fn tell_up(&mut self, pair: PairRef, id: MemberId, level: u32) {
        let (is_member, number) = (self.pairs.is_member(), pair.number.0);
        let Some(pair) = self.pairs.current(pair) else { return };
        tracing::info!(member = number, seated = pair.is_with_member(), "connected to a member");
        self.news.push_back(News::Up(id, level));
        if let (true, Some(text), Some(control)) =
            (is_member, &self.roster, pair.connection(LaneName::Control))
        {
            control.tell_roster(text);
        }
    }

    /// Who the members are by this member's log: those that are not connected are dialled from now on, and nobody else
    /// is. The others are told it as `text`, for their logs may be older.
    pub fn know(&mut self, roster: Roster, text: String) {
        self.credentials.names.know(roster);
        if self.pairs.is_member() {
            let up = self.pairs.iter_mut().filter(|pair| pair.is_up());
            up.filter_map(|pair| pair.connection(LaneName::Control))
                .for_each(|control| control.tell_roster(&text));
        }
        self.roster = Some(text);
        self.dial_members();
    }

    /// Whoever the members are by now is dialled: for a group whose members another group of the process knows
    /// ([`Credentials::of_group`]).
    pub fn follow_members(&mut self) {
        self.dial_members();
    }

    fn dial_members(&mut self) {
        let pairs = &self.pairs;
        let roster = self.credentials.names.to_dial();
        self.diallers.know(&roster, self.own, |number| pairs.pair_with(number).is_some());
    }

    fn drop_pair(&mut self, pair: PairRef) {
        if let Some(dropped) = self.pairs.disconnect(pair) {
            self.end(dropped);
        }
    }

    fn end(&mut self, Dropped { pair, told_id, connections }: Dropped<Lane>) {
        self.credentials.connected.end(pair.number);
        self.news.extend(told_id.map(News::Down));
        for lane in connections {
            lane.close(&self.registry);
        }
        self.diallers.connected(pair.number, false);
    }

    /// This member has an identity from now on, or has none any more: all connections end, and are made anew under what
    /// it is now.
    pub fn begin_anew(&mut self, is_member: bool) {
        self.roster = None;
        for dropped in self.pairs.begin_anew(is_member) {
            self.end(dropped);
        }
        self.news.clear();
    }

    /// Looks what has arrived. [`Self::next_news`] tells of it.
    ///
    /// # Errors
    /// The system refuses to poll.
    pub fn turn(&mut self, now: MonoTime) -> io::Result<()> {
        // Signs of life are looked after once a millisecond.
        let is_later = now != self.now;
        self.now = now;
        if !std::mem::take(&mut self.polled) {
            self.polling.poll(Duration::ZERO)?;
        }
        self.polling.take_events(|number, lane, readable, writable| {
            let Some(pair) = self.pairs.pair_with(number) else { return };
            if let Some(lane) = self.pairs.current(pair).and_then(|pair| pair.connection(lane)) {
                lane.announce(readable, writable);
            }
        });
        let concerned = |pair: &&Pair<Lane>| is_later || has_unread(pair);
        for pair in self.pairs.iter().filter(concerned).map(Pair::reference).collect::<Vec<_>>() {
            if !self.read(pair) {
                self.drop_pair(pair);
            }
        }
        if std::mem::take(&mut self.rosters_told) {
            self.dial_members();
        }
        Ok(())
    }

    /// What has become of the connections, in order, until nothing more has.
    pub fn next_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Whether something has become of them that was not told yet: sending finds out which are broken.
    #[must_use]
    pub fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// A message of that pair cannot be understood: the pair ends, and nothing that came on it behind the message is told.
    pub fn refuse(&mut self, pair: PairRef, error: &str) {
        tracing::error!(member = pair.number.0, error, "a member sent what cannot be understood");
        self.news.retain(|news| !matches!(news, News::Message(message) if message.pair == pair));
        self.drop_pair(pair);
    }

    /// False when the pair is of no use any more.
    fn read(&mut self, reference: PairRef) -> bool {
        let number = reference.number.0;
        let Some(pair) = self.pairs.current(reference) else { return true };
        let (id, is_with_member, mut heard) = (pair.id(), pair.is_with_member(), false);
        for lane in pair.connections_mut() {
            // This member does not listen: the other one is not silent.
            heard |= lane.held;
            if lane.held || !lane.readable {
                continue;
            }
            let read = lane.read(&mut self.arena, &mut self.frames, &self.channels);
            heard |= !self.frames.is_empty();
            for bytes in self.frames.drain(..) {
                match frame::understand(bytes, &self.channels) {
                    Ok(Said::Alive) => {}
                    // What one without an identity says is what its file says.
                    Ok(Said::Roster(text)) => {
                        self.rosters_told |= is_with_member && self.credentials.names.hear(&text);
                    }
                    Ok(Said::Message(channel, bytes)) => {
                        let message = Message { from: id, pair: reference, channel, bytes };
                        self.news.push_back(News::Message(message));
                    }
                    Err(error) => {
                        tracing::error!(member = number, error, "a member sent what cannot be understood");
                        return false;
                    }
                }
            }
            if let Err(error) = read {
                tracing::info!(member = number, %error, "the connection to a member broke");
                return false;
            }
        }
        if heard {
            pair.heard(self.now);
        }
        self.keep_alive(reference)
    }

    /// Pings a member that has heard nothing for a while; false when it has been silent for too long.
    fn keep_alive(&mut self, reference: PairRef) -> bool {
        let Some(pair) = self.pairs.current(reference) else { return true };
        match pair.pulse(self.now) {
            Pulse::Well => {}
            Pulse::Ping => pair.connection(LaneName::Control).into_iter().for_each(Lane::ping),
            Pulse::Silent => {
                tracing::warn!(
                    member = reference.number.0,
                    "a member has fallen silent: the connection to it is given up"
                );
                return false;
            }
        }
        true
    }

    /// Queues the message that `encode` appends; [`Self::flush`] sends it.
    pub fn send(
        &mut self,
        to: MemberId,
        lane: LaneName,
        channel: ChannelNumber,
        encode: impl FnOnce(&mut Vec<u8>),
    ) {
        let lane = self.pairs.connection(to, lane);
        if lane.is_some_and(|lane| !lane.put(channel, encode)) {
            self.news.push_back(News::Lost(to, channel));
        }
    }

    /// The connection for a small answer to what came on the bulky one: the same, where little is sent. Then the system need
    /// not acknowledge what came by a packet of its own.
    pub fn lane_of_answer(&mut self, to: MemberId) -> LaneName {
        let now = self.now;
        let bulk = self.pairs.connection(to, LaneName::Bulk);
        LaneName::of(bulk.is_some_and(|lane| lane.is_quiet(now)))
    }

    /// Queues a message for a member of which it is not known whether it has an identity.
    pub fn send_to_number(
        &mut self,
        number: PeerNumber,
        channel: ChannelNumber,
        encode: impl FnOnce(&mut Vec<u8>),
    ) {
        if let Some(control) = self.pairs.control(number) {
            control.put(channel, encode);
        }
    }

    /// Sends what waits.
    pub fn flush(&mut self) {
        let mut broken = Vec::new();
        // What is urgent waits for no bulk of another member.
        for name in [LaneName::Control, LaneName::Bulk] {
            for pair in self.pairs.iter_mut() {
                let reference = pair.reference();
                let lane = pair.connection(name).filter(|lane| lane.wants_flush());
                if lane.is_some_and(|lane| lane.flush(&self.registry).is_err()) {
                    broken.push(reference);
                }
            }
        }
        broken.into_iter().for_each(|pair| self.drop_pair(pair));
    }

    /// The next [`turn`](Self::turn) does not poll: something is to be sent before anything is read.
    pub const fn skip_poll(&mut self) {
        self.polled = true;
    }

    /// Sleeps until something arrives, the waker rings or the time is over; not at all when there is mail.
    ///
    /// # Errors
    /// The system refuses to poll.
    pub fn sleep(&mut self, timeout: Duration, mail: impl FnOnce() -> bool) -> io::Result<()> {
        let timeout = self.fall_asleep(timeout, mail);
        let polled = self.polling.poll(timeout);
        self.waker.wake_up();
        polled
    }

    /// The first half of [`Self::sleep`]: says how long its owner may sleep in [`Polling::poll`], and is to be told by the
    /// waker from now on. What that finds is for the next turn.
    pub fn fall_asleep(&mut self, timeout: Duration, mail: impl FnOnce() -> bool) -> Duration {
        let busy = !self.news.is_empty() || self.pairs.iter().any(has_unread);
        self.waker.fall_asleep();
        self.polled = true;
        if busy || mail() { Duration::ZERO } else { timeout.min(self.pings) }
    }

    /// Where its owner sleeps.
    #[must_use]
    pub const fn polling(&self) -> &Arc<Polling> {
        &self.polling
    }
}

impl Polling {
    /// Of a poll that its owner registered.
    #[must_use]
    pub fn new(poll: Poll) -> Self {
        Self(Mutex::new((poll, Events::with_capacity(256))))
    }

    /// # Errors
    /// The system refuses to poll.
    pub fn poll(&self, timeout: Duration) -> io::Result<()> {
        let (poll, events) = &mut *self.0.lock();
        match poll.poll(events, Some(timeout)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                events.clear();
                Ok(())
            }
            other => other,
        }
    }

    /// Gives what was found on which connection: whether it can be read, and written.
    fn take_events(&self, mut take: impl FnMut(PeerNumber, LaneName, bool, bool)) {
        let (_, events) = &mut *self.0.lock();
        for event in &*events {
            if let Some((number, lane)) = member_of(event.token()) {
                let readable = event.is_readable() || event.is_read_closed() || event.is_error();
                take(number, lane, readable, event.is_writable());
            }
        }
        events.clear();
    }
}

/// Whether something may have come from a member that is listened to.
fn has_unread(pair: &Pair<Lane>) -> bool {
    pair.connections().any(|lane| lane.readable && !lane.held)
}

const fn token(number: PeerNumber, lane: LaneName) -> Token {
    Token(number.0 as usize * 2 + matches!(lane, LaneName::Bulk) as usize)
}

const fn member_of(token: Token) -> Option<(PeerNumber, LaneName)> {
    if token.0 == WAKER.0 {
        return None;
    }
    let lane = if token.0.is_multiple_of(2) { LaneName::Control } else { LaneName::Bulk };
    Some((PeerNumber((token.0 / 2) as u32), lane))
}

#[path = "external_roster.rs"]
mod external_roster;

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
