//! Who moves replicas and leaders, as an administrator does with Kafka's tools.

use std::collections::VecDeque;

use kafka_protocol::messages::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, BrokerId, ElectLeadersRequest, TopicName,
};
use kafka_protocol::protocol::StrBytes;

use super::{Around, Link};

const REASSIGN: i16 = 0;
const ELECT: i16 = 2;
/// How long it waits for an answer, milliseconds.
const PATIENCE_MS: u64 = 5_000;
const TIMEOUT_MS: i32 = 3_000;
/// Wishes beyond that are forgotten.
const WISHES_MAX: usize = 40;

/// What is wanted of the brokers.
#[derive(Clone, Debug)]
pub(crate) enum Wish {
    /// That partition of a topic shall have these replicas, or those that it had before a change that is under way.
    Replicas(String, i32, Option<Vec<i32>>),
    /// Preferred replicas shall lead.
    Preferred,
}

/// See the module. A wish whose answer is lost is not repeated.
#[derive(Default)]
pub(crate) struct Mover {
    link: Link<bool>,
    wishes: VecDeque<Wish>,
}

impl Mover {
    /// That is wanted, too.
    pub(crate) fn want(&mut self, wish: Wish) {
        if self.wishes.len() < WISHES_MAX {
            self.wishes.push_back(wish);
        }
    }

    /// Whether everything was asked for.
    pub(crate) fn is_idle(&self) -> bool {
        self.wishes.is_empty() && self.link.outstanding() == 0
    }

    pub(crate) fn step(&mut self, around: &mut Around<'_>) {
        while let Some(answer) = self.link.receive(around) {
            match answer.of {
                true => {
                    let told = answer.read::<AlterPartitionReassignmentsRequest>();
                    let partitions = told.responses.iter().flat_map(|topic| &topic.partitions);
                    let taken = partitions.filter(|partition| partition.error_code == 0).count();
                    around.sim.count("reassignment begun", taken as u64);
                }
                false => drop(answer.read::<ElectLeadersRequest>()),
            }
        }
        if self.link.broken(around).is_none() && self.link.is_lost(around, PATIENCE_MS) {
            self.link.leave(around);
        }
        if self.wishes.is_empty() || self.link.outstanding() > 0 || !self.link.connect(around) {
            return;
        }
        match self.wishes.pop_front() {
            Some(Wish::Replicas(name, index, replicas)) => {
                let replicas = replicas.map(|of| of.into_iter().map(BrokerId).collect());
                let partition =
                    ReassignablePartition::default().with_partition_index(index).with_replicas(replicas);
                let topic = ReassignableTopic::default()
                    .with_name(TopicName(StrBytes::from_string(name)))
                    .with_partitions(vec![partition]);
                let request = AlterPartitionReassignmentsRequest::default()
                    .with_timeout_ms(TIMEOUT_MS)
                    .with_topics(vec![topic]);
                self.link.send(around, REASSIGN, &request, true);
            }
            Some(Wish::Preferred) => {
                let request = ElectLeadersRequest::default()
                    .with_election_type(0)
                    .with_topic_partitions(None)
                    .with_timeout_ms(TIMEOUT_MS);
                self.link.send(around, ELECT, &request, false);
            }
            None => {}
        }
    }
}
