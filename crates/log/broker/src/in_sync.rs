//! Which replicas are in sync, as clients and tools are told: those that count, are reached, and hold everything below the high
//! watermark. With a follower of a busy partition some of that is always under way, so one that held a moment ago what was below
//! the high watermark a while before (`replica.lag.time.max.ms`, a second by default) is in sync.
//!
//! Only the leader of a partition knows. It looks when a connection stands or breaks, and about twice a second while something
//! changes, and tells all other brokers which replicas are not in sync, when that has changed. Nothing is written to the council,
//! and nothing that is promised depends on it: what is committed, and who may lead, follows from the records and the disks.
//!
//! # Not done, and what that costs
//! - A broker that is not connected to the leader of a partition shows what it was told last.

use std::collections::{BTreeMap, BTreeSet};

use base::{MonoTime, Now};
use log_metadata::PartitionNode;
use log_partition::PartitionId;
use replication_appointed::{Epoch, Replica, ReplicaId, Seq, Voters};
use replication_wire::Lagging;

use crate::partitions::{Partitions, partition_of, replicated};

/// How often a leader looks while something changes, milliseconds.
const LOOK_MS: u64 = 500;
/// Partitions that other leaders may say something of.
const TOLD_MAX: usize = 1 << 20;

/// A replica that did not hold everything that was committed when it was looked at.
#[derive(Clone, Copy, Debug)]
struct Behind {
    /// It held everything at that time, or is given time from then on.
    since: MonoTime,
    /// What was committed then.
    target: Seq,
    is_out: bool,
    /// It holds all that is committed: it is only not reached.
    holds_all: bool,
}

/// What a leader says of a partition.
#[derive(Debug)]
struct Told {
    leader: ReplicaId,
    epoch: Epoch,
    voters: BTreeMap<ReplicaId, bool>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct InSync {
    /// How long ago a replica may have held all of what was committed, milliseconds.
    lag_ms: u64,
    /// Brokers that are connected.
    reached: BTreeSet<ReplicaId>,
    /// Of partitions that are led here: replicas that are behind.
    behind: BTreeMap<PartitionId, (Epoch, BTreeMap<ReplicaId, Behind>)>,
    /// Of partitions that are led elsewhere: replicas that are not in sync.
    told: BTreeMap<PartitionId, Told>,
    /// Partitions of which something has changed that others do not know, with their leader epochs.
    news: BTreeMap<PartitionId, Epoch>,
    look_at: Option<MonoTime>,
}

/// The replicas of a partition, by how they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplicaStates {
    pub(crate) in_sync: Vec<i32>,
    /// Not in sync, and holding all that is committed: each of them may become the leader.
    pub(crate) eligible: Vec<i32>,
}

impl InSync {
    /// Replicas that held all of what was committed so long ago, in milliseconds, are in sync.
    pub(crate) fn new(lag_ms: u64) -> Self {
        Self { lag_ms, ..Self::default() }
    }

    pub(crate) fn reaches(&self, broker: ReplicaId) -> bool {
        self.reached.contains(&broker)
    }

    /// A broker is connected. What it has told is what it tells again.
    pub(crate) fn connected(&mut self, broker: ReplicaId) {
        self.reached.insert(broker);
        self.told.retain(|_, told| told.leader != broker);
    }

    pub(crate) fn broken(&mut self, broker: ReplicaId) {
        self.reached.remove(&broker);
    }

    /// Something was appended or became durable: leaders look within a while.
    pub(crate) fn moved(&mut self, now: Now) {
        self.look_at.get_or_insert(now.mono().plus_ms(LOOK_MS));
    }

    /// When to look.
    pub(crate) const fn next_deadline(&self) -> Option<MonoTime> {
        self.look_at
    }

    /// Looks at all partitions that are led here, if it is time.
    pub(crate) fn tick(&mut self, partitions: &Partitions, now: Now) {
        if self.look_at.is_some_and(|at| at <= now.mono()) {
            self.look(partitions, now);
        }
    }

    /// Looks at all partitions that are led here.
    pub(crate) fn look(&mut self, partitions: &Partitions, now: Now) {
        let mut before = std::mem::take(&mut self.behind);
        for hosted in partitions.all().filter(|hosted| hosted.is_replicated) {
            let replica = hosted.partition.replica();
            let Some(epoch) = replica.leading_config().map(|config| config.epoch) else { continue };
            let known = before.remove(&hosted.id).filter(|(of, _)| *of == epoch);
            let known = known.map(|(_, behind)| behind).unwrap_or_default();
            let behind = self.look_at_one(replica, &known, now.mono());
            if outs(&known).ne(outs(&behind)) {
                self.news.insert(hosted.id, epoch);
            }
            if !behind.is_empty() {
                self.behind.insert(hosted.id, (epoch, behind));
            }
        }
        self.look_at = (!self.behind.is_empty()).then(|| now.mono().plus_ms(LOOK_MS));
    }

    /// The replicas that are behind the leader. Its own disk may be, as well as any other.
    fn look_at_one(
        &self,
        replica: &Replica,
        known: &BTreeMap<ReplicaId, Behind>,
        now: MonoTime,
    ) -> BTreeMap<ReplicaId, Behind> {
        let Some(config) = replica.leading_config() else { return BTreeMap::new() };
        let others = config.voters.replicas().iter().filter(|id| **id != config.leader);
        let behind = others.filter_map(|id| {
            let is_reached = self.reached.contains(id);
            let look = Look { committed: replica.committed(), now, lag_ms: self.lag_ms };
            let behind = behind(replica.durable_on(*id), known.get(id), look, is_reached);
            behind.map(|behind| (*id, behind))
        });
        behind.collect()
    }

    /// Takes what others do not know.
    pub(crate) fn take_news(&mut self) -> Vec<Lagging> {
        let news = std::mem::take(&mut self.news);
        news.into_iter().map(|(id, epoch)| self.lagging(id, epoch)).collect()
    }

    /// All that a broker has to know that knows nothing.
    pub(crate) fn all(&self) -> Vec<Lagging> {
        let all = self.behind.iter().map(|(id, (epoch, _))| self.lagging(*id, *epoch));
        all.filter(|lagging| !lagging.voters.is_empty()).collect()
    }

    fn lagging(&self, id: PartitionId, epoch: Epoch) -> Lagging {
        let behind = self.behind.get(&id).filter(|(of, _)| *of == epoch);
        let voters = behind.map(|(_, behind)| outs(behind).collect()).unwrap_or_default();
        Lagging { partition: replicated(id), epoch, voters }
    }

    /// A leader says which replicas are not in sync.
    pub(crate) fn told(&mut self, leader: ReplicaId, all: Vec<Lagging>) {
        for Lagging { partition, epoch, voters } in all {
            let Some(id) = partition_of(partition) else { continue };
            if self.told.get(&id).is_some_and(|known| known.epoch > epoch) {
                continue;
            }
            if voters.is_empty() {
                self.told.remove(&id);
            } else if self.told.contains_key(&id) || self.told.len() < TOLD_MAX {
                self.told.insert(id, Told { leader, epoch, voters });
            }
        }
    }

    /// The topic is gone.
    pub(crate) fn forget(&mut self, topic: [u8; 16]) {
        self.told.retain(|id, _| id.topic != topic);
        self.behind.retain(|id, _| id.topic != topic);
    }

    /// How a partition's replicas are, as far as it is known here.
    pub(crate) fn of(&self, id: PartitionId, partition: &PartitionNode) -> ReplicaStates {
        let epoch = partition.epoch.epoch();
        let own = self.behind.get(&id).filter(|(of, _)| *of == epoch);
        let told = self.told.get(&id).filter(|told| told.epoch == epoch);
        let out = |replica: i32| {
            let id = ReplicaId(replica.cast_unsigned());
            match (own, told) {
                (Some((_, behind)), _) => {
                    behind.get(&id).filter(|behind| behind.is_out).map(|behind| behind.holds_all)
                }
                (None, Some(told)) if id != told.leader => told.voters.get(&id).copied(),
                _ => None,
            }
        };
        let mut states = ReplicaStates::default();
        for replica in partition.replicas.iter().filter(|id| !partition.rest.learners.contains(id)) {
            match out(*replica) {
                None => states.in_sync.push(*replica),
                Some(true) => states.eligible.push(*replica),
                Some(false) => {}
            }
        }
        states
    }

    /// Whether a replica of a partition that is led here is not in sync, and enough others are.
    pub(crate) fn does_without(&self, id: PartitionId, replica: ReplicaId, voters: &Voters) -> bool {
        let behind = self.behind.get(&id).and_then(|(_, behind)| behind.get(&replica));
        behind.is_some_and(|behind| behind.is_out)
            && self.count(id, voters.replicas().len()) >= voters.durable_on()
    }

    /// How many replicas of a partition that is led here are in sync, of so many that count.
    pub(crate) fn count(&self, id: PartitionId, voters: usize) -> usize {
        voters - self.behind.get(&id).map_or(0, |(_, behind)| outs(behind).count()).min(voters)
    }
}

fn outs(behind: &BTreeMap<ReplicaId, Behind>) -> impl Iterator<Item = (ReplicaId, bool)> {
    behind.iter().filter(|(_, behind)| behind.is_out).map(|(id, behind)| (*id, behind.holds_all))
}

/// When a leader looks, and at what.
#[derive(Clone, Copy, Debug)]
struct Look {
    committed: Seq,
    now: MonoTime,
    lag_ms: u64,
}

/// How a replica is behind that is known to have entries durably up to there; nothing if it is not.
fn behind(durable: Option<Seq>, known: Option<&Behind>, look: Look, is_reached: bool) -> Option<Behind> {
    let Look { committed, now, lag_ms } = look;
    let holds_all = durable.is_some_and(|durable| durable >= committed);
    let fresh = Behind { since: now, target: committed, is_out: !is_reached, holds_all };
    if !is_reached {
        return Some(fresh);
    }
    if holds_all {
        return None;
    }
    let Some(known) = known else { return Some(fresh) };
    let is_late = known.since.plus_ms(lag_ms) < now;
    if durable.is_some_and(|durable| durable >= known.target) {
        return Some(Behind { is_out: is_late && known.is_out, ..fresh });
    }
    Some(Behind { is_out: known.is_out || is_late, holds_all, ..*known })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAG_MS: u64 = 1_000;

    fn look(committed: u64, ms: u64) -> Look {
        Look { committed: Seq(committed), now: at(ms), lag_ms: LAG_MS }
    }

    fn at(ms: u64) -> MonoTime {
        MonoTime::ZERO.plus_ms(ms)
    }

    #[test]
    fn replica_that_follows_a_busy_leader_closely_is_in_sync() {
        let mut known = None;
        for step in 1..20 {
            // What was committed at the last look is there, and more is committed by now.
            known = behind(Some(Seq(step - 1)), known.as_ref(), look(step, step * LOOK_MS), true);
            assert!(known.is_some_and(|known| !known.is_out), "{step}");
        }
        assert!(behind(Some(Seq(19)), known.as_ref(), look(19, 30_000), true).is_none());
    }

    #[test]
    fn replica_that_stands_still_is_out_until_it_holds_everything_of_a_moment_ago() {
        let out = |known: Option<Behind>| known.map(|known| known.is_out);
        let first = behind(Some(Seq(5)), None, look(9, 0), true);
        assert_eq!(out(first), Some(false));
        let later = behind(Some(Seq(5)), first.as_ref(), look(20, LAG_MS + 1), true);
        assert_eq!(out(later), Some(true));
        // It has what was committed long ago: that is not enough.
        let moves = behind(Some(Seq(9)), later.as_ref(), look(30, 2 * LAG_MS), true);
        assert_eq!(out(moves), Some(true));
        let close = behind(Some(Seq(30)), moves.as_ref(), look(31, 2 * LAG_MS + LOOK_MS), true);
        assert_eq!(out(close), Some(false));
    }

    #[test]
    fn replica_that_is_not_reached_is_out_at_once_and_may_hold_everything() {
        let lost = behind(Some(Seq(9)), None, look(9, 0), false).expect("it is behind");
        assert!(lost.is_out && lost.holds_all);
        let back = |committed| behind(Some(Seq(9)), Some(&lost), look(committed, 10), true);
        assert!(back(9).is_none());
        assert!(back(12).is_some_and(|back| !back.is_out && !back.holds_all), "it held all a moment ago");
        let empty = behind(Some(Seq(3)), None, look(9, 0), false);
        let back = behind(Some(Seq(3)), empty.as_ref(), look(12, 10), true);
        assert!(back.is_some_and(|back| back.is_out));
    }
}
