//! The machine: what it keeps, and how an input reaches the module that knows it.

use std::collections::{BTreeMap, BTreeSet};

use base::{MonoTime, Random};
use replication_appointed::ReplicaId;

use crate::deadlines::{Deadline, Deadlines};
use crate::effect::Change;
use crate::event::Event;
use crate::ids::{PartitionId, ProposalId};
use crate::nodes::Nodes;
use crate::outbox::Outbox;
use crate::partition::Partition;
use crate::settings::Settings;

/// Changes that were proposed and are not answered.
#[derive(Debug)]
pub(crate) struct Proposal {
    pub(crate) changes: Vec<Change>,
    pub(crate) since: MonoTime,
}

/// See the crate.
#[derive(Debug)]
pub struct Controller {
    pub(crate) settings: Settings,
    pub(crate) now: MonoTime,
    pub(crate) random: Random,
    pub(crate) nodes: Nodes,
    pub(crate) partitions: BTreeMap<PartitionId, Partition>,
    /// Which partitions a node is named by.
    pub(crate) of_node: BTreeMap<ReplicaId, BTreeSet<PartitionId>>,
    /// Which partitions prefer a node that does not lead them.
    pub(crate) misplaced: BTreeMap<ReplicaId, BTreeSet<PartitionId>>,
    pub(crate) hand_overs: BTreeSet<PartitionId>,
    pub(crate) hand_overs_waiting: BTreeSet<PartitionId>,
    pub(crate) reading: BTreeSet<PartitionId>,
    pub(crate) proposals: BTreeMap<ProposalId, Proposal>,
    pub(crate) last_proposal: ProposalId,
    pub(crate) deadlines: Deadlines,
    pub(crate) outbox: Outbox,
    /// Something has changed that may concern them.
    pub(crate) to_judge: BTreeSet<PartitionId>,
}

impl Controller {
    /// A controller that knows nothing yet. It is told all records before it is told of nodes.
    #[must_use]
    pub fn new(settings: Settings, now: MonoTime) -> Self {
        Self {
            settings,
            now,
            random: Random::new(settings.seed),
            nodes: Nodes::default(),
            partitions: BTreeMap::new(),
            of_node: BTreeMap::new(),
            misplaced: BTreeMap::new(),
            hand_overs: BTreeSet::new(),
            hand_overs_waiting: BTreeSet::new(),
            reading: BTreeSet::new(),
            proposals: BTreeMap::new(),
            last_proposal: ProposalId(0),
            deadlines: Deadlines::default(),
            outbox: Outbox::default(),
            to_judge: BTreeSet::new(),
        }
    }

    /// Takes what has happened.
    pub fn handle(&mut self, event: Event, now: MonoTime) {
        self.now = self.now.max(now);
        match event {
            Event::Announced { node, incarnation } => self.announced(node, incarnation),
            Event::Heard { node } => self.heard(node),
            Event::Broken { node } => self.broken(node),
            Event::Draining { node, drains } => self.draining(node, drains),
            Event::Gone { node } => self.gone(node),
            Event::Configured(known) => self.configured(*known),
            Event::Removed { partition } => self.removed(partition),
            Event::Proposed { id, results } => self.proposed(id, &results),
            Event::Promised { node, answers } => self.promised(node, &answers),
            Event::Reported { node, incarnation, reports } => self.reported(node, incarnation, &reports),
            Event::Acts { node, acts } => self.asked(node, &acts),
            Event::Prepared { node, partition, epoch, to } => self.prepared(node, partition, epoch, to),
        }
        self.judge_all();
    }

    /// Looks at what has waited until now.
    pub fn tick(&mut self, now: MonoTime) {
        self.now = self.now.max(now);
        while let Some((due, deadline)) = self.deadlines.pop(self.now) {
            match deadline {
                Deadline::Silence(node) => self.silent(node, due),
                Deadline::Resend(node) => self.outbox.send_again(node),
                Deadline::Preferred(node) => self.give_back(node),
                Deadline::Partition(partition) => self.time_has_come(partition),
                Deadline::Configuration => self.read_again(),
            }
        }
        self.judge_all();
    }

    /// When [`Controller::tick`] is to be called; nothing if never.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        self.deadlines.next()
    }

    /// The partition is judged before the input has been dealt with.
    pub(crate) fn look_at(&mut self, partition: PartitionId) {
        self.to_judge.insert(partition);
    }

    pub(crate) fn look_at_all_of(&mut self, node: ReplicaId) {
        if let Some(partitions) = self.of_node.get(&node) {
            self.to_judge.extend(partitions);
        }
    }

    /// The record may be old: it is read, and the partition is not judged before that.
    pub(crate) fn read(&mut self, id: PartitionId) {
        let Some(partition) = self.partitions.get_mut(&id) else { return };
        partition.is_reading = true;
        self.reading.insert(id);
        self.outbox.reads.insert(id);
        let by = self.now.plus_ms(self.settings.proposal_ms);
        self.deadlines.set_by(Deadline::Configuration, by);
    }

    /// Judges what has to be, and then the partitions whose turn it is to be handed over.
    pub(crate) fn judge_all(&mut self) {
        loop {
            while let Some(id) = self.to_judge.pop_first() {
                self.judge(id);
            }
            if self.hand_overs.len() >= self.settings.hand_overs_max {
                return;
            }
            let Some(next) = self.hand_overs_waiting.pop_first() else { return };
            self.look_at(next);
        }
    }
}
