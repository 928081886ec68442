//! ElectLeaders: the preferred replica leads again, or a partition without enough replicas gets a leader that may lack records.
//!
//! Whichever broker is asked judges what it can by what it knows, and asks the controller for the rest ([`super::election_waits`]).
//!
//! # Not done, and what that costs
//! - Whether a partition whose leader is another broker needs an unclean election, with too few replicas reached, only the
//!   controller knows. It says nothing of what it does not do: the answer is that none was needed, once the time is over.

use base::Now;
use log_metadata::PartitionNode;
use log_partition::LeaderEpoch;
use log_wire::messages::cluster::{
    ElectLeadersRequest, ElectLeadersResponse, PartitionResult, ReplicaElectionResult,
};
use log_wire::{ErrorCode, TopicName};

use super::election_waits::{Election, Elections, OPEN_MAX, Open, Wanted};
use crate::catalog::TopicImage;
use crate::node::Node;
use crate::response::{Form, Response};
use crate::rights::{By, CLUSTER_ALTER};
use crate::waits::Waiter;

/// The kinds of elections.
const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;

/// What a partition comes to at once: an election, or an answer.
type Judged = Result<Wanted, (ErrorCode, String)>;

/// Handles a request. The answer comes later if there is none now.
pub(super) fn elect_leaders(
    node: &Node,
    elections: &mut Elections,
    by: By<'_>,
    request: &ElectLeadersRequest,
    ((form, waiter), now): ((Form, Waiter), Now),
) -> Option<Response> {
    let refused = match node.may_on_cluster(by, CLUSTER_ALTER) {
        Err(error) => Some((error, Some("the client has no right to that"))),
        Ok(()) => match request.election_type {
            PREFERRED | UNCLEAN if request.timeout_ms <= 0 => Some((ErrorCode::RequestTimedOut, None)),
            PREFERRED | UNCLEAN => None,
            _ => Some((ErrorCode::InvalidRequest, Some("there is no election of that type"))),
        },
    };
    if let Some((error, why)) = refused {
        let replica_election_results = all_refused(request, error, why);
        let error_code = error.code();
        return Some(form.response(&ElectLeadersResponse {
            error_code,
            replica_election_results,
            ..Default::default()
        }));
    }
    let mut election = Election { form, response: ElectLeadersResponse::default(), open: Vec::new() };
    let room = OPEN_MAX.saturating_sub(elections.open());
    match &request.topic_partitions {
        Some(topics) => {
            for topic in topics {
                let found = node.catalog.find(TopicName::Name(&topic.topic)).ok();
                election.add(node, (&topic.topic, found), &topic.partitions, (request.election_type, room));
            }
        }
        // A partition at which nothing is to be done is left out.
        None => {
            for topic in node.catalog.topics() {
                let all: Vec<i32> = (0..).zip(&topic.partitions).map(|(index, _)| index).collect();
                election.add(node, (&topic.name, Some(topic)), &all, (request.election_type, room));
            }
            election.leave_out();
        }
    }
    elections.begin(election, (waiter, request.timeout_ms), now)
}

impl Election {
    /// Partitions of one topic are judged.
    fn add(
        &mut self,
        node: &Node,
        (name, topic): (&str, Option<&TopicImage>),
        partitions: &[i32],
        (kind, room): (i8, usize),
    ) {
        let mut results = Vec::with_capacity(partitions.len());
        for index in partitions {
            let judged = match node.judge_election((name, topic), *index, kind) {
                Ok(_) if self.open.len() >= room => {
                    Err((ErrorCode::RequestTimedOut, String::from("too many elections are under way")))
                }
                judged => judged,
            };
            if let (Ok(wanted), Some(topic)) = (&judged, topic) {
                let place = (self.response.replica_election_results.len(), results.len());
                self.open.push(Open { place, id: topic.partition(*index), wanted: *wanted });
            }
            results.push(match judged {
                Ok(_) => result(*index, ErrorCode::None, None),
                Err((error, why)) => result(*index, error, Some(why)),
            });
        }
        let result = ReplicaElectionResult { topic: name.to_owned(), partition_result: results };
        self.response.replica_election_results.push(result);
    }

    /// Partitions that need no election are not told of.
    fn leave_out(&mut self) {
        let mut open = std::mem::take(&mut self.open).into_iter().peekable();
        for (topic_place, topic) in self.response.replica_election_results.iter_mut().enumerate() {
            let mut kept = Vec::new();
            for (place, result) in std::mem::take(&mut topic.partition_result).into_iter().enumerate() {
                if let Some(of) = open.next_if(|open| open.place == (topic_place, place)) {
                    self.open.push(Open { place: (topic_place, kept.len()), ..of });
                }
                if result.error_code != ErrorCode::ElectionNotNeeded.code() {
                    kept.push(result);
                }
            }
            topic.partition_result = kept;
        }
    }
}

/// What each partition that is named is told.
fn all_refused(
    request: &ElectLeadersRequest,
    error: ErrorCode,
    why: Option<&str>,
) -> Vec<ReplicaElectionResult> {
    let topics = request.topic_partitions.iter().flatten().map(|topic| ReplicaElectionResult {
        topic: topic.topic.clone(),
        partition_result: topic
            .partitions
            .iter()
            .map(|index| result(*index, error, why.map(String::from)))
            .collect(),
    });
    topics.collect()
}

fn result(partition_id: i32, error: ErrorCode, why: Option<String>) -> PartitionResult {
    PartitionResult { partition_id, error_code: error.code(), error_message: why }
}

/// Those of a partition's replicas that count.
fn voters(partition: &PartitionNode) -> impl Iterator<Item = i32> {
    partition.replicas.iter().copied().filter(|id| !partition.rest.learners.contains(id))
}

impl Node {
    /// Whether a broker is this one, or connected to it.
    pub(crate) fn reaches(&self, broker: i32) -> bool {
        broker == self.config.node_id || self.brokers.is_reached(broker)
    }

    fn judge_election(&self, (name, topic): (&str, Option<&TopicImage>), index: i32, kind: i8) -> Judged {
        let found =
            topic.and_then(|topic| Some((topic, topic.partitions.get(usize::try_from(index).ok()?)?)));
        let Some((topic, partition)) = found else {
            let why = format!("there is no partition {index} of a topic `{name}`");
            return Err((ErrorCode::UnknownTopicOrPartition, why));
        };
        match kind {
            PREFERRED => self.judge_preferred(topic, index, partition),
            _ => self.judge_unclean(partition),
        }
    }

    /// The preferred replica is the first.
    fn judge_preferred(&self, topic: &TopicImage, index: i32, partition: &PartitionNode) -> Judged {
        let first = partition.replicas.first().copied().unwrap_or(-1);
        if partition.leader == first && self.reaches(first) {
            return Err((ErrorCode::ElectionNotNeeded, String::from("the preferred replica leads")));
        }
        let states = self.in_sync.of(topic.partition(index), partition);
        match partition.is_replicated() && self.brokers.may_lead(first) && states.in_sync.contains(&first) {
            true => Ok(Wanted::Leader(first)),
            false => {
                let why =
                    format!("the preferred replica, {first}, is not alive, not in sync, or about to stop");
                Err((ErrorCode::PreferredLeaderNotAvailable, why))
            }
        }
    }

    /// Too few of the replicas that count are reached for a leader that has all that was acknowledged.
    fn judge_unclean(&self, partition: &PartitionNode) -> Judged {
        let (count, reached) =
            (voters(partition).count(), voters(partition).filter(|id| self.reaches(*id)).count());
        let needed = partition.record().map_or(1, |record| record.config.voters.fenced_min());
        let has_leader = self.reaches(partition.leader);
        if has_leader && (count == 1 || reached >= needed) {
            return Err((ErrorCode::ElectionNotNeeded, String::from("the partition has its leader")));
        }
        match reached > 0 && partition.is_replicated() {
            true => Ok(Wanted::Anyone(LeaderEpoch(partition.epoch.0))),
            false => Err((ErrorCode::EligibleLeadersNotAvailable, String::from("no replica is alive"))),
        }
    }
}
