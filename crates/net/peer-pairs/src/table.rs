//! All pairs of connections of one member: which connection is taken, and which pair it belongs to.

use std::collections::BTreeMap;

use base::{MemberId, MonoTime};

use crate::number::PeerNumber;
use crate::offer::{Lane, Offer};
use crate::pair::{Dropped, Key, Pair, PairRef};
use crate::timing::Timing;

/// Whether a connection is taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict<C> {
    /// It is closed.
    Refused(Refusal),
    /// It belongs to the pair that stands, or is the first of one.
    Joins,
    /// It is the first of a pair that takes the place of this one.
    Replaces(Dropped<C>),
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It was agreed upon when this member had no identity, and it has one, or the other way round.
    OutOfDate,
    /// The pair of that attempt has this connection already, or is with another disk.
    NotOfThePair,
    /// The pair that stands is kept.
    Lesser,
    /// It proves nothing, and the pair that stands is neither quiet nor young.
    Claim,
}

/// See the module.
#[derive(Debug)]
pub struct PeerPairs<C> {
    own: PeerNumber,
    /// Whether this member has an id.
    is_member: bool,
    pairs: BTreeMap<PeerNumber, Pair<C>>,
    serial: u64,
    timing: Timing,
}

impl<C> PeerPairs<C> {
    /// That of the member of this number, which has no id yet.
    #[must_use]
    pub const fn new(own: PeerNumber) -> Self {
        Self::with_timing(own, Timing::DEFAULT)
    }

    /// As [`Self::new`], with times of its own.
    #[must_use]
    pub const fn with_timing(own: PeerNumber, timing: Timing) -> Self {
        Self { own, is_member: false, pairs: BTreeMap::new(), serial: 0, timing }
    }

    /// A connection was established. If it is taken, [`Self::connect`] follows.
    pub fn offered(&mut self, offer: &Offer, now: MonoTime) -> Verdict<C> {
        if offer.as_member != self.is_member {
            return Verdict::Refused(Refusal::OutOfDate);
        }
        let key = self.key(offer);
        let Some(pair) = self.pairs.get(&offer.number) else { return Verdict::Joins };
        if pair.key == key {
            // Both connections of a pair are one member's, and each comes once.
            let fits = pair.is_of(offer) && !pair.has(offer.lane);
            return if fits { Verdict::Joins } else { Verdict::Refused(Refusal::NotOfThePair) };
        }
        if pair.key > key {
            return Verdict::Refused(Refusal::Lesser);
        }
        if !(offer.proven || pair.yields_to_claim(key, now)) {
            return Verdict::Refused(Refusal::Claim);
        }
        match self.disconnect(pair.reference) {
            Some(dropped) => Verdict::Replaces(dropped),
            None => Verdict::Joins,
        }
    }

    /// Takes a connection that is not refused. Gives the pair that it belongs to, and the id and the feature level of the
    /// member that is connected from now on, if both its connections stand.
    pub fn connect(
        &mut self,
        offer: &Offer,
        connection: C,
        now: MonoTime,
    ) -> (PairRef, Option<(MemberId, u32)>) {
        let key = self.key(offer);
        let (serial, timing) = (&mut self.serial, self.timing);
        let pair = self.pairs.entry(offer.number).or_insert_with(|| {
            *serial += 1;
            let reference = PairRef { number: offer.number, serial: *serial };
            Pair::new(offer, key, reference, timing, now)
        });
        pair.put(offer.lane, connection);
        (pair.reference, pair.tell_up())
    }

    /// The pair ends: a connection of it broke, or it is of no use any more. Nothing if it ended before.
    pub fn disconnect(&mut self, pair: PairRef) -> Option<Dropped<C>> {
        self.current(pair)?;
        self.pairs.remove(&pair.number).map(Pair::end)
    }

    /// This member has an id from now on, or has none any more: all pairs end. Nobody is told of that, for whoever was
    /// told of them is not there any more.
    pub fn begin_anew(&mut self, is_member: bool) -> Vec<Dropped<C>> {
        self.is_member = is_member;
        std::mem::take(&mut self.pairs).into_values().map(Pair::end).collect()
    }

    /// The pair, if it stands.
    pub fn current(&mut self, pair: PairRef) -> Option<&mut Pair<C>> {
        self.pairs.get_mut(&pair.number).filter(|current| current.reference == pair)
    }

    /// Where a message to the member of that id goes, where numbers are those of members.
    pub fn connection(&mut self, id: MemberId, lane: Lane) -> Option<&mut C> {
        self.pairs.get_mut(&id.number().into()).filter(|pair| pair.id() == id)?.connection(lane)
    }

    /// Where a message to the member of that number goes whose id is not known.
    pub fn control(&mut self, number: PeerNumber) -> Option<&mut C> {
        self.pairs.get_mut(&number)?.connection(Lane::Control)
    }

    /// All pairs that stand, by number.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Pair<C>> {
        self.pairs.values_mut()
    }

    /// All pairs that stand, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Pair<C>> {
        self.pairs.values()
    }

    /// Which pair stands with the member of that number.
    #[must_use]
    pub fn pair_with(&self, number: PeerNumber) -> Option<PairRef> {
        self.pairs.get(&number).map(|pair| pair.reference)
    }

    /// When the process of the member of that number started, if a connection with it stands.
    #[must_use]
    pub fn process_of(&self, number: PeerNumber) -> Option<u64> {
        self.pairs.get(&number).map(|pair| pair.key.process)
    }

    /// Whether this member has an id.
    #[must_use]
    pub const fn is_member(&self) -> bool {
        self.is_member
    }

    const fn key(&self, offer: &Offer) -> Key {
        let dialler = if offer.dialled { self.own } else { offer.number };
        Key { process: offer.process, dialler, attempt: offer.attempt }
    }
}

/// Whether a process is refused because one of the same number that started later is `connected`: it would be connected
/// and dropped again and again, and never learn why.
#[must_use]
pub fn is_outdated(process: u64, connected: Option<u64>) -> bool {
    connected.is_some_and(|connected| connected > process)
}
