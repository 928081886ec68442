//! All connections to other members, as the core's thread drives them: it polls here when it sleeps.
//!
//! At most one pair of connections stands between two members. Where both dialled at once, both sides keep the pair
//! that the higher number dialled; a pair of a later life of a process replaces one of an earlier. Where members prove
//! nothing, though, a life is only a claim: a pair that stands is replaced when nothing has come on it for a while, or
//! when it is so young that both may have dialled at once. A member whose host died comes back later than that.

use node_threads::Doorbell;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use council_replica::PeerMessage;
use council_replica::founding::{BLANK, FoundingMessage, NUMBERS};
use council_tree::Roster;
use mio::{Events, Poll, Token, Waker};

use super::credentials::Credentials;
use super::dial::Diallers;
use super::frame::Said;
use super::hello::{Hello, Lane as LaneName};
use super::lane::Lane;
use super::{Established, frame};

const BELL: Token = Token(usize::MAX);
/// Bytes read at once.
const ARENA_BYTES: usize = 128 << 10;
/// How often a member that has nothing to say shows that it lives.
const PING_MS: u64 = 500;
/// After how long without a sign of life a pair is given up.
const SILENCE_MS: u64 = 5_000;
/// After how long without a sign of life a pair is replaced on a mere claim.
const QUIET_MS: u64 = 3 * PING_MS;
/// For how long the other pair of two members that dialled at once may come.
const YOUTH_MS: u64 = 1_000;

/// What became of the connections.
#[derive(Debug)]
pub(crate) enum News {
    /// A member is connected, whose build understands this feature level.
    Up(u64, u32),
    /// A member is not connected any more.
    Down(u64),
    /// A member says something.
    Message(u64, PeerMessage),
    /// What was to be sent to a member was dropped.
    Lost(u64),
}

/// Two connections that belong together.
struct Pair {
    /// The other's id; none while its disk is blank.
    id: Option<u64>,
    key: Key,
    level: u32,
    control: Option<Lane>,
    bulk: Option<Lane>,
    told_up: bool,
    began_ms: u64,
    heard_ms: u64,
    pinged_ms: u64,
}

/// What tells pairs with one member apart, and which of two is kept: the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    life: u64,
    dialler: u64,
    attempt: u64,
}

/// See the module.
pub(crate) struct Switchboard {
    own: u64,
    /// Whether this member has a seat.
    seated: bool,
    poll: Poll,
    events: Events,
    polled: bool,
    bell: Arc<Doorbell>,
    credentials: Arc<Credentials>,
    diallers: Diallers,
    /// What this member's log says who the members are, once it has said so.
    roster: Option<String>,
    /// Another member has told a newer one.
    rosters_told: bool,
    pairs: BTreeMap<u64, Pair>,
    arena: Box<[u8]>,
    frames: Vec<Bytes>,
    news: Vec<News>,
    now_ms: u64,
}

impl Switchboard {
    /// A poll and its bell, made before the mailboxes that ring it.
    pub(crate) fn poll() -> io::Result<(Poll, Arc<Doorbell>)> {
        let poll = Poll::new()?;
        let bell = Doorbell::of_poll(Waker::new(poll.registry(), BELL)?);
        Ok((poll, bell))
    }

    pub(crate) fn new(
        credentials: Arc<Credentials>,
        (poll, bell): (Poll, Arc<Doorbell>),
        mut diallers: Diallers,
    ) -> Self {
        let own = credentials.badge.number;
        diallers.know(&credentials.names.to_dial(), own, |_| false);
        Self {
            own,
            seated: false,
            poll,
            events: Events::with_capacity(256),
            polled: false,
            bell,
            credentials,
            diallers,
            roster: None,
            rosters_told: false,
            pairs: BTreeMap::new(),
            arena: vec![0; ARENA_BYTES].into_boxed_slice(),
            frames: Vec::new(),
            news: Vec::new(),
            now_ms: 0,
        }
    }

    /// A connection was established.
    pub(crate) fn take(&mut self, established: Established, now_ms: u64) {
        let hello = established.hello;
        let number = hello.number;
        // It may have been agreed upon under what this member was before, or when the other was still named.
        let current = established.seated == self.seated && self.credentials.names.is_named(number);
        if !current || !self.makes_way(&established, now_ms) {
            return self.diallers.connected(number, self.pairs.contains_key(&number));
        }
        let key = self.key(&established);
        let token = token(number, hello.lane);
        let lane = match Lane::new(established, self.credentials.limits, self.poll.registry(), token) {
            Ok(lane) => lane,
            Err(error) => {
                tracing::warn!(member = number, %error, "a connection to a member cannot be used");
                return self.drop_pair(number);
            }
        };
        self.credentials.connected.begin(&hello);
        let pair = self.pairs.entry(number).or_insert_with(|| Pair::new(&hello, key, now_ms));
        match hello.lane {
            LaneName::Control => pair.control = Some(lane),
            LaneName::Bulk => pair.bulk = Some(lane),
        }
        if pair.control.is_some() && pair.bulk.is_some() && !pair.told_up {
            pair.told_up = true;
            tracing::info!(member = number, seated = pair.id.is_some(), "connected to a member");
            self.news.push(News::Up(pair.name(number), hello.level));
            if let (true, Some(text), Some(control)) = (self.seated, &self.roster, &mut pair.control) {
                control.tell_roster(text);
            }
        }
        self.diallers.connected(number, true);
    }

    const fn key(&self, established: &Established) -> Key {
        let dialler = if established.dialled { self.own } else { established.hello.number };
        Key { life: established.hello.life, dialler, attempt: established.attempt }
    }

    /// Whether a connection belongs to the pair that stands, or takes its place: then that one ends.
    fn makes_way(&mut self, established: &Established, now_ms: u64) -> bool {
        let (hello, key) = (&established.hello, self.key(established));
        let Some(pair) = self.pairs.get(&hello.number) else { return true };
        if pair.key == key {
            // Both connections of a pair are one member's, and each comes once.
            return pair.is_of(hello) && !pair.has(hello.lane);
        }
        if pair.key > key || !(established.proved || pair.yields_to_claim(key, now_ms)) {
            return false;
        }
        self.drop_pair(hello.number);
        true
    }

    /// Who the members are by this member's log: those that are not connected are dialled from now on, and nobody else
    /// is. The others are told, for their logs may be older.
    pub(crate) fn know(&mut self, roster: &Roster) {
        self.credentials.names.know(roster);
        let text = roster.text();
        for control in self.pairs.values_mut().filter_map(Pair::told_control).filter(|_| self.seated) {
            control.tell_roster(&text);
        }
        self.roster = Some(text);
        self.dial_members();
    }

    fn dial_members(&mut self) {
        let pairs = &self.pairs;
        let roster = self.credentials.names.to_dial();
        self.diallers.know(&roster, self.own, |number| pairs.contains_key(&number));
    }

    fn drop_pair(&mut self, number: u64) {
        if let Some(pair) = self.pairs.remove(&number) {
            self.credentials.connected.end(number);
            if pair.told_up {
                self.news.push(News::Down(pair.name(number)));
            }
            for lane in [pair.control, pair.bulk].into_iter().flatten() {
                lane.close(self.poll.registry());
            }
        }
        self.diallers.connected(number, false);
    }

    /// This member has a seat: all connections end, and are made anew under what it is now.
    pub(crate) fn sit(&mut self) {
        self.begin_anew(true);
    }

    /// This member has no seat any more.
    pub(crate) fn stand_up(&mut self) {
        self.begin_anew(false);
    }

    fn begin_anew(&mut self, seated: bool) {
        self.seated = seated;
        self.roster = None;
        for number in self.pairs.keys().copied().collect::<Vec<_>>() {
            self.drop_pair(number);
        }
        self.news.clear();
    }

    /// Looks what has arrived.
    ///
    /// # Errors
    /// The system refuses to poll.
    pub(crate) fn turn(&mut self, now_ms: u64) -> io::Result<std::vec::Drain<'_, News>> {
        self.now_ms = now_ms;
        if !std::mem::take(&mut self.polled) {
            self.poll_for(Duration::ZERO)?;
        }
        for event in &self.events {
            let Some((number, lane)) = member_of(event.token()) else { continue };
            let Some(lane) = self.pairs.get_mut(&number).and_then(|pair| pair.lane(lane)) else { continue };
            let readable = event.is_readable() || event.is_read_closed() || event.is_error();
            lane.announce(readable, event.is_writable());
        }
        self.events.clear();
        for number in self.pairs.keys().copied().collect::<Vec<_>>() {
            if !self.read(number) {
                self.drop_pair(number);
            }
        }
        if std::mem::take(&mut self.rosters_told) {
            self.dial_members();
        }
        Ok(self.news.drain(..))
    }

    /// False when the pair is of no use any more.
    fn read(&mut self, number: u64) -> bool {
        let Some(pair) = self.pairs.get_mut(&number) else { return true };
        let name = pair.name(number);
        for lane in [&mut pair.control, &mut pair.bulk].into_iter().flatten() {
            if !lane.readable {
                continue;
            }
            let read = lane.read(&mut self.arena, &mut self.frames);
            if !self.frames.is_empty() {
                pair.heard_ms = self.now_ms;
            }
            for bytes in self.frames.drain(..) {
                match frame::understand(bytes) {
                    Ok(Said::Alive) => {}
                    // What one without a seat says is what its file says.
                    Ok(Said::Roster(text)) => {
                        self.rosters_told |= pair.id.is_some() && self.credentials.names.hear(&text);
                    }
                    Ok(Said::Message(message)) => self.news.push(News::Message(name, message)),
                    Err(error) => {
                        tracing::error!(
                            member = number,
                            error = error.0,
                            "a member sent what cannot be understood"
                        );
                        return false;
                    }
                }
            }
            if let Err(error) = read {
                tracing::info!(member = number, %error, "the connection to a member broke");
                return false;
            }
        }
        if self.now_ms > pair.heard_ms + SILENCE_MS {
            tracing::warn!(member = number, "a member has fallen silent: the connection to it is given up");
            return false;
        }
        if self.now_ms >= pair.pinged_ms + PING_MS {
            pair.pinged_ms = self.now_ms;
            if let Some(control) = &mut pair.control {
                control.ping();
            }
        }
        true
    }

    /// Queues a message; [`Self::flush`] sends it.
    pub(crate) fn send(&mut self, to: u64, message: &PeerMessage) {
        let number = to % NUMBERS;
        let Some(pair) = self.pairs.get_mut(&number) else { return };
        if pair.name(number) != to {
            return;
        }
        let lane = if message.is_bulky() { &mut pair.bulk } else { &mut pair.control };
        if lane.as_mut().is_some_and(|lane| !lane.put(message)) {
            self.news.push(News::Lost(to));
        }
    }

    /// Queues a message for a member of which it is not known whether it has a seat.
    pub(crate) fn send_founding(&mut self, number: u64, message: FoundingMessage) {
        if let Some(control) = self.pairs.get_mut(&number).and_then(|pair| pair.control.as_mut()) {
            control.put(&PeerMessage::Founding(message));
        }
    }

    /// Sends what waits.
    pub(crate) fn flush(&mut self) {
        let mut broken = Vec::new();
        for (number, pair) in &mut self.pairs {
            for lane in [&mut pair.control, &mut pair.bulk].into_iter().flatten() {
                if lane.wants_flush() && lane.flush().is_err() {
                    broken.push(*number);
                }
            }
        }
        broken.into_iter().for_each(|number| self.drop_pair(number));
    }

    /// Sleeps until something arrives, the bell rings or the time is over; not at all when there is mail.
    ///
    /// # Errors
    /// The system refuses to poll.
    pub(crate) fn sleep(&mut self, timeout: Duration, mail: impl FnOnce() -> bool) -> io::Result<()> {
        let busy = !self.news.is_empty() || self.pairs.values().any(Pair::has_unread);
        self.bell.fall_asleep();
        let timeout =
            if busy || mail() { Duration::ZERO } else { timeout.min(Duration::from_millis(PING_MS)) };
        let polled = self.poll_for(timeout);
        self.bell.wake_up();
        self.polled = true;
        polled
    }

    fn poll_for(&mut self, timeout: Duration) -> io::Result<()> {
        match self.poll.poll(&mut self.events, Some(timeout)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                self.events.clear();
                Ok(())
            }
            other => other,
        }
    }
}

impl Pair {
    fn new(hello: &Hello, key: Key, now_ms: u64) -> Self {
        Self {
            id: hello.seat.map(|(id, _)| id),
            key,
            level: hello.level,
            control: None,
            bulk: None,
            told_up: false,
            began_ms: now_ms,
            heard_ms: now_ms,
            pinged_ms: now_ms,
        }
    }

    /// Whether a hello says the same of its sender as the one that the pair began with.
    fn is_of(&self, hello: &Hello) -> bool {
        (self.id, self.level) == (hello.seat.map(|(id, _)| id), hello.level)
    }

    /// Whether it gives way to another that proves nothing.
    const fn yields_to_claim(&self, key: Key, now_ms: u64) -> bool {
        let dialled_at_once = self.key.life == key.life && now_ms < self.began_ms + YOUTH_MS;
        dialled_at_once || now_ms > self.heard_ms + QUIET_MS
    }

    /// Where to tell the other side what it need not have asked for, once both connections stand.
    fn told_control(&mut self) -> Option<&mut Lane> {
        self.control.as_mut().filter(|_| self.told_up)
    }

    fn name(&self, number: u64) -> u64 {
        self.id.unwrap_or(BLANK | number)
    }

    const fn lane(&mut self, name: LaneName) -> Option<&mut Lane> {
        match name {
            LaneName::Control => self.control.as_mut(),
            LaneName::Bulk => self.bulk.as_mut(),
        }
    }

    const fn has(&self, name: LaneName) -> bool {
        match name {
            LaneName::Control => self.control.is_some(),
            LaneName::Bulk => self.bulk.is_some(),
        }
    }

    fn has_unread(&self) -> bool {
        [&self.control, &self.bulk].into_iter().flatten().any(|lane| lane.readable)
    }
}

const fn token(number: u64, lane: LaneName) -> Token {
    Token(number as usize * 2 + matches!(lane, LaneName::Bulk) as usize)
}

const fn member_of(token: Token) -> Option<(u64, LaneName)> {
    if token.0 == BELL.0 {
        return None;
    }
    let lane = if token.0.is_multiple_of(2) { LaneName::Control } else { LaneName::Bulk };
    Some((token.0 as u64 / 2, lane))
}

#[cfg(test)]
#[path = "switchboard_tests.rs"]
mod tests;
