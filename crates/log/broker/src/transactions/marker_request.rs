//! WriteTxnMarkers: somebody other than the coordinator ends what is open of a producer. Administrators do so with a transaction
//! that its coordinator does not know (KIP-664).

use std::collections::BTreeMap;
use std::sync::Arc;

use log_coordinators::{Participant, Ticket, Topic};
use log_partition::{CoordinatorEpoch, Marker, ProducerEpoch, ProducerId, TransactionVersion};
use log_wire::messages::transactions::{
    WritableTxnMarker, WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopic,
    WritableTxnMarkerTopicResult, WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};
use log_wire::{ErrorCode, TopicName};
use net_event_loop::ConnId;

use super::{TransactionEvent, Transactions};
use crate::call::Caller;
use crate::catalog::Catalog;
use crate::coordinators::OFFSETS;
use crate::node::Node;
use crate::response::{Form, Response};
use crate::rights::CLUSTER_ALTER_OR_ACT;
use crate::waits::Waiter;

/// The transaction version from which on each transaction has an epoch of its own.
const EPOCH_PER_TRANSACTION: i8 = 2;

/// Where a result stands in a response: marker, topic and partition.
type Place = (usize, usize, usize);

#[derive(Debug)]
struct Pending {
    form: Form,
    response: WriteTxnMarkersResponse,
    missing: usize,
}

/// Requests whose markers are on their way. See the module.
#[derive(Debug, Default)]
pub(super) struct MarkerRequests {
    waiting: BTreeMap<Waiter, Pending>,
    tickets: BTreeMap<Ticket, (Waiter, Place)>,
}

impl MarkerRequests {
    /// A marker is committed, or will not be written. Gives the response once all of its request are.
    pub(super) fn written(
        &mut self,
        ticket: Ticket,
        result: Result<(), ErrorCode>,
    ) -> Option<(Waiter, Response)> {
        let (waiter, place) = self.tickets.remove(&ticket)?;
        let pending = self.waiting.get_mut(&waiter)?;
        if let (Err(error), Some(partition)) = (result, at(&mut pending.response, place)) {
            partition.error_code = seen_from_outside(error).code();
        }
        pending.missing -= 1;
        if pending.missing > 0 {
            return None;
        }
        let Pending { form, response, .. } = self.waiting.remove(&waiter)?;
        Some((waiter, form.response(&response)))
    }

    /// A connection is gone: nobody waits any more for what it asked for.
    pub(super) fn disconnected(&mut self, shard: u16, conn: ConnId) {
        self.waiting.retain(|waiter, _| waiter.shard != shard || waiter.conn != conn);
    }
}

impl Transactions {
    /// Handles a request.
    pub(super) fn write_markers(
        &mut self,
        node: &mut Node,
        request: &WriteTxnMarkersRequest,
        of: Caller<'_>,
    ) -> Option<Response> {
        let mut pending = Pending { form: of.form, response: WriteTxnMarkersResponse::default(), missing: 0 };
        let named: usize = request.markers.iter().flat_map(|marker| &marker.topics).map(partitions_of).sum();
        let is_large = named > node.config.transactions.names_per_request_max;
        let may = node.may_on_cluster(of.by, CLUSTER_ALTER_OR_ACT);
        for asked in &request.markers {
            let is_empty = asked.topics.iter().all(|topic| partitions_of(topic) == 0);
            // Only a client that lacks the right is told of a marker for nothing.
            if is_empty && may.is_ok() {
                continue;
            }
            for (place, asked_partition) in add_results(&mut pending.response, asked) {
                let found = may.and_then(|()| match is_large {
                    true => Err(ErrorCode::InvalidRequest),
                    false => participant(&node.catalog, asked_partition),
                });
                // Kafka looks for the partition first.
                let is_bad = asked.producer_id < 0 || asked.producer_epoch < 0;
                let found = found.and_then(|found| match is_bad {
                    true => Err(ErrorCode::InvalidRequest),
                    false => Ok(found),
                });
                match found {
                    Ok(participant) => {
                        let ticket = node.ticket();
                        self.marker_requests.tickets.insert(ticket, (of.waiter, place));
                        self.events.push_back(TransactionEvent::Marker(ticket, participant, marker(asked)));
                        pending.missing += 1;
                    }
                    Err(error) => {
                        if let Some(partition) = at(&mut pending.response, place) {
                            partition.error_code = error.code();
                        }
                    }
                }
            }
        }
        if pending.missing == 0 {
            return Some(of.form.response(&pending.response));
        }
        self.marker_requests.waiting.insert(of.waiter, pending);
        None
    }
}

fn partitions_of(topic: &WritableTxnMarkerTopic) -> usize {
    topic.partition_indexes.len()
}

/// Adds the results of a marker to those of its producer. Gives the place of each, and what was asked there.
fn add_results<'r>(
    response: &mut WriteTxnMarkersResponse,
    asked: &'r WritableTxnMarker,
) -> Vec<(Place, (&'r str, i32))> {
    let markers = &mut response.markers;
    let number = markers.iter().position(|of| of.producer_id == asked.producer_id).unwrap_or_else(|| {
        let producer_id = asked.producer_id;
        markers.push(WritableTxnMarkerResult { producer_id, ..WritableTxnMarkerResult::default() });
        markers.len() - 1
    });
    let Some(result) = markers.get_mut(number) else { return Vec::new() };
    let mut places = Vec::new();
    for topic in asked.topics.iter().filter(|topic| partitions_of(topic) > 0) {
        let indexes = topic.partition_indexes.iter().enumerate();
        let named =
            indexes.map(|(place, index)| ((number, result.topics.len(), place), (&*topic.name, *index)));
        places.extend(named);
        let partitions = topic.partition_indexes.iter();
        let partitions = partitions
            .map(|index| WritableTxnMarkerPartitionResult { partition_index: *index, error_code: 0 })
            .collect();
        result.topics.push(WritableTxnMarkerTopicResult { name: topic.name.clone(), partitions });
    }
    places
}

fn at(
    response: &mut WriteTxnMarkersResponse,
    (marker, topic, partition): Place,
) -> Option<&mut WritableTxnMarkerPartitionResult> {
    response.markers.get_mut(marker)?.topics.get_mut(topic)?.partitions.get_mut(partition)
}

const fn marker(asked: &WritableTxnMarker) -> Marker {
    Marker {
        producer_id: ProducerId(asked.producer_id),
        epoch: ProducerEpoch(asked.producer_epoch),
        // An administrator sends -1 if the partition has had no marker of this producer.
        coordinator_epoch: CoordinatorEpoch(if asked.coordinator_epoch < 0 {
            0
        } else {
            asked.coordinator_epoch
        }),
        commit: asked.transaction_result,
        version: if asked.transaction_version >= EPOCH_PER_TRANSACTION {
            TransactionVersion::EpochPerTransaction
        } else {
            TransactionVersion::Classic
        },
    }
}

fn participant(catalog: &Catalog, (topic, index): (&str, i32)) -> Result<Participant, ErrorCode> {
    if topic == OFFSETS.name {
        return Ok(Participant::Offsets(index));
    }
    let image = catalog.find(TopicName::Name(topic))?;
    Ok(Participant::Partition(Topic { name: Arc::clone(&image.name), id: image.id }, index))
}

/// A coordinator of groups that is not ready is a leader that is not, to whoever wants a marker written.
const fn seen_from_outside(error: ErrorCode) -> ErrorCode {
    match error {
        ErrorCode::CoordinatorNotAvailable
        | ErrorCode::CoordinatorLoadInProgress
        | ErrorCode::NotCoordinator => ErrorCode::NotLeaderOrFollower,
        ErrorCode::UnknownTopicId => ErrorCode::UnknownTopicOrPartition,
        error => error,
    }
}
