//! Balance without a person, in the terms of topics and brokers: see [`replication_planner::Automatic`] for when what is begun, and
//! what holds of that.
//!
//! Only what partitions use is balanced here, not their numbers: a cluster in which little happens is left as it is.

use std::collections::BTreeMap;

use replication_planner::{Automatic, Decision, NodeId, Outcome, PartitionId, Plan, Settings};

pub use replication_planner::Scope;

use crate::plan::{changes, planned_from, problems, senseless};
use crate::proposal::{Change, Level, levels};
use crate::snapshot::{PartitionLoad, Snapshot, SnapshotError};

/// A partition by its topic and its number there.
type Name = (String, i32);

/// What a look came to, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// What it came to.
    pub outcome: Outcome,
    /// What is to begin now.
    pub begin: Vec<Change>,
    /// All that is planned; what is begun is a part of it.
    pub planned: Vec<Change>,
    /// How each resource is used, now and after all that is planned; nothing if nothing was planned.
    pub levels: Vec<Level>,
    /// What cannot be done, in words.
    pub problems: Vec<String>,
    /// How many partitions stay because they were moved a short time ago.
    pub resting: usize,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Balancer {
    automatic: Automatic,
    /// The numbers that partitions have for the planner, as long as they are there.
    numbers: BTreeMap<Name, u64>,
    last_number: u64,
}

impl Balancer {
    /// See [`Automatic::hold`].
    pub fn hold(&mut self, now_ms: u64) {
        self.automatic.hold(now_ms);
    }

    /// Whether a partition is being changed by this.
    #[must_use]
    pub fn is_open(&self, topic: &str, index: i32) -> bool {
        if self.automatic.is_idle() {
            return false;
        }
        let number = self.numbers.get(&(topic.to_owned(), index));
        number.is_some_and(|number| self.automatic.is_open(PartitionId(*number)))
    }

    /// The partitions that are being changed, with the leaders that they are to have.
    pub fn open(&self) -> impl Iterator<Item = (&str, i32, i32)> {
        let wanted: BTreeMap<PartitionId, NodeId> = self.automatic.leaders_awaited().collect();
        self.numbers.iter().filter_map(move |((topic, index), number)| {
            let leader = wanted.get(&PartitionId(*number))?;
            Some((topic.as_str(), *index, leader.0.cast_signed()))
        })
    }

    /// A window of so many milliseconds has ended, and this was measured. [`Snapshot::lasted`] is not looked at.
    ///
    /// # Errors
    /// [`SnapshotError`]: nothing has happened.
    pub fn look(
        &mut self,
        snapshot: &Snapshot,
        (now_ms, window_ms): (u64, u64),
        scope: Scope,
    ) -> Result<Look, SnapshotError> {
        let numbers = self.number(snapshot);
        let of: BTreeMap<PartitionId, &PartitionLoad> =
            numbers.iter().copied().map(PartitionId).zip(&snapshot.partitions).collect();
        let settings = Settings { balance_counts: false, ..Settings::default() };
        let (mut cluster, settings) = planned_from(snapshot, &settings, numbers.iter().copied())?;
        cluster.now_ms = now_ms;
        let looked = self.automatic.look(cluster, (window_ms, scope), &settings);
        let Decision { outcome, plan, begin, resting } = looked.map_err(senseless)?;
        let of_id = |id: PartitionId| of.get(&id).copied();
        let steps = |plan: &Plan| changes(&plan.steps, of_id);
        Ok(Look {
            outcome,
            begin: changes(&begin, of_id),
            planned: plan.as_ref().map(steps).unwrap_or_default(),
            levels: plan.as_ref().map(levels).unwrap_or_default(),
            problems: plan.map(|plan| problems(snapshot, &plan.problems, of_id)).unwrap_or_default(),
            resting,
        })
    }

    /// The numbers of the partitions of a snapshot, in its order. Others are forgotten.
    fn number(&mut self, snapshot: &Snapshot) -> Vec<u64> {
        let mut before = std::mem::take(&mut self.numbers);
        let number = |of: &PartitionLoad| {
            let name = (of.topic.clone(), of.index);
            let number = before.remove(&name).unwrap_or_else(|| {
                self.last_number += 1;
                self.last_number
            });
            self.numbers.insert(name, number);
            number
        };
        snapshot.partitions.iter().map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::BrokerLoad;

    const WINDOW_MS: u64 = 10_000;

    fn snapshot(leaders: &[i32]) -> Snapshot {
        let broker = |id| BrokerLoad { id, network_bytes_per_s: Some(100_000_000), ..BrokerLoad::default() };
        let partition = |(index, leader): (i32, &i32)| {
            let mut replicas = vec![1, 2, 3];
            replicas.sort_by_key(|id| id != leader);
            PartitionLoad {
                topic: "t".into(),
                index,
                replicas,
                leader: Some(*leader),
                write_bytes_per_s: 5_000_000,
                ..PartitionLoad::default()
            }
        };
        let partitions = (0..).zip(leaders).map(partition).collect();
        Snapshot { brokers: (1..=3).map(broker).collect(), partitions, ..Snapshot::default() }
    }

    fn look(balancer: &mut Balancer, now: &mut u64, snapshot: &Snapshot) -> Look {
        *now += WINDOW_MS;
        balancer.look(snapshot, (*now, WINDOW_MS), Scope::Leaders).expect("it makes sense")
    }

    #[test]
    fn leaders_are_begun_by_name_and_told_of_with_reasons_until_they_lead() {
        let (mut balancer, mut now) = (Balancer::default(), 0);
        let crowded = snapshot(&[1; 6]);
        assert_eq!(look(&mut balancer, &mut now, &crowded).outcome, Outcome::Waits);
        look(&mut balancer, &mut now, &crowded);
        let begun = look(&mut balancer, &mut now, &crowded);
        assert_eq!((begun.outcome, &begun.begin), (Outcome::Begun(4), &begun.planned));
        assert!(
            begun.begin.iter().all(|change| change.moves_leader && change.reasons[0].contains("network"))
        );
        assert!(!begun.levels.is_empty());
        let mut leaders = vec![1; 6];
        for change in &begun.begin {
            assert!(balancer.is_open("t", change.index));
            assert!(balancer.open().any(|open| open == ("t", change.index, change.after[0])));
            leaders[usize::try_from(change.index).expect("small")] = change.after[0];
        }
        let spread = snapshot(&leaders);
        assert_eq!(look(&mut balancer, &mut now, &spread).outcome, Outcome::Measures);
        assert_eq!(balancer.open().count(), 0);
        let outcomes: Vec<Outcome> =
            (0..100).map(|_| look(&mut balancer, &mut now, &spread).outcome).collect();
        assert_eq!(
            (outcomes[0], outcomes[1], outcomes[99]),
            (Outcome::Measures, Outcome::Balanced, Outcome::Balanced)
        );
    }

    #[test]
    fn partition_keeps_its_rest_while_others_come_and_go_before_it() {
        let (mut balancer, mut now) = (Balancer::default(), 0);
        let crowded = snapshot(&[1; 6]);
        (0..3).for_each(|_| drop(look(&mut balancer, &mut now, &crowded)));
        let mut fewer = crowded;
        fewer.partitions.remove(0);
        let resting = look(&mut balancer, &mut now, &fewer).resting;
        assert!(resting >= 3, "{resting}");
        assert_eq!(balancer.numbers.len(), 5);
    }

    #[test]
    fn pinned_partition_counts_and_stays() {
        let (mut balancer, mut now) = (Balancer::default(), 0);
        let mut crowded = snapshot(&[1; 6]);
        crowded.partitions.iter_mut().take(5).for_each(|of| of.is_pinned = true);
        (0..2).for_each(|_| drop(look(&mut balancer, &mut now, &crowded)));
        let begun: Vec<i32> =
            look(&mut balancer, &mut now, &crowded).begin.iter().map(|change| change.index).collect();
        assert_eq!(begun, [5]);
    }

    #[test]
    fn nothing_is_looked_at_while_a_broker_is_away_that_has_replicas() {
        let (mut balancer, mut now) = (Balancer::default(), 0);
        let mut lost = snapshot(&[1; 6]);
        lost.brokers.pop();
        for _ in 0..10 {
            now += WINDOW_MS;
            let looked = balancer.look(&lost, (now, WINDOW_MS), Scope::All);
            assert_eq!(looked, Err(SnapshotError::Away(vec![3])));
        }
    }
}
