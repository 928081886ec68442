//! What is judged of pairs of connections while they stand, by who sees both ends of each:
//! - Once a member was told that another is connected, it is told nothing that came on an earlier pair.
//! - A pair that was told to stand is told to have ended once, and by its own end.
//! - Of two pairs between the same two processes both keep the same one, if members prove who they are.

use std::collections::{BTreeMap, BTreeSet};

use base::{MemberId, MemberNumber};
use net_peer_pairs::Dropped;

use super::{At, Parts, PeerWorld, Peering};
use crate::network::{Attempt, Connection};

/// What was judged, and what was wrong.
#[derive(Clone, Debug, Default)]
pub struct PairRecord {
    /// How often a member was told that another is connected.
    pub told: usize,
    /// Pairs of connections that were used otherwise than they may be, in words.
    pub misused: Vec<String>,
}

/// What a process was told of its pairs.
#[derive(Default)]
pub(super) struct PairJudge {
    /// By number: the pair that was told to stand, and has not been told to have ended.
    up: BTreeMap<MemberNumber, Attempt>,
    /// Pairs that were told to have ended.
    ended: BTreeSet<Attempt>,
}

impl PairJudge {
    /// All pairs end, and nobody is told.
    pub(super) fn begin_anew(&mut self) {
        self.ended.extend(std::mem::take(&mut self.up).into_values());
    }
}

/// A member is told that another is connected.
pub(super) fn up(world: &mut impl PeerWorld, place: u64, at: At, id: MemberId) {
    let Parts { peering, sim, record, .. } = world.parts();
    record.told += 1;
    let Some(attempt) = peering.network.connection(at.0).map(Connection::of_attempt) else { return };
    let there = if attempt.dialler.0 == place { attempt.answerer.0 } else { attempt.dialler.0 };
    let before = peering.last_places.insert((place, id.number()), there);
    sim.count("number moved to another process", u64::from(before.is_some_and(|before| before != there)));
    let Some(peers) = peering.processes.get_mut(&place) else { return };
    if peers.judge.up.insert(id.number(), attempt).is_some() {
        let words = format!("member {place} is notified that {:x} is connected, which it is already", id.0);
        record.misused.push(words);
    }
}

/// A pair ends.
pub(super) fn down(world: &mut impl PeerWorld, place: u64, dropped: &Dropped<At>) {
    if dropped.told_id.is_none() {
        return;
    }
    let Parts { peering, record, .. } = world.parts();
    let attempts = peering.attempts_of(dropped);
    let number = dropped.pair.number.member();
    let Some(peers) = peering.processes.get_mut(&place) else { return };
    let judge = &mut peers.judge;
    let up = judge.up.remove(&number);
    judge.ended.extend(up);
    if up.is_none_or(|up| !attempts.is_empty() && !attempts.contains(&up)) {
        let words = format!(
            "member {place} is notified of the end of a pair with {number} whose beginning it was not notified of"
        );
        record.misused.push(words);
    }
}

/// A connection that was made in that attempt broke, and ended a pair.
pub(super) fn broken(
    world: &mut impl PeerWorld,
    place: u64,
    dropped: &Dropped<At>,
    attempt: Option<Attempt>,
) {
    let Parts { peering, record, .. } = world.parts();
    if peering.attempts_of(dropped).into_iter().any(|ended| Some(ended) != attempt) {
        let number = dropped.pair.number;
        let words = format!("the end of an old pair of member {place} with {number} ended a newer one");
        record.misused.push(words);
    }
}

/// A member is told what came on a connection of that attempt.
pub(super) fn receipt(world: &mut impl PeerWorld, place: u64, from: MemberId, attempt: Attempt) {
    let Parts { peering, record, .. } = world.parts();
    let Some(peers) = peering.processes.get(&place) else { return };
    let judge = &peers.judge;
    let is_up = judge.up.get(&from.number()).is_none_or(|up| *up == attempt);
    if !is_up || judge.ended.contains(&attempt) {
        let words = format!("member {place} receives a message of {:x} from an old connection", from.0);
        record.misused.push(words);
    }
}

/// Two pairs of the same two processes met at one of them. Where they prove who they are, both prefer the same one.
pub(super) fn preference(world: &mut impl PeerWorld, at: At, standing: Option<Attempt>, offered_wins: bool) {
    let Parts { peering, sim, record, .. } = world.parts();
    let offered = peering.network.connection(at.0).map(Connection::of_attempt);
    let (Some(standing), Some(offered)) = (standing, offered) else { return };
    if !peering.proven || !standing.is_of_the_processes_of(&offered) {
        return;
    }
    sim.count("pairs of the same processes", 1);
    let winner = if offered_wins { offered } else { standing };
    let before = peering.preferred.insert((standing.min(offered), standing.max(offered)), winner);
    if before.is_some_and(|before| before != winner) {
        let words = format!("two members keep different pairs: {before:?} and {winner:?}");
        record.misused.push(words);
    }
}

impl Peering {
    fn attempts_of(&self, dropped: &Dropped<At>) -> BTreeSet<Attempt> {
        let connections = dropped.connections.iter().filter_map(|at| self.network.connection(at.0));
        connections.map(Connection::of_attempt).collect()
    }
}
