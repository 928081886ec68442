//! What is judged of pairs of connections while they stand, by who sees both ends of each: rule 52.

use std::collections::{BTreeMap, BTreeSet};

use consensus_replica::founding::NUMBERS;
use net_peer_pairs::Dropped;

use super::Ensemble;
use super::network::{Attempt, Connection};
use super::peers::At;

/// What a process was told of its pairs.
#[derive(Default)]
pub(super) struct PairJudge {
    /// By number: the pair that was told to stand, and has not been told to have ended.
    up: BTreeMap<u64, Attempt>,
    /// Pairs that were told to have ended.
    ended: BTreeSet<Attempt>,
}

impl PairJudge {
    /// All pairs end, and nobody is told.
    pub(super) fn begin_anew(&mut self) {
        self.ended.extend(std::mem::take(&mut self.up).into_values());
    }
}

impl Ensemble {
    /// A member is told that another is connected.
    pub(super) fn judge_up(&mut self, place: u64, at: At, id: u64) {
        self.record.pairs_told += 1;
        let Some(attempt) = self.network.connection(at.0).map(Connection::of_attempt) else { return };
        let there = if attempt.dialler.0 == place { attempt.answerer.0 } else { attempt.dialler.0 };
        let before = self.last_places.insert((place, id % NUMBERS), there);
        self.count("number changed hands", u64::from(before.is_some_and(|before| before != there)));
        let Some(process) = &mut self.machine(place).process else { return };
        if process.peers.judge.up.insert(id % NUMBERS, attempt).is_some() {
            let words = format!("member {place} is told that {id:x} is connected, which it is already");
            self.record.misused_pairs.push(words);
        }
    }

    /// A pair ends.
    pub(super) fn judge_down(&mut self, place: u64, dropped: &Dropped<At>) {
        if dropped.told_id.is_none() {
            return;
        }
        let attempts = self.attempts_of(dropped);
        let number = dropped.pair.number;
        let Some(process) = &mut self.machine(place).process else { return };
        let judge = &mut process.peers.judge;
        let up = judge.up.remove(&number);
        judge.ended.extend(up);
        if up.is_none_or(|up| !attempts.is_empty() && !attempts.contains(&up)) {
            let words =
                format!("member {place} is told the end of a pair with {number} that it was not told of");
            self.record.misused_pairs.push(words);
        }
    }

    /// A connection that was made in that attempt broke, and ended a pair.
    pub(super) fn judge_break(&mut self, place: u64, dropped: &Dropped<At>, attempt: Option<Attempt>) {
        if self.attempts_of(dropped).into_iter().any(|ended| Some(ended) != attempt) {
            let number = dropped.pair.number;
            let words = format!("the end of an old pair of member {place} with {number} ended a newer one");
            self.record.misused_pairs.push(words);
        }
    }

    /// A member is told what came on a connection of that attempt.
    pub(super) fn judge_receipt(&mut self, place: u64, from: u64, attempt: Attempt) {
        let Some(process) = &self.machine(place).process else { return };
        let judge = &process.peers.judge;
        let is_up = judge.up.get(&(from % NUMBERS)).is_none_or(|up| *up == attempt);
        if !is_up || judge.ended.contains(&attempt) {
            let words = format!("member {place} is told what came from {from:x} on an old connection");
            self.record.misused_pairs.push(words);
        }
    }

    /// Two pairs of the same two processes met at one of them. Where they prove who they are, both prefer the same one.
    pub(super) fn judge_preference(&mut self, at: At, standing: Option<Attempt>, offered_wins: bool) {
        let offered = self.network.connection(at.0).map(Connection::of_attempt);
        let (Some(standing), Some(offered)) = (standing, offered) else { return };
        if !self.proven || !standing.is_of_the_processes_of(&offered) {
            return;
        }
        self.count("pairs of the same processes", 1);
        let winner = if offered_wins { offered } else { standing };
        let before = self.preferred.insert((standing.min(offered), standing.max(offered)), winner);
        if before.is_some_and(|before| before != winner) {
            let words = format!("two members keep different pairs: {before:?} and {winner:?}");
            self.record.misused_pairs.push(words);
        }
    }

    fn attempts_of(&self, dropped: &Dropped<At>) -> BTreeSet<Attempt> {
        let connections = dropped.connections.iter().filter_map(|at| self.network.connection(at.0));
        connections.map(Connection::of_attempt).collect()
    }
}
