//! Requests of clients: from the form of the wire to the coordinators.

use std::sync::Arc;

use base::Now;
use log_coordinators::{
    AddPartitions, EndTransaction, InitProducerId, Participant, Pattern, Producer, Topic, TransactionAnswer,
    TransactionFilter, TransactionRef, TransactionRequest, VerifyPartitions,
};
use log_partition::{ProducerEpoch, ProducerId};
use log_wire::messages::transactions::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse,
    AddPartitionsToTxnTransaction, DescribeTransactionsRequest, EndTxnRequest, InitProducerIdRequest,
    ListTransactionsRequest,
};
use log_wire::{ErrorCode, TopicName};

use super::answers::{Added, Kind};
use super::{Transactions, text};
use crate::call::Caller;
use crate::catalog::{Catalog, is_internal};
use crate::coordinators::OFFSETS;
use crate::node::Node;
use crate::response::Response;
use crate::rights::{By, CLUSTER_ACTION, GROUP_READ, TOPIC_WRITE, TRANSACTION_DESCRIBE, TRANSACTION_WRITE};

/// The first version of AddPartitionsToTxn that brokers use, for many transactions.
const OF_BROKERS: i16 = 4;
/// In place of a producer id, and of an epoch: none.
const NONE: (i64, i16) = (-1, -1);

/// A part of a request: where it goes, or what it is answered with.
type Part = Result<(i32, TransactionRequest), TransactionAnswer>;

impl Transactions {
    /// Handles a request.
    pub(super) fn init(
        &mut self,
        node: &mut Node,
        request: &InitProducerIdRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let id = request.transactional_id.as_deref().unwrap_or_default();
        if let Err(error) = node.may(of.by, TRANSACTION_WRITE, id) {
            return self.call(node, Kind::Init, vec![Err(TransactionAnswer::Failed(error))], of, now);
        }
        let producer = match (request.producer_id, request.producer_epoch) {
            NONE => None,
            (id, epoch) if id == NONE.0 || epoch == NONE.1 => {
                let failed = TransactionAnswer::Failed(ErrorCode::InvalidRequest);
                return self.call(node, Kind::Init, vec![Err(failed)], of, now);
            }
            (id, epoch) => Some(producer(id, epoch)),
        };
        let timeout_ms = request.transaction_timeout_ms;
        let init = InitProducerId { transactional_id: text(id), timeout_ms, producer };
        self.call_one(node, Kind::Init, (id, TransactionRequest::Init(init)), of, now)
    }

    /// Handles a request.
    pub(super) fn add_partitions(
        &mut self,
        node: &mut Node,
        request: AddPartitionsToTxnRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let of_client = of.form.version < OF_BROKERS;
        if !of_client && let Err(error) = node.may_on_cluster(of.by, CLUSTER_ACTION) {
            let error_code = error.code();
            let refused = AddPartitionsToTxnResponse { error_code, ..AddPartitionsToTxnResponse::default() };
            return Some(of.form.response(&refused));
        }
        let transactions = if of_client {
            vec![AddPartitionsToTxnTransaction {
                transactional_id: request.v3_and_below_transactional_id,
                producer_id: request.v3_and_below_producer_id,
                producer_epoch: request.v3_and_below_producer_epoch,
                verify_only: false,
                topics: request.v3_and_below_topics,
            }]
        } else {
            request.transactions
        };
        let parts: Vec<Part> =
            transactions.iter().map(|asked| self.add_part(node, asked, (of.by, of_client))).collect();
        let asked = transactions.into_iter().zip(&parts).map(|(asked, part)| Added {
            transactional_id: asked.transactional_id,
            is_by_partition: asked.verify_only || matches!(part, Err(TransactionAnswer::Each(_))),
            topics: asked.topics.into_iter().map(|topic| (topic.name, topic.partitions)).collect(),
        });
        let kind = Kind::AddPartitions(asked.collect());
        self.call(node, kind, parts, of, now)
    }

    /// All partitions of one transaction, or none.
    fn add_part(
        &self,
        node: &Node,
        asked: &AddPartitionsToTxnTransaction,
        (by, of_client): (By<'_>, bool),
    ) -> Part {
        if of_client {
            let may = node.may(by, TRANSACTION_WRITE, &asked.transactional_id);
            may.map_err(TransactionAnswer::Failed)?;
        }
        let named = asked.topics.iter().flat_map(|topic| {
            let name = &topic.name;
            let may = if of_client { may_add(node, by, name) } else { Ok(()) };
            let index = topic.partitions.iter();
            index.map(move |index| may.and_then(|()| participant(&node.catalog, name, *index)))
        });
        let found: Vec<Result<Participant, ErrorCode>> = named.collect();
        if found.iter().any(Result::is_err) {
            let code = |found: &Result<_, _>| found.as_ref().err().copied();
            let codes = found.iter().map(|found| code(found).unwrap_or(ErrorCode::OperationNotAttempted));
            return Err(TransactionAnswer::Each(codes.collect()));
        }
        let partitions: Vec<Participant> = found.into_iter().flatten().collect();
        let who = who(&asked.transactional_id, asked.producer_id, asked.producer_epoch);
        let request = if asked.verify_only {
            TransactionRequest::Verify(VerifyPartitions { who, partitions, add: false })
        } else {
            let partitions = partitions.into_iter().map(|partition| (partition, ErrorCode::None)).collect();
            TransactionRequest::Add(AddPartitions { who, partitions })
        };
        let at = self.coordinator_of(node, &asked.transactional_id).map_err(TransactionAnswer::Failed)?;
        Ok((at, request))
    }

    /// Handles a request. The internal topic of groups is made if it is not there.
    pub(super) fn add_offsets(
        &mut self,
        node: &mut Node,
        request: &AddOffsetsToTxnRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let id = request.transactional_id.as_str();
        let may = node.may(of.by, TRANSACTION_WRITE, id);
        if let Err(error) = may.and_then(|()| node.may(of.by, GROUP_READ, &request.group_id)) {
            return self.call(node, Kind::AddOffsets, vec![Err(TransactionAnswer::Failed(error))], of, now);
        }
        let Some(partition) = OFFSETS.partition_of(&node.catalog, &request.group_id) else {
            OFFSETS.make(node);
            let failed = TransactionAnswer::Failed(ErrorCode::CoordinatorNotAvailable);
            return self.call(node, Kind::AddOffsets, vec![Err(failed)], of, now);
        };
        let who = who(id, request.producer_id, request.producer_epoch);
        let request = TransactionRequest::AddOffsets(who, partition);
        self.call_one(node, Kind::AddOffsets, (id, request), of, now)
    }

    /// Handles a request.
    pub(super) fn end(
        &mut self,
        node: &mut Node,
        request: &EndTxnRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let id = request.transactional_id.as_str();
        let who = who(id, request.producer_id, request.producer_epoch);
        let end = EndTransaction { who, commit: request.committed, version: of.form.version };
        self.call_one(node, Kind::End, (id, TransactionRequest::End(end)), of, now)
    }

    /// Handles a request.
    pub(super) fn describe(
        &mut self,
        node: &mut Node,
        request: DescribeTransactionsRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let part = |id: &String| -> Part {
            let may = node.may(of.by, TRANSACTION_DESCRIBE, id);
            let at = may.and_then(|()| self.coordinator_of(node, id)).map_err(TransactionAnswer::Failed)?;
            Ok((at, TransactionRequest::Describe(vec![text(id)])))
        };
        let parts = request.transactional_ids.iter().map(part).collect();
        self.call(node, Kind::Describe(request.transactional_ids), parts, of, now)
    }

    /// Handles a request: of all transactions whose coordinators live here.
    pub(super) fn list(
        &mut self,
        node: &mut Node,
        request: &ListTransactionsRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let asked = request.transactional_id_pattern.as_deref().filter(|pattern| !pattern.is_empty());
        let compiled_bytes_max = node.config.groups.consumer.regex_compiled_bytes_max;
        let Ok(pattern) = asked.map(|pattern| Pattern::new(pattern, compiled_bytes_max)).transpose() else {
            let failed = TransactionAnswer::Failed(ErrorCode::InvalidRegularExpression);
            return self.call(node, Kind::List(Vec::new()), vec![Err(failed)], of, now);
        };
        let filter = TransactionFilter {
            pattern,
            states: request.state_filters.iter().map(|state| text(state)).collect(),
            producer_ids: request.producer_id_filters.iter().copied().map(ProducerId).collect(),
            duration_ms: Some(request.duration_filter).filter(|duration| *duration >= 0),
        };
        let unknown = filter.unknown_states().map(|state| state.to_string()).collect();
        let parts = self.coordinators.partitions();
        let parts = parts.map(|at| Ok((at, TransactionRequest::List(filter.clone())))).collect();
        self.call(node, Kind::List(unknown), parts, of, now)
    }
}

fn producer(id: i64, epoch: i16) -> Producer {
    Producer { id: ProducerId(id), epoch: ProducerEpoch(epoch) }
}

fn who(transactional_id: &str, id: i64, epoch: i16) -> TransactionRef {
    TransactionRef { transactional_id: text(transactional_id), producer: producer(id, epoch) }
}

/// Whether a client may add partitions of a topic. No client may add those of an internal one.
fn may_add(node: &Node, by: By<'_>, topic: &str) -> Result<(), ErrorCode> {
    if is_internal(topic) { Err(TOPIC_WRITE.lack) } else { node.may(by, TOPIC_WRITE, topic) }
}

/// A partition that a request names.
///
/// # Errors
/// `UNKNOWN_TOPIC_OR_PARTITION`.
fn participant(catalog: &Catalog, topic: &str, index: i32) -> Result<Participant, ErrorCode> {
    let image = catalog.find(TopicName::Name(topic))?;
    let place = usize::try_from(index).ok();
    place.and_then(|at| image.partitions.get(at)).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    if topic == OFFSETS.name {
        return Ok(Participant::Offsets(index));
    }
    Ok(Participant::Partition(Topic { name: Arc::clone(&image.name), id: image.id }, index))
}
