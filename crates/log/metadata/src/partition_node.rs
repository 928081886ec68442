//! A partition as it stands in the node of its topic: who leads, which replicas there are, and what a controller keeps of it.
//!
//! Most partitions are `[leader, epoch, [replicas]]`. What is not as usual stands behind that, by name:
//! ```json
//! [1, 4, [1, 2, 3], {"version": 9, "learners": [3], "durable-on": 1}]
//! ```
//! The version of a partition rises by 1 with each write that changes its entry, and with no other write. It is 0 in a new
//! partition, and then not written. The version of the topic's node does not do for this, because a write of any partition, and
//! of the topic's settings, raises that.

use std::collections::BTreeSet;

use log_partition::LeaderEpoch;
use replication_appointed::{Config, Position, ReplicaId, Seq, Voters};
use replication_controller::{Goal, Known, Loss, Members, PartitionId, Record, Version};
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
    /// How often this entry was written since the partition was created. Invariant: whoever changes another field of the entry
    /// raises this by 1 in the same write ([`PartitionNode::raise_version`]).
    pub version: u64,
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
    /// Which replicas are preferred as leader, if those are others than there are: of a goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred: Option<Vec<i32>>,
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
    Other(i32, i32, Vec<i32>, Box<RawRest>),
}

/// What stands behind the replicas, by name.
#[derive(Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RawRest {
    #[serde(skip_serializing_if = "is_zero")]
    version: u64,
    #[serde(flatten)]
    rest: PartitionRest,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl PartitionNode {
    /// A partition with these replicas, led by the first of them.
    #[must_use]
    pub fn new(replicas: Vec<i32>) -> Self {
        let leader = replicas.first().copied().unwrap_or(-1);
        Self { leader, epoch: LeaderEpoch(0), replicas, version: 0, rest: PartitionRest::default() }
    }

    /// Whether it has several replicas, or had or gets others than it has.
    #[must_use]
    pub fn is_replicated(&self) -> bool {
        self.replicas.len() > 1 || self.rest.goal.is_some() || self.rest.loss.is_some()
    }

    pub(crate) fn of_raw(raw: Raw) -> Self {
        let (leader, epoch, replicas, rest) = match raw {
            Raw::Usual(leader, epoch, replicas) => (leader, epoch, replicas, RawRest::default()),
            Raw::Other(leader, epoch, replicas, rest) => (leader, epoch, replicas, *rest),
        };
        let RawRest { version, rest } = rest;
        Self { leader, epoch: LeaderEpoch(epoch), replicas, version, rest }
    }

    pub(crate) fn raw(&self) -> Raw {
        let (leader, epoch, replicas) = (self.leader, self.epoch.0, self.replicas.clone());
        let rest = RawRest { version: self.version, rest: self.rest.clone() };
        match rest == RawRest::default() {
            true => Raw::Usual(leader, epoch, replicas),
            false => Raw::Other(leader, epoch, replicas, Box::new(rest)),
        }
    }

    /// The partition shall have these replicas, the preferred leader first, with each record durable on a majority of them and on
    /// as many as are asked for. Gives whether that changes the entry. A leader and a controller bring it about.
    pub fn reassign(&mut self, to: &[i32], durable_on_min: usize) -> bool {
        let voters: BTreeSet<i32> = to.iter().copied().collect();
        let durable_on = durable_on(voters.len(), durable_on_min);
        let to_node = ReplicasNode { voters, durable_on, learners: BTreeSet::new() };
        let is_asked = |goal: &GoalNode| goal.to == to_node;
        let is_done = match &self.rest.goal {
            Some(goal) => is_asked(goal),
            None => self.members() == to_node,
        };
        let preferred = self.rest.preferred.as_ref().unwrap_or(&self.replicas);
        if is_done && preferred == to {
            return false;
        }
        let is_same_set = self.replicas.iter().collect::<BTreeSet<_>>() == to.iter().collect();
        if is_done && self.rest.goal.is_none() && is_same_set {
            // Nobody has to bring about that another one is the first.
            (self.replicas, self.rest.preferred) = (to.to_vec(), None);
            self.raise_version();
            return true;
        }
        let from = self.rest.goal.take().map_or_else(|| self.members(), |goal| goal.from);
        self.rest.goal = Some(GoalNode { to: to_node, from });
        self.rest.preferred = (self.replicas != to).then(|| to.to_vec());
        self.raise_version();
        true
    }

    /// Whether its records are durable on another number of replicas than is asked for, while it is not being changed.
    #[must_use]
    pub fn has_other_durability(&self, durable_on_min: usize) -> bool {
        let present = || self.members();
        self.is_replicated()
            && self.rest.goal.is_none()
            && present().durable_on != durable_on(present().voters.len(), durable_on_min)
    }

    /// Of two replicas both hold whatever is committed, so either may go on alone, and the other comes back once it has caught up
    /// (rule P6). Whether that shall be permitted, for so many replicas that each record must be on, and is not yet, or is and shall
    /// not be.
    #[must_use]
    pub fn has_other_survivors(&self, durable_on_min: usize) -> bool {
        self.is_replicated() && self.rest.voters_min != self.survivors(durable_on_min)
    }

    /// Permits one of two replicas to go on alone, or forbids it. Gives whether that changes the entry.
    pub fn permit_survivors(&mut self, durable_on_min: usize) -> bool {
        let is_changed = self.has_other_survivors(durable_on_min);
        if is_changed {
            self.rest.voters_min = self.survivors(durable_on_min);
            self.raise_version();
        }
        is_changed
    }

    fn survivors(&self, durable_on_min: usize) -> Option<usize> {
        let wanted = self.rest.goal.as_ref().map_or_else(|| self.members(), |goal| goal.to.clone());
        (wanted.voters.len() == 2 && durable_on_min <= 1).then_some(1)
    }

    /// A change of replicas is given up: there shall be those that there were when it began. The leader is preferred, if it is one
    /// of them. Gives whether there was a change.
    pub fn cancel_reassignment(&mut self) -> bool {
        let Some(goal) = self.rest.goal.clone().filter(GoalNode::is_reassignment) else { return false };
        let mut preferred: Vec<i32> = goal.from.voters.iter().copied().collect();
        preferred.sort_by_key(|id| *id != self.leader);
        self.rest.goal = Some(GoalNode { to: goal.from.clone(), from: goal.from });
        self.rest.preferred = (self.replicas != preferred).then_some(preferred);
        self.raise_version();
        true
    }

    /// Its replicas are a goal, as if they were new: a controller appoints their leader. Gives whether they were none.
    pub fn reopen(&mut self) -> bool {
        if self.is_replicated() {
            return false;
        }
        self.rest.goal = Some(GoalNode { to: self.members(), from: self.members() });
        self.raise_version();
        true
    }

    /// Its replicas, with those that were left out because they are not there, the preferred leader first. Nothing while it gets
    /// others.
    #[must_use]
    pub fn settled_replicas(&self) -> Option<Vec<i32>> {
        let Some(goal) = &self.rest.goal else { return Some(self.replicas.clone()) };
        let mut replicas: Vec<i32> = self.rest.preferred.as_ref().unwrap_or(&self.replicas).clone();
        replicas
            .extend(goal.to.voters.iter().filter(|id| !replicas.contains(id)).copied().collect::<Vec<_>>());
        replicas.retain(|id| goal.to.voters.contains(id));
        (!goal.is_reassignment()).then_some(replicas)
    }

    fn members(&self) -> ReplicasNode {
        let learners = self.rest.learners.clone();
        let voters: BTreeSet<i32> =
            self.replicas.iter().filter(|id| !learners.contains(id)).copied().collect();
        let durable_on = self.rest.durable_on.unwrap_or_else(|| majority(voters.len()));
        ReplicasNode { voters, durable_on, learners }
    }

    /// The entry is being changed: it has the next version from now on.
    pub const fn raise_version(&mut self) {
        self.version = self.version.saturating_add(1);
    }

    /// What a controller and replicas are told of it, as the partition with that index of the topic with that id; nothing if it
    /// contradicts itself.
    #[must_use]
    pub fn known(&self, topic: [u8; 16], index: u32) -> Option<Known> {
        let partition = PartitionId { group: topic, index };
        Some(Known { partition, version: Version(self.version), record: self.record()? })
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
        let preferred = self.rest.preferred.as_ref().unwrap_or(&self.replicas);
        let preferred: Option<Vec<ReplicaId>> = preferred.iter().map(|replica| id(*replica)).collect();
        let voters_min = self.rest.voters_min;
        Some(Record { config, preferred: preferred?, voters_min, goal, loss })
    }

    /// The entry of that record with that version. Replicas are preferred in the order of the record; those that it does not name
    /// come last, and those that it names and that are no replicas are left out.
    #[must_use]
    pub fn of(record: &Record, version: Version) -> Self {
        let Config { epoch, leader, voters, learners, chosen } = &record.config;
        let mut replicas: Vec<ReplicaId> = record.preferred.clone();
        replicas.retain(|id| voters.replicas().contains(id) || learners.contains(id));
        let others: Vec<ReplicaId> =
            voters.replicas().iter().chain(learners).filter(|id| !replicas.contains(id)).copied().collect();
        replicas.extend(others);
        let is_preferred = record.goal.is_some() && record.preferred != replicas;
        let preferred = is_preferred.then(|| record.preferred.iter().copied().map(number).collect());
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
            preferred,
            loss: record.loss.as_ref().map(LossNode::of),
        };
        let replicas = replicas.into_iter().map(number).collect();
        Self { leader: number(*leader), epoch: LeaderEpoch::of(*epoch), replicas, version: version.0, rest }
    }
}

impl GoalNode {
    /// Whether it brings other replicas. Otherwise replicas that were left out, because they were not there, come back.
    #[must_use]
    pub fn is_reassignment(&self) -> bool {
        self.to.voters != self.from.voters
    }

    /// The replicas that come, and those that go.
    #[must_use]
    pub fn difference(&self) -> (Vec<i32>, Vec<i32>) {
        let (to, from) = (&self.to.voters, &self.from.voters);
        (to.difference(from).copied().collect(), from.difference(to).copied().collect())
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

/// On how many of so many replicas each record is durable: on a majority, and on as many as are asked for.
fn durable_on(voters: usize, min: usize) -> usize {
    majority(voters).max(min).min(voters).max(1)
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
        let node = PartitionNode::of(&record(members(&[1, 2, 3], 2, &[])), Version(0));
        assert_eq!(written(&node), "[2,4,[1,2,3]]");
        let mut preferred = record(members(&[1, 2, 3], 2, &[]));
        preferred.preferred = [3, 9, 1].map(ReplicaId).to_vec();
        assert_eq!(written(&PartitionNode::of(&preferred, Version(0))), "[2,4,[3,1,2]]");
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
        let text = written(&PartitionNode::of(&whole, Version(6)));
        let known =
            Known { partition: PartitionId { group: [7; 16], index: 9 }, version: Version(6), record: whole };
        assert_eq!(read(&text).known([7; 16], 9), Some(known), "{text}");
        assert_eq!(
            text,
            "[2,4,[2,1,3],{\"version\":6,\"learners\":[3],\"continued\":true,\"voters-min\":1,\"goal\":{\"to\":{\"voters\":[1,2,3],\
             \"durable-on\":2},\"from\":{\"voters\":[1,2],\"durable-on\":2}},\"loss\":{\"epoch\":4,\"missing\":[3],\
             \"kept\":[3,77]}}]"
        );
    }

    #[test]
    fn version_of_a_partition_is_written_unless_it_is_0() {
        for (text, version) in [("[2,4,[1,2,3]]", 0), (r#"[2,4,[1,2,3],{"version":1}]"#, 1)] {
            let node = read(text);
            assert_eq!((node.version, &node.rest), (version, &PartitionRest::default()), "{text}");
            assert_eq!(written(&node), text);
        }
        assert_eq!(read(r#"[2,4,[1,2,3],{"learners":[3]}]"#).version, 0);
        let largest = format!(r#"[2,4,[1,2,3],{{"version":{}}}]"#, u64::MAX);
        assert_eq!(written(&read(&largest)), largest);
        for bad in [r#"[2,4,[1],{"version":-1}]"#, r#"[2,4,[1],{"version":"1"}]"#] {
            assert!(serde_json::from_str::<Raw>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn partition_keeps_what_is_preferred_of_replicas_that_it_does_not_have_yet() {
        let mut node = read("[2,4,[1,2]]");
        assert!(node.reassign(&[3, 2], 1));
        let text = written(&node);
        let known = node.record().expect("a record");
        assert_eq!(known.preferred, [3, 2].map(ReplicaId));
        assert_eq!(PartitionNode::of(&known, Version(1)).record(), Some(known), "{text}");
        assert!(!node.reassign(&[3, 2], 1), "it is asked for already");
        assert!(node.cancel_reassignment());
        assert_eq!(node.record().map(|record| record.preferred), Some([2, 1].map(ReplicaId).to_vec()));
        assert!(!node.cancel_reassignment() && node.version == 2);
    }

    #[test]
    fn replicas_that_were_left_out_are_settled_and_those_that_come_are_not() {
        let goal = |to: &[i32], from: &[i32]| {
            let node = |of: &[i32]| ReplicasNode {
                voters: of.iter().copied().collect(),
                durable_on: 1,
                learners: BTreeSet::new(),
            };
            Some(GoalNode { to: node(to), from: node(from) })
        };
        let mut node = PartitionNode::new(vec![3, 1]);
        assert_eq!(node.settled_replicas(), Some(vec![3, 1]));
        // Replica 3 is not there, and replica 1 goes on alone.
        (node.replicas, node.rest.preferred) = (vec![1], Some(vec![3, 1]));
        node.rest.goal = goal(&[1, 3], &[1, 3]);
        assert_eq!(node.settled_replicas(), Some(vec![3, 1]));
        node.rest.preferred = None;
        assert_eq!(node.settled_replicas(), Some(vec![1, 3]));
        node.rest.goal = goal(&[1, 2], &[1, 3]);
        assert_eq!(node.settled_replicas(), None);
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
            assert_eq!((read(text).record(), read(text).known([7; 16], 0)), (None, None), "{text}");
        }
    }

    #[test]
    fn same_replicas_in_another_order_are_there_at_once() {
        let mut node = PartitionNode::new(vec![1, 2, 3]);
        let version = node.version;
        assert!(node.reassign(&[3, 1, 2], 1));
        assert_eq!((&node.replicas[..], &node.rest.goal, node.leader), (&[3, 1, 2][..], &None, 1));
        assert!(node.version > version && !node.reassign(&[3, 1, 2], 1));
        // Others are brought about, and so is another order while that goes on.
        assert!(node.reassign(&[4, 1, 2], 1) && node.rest.goal.is_some());
        assert!(node.reassign(&[3, 2, 1], 1) && node.rest.goal.is_some());
    }
}
