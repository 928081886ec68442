//! A partition as it stands in the node of its topic: who leads, which replicas there are, and what a controller keeps of it.
//!
//! Most partitions are `[leader, epoch, [replicas]]`. What is not as usual stands behind that, by name:
//! ```json
//! [1, 4, [1, 2, 3], {"learners": [3], "durable-on": 1}]
//! ```

use std::collections::BTreeSet;

use log_partition::LeaderEpoch;
use replication_appointed::{Config, Position, ReplicaId, Seq, Voters};
use replication_controller::{Goal, Loss, Members, Record};
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionNode {
    /// Its leader; -1 for none.
    pub leader: i32,
    /// Which of all its leaders that is, or with which replicas the same one goes on.
    pub epoch: LeaderEpoch,
    /// Its replicas, the preferred leader first.
    pub replicas: Vec<i32>,
    /// What is not as usual.
    pub rest: PartitionRest,
}

/// What of a partition is not as usual; usually nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct PartitionRest {
    /// Replicas that get a copy and do not count.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub learners: BTreeSet<i32>,
    /// On how many of the others a record must be durable; usually on a majority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durable_on: Option<usize>,
    /// The leader before has gone on under this epoch with other replicas.
    #[serde(skip_serializing_if = "is_false")]
    pub continued: bool,
    /// If too few replicas are alive, those that are may go on if they are so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voters_min: Option<usize>,
    /// Other replicas are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<GoalNode>,
    /// Records may have been lost, by a person's act.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossNode>,
}

/// Replicas, and which of them count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReplicasNode {
    /// Those that count.
    pub voters: BTreeSet<i32>,
    /// On how many of them a record must be durable.
    pub durable_on: usize,
    /// Those that do not count.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub learners: BTreeSet<i32>,
}

/// Which replicas there shall be, and were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalNode {
    /// Those that there shall be.
    pub to: ReplicasNode,
    /// Those that there were: a change that is cancelled goes back to them.
    pub from: ReplicasNode,
}

/// A leader was appointed that may lack records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LossNode {
    /// Its epoch.
    pub epoch: i32,
    /// Replicas that could not be asked.
    pub missing: BTreeSet<i32>,
    /// The newest epoch in the log that was kept, and where that log ended.
    pub kept: (i32, i64),
}

/// In the node of a topic.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Raw {
    Usual(i32, i32, Vec<i32>),
    Other(i32, i32, Vec<i32>, Box<PartitionRest>),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl PartitionNode {
    /// A partition with these replicas, led by the first of them.
    #[must_use]
    pub fn new(replicas: Vec<i32>) -> Self {
        let leader = replicas.first().copied().unwrap_or(-1);
        Self { leader, epoch: LeaderEpoch(0), replicas, rest: PartitionRest::default() }
    }

    /// Whether it has several replicas, or had or gets others than it has.
    #[must_use]
    pub fn is_replicated(&self) -> bool {
        self.replicas.len() > 1 || self.rest.goal.is_some() || self.rest.loss.is_some()
    }

    pub(crate) fn of_raw(raw: Raw) -> Self {
        let (leader, epoch, replicas, rest) = match raw {
            Raw::Usual(leader, epoch, replicas) => (leader, epoch, replicas, PartitionRest::default()),
            Raw::Other(leader, epoch, replicas, rest) => (leader, epoch, replicas, *rest),
        };
        Self { leader, epoch: LeaderEpoch(epoch), replicas, rest }
    }

    pub(crate) fn raw(&self) -> Raw {
        let (leader, epoch, replicas) = (self.leader, self.epoch.0, self.replicas.clone());
        match self.rest == PartitionRest::default() {
            true => Raw::Usual(leader, epoch, replicas),
            false => Raw::Other(leader, epoch, replicas, Box::new(self.rest.clone())),
        }
    }

    /// What a controller and replicas make of it; nothing if it contradicts itself.
    #[must_use]
    pub fn record(&self) -> Option<Record> {
        let learners = ids(&self.rest.learners)?;
        let voters: BTreeSet<i32> =
            self.replicas.iter().filter(|id| !self.rest.learners.contains(id)).copied().collect();
        let durable_on = self.rest.durable_on.unwrap_or_else(|| majority(voters.len()));
        let voters = Voters::new(ids(&voters)?, durable_on).ok()?;
        let config = Config {
            epoch: self.epoch.epoch(),
            leader: id(self.leader)?,
            voters,
            learners,
            chosen: !self.rest.continued,
        };
        let goal = match &self.rest.goal {
            Some(goal) => Some(Goal { to: goal.to.members()?, from: goal.from.members()? }),
            None => None,
        };
        let loss = match &self.rest.loss {
            Some(loss) => Some(loss.loss()?),
            None => None,
        };
        let preferred: Option<Vec<ReplicaId>> = self.replicas.iter().map(|replica| id(*replica)).collect();
        let voters_min = self.rest.voters_min;
        Some(Record { config, preferred: preferred?, voters_min, goal, loss })
    }

    /// The node of that record. Replicas are preferred in the order of the record; those that it does not name come last.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let Config { epoch, leader, voters, learners, chosen } = &record.config;
        let mut replicas: Vec<ReplicaId> = record.preferred.clone();
        replicas.retain(|id| voters.replicas().contains(id) || learners.contains(id));
        let others: Vec<ReplicaId> =
            voters.replicas().iter().chain(learners).filter(|id| !replicas.contains(id)).copied().collect();
        replicas.extend(others);
        let is_usual = voters.durable_on() == majority(voters.replicas().len());
        let rest = PartitionRest {
            learners: numbers(learners),
            durable_on: (!is_usual).then_some(voters.durable_on()),
            continued: !chosen,
            voters_min: record.voters_min,
            goal: record
                .goal
                .as_ref()
                .map(|goal| GoalNode { to: ReplicasNode::of(&goal.to), from: ReplicasNode::of(&goal.from) }),
            loss: record.loss.as_ref().map(LossNode::of),
        };
        let replicas = replicas.into_iter().map(number).collect();
        Self { leader: number(*leader), epoch: LeaderEpoch::of(*epoch), replicas, rest }
    }
}

impl ReplicasNode {
    fn of(members: &Members) -> Self {
        let Members { voters, learners } = members;
        Self {
            voters: numbers(voters.replicas()),
            durable_on: voters.durable_on(),
            learners: numbers(learners),
        }
    }

    fn members(&self) -> Option<Members> {
        let voters = Voters::new(ids(&self.voters)?, self.durable_on).ok()?;
        Some(Members { voters, learners: ids(&self.learners)? })
    }
}

impl LossNode {
    fn of(loss: &Loss) -> Self {
        let Position { epoch, end } = loss.kept;
        Self {
            epoch: LeaderEpoch::of(loss.epoch).0,
            missing: numbers(&loss.missing),
            kept: (LeaderEpoch::of(epoch).0, end.0.cast_signed()),
        }
    }

    fn loss(&self) -> Option<Loss> {
        let (epoch, end) = self.kept;
        let kept = Position { epoch: LeaderEpoch(epoch).epoch(), end: Seq(u64::try_from(end).ok()?) };
        Some(Loss { epoch: LeaderEpoch(self.epoch).epoch(), missing: ids(&self.missing)?, kept })
    }
}

const fn majority(voters: usize) -> usize {
    voters / 2 + 1
}

fn id(number: i32) -> Option<ReplicaId> {
    u32::try_from(number).ok().map(ReplicaId)
}

fn ids(numbers: &BTreeSet<i32>) -> Option<BTreeSet<ReplicaId>> {
    numbers.iter().map(|number| id(*number)).collect()
}

const fn number(id: ReplicaId) -> i32 {
    id.0.cast_signed()
}

fn numbers(ids: &BTreeSet<ReplicaId>) -> BTreeSet<i32> {
    ids.iter().map(|id| number(*id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use replication_appointed::Epoch;

    fn members(voters: &[u32], durable_on: usize, learners: &[u32]) -> Members {
        let of = |ids: &[u32]| ids.iter().map(|id| ReplicaId(*id)).collect::<BTreeSet<_>>();
        Members { voters: Voters::new(of(voters), durable_on).expect("voters"), learners: of(learners) }
    }

    fn record(members: Members) -> Record {
        let Members { voters, learners } = members;
        Record::new(Config { epoch: Epoch(5), leader: ReplicaId(2), voters, learners, chosen: true })
    }

    fn written(node: &PartitionNode) -> String {
        serde_json::to_string(&node.raw()).expect("it can be written")
    }

    fn read(text: &str) -> PartitionNode {
        PartitionNode::of_raw(serde_json::from_str(text).expect("it is one"))
    }

    #[test]
    fn usual_partition_takes_little_room() {
        let node = PartitionNode::of(&record(members(&[1, 2, 3], 2, &[])));
        assert_eq!(written(&node), "[2,4,[1,2,3]]");
        let mut preferred = record(members(&[1, 2, 3], 2, &[]));
        preferred.preferred = [3, 9, 1].map(ReplicaId).to_vec();
        assert_eq!(written(&PartitionNode::of(&preferred)), "[2,4,[3,1,2]]");
    }

    #[test]
    fn everything_that_a_controller_keeps_comes_back() {
        let mut whole = record(members(&[1, 2], 2, &[3]));
        whole.config.chosen = false;
        whole.preferred = [2, 1, 3].map(ReplicaId).to_vec();
        whole.voters_min = Some(1);
        whole.goal = Some(Goal { to: members(&[1, 2, 3], 2, &[]), from: members(&[1, 2], 2, &[]) });
        let kept = Position { epoch: Epoch(4), end: Seq(77) };
        whole.loss = Some(Loss { epoch: Epoch(5), missing: [ReplicaId(3)].into(), kept });
        let text = written(&PartitionNode::of(&whole));
        assert_eq!(read(&text).record(), Some(whole), "{text}");
        assert_eq!(
            text,
            "[2,4,[2,1,3],{\"learners\":[3],\"continued\":true,\"voters-min\":1,\"goal\":{\"to\":{\"voters\":[1,2,3],\
             \"durable-on\":2},\"from\":{\"voters\":[1,2],\"durable-on\":2}},\"loss\":{\"epoch\":4,\"missing\":[3],\
             \"kept\":[3,77]}}]"
        );
    }

    #[test]
    fn partition_that_contradicts_itself_has_no_record() {
        for text in [
            "[-1,0,[1]]",
            "[1,0,[]]",
            "[1,0,[1],{\"learners\":[1]}]",
            "[1,0,[1,2],{\"durable-on\":3}]",
            "[1,0,[1,2],{\"durable-on\":0}]",
            "[1,0,[1,-2]]",
        ] {
            assert_eq!(read(text).record(), None, "{text}");
        }
    }
}
