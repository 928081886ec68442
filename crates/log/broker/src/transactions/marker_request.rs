//! WriteTxnMarkers: somebody other than the coordinator ends what is open of a producer. Administrators do so with a transaction
//! that its coordinator does not know (KIP-664).

use std::collections::BTreeMap;
use std::sync::Arc;

use log_coordinators::{Participant, Ticket, Topic};
use log_partition::{CoordinatorEpoch, Marker, ProducerEpoch, ProducerId, TransactionVersion};
use log_wire::messages::transactions::{
    WritableTxnMarker, WritableTxnMarkerPartitionResult, WritableTxnMarkerResult,
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
        for (number, asked) in request.markers.iter().enumerate() {
            let result = results(asked);
            let places = result.topics.iter().enumerate().flat_map(|(topic, result)| {
                (0..result.partitions.len()).map(move |partition| (number, topic, partition))
            });
            let places: Vec<Place> = places.collect();
            pending.response.markers.push(result);
            for place in places {
                let found = match is_large || asked.producer_id < 0 || asked.producer_epoch < 0 {
                    true => Err(ErrorCode::InvalidRequest),
                    false => participant(&node.catalog, asked, place),
                };
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

fn partitions_of(topic: &log_wire::messages::transactions::WritableTxnMarkerTopic) -> usize {
    topic.partition_indexes.len()
}

fn results(asked: &WritableTxnMarker) -> WritableTxnMarkerResult {
    let topics = asked.topics.iter().map(|topic| WritableTxnMarkerTopicResult {
        name: topic.name.clone(),
        partitions: topic
            .partition_indexes
            .iter()
            .map(|index| WritableTxnMarkerPartitionResult { partition_index: *index, error_code: 0 })
            .collect(),
    });
    WritableTxnMarkerResult { producer_id: asked.producer_id, topics: topics.collect() }
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

fn participant(
    catalog: &Catalog,
    asked: &WritableTxnMarker,
    (_, topic, partition): Place,
) -> Result<Participant, ErrorCode> {
    let topic = asked.topics.get(topic).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    let index = *topic.partition_indexes.get(partition).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    if topic.name == OFFSETS.name {
        return Ok(Participant::Offsets(index));
    }
    let image = catalog.find(TopicName::Name(&topic.name))?;
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
