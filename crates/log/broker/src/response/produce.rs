//! An answer to Produce.

use log_wire::{ProduceOutcome, Writer, write_produce_response};

use super::TopicKey;

/// An answer to Produce: outcomes by topic, in the order of the request.
#[derive(Clone, Debug, Default)]
pub struct ProduceResponse {
    pub(crate) topics: Vec<(TopicKey, Vec<ProduceOutcome<'static>>)>,
}

impl ProduceResponse {
    /// How many outcomes it has.
    pub(crate) fn outcomes(&self) -> usize {
        self.topics.iter().map(|(_, outcomes)| outcomes.len()).sum()
    }

    /// Writes the body.
    pub fn write(&self, writer: &mut Writer<'_>, version: i16) {
        let topics: Vec<_> =
            self.topics.iter().map(|(topic, outcomes)| (topic.name(), outcomes.as_slice())).collect();
        write_produce_response(writer, version, &topics, 0, &[]);
    }
}
