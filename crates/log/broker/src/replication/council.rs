//! Records in the council: read and written there for the machines, topic by topic.

use std::collections::BTreeMap;

use base::Now;
use log_metadata::{Decision, Ended, Found, PartitionNode, RecordChange, TopicNode, paths};
use log_wire::TopicName;
use replication_controller::{Change, Event, PartitionId, ProposalId, Version, Written};

use super::Replication;
use crate::council::{Asked, Purpose};
use crate::node::Node;

/// Proposals of which parts are with the council.
#[derive(Debug, Default)]
pub(super) struct Proposals(BTreeMap<ProposalId, Proposal>);

#[derive(Debug)]
struct Proposal {
    results: Vec<Written>,
    /// How many parts have not ended.
    missing: usize,
}

impl Replication {
    /// Reads records. What the council has by now is found, however old the copy is that this broker follows it by.
    pub(super) fn read(&self, node: &mut Node, partitions: &[PartitionId]) {
        for (group, partitions) in by_group(partitions, |partition| *partition) {
            let asked = Asked::Records(partitions);
            if let Some(path) = path_of(node, group) {
                node.council.ask(path, Purpose::Replicas(asked), |_| Decision::Keep);
            }
        }
    }

    /// Writes a record for a leader.
    pub(super) fn write(&self, node: &mut Node, change: Change) {
        let (group, changes) = (change.partition.group, vec![written_as(&change)]);
        ask(node, group, Asked::Write(Box::new(change)), changes);
    }

    /// Writes what the controller proposes: of each topic what has not changed meanwhile.
    pub(super) fn propose(&mut self, node: &mut Node, id: ProposalId, changes: Vec<Change>, now: Now) {
        let mut proposal = Proposal { results: vec![Written::Unknown; changes.len()], missing: 0 };
        let numbered: Vec<(usize, Change)> = changes.into_iter().enumerate().collect();
        for (group, part) in by_group(&numbered, |(_, change)| change.partition) {
            let changes = part.iter().map(|(_, change)| written_as(change)).collect();
            proposal.missing +=
                usize::from(ask(node, group, Asked::Part(self.role.term(), id, part), changes));
        }
        self.proposals.0.insert(id, proposal);
        self.proposed(id, now);
    }

    /// What was asked of the council has ended.
    pub(crate) fn ended(&mut self, node: &mut Node, asked: Asked, ended: Ended, now: Now) {
        let found = match &ended {
            Ended::Done(Some(data)) => TopicNode::read(data).ok(),
            _ => None,
        };
        match asked {
            Asked::Records(partitions) => {
                let is_known = matches!(ended, Ended::Done(_));
                for partition in partitions.into_iter().filter(|_| is_known) {
                    self.was_found(node, partition, found.as_ref(), now);
                }
            }
            Asked::Write(change) => {
                let (partition, written) = (change.partition, result(found.as_ref(), &change));
                self.machine.wrote(partition, written, now.mono(), &mut node.partitions);
            }
            Asked::Part(term, id, part) if term == self.role.term() => {
                self.part_ended(id, &part, found.as_ref(), now);
            }
            Asked::Part(..) => {}
        }
        self.carry_out(node, now);
    }

    /// This is the node of the topic by now, or there is none.
    fn was_found(&mut self, node: &mut Node, id: PartitionId, topic: Option<&TopicNode>, now: Now) {
        let topic = topic.filter(|topic| topic.id == id.group);
        let partition = topic.and_then(|topic| topic.partitions.get(usize::try_from(id.index).ok()?));
        // One that has one replica is the broker's that leads it: the machines are told as its topic changes.
        if partition.is_some_and(|partition| !partition.is_replicated()) && self.machine.known(id).is_none() {
            return self.role.removed(id, now);
        }
        match partition.and_then(|partition| partition.known(id.group, id.index)) {
            Some(known) => self.learn(node, known, now),
            None => self.removed(node, id, now),
        }
    }

    fn part_ended(&mut self, id: ProposalId, part: &[(usize, Change)], topic: Option<&TopicNode>, now: Now) {
        let Some(proposal) = self.proposals.0.get_mut(&id) else { return };
        for (place, change) in part {
            if let Some(of) = proposal.results.get_mut(*place) {
                *of = result(topic, change);
            }
        }
        proposal.missing = proposal.missing.saturating_sub(1);
        self.proposed(id, now);
    }

    /// The controller is told what became of a proposal, once all of it has ended.
    fn proposed(&mut self, id: ProposalId, now: Now) {
        if self.proposals.0.get(&id).is_some_and(|proposal| proposal.missing == 0)
            && let Some(Proposal { results, .. }) = self.proposals.0.remove(&id)
        {
            self.role.hear(Event::Proposed { id, results }, now);
        }
    }
}

impl Proposals {
    /// The controller that has made them is none any more.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

/// Whether the council could be asked.
fn ask(node: &mut Node, group: [u8; 16], asked: Asked, changes: Vec<RecordChange>) -> bool {
    let Some(path) = path_of(node, group) else { return false };
    let compute = move |found: Found<'_>| TopicNode::write_records(found, group, &changes).decision;
    node.council.ask(path, Purpose::Replicas(asked), compute);
    true
}

fn path_of(node: &Node, group: [u8; 16]) -> Option<String> {
    let topic = node.catalog.find(TopicName::Id(group)).ok()?;
    Some(paths::topic(&topic.name))
}

fn written_as(change: &Change) -> RecordChange {
    RecordChange { index: change.partition.index, version: change.version, record: change.record.clone() }
}

/// What became of a change, by what the node of its topic holds behind the write.
fn result(topic: Option<&TopicNode>, change: &Change) -> Written {
    let Some(topic) = topic else { return Written::Unknown };
    let partition = topic.partitions.get(usize::try_from(change.partition.index).unwrap_or(usize::MAX));
    let Some(partition) = partition.filter(|_| topic.id == change.partition.group) else {
        return Written::Conflict;
    };
    let next = Version(change.version.0.saturating_add(1));
    if *partition == PartitionNode::of(&change.record, next) {
        return Written::Yes(next);
    }
    if partition.version == change.version.0 { Written::Untried } else { Written::Conflict }
}

/// In groups of the same topic, each in order.
fn by_group<T: Clone>(all: &[T], of: impl Fn(&T) -> PartitionId) -> BTreeMap<[u8; 16], Vec<T>> {
    let mut groups = BTreeMap::<_, Vec<T>>::new();
    all.iter().for_each(|item| groups.entry(of(item).group).or_default().push(item.clone()));
    groups
}
