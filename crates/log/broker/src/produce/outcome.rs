//! Where the outcome of each partition stands in an answer to Produce.

use std::sync::Arc;

use log_wire::{ErrorCode, ProduceOutcome, TopicName};

use crate::catalog::Catalog;
use crate::node::Node;
use crate::response::{Outcomes, ProduceResponse, TopicKey};

/// Where an outcome stands in a response: topic and partition.
pub(crate) type OutcomePlace = (usize, usize);

/// An outcome that says nothing yet.
pub(crate) const fn unknown(partition: i32) -> ProduceOutcome<'static> {
    ProduceOutcome {
        partition,
        error: ErrorCode::None,
        base_offset: -1,
        log_append_time: -1,
        log_start_offset: -1,
        record_errors: Vec::new(),
        message: None,
        leader: None,
    }
}

/// How a request names a topic, kept: with the name that is kept already, if there is such a topic.
fn key_of(topic: TopicName<'_>, catalog: &Catalog) -> TopicKey {
    match (topic, catalog.find(topic)) {
        (TopicName::Name(_), Ok(known)) => TopicKey::Name(Arc::clone(&known.name)),
        _ => TopicKey::of(topic),
    }
}

impl ProduceResponse {
    /// Where the next outcome of a topic stands.
    pub(super) fn place_for(&mut self, topic: TopicName<'_>, catalog: &Catalog) -> OutcomePlace {
        if self.topics.last().is_none_or(|(last, _)| last.name() != topic) {
            self.topics.push((key_of(topic, catalog), Outcomes::new()));
        }
        (self.topics.len() - 1, self.topics.last().map_or(0, |(_, outcomes)| outcomes.len()))
    }

    pub(super) fn push(&mut self, topic: usize, outcome: ProduceOutcome<'static>) {
        if let Some((_, outcomes)) = self.topics.get_mut(topic) {
            outcomes.push(outcome);
        }
    }

    pub(super) fn at(&mut self, (topic, partition): OutcomePlace) -> Option<&mut ProduceOutcome<'static>> {
        self.topics.get_mut(topic)?.1.get_mut(partition)
    }

    /// The outcome is that error; its offset stays.
    pub(super) fn set_error(&mut self, place: OutcomePlace, error: ErrorCode) {
        if let Some(outcome) = self.at(place) {
            outcome.error = error;
        }
    }

    /// The outcome is that error and nothing else, but for who leads instead.
    pub(super) fn fail(&mut self, node: &Node, listener: u16, place: OutcomePlace, error: ErrorCode) {
        if let Some(outcome) = self.at(place) {
            *outcome = ProduceOutcome { error, ..unknown(outcome.partition) };
        }
        self.tell_leader(node, listener, place);
    }

    /// Says who leads, if that is what is wrong.
    pub(super) fn tell_leader(&mut self, node: &Node, listener: u16, (topic, partition): OutcomePlace) {
        let Some((name, outcomes)) = self.topics.get_mut(topic) else { return };
        let Some(outcome) = outcomes.get_mut(partition) else { return };
        let of = (name.name(), outcome.partition);
        outcome.leader = node.tell_leader(&mut self.leaders, listener, of, outcome.error);
    }
}
