//! An answer to Produce.

use log_wire::{ProduceOutcome, Writer, write_produce_response};
use smallvec::SmallVec;

use super::{ToldBrokers, TopicKey};

/// Outcomes of a topic. Most requests are for one partition: they take no memory of their own.
pub(crate) type Outcomes = SmallVec<[ProduceOutcome<'static>; 1]>;

/// An answer to Produce: outcomes by topic, in the order of the request.
#[derive(Clone, Debug, Default)]
pub struct ProduceResponse {
    pub(crate) topics: SmallVec<[(TopicKey, Outcomes); 1]>,
    /// Where the leaders are that outcomes name.
    pub(crate) leaders: ToldBrokers,
}

impl ProduceResponse {
    /// How many outcomes it has.
    pub(crate) fn outcomes(&self) -> usize {
        self.topics.iter().map(|(_, outcomes)| outcomes.len()).sum()
    }

    /// Writes the body. The client is to wait for so long after it.
    pub fn write(&self, writer: &mut Writer<'_>, version: i16, throttle_ms: u64) {
        let throttle_ms = i32::try_from(throttle_ms).unwrap_or(i32::MAX);
        let topics: SmallVec<[_; 1]> =
            self.topics.iter().map(|(topic, outcomes)| (topic.name(), outcomes.as_slice())).collect();
        write_produce_response(writer, version, &topics, throttle_ms, &self.leaders.endpoints());
    }
}
