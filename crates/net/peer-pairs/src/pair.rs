//! One pair of connections with another member.

use base::{MemberId, MonoTime};

use crate::number::PeerNumber;
use crate::offer::{Lane, Offer};
use crate::timing::Timing;

/// What tells the pairs with one member apart, and which of two is kept: the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) process: u64,
    pub(crate) dialler: PeerNumber,
    pub(crate) attempt: u64,
}

/// One of all pairs that ever stood. A connection of a pair that was dropped is known by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PairRef {
    /// The other's number.
    pub number: PeerNumber,
    /// Which of this table's pairs.
    pub serial: u64,
}

/// A pair that ended. The driver closes its connections.
#[derive(Debug, PartialEq, Eq)]
pub struct Dropped<C> {
    /// Which.
    pub pair: PairRef,
    /// Who is not connected any more, if it was told to be.
    pub told_id: Option<MemberId>,
    /// Its connections.
    pub connections: Vec<C>,
}

/// Two connections that belong together.
#[derive(Debug)]
pub struct Pair<C> {
    pub(crate) reference: PairRef,
    pub(crate) key: Key,
    /// The other's id; none while its disk is blank.
    id: Option<MemberId>,
    level: u32,
    control: Option<C>,
    bulk: Option<C>,
    told_up: bool,
    began: MonoTime,
    heard: MonoTime,
    pinged: MonoTime,
    timing: Timing,
}

/// How a pair is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulse {
    /// It stands.
    Well,
    /// It stands, and it is time to show the other side that this member lives.
    Ping,
    /// Nothing has come for too long: it is to be dropped.
    Silent,
}

impl<C> Pair<C> {
    pub(crate) const fn new(
        offer: &Offer,
        key: Key,
        reference: PairRef,
        timing: Timing,
        now: MonoTime,
    ) -> Self {
        Self {
            reference,
            key,
            id: offer.id,
            level: offer.level,
            control: None,
            bulk: None,
            told_up: false,
            began: now,
            heard: now,
            pinged: now,
            timing,
        }
    }

    pub(crate) fn put(&mut self, lane: Lane, connection: C) {
        match lane {
            Lane::Control => self.control = Some(connection),
            Lane::Bulk => self.bulk = Some(connection),
        }
    }

    /// The id and the feature level of the other, once, when both connections stand.
    pub(crate) fn tell_up(&mut self) -> Option<(MemberId, u32)> {
        if self.told_up || self.control.is_none() || self.bulk.is_none() {
            return None;
        }
        self.told_up = true;
        Some((self.id(), self.level))
    }

    pub(crate) fn end(self) -> Dropped<C> {
        let told_id = self.told_up.then(|| self.id());
        let connections = [self.control, self.bulk].into_iter().flatten().collect();
        Dropped { pair: self.reference, told_id, connections }
    }

    /// Something came on one of its connections.
    pub const fn heard(&mut self, now: MonoTime) {
        self.heard = now;
    }

    /// When something came last on one of its connections.
    #[must_use]
    pub const fn last_heard(&self) -> MonoTime {
        self.heard
    }

    /// To be asked from time to time, behind what has come until then. A ping that is due is due once.
    pub fn pulse(&mut self, now: MonoTime) -> Pulse {
        // One connection alone carries no log: however much is heard on it, the other one has to come.
        let since = if self.told_up { self.heard } else { self.began };
        if now > since.plus_ms(self.timing.silence_ms) {
            return Pulse::Silent;
        }
        if now < self.pinged.plus_ms(self.timing.ping_ms) {
            return Pulse::Well;
        }
        self.pinged = now;
        Pulse::Ping
    }

    /// One of its connections.
    pub const fn connection(&mut self, lane: Lane) -> Option<&mut C> {
        match lane {
            Lane::Control => self.control.as_mut(),
            Lane::Bulk => self.bulk.as_mut(),
        }
    }

    /// Its connections, that for what is urgent first.
    pub fn connections_mut(&mut self) -> impl Iterator<Item = &mut C> {
        [&mut self.control, &mut self.bulk].into_iter().flatten()
    }

    /// Its connections, that for what is urgent first.
    pub fn connections(&self) -> impl Iterator<Item = &C> {
        [&self.control, &self.bulk].into_iter().flatten()
    }

    /// What it is known by.
    #[must_use]
    pub const fn reference(&self) -> PairRef {
        self.reference
    }

    /// The other's id; that of one without is [blank](MemberId::blank).
    #[must_use]
    pub fn id(&self) -> MemberId {
        self.id.unwrap_or(MemberId::blank(self.reference.number.member()))
    }

    /// Whether the other has an id.
    #[must_use]
    pub const fn is_with_member(&self) -> bool {
        self.id.is_some()
    }

    /// When the other's process started.
    #[must_use]
    pub const fn process(&self) -> u64 {
        self.key.process
    }

    /// Which of the dialler's attempts it came of.
    #[must_use]
    pub const fn attempt(&self) -> u64 {
        self.key.attempt
    }

    /// Whether the other was told to be connected.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        self.told_up
    }

    /// Whether an offer says the same of its sender as the one that the pair began with.
    pub(crate) fn is_of(&self, offer: &Offer) -> bool {
        (self.id, self.level) == (offer.id, offer.level)
    }

    /// Whether it gives way to another that proves nothing.
    pub(crate) fn yields_to_claim(&self, key: Key, now: MonoTime) -> bool {
        let dialled_at_once =
            self.key.process == key.process && now < self.began.plus_ms(self.timing.youth_ms);
        dialled_at_once || now > self.heard.plus_ms(self.timing.quiet_ms)
    }

    pub(crate) const fn has(&self, lane: Lane) -> bool {
        match lane {
            Lane::Control => self.control.is_some(),
            Lane::Bulk => self.bulk.is_some(),
        }
    }
}
