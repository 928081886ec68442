//! What this broker asks of the council, and for whom.

use std::collections::BTreeMap;
use std::sync::Arc;

use log_metadata::{Change, Decision, Found};
use replication_controller::{Change as RecordChange, PartitionId, ProposalId};

use crate::waits::Waiter;

/// What the machines of partitions with several replicas have asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Records of one topic.
    Records(Vec<PartitionId>),
    /// To write a record, for a leader.
    Write(Box<RecordChange>),
    /// To write a part of what the controller proposes, in which of its terms: the changes of one topic, by their places in the
    /// proposal.
    Part(u64, ProposalId, Vec<(usize, RecordChange)>),
}

/// What a change is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A part of a client's request.
    Part(Waiter, usize),
    /// A topic that is made because somebody has named it.
    Topic(Arc<str>),
    /// This broker leads its partitions of a topic anew.
    Appointment(Arc<str>),
    /// What all brokers of the cluster know.
    Secret,
    /// A block of producer ids.
    ProducerIds,
    /// Records of a topic become durable on more replicas, or on fewer.
    Durability(Arc<str>),
    /// An internal topic gets more replicas.
    Growth(Arc<str>),
    /// Partitions of a topic move away from brokers that drain.
    Drain(Arc<str>),
    /// Partitions of a topic get other leaders, or move, since brokers carry unequal loads.
    Balance(Arc<str>),
    /// A partition whose one replica does not lead gets its leader from a controller.
    Reopening,
    /// Records of partitions with several replicas.
    Replicas(Asked),
}

/// Changes that have not ended. See the module.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    outgoing: Vec<Change>,
    purposes: BTreeMap<u64, Purpose>,
    last_ticket: u64,
}

impl Changes {
    /// Asks for a change of a node.
    pub(crate) fn ask(
        &mut self,
        path: String,
        purpose: Purpose,
        compute: impl FnMut(Found<'_>) -> Decision + Send + 'static,
    ) {
        self.last_ticket += 1;
        self.purposes.insert(self.last_ticket, purpose);
        self.outgoing.push(Change::new(path, self.last_ticket, compute));
    }

    /// The same for a change that [counts](Change::that_counts).
    pub(crate) fn ask_to_count(
        &mut self,
        path: String,
        purpose: Purpose,
        compute: impl FnMut(Found<'_>) -> Decision + Send + 'static,
    ) {
        self.ask(path, purpose, compute);
        let counting = self.outgoing.pop().map(Change::that_counts);
        self.outgoing.extend(counting);
    }

    /// Takes what is to be handed on.
    pub(crate) fn take(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.outgoing)
    }

    /// A change has ended: what it was for.
    pub(crate) fn ended(&mut self, ticket: u64) -> Option<Purpose> {
        self.purposes.remove(&ticket)
    }

    /// Whether that is asked for already.
    pub(crate) fn has(&self, purpose: &Purpose) -> bool {
        self.purposes.values().any(|other| other == purpose)
    }

    /// How many have not ended.
    pub(crate) fn len(&self) -> usize {
        self.purposes.len()
    }
}
