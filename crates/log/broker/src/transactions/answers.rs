//! Answers of coordinators: back to the form of the wire, with the errors that a version of a request knows.

use std::sync::Arc;

use log_coordinators::{
    Participant, Producer, TransactionAnswer, TransactionDescription, TransactionListing,
};
use log_wire::messages::transactions::{
    AddOffsetsToTxnResponse, AddPartitionsToTxnPartitionResult, AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult, AddPartitionsToTxnTopicResult, DescribeTransactionsResponse,
    DescribedTransaction, EndTxnResponse, InitProducerIdResponse, ListTransactionsResponse,
    ListedTransaction, TopicData,
};
use log_wire::{ApiKey, ErrorCode};

use crate::client::Client;
use crate::coordinators::OFFSETS;
use crate::node::Node;
use crate::response::{Form, Response};
use crate::rights::{By, TOPIC_DESCRIBE, TRANSACTION_DESCRIBE};

/// The first versions that know `PRODUCER_FENCED`.
const INIT_KNOWS_FENCED: i16 = 4;
const KNOWS_FENCED: i16 = 2;
/// The first version of AddPartitionsToTxn with many transactions.
const MANY: i16 = 4;

/// A request whose parts are with coordinators.
#[derive(Debug)]
pub(super) struct TransactionCall {
    pub(super) form: Form,
    /// Who asks.
    pub(super) client: Arc<Client>,
    pub(super) kind: Kind,
}

/// What is needed to write the answer.
#[derive(Debug)]
pub(super) enum Kind {
    Init,
    /// One part for each transaction.
    AddPartitions(Vec<Added>),
    AddOffsets,
    End,
    /// The transactional id of each part.
    Describe(Vec<String>),
    /// States of the filter that do not exist; one part for each coordinator.
    List(Vec<String>),
}

/// The partitions of one transaction, by topic.
#[derive(Debug)]
pub(super) struct Added {
    pub(super) transactional_id: String,
    /// Whether each partition has an answer of its own, and topics without partitions have none.
    pub(super) is_by_partition: bool,
    pub(super) topics: Vec<(String, Vec<i32>)>,
}

impl TransactionCall {
    /// The response, once all parts have their answers.
    pub(super) fn response(
        self,
        node: &Node,
        mut parts: impl Iterator<Item = TransactionAnswer>,
    ) -> Response {
        let Self { form, client, kind } = self;
        let by = |api| By { client: &client, api };
        match kind {
            Kind::AddPartitions(asked) => form.response(&added(asked, parts, form.version)),
            Kind::Describe(ids) => {
                let by = by(ApiKey::DescribeTransactions);
                let may_see = |topic: &str| node.may(by, TOPIC_DESCRIBE, topic).is_ok();
                form.response(&described(ids, parts, may_see))
            }
            Kind::List(unknown) => {
                let by = by(ApiKey::ListTransactions);
                let may_see = |id: &str| node.may(by, TRANSACTION_DESCRIBE, id).is_ok();
                form.response(&listed(unknown, parts, may_see))
            }
            single => {
                let failed = TransactionAnswer::Failed(ErrorCode::CoordinatorNotAvailable);
                let answer = parts.next().unwrap_or(failed);
                match single {
                    Kind::Init => form.response(&initialized(&answer, form.version)),
                    Kind::End => form.response(&ended(&answer, form.version)),
                    _ => form.response(&AddOffsetsToTxnResponse {
                        error_code: known(code(&answer), form.version >= KNOWS_FENCED).code(),
                        ..AddOffsetsToTxnResponse::default()
                    }),
                }
            }
        }
    }
}

const fn code(answer: &TransactionAnswer) -> ErrorCode {
    if let TransactionAnswer::Failed(error) = answer { *error } else { ErrorCode::None }
}

/// The error as the version of the request knows it.
const fn known(error: ErrorCode, knows_fenced: bool) -> ErrorCode {
    match error {
        ErrorCode::ProducerFenced if !knows_fenced => ErrorCode::InvalidProducerEpoch,
        error => error,
    }
}

fn initialized(answer: &TransactionAnswer, version: i16) -> InitProducerIdResponse {
    let mut response = InitProducerIdResponse { producer_epoch: -1, ..InitProducerIdResponse::default() };
    if let TransactionAnswer::Initialized(Producer { id, epoch }) = answer {
        (response.producer_id, response.producer_epoch) = (id.0, epoch.0);
    }
    response.error_code = known(code(answer), version >= INIT_KNOWS_FENCED).code();
    response
}

fn ended(answer: &TransactionAnswer, version: i16) -> EndTxnResponse {
    let mut response = EndTxnResponse::default();
    if let TransactionAnswer::Ended(Producer { id, epoch }) = answer {
        (response.producer_id, response.producer_epoch) = (id.0, epoch.0);
    }
    response.error_code = known(code(answer), version >= KNOWS_FENCED).code();
    response
}

fn added(
    asked: Vec<Added>,
    parts: impl Iterator<Item = TransactionAnswer>,
    version: i16,
) -> AddPartitionsToTxnResponse {
    let mut response = AddPartitionsToTxnResponse::default();
    for (Added { transactional_id, is_by_partition, topics }, answer) in asked.into_iter().zip(parts) {
        let codes = if let TransactionAnswer::Each(codes) = &answer { codes.as_slice() } else { &[] };
        let mut codes = codes.iter().copied();
        let mut one = |partition_index| {
            let error = codes.next().unwrap_or_else(|| code(&answer));
            let error = match error {
                // What tells clients that only the transaction is lost tells brokers that the producer is an older one.
                ErrorCode::UnknownProducerId if version >= MANY => ErrorCode::ProducerFenced,
                error => known(error, version >= KNOWS_FENCED),
            };
            AddPartitionsToTxnPartitionResult { partition_index, partition_error_code: error.code() }
        };
        let results = topics.into_iter().map(|(name, partitions)| AddPartitionsToTxnTopicResult {
            name,
            results_by_partition: partitions.into_iter().map(&mut one).collect(),
        });
        let topic_results: Vec<_> =
            results.filter(|topic| !is_by_partition || !topic.results_by_partition.is_empty()).collect();
        if version >= MANY {
            let result = AddPartitionsToTxnResult { transactional_id, topic_results };
            response.results_by_transaction.push(result);
        } else {
            response.results_by_topic_v3_and_below = topic_results;
        }
    }
    response
}

fn described(
    ids: Vec<String>,
    parts: impl Iterator<Item = TransactionAnswer>,
    may_see: impl Fn(&str) -> bool,
) -> DescribeTransactionsResponse {
    let states = ids.into_iter().zip(parts).map(|(transactional_id, answer)| {
        let error_code = code(&answer).code();
        let mut described =
            DescribedTransaction { transactional_id, error_code, ..DescribedTransaction::default() };
        if let TransactionAnswer::Described(mut found) = answer {
            match found.pop() {
                Some(Ok(found)) => describe(&mut described, found, &may_see),
                Some(Err(error)) => described.error_code = error.code(),
                None => {}
            }
        }
        described
    });
    DescribeTransactionsResponse {
        transaction_states: states.collect(),
        ..DescribeTransactionsResponse::default()
    }
}

/// Topics that the client may not see are left out.
fn describe(
    described: &mut DescribedTransaction,
    found: TransactionDescription,
    may_see: &impl Fn(&str) -> bool,
) {
    described.transaction_state = found.state.into();
    described.transaction_timeout_ms = i32::try_from(found.timeout_ms).unwrap_or(i32::MAX);
    described.transaction_start_time_ms = found.started_at.map_or(-1, |at| at.ms());
    (described.producer_id, described.producer_epoch) = (found.producer.id.0, found.producer.epoch.0);
    for participant in &found.participants {
        let (name, index) = match participant {
            Participant::Partition(topic, index) => (&*topic.name, *index),
            Participant::Offsets(index) => (OFFSETS.name, *index),
        };
        if !may_see(name) {
            continue;
        }
        let topics = &mut described.topics;
        if topics.last().is_none_or(|last| last.topic != name) {
            topics.push(TopicData { topic: name.into(), partitions: Vec::new() });
        }
        if let Some(last) = topics.last_mut() {
            last.partitions.push(index);
        }
    }
}

/// Transactions that the client may not see are left out.
fn listed(
    unknown_state_filters: Vec<String>,
    parts: impl Iterator<Item = TransactionAnswer>,
    may_see: impl Fn(&str) -> bool,
) -> ListTransactionsResponse {
    let mut response =
        ListTransactionsResponse { unknown_state_filters, ..ListTransactionsResponse::default() };
    for answer in parts {
        match answer {
            TransactionAnswer::Listed(found) => {
                let seen = found.iter().filter(|one| may_see(&one.transactional_id));
                response.transaction_states.extend(seen.map(listing));
            }
            failed => response.error_code = code(&failed).code(),
        }
    }
    if response.error_code != 0 {
        (response.unknown_state_filters, response.transaction_states) = (Vec::new(), Vec::new());
    }
    response
}

fn listing(found: &TransactionListing) -> ListedTransaction {
    ListedTransaction {
        transactional_id: found.transactional_id.to_string(),
        producer_id: found.producer_id.0,
        transaction_state: found.state.into(),
    }
}
