//! Which connections stand between this member and each other one.
//!
//! Two members are connected by a *pair* of connections: one for what keeps leaderships and leases alive, one for what is
//! bulky, so that a large entry holds no heartbeat up. Either side may dial, and both may at once. The table decides which
//! pair is kept, when another takes its place, and when one is given up. A driver keeps sockets and feeds it; what `C`
//! stands for, bytes and how members prove who they are is not known here.
//!
//! # Rules
//! - At most one pair stands between two members. Pairs are told apart by a key: when the other's process started, who
//!   dialled, and which of the dialler's attempts it was. The greater key is kept, and both sides find the same one greater.
//! - A pair of a later process of the other member replaces one of an earlier. Where members prove nothing, though, all of
//!   that is only a claim: a pair that stands is replaced if nothing has come on it for `QUIET_MS`, or if it is so young
//!   that both may have dialled at once.
//! - A member is told as connected when both connections stand, and as not connected any more when that pair ends. Between
//!   the two, what comes is of that pair: a pair is known by a [`PairRef`] that no other ever has, and what comes on a
//!   connection of a pair that was dropped is for nobody.
//! - A pair on which nothing comes for `SILENCE_MS` is given up. Who has nothing to say sends a sign of life every
//!   `PING_MS`.
//! - When this member gets an identity, or loses it, all pairs end: the others are to know it under what it is now.

mod pair;

pub use pair::{Pair, Pulse};

use std::collections::BTreeMap;

use crate::founding::NUMBERS;

/// How often a member that has nothing to say shows that it lives, milliseconds.
pub const PING_MS: u64 = 500;
/// After how long without a sign of life a pair is given up, milliseconds.
pub const SILENCE_MS: u64 = 5_000;
/// After how long without a sign of life a pair is replaced on a mere claim, milliseconds.
pub const QUIET_MS: u64 = 3 * PING_MS;
/// For how long the other pair of two members that dialled at once may come, milliseconds. A member whose host died comes
/// back later than that.
pub const YOUTH_MS: u64 = 1_000;

/// Which of the two connections of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Small and urgent.
    Control,
    /// Large, and may wait.
    Bulk,
}

/// A connection on which both sides have said who they are, and what the other side said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its number.
    pub number: u64,
    /// Its id, once it has one.
    pub id: Option<u64>,
    /// When its process started: a later one has a greater number.
    pub process: u64,
    /// The highest feature level that it understands.
    pub level: u32,
    /// Which connection of a pair it is to be.
    pub lane: Lane,
    /// Whether this member dialled.
    pub dialled: bool,
    /// Which of the dialler's attempts it was: the two connections of one attempt belong together.
    pub attempt: u64,
    /// Whether the other has proved by key or secret that it is that member.
    pub proven: bool,
    /// Whether this member said that it has an id.
    pub as_member: bool,
}

/// What tells the pairs with one member apart, and which of two is kept: the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    process: u64,
    dialler: u64,
    attempt: u64,
}

/// One of all pairs that ever stood. A connection of a pair that was dropped is known by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PairRef {
    /// The other's number.
    pub number: u64,
    /// Which of this table's pairs.
    pub serial: u64,
}

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

/// A pair that ended. The driver closes its connections.
#[derive(Debug, PartialEq, Eq)]
pub struct Dropped<C> {
    /// Which.
    pub pair: PairRef,
    /// Who is not connected any more, if it was told to be.
    pub told_id: Option<u64>,
    /// Its connections.
    pub connections: Vec<C>,
}

/// See the module.
#[derive(Debug)]
pub struct PeerPairs<C> {
    own: u64,
    /// Whether this member has an id.
    is_member: bool,
    pairs: BTreeMap<u64, Pair<C>>,
    serial: u64,
}

impl<C> PeerPairs<C> {
    /// That of the member of this number, which has no id yet.
    #[must_use]
    pub const fn new(own: u64) -> Self {
        Self { own, is_member: false, pairs: BTreeMap::new(), serial: 0 }
    }

    /// A connection was established. If it is taken, [`Self::connect`] follows.
    pub fn offered(&mut self, offer: &Offer, now_ms: u64) -> Verdict<C> {
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
        if !(offer.proven || pair.yields_to_claim(key, now_ms)) {
            return Verdict::Refused(Refusal::Claim);
        }
        match self.disconnect(pair.reference) {
            Some(dropped) => Verdict::Replaces(dropped),
            None => Verdict::Joins,
        }
    }

    /// Takes a connection that is not refused. Gives the pair that it belongs to, and the id and the feature level of the
    /// member that is connected from now on, if both its connections stand.
    pub fn connect(&mut self, offer: &Offer, connection: C, now_ms: u64) -> (PairRef, Option<(u64, u32)>) {
        let key = self.key(offer);
        let serial = &mut self.serial;
        let pair = self.pairs.entry(offer.number).or_insert_with(|| {
            *serial += 1;
            Pair::new(offer, key, PairRef { number: offer.number, serial: *serial }, now_ms)
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

    /// Where a message to the member of that id goes.
    pub fn connection(&mut self, id: u64, is_bulky: bool) -> Option<&mut C> {
        let pair = self.pairs.get_mut(&(id % NUMBERS)).filter(|pair| pair.id() == id)?;
        pair.connection(if is_bulky { Lane::Bulk } else { Lane::Control })
    }

    /// Where a message to the member of that number goes whose id is not known.
    pub fn control(&mut self, number: u64) -> Option<&mut C> {
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
    pub fn pair_with(&self, number: u64) -> Option<PairRef> {
        self.pairs.get(&number).map(|pair| pair.reference)
    }

    /// When the process of the member of that number started, if a connection with it stands.
    #[must_use]
    pub fn process_of(&self, number: u64) -> Option<u64> {
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

#[cfg(test)]
mod tests;
