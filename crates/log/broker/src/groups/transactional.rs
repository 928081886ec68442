//! Offsets that a transaction commits: TxnOffsetCommit, and the markers that decide about them.
//!
//! The group's coordinator cannot know whether the transaction is open. It takes a guard first, the transaction's coordinator is
//! asked, and only then the offsets become pending: if a marker came in between, the guard is another one by now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::Now;
use log_coordinators::{
    Answer, NewOffset, Offset, Participant, Producer, Request, Ticket, TransactionRef, TxnOffsetCommit,
    VerifyPartitions,
};
use log_partition::{Marker, ProducerEpoch, ProducerId};
use log_wire::messages::transactions::{
    TxnOffsetCommitRequest, TxnOffsetCommitResponse, TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
};
use log_wire::{ApiKey, ErrorCode, TopicName};
use net_event_loop::ConnId;

use super::Groups;
use super::call::Kind;
use super::requests::{asks_nothing, known_partition, member, text};
use super::topics_view::TopicsView;
use crate::call::Caller;
use crate::client::Client;
use crate::coordinators::OFFSETS;
use crate::node::Node;
use crate::question::{Asker, Question, Verdict};
use crate::response::{Form, Response};
use crate::rights::{By, GROUP_READ, TOPIC_READ, TRANSACTION_WRITE};
use crate::waits::Waiter;

/// The first versions that know `COORDINATOR_LOAD_IN_PROGRESS` and `TRANSACTION_ABORTABLE`, and the first that adds the offsets
/// to the transaction by itself (KIP-890).
const KNOWS_LOADING: i16 = 2;
const KNOWS_ABORTABLE: i16 = 4;
const ADDS: i16 = 5;

/// The response as far as it is known: partitions without an error have theirs from the coordinator, in order.
#[derive(Debug)]
pub(crate) struct TxnCommitPlan(TxnOffsetCommitResponse);

/// A request that waits for the transaction's coordinator.
#[derive(Debug)]
struct Unverified {
    /// Who asks.
    client: Arc<Client>,
    partition: i32,
    form: Form,
    plan: TxnCommitPlan,
    commit: TxnOffsetCommit,
}

/// What waits here. See the module.
#[derive(Debug, Default)]
pub(crate) struct Transactional {
    unverified: BTreeMap<Waiter, Unverified>,
    /// Markers that are with a coordinator.
    ending: BTreeSet<Ticket>,
    /// Those that it has answered.
    ended: Vec<(Ticket, Answer)>,
}

impl Transactional {
    /// If a marker has that ticket, it has its answer.
    pub(super) fn is_ended(&mut self, ticket: Ticket, answer: &Answer) -> bool {
        let is_marker = self.ending.remove(&ticket);
        if is_marker {
            self.ended.push((ticket, answer.clone()));
        }
        is_marker
    }

    /// A connection is gone: nobody waits any more for what it asked for.
    pub(super) fn disconnected(&mut self, shard: u16, conn: ConnId) {
        self.unverified.retain(|waiter, _| waiter.shard != shard || waiter.conn != conn);
    }
}

impl Groups {
    /// Handles a request.
    pub(super) fn txn_offset_commit(
        &mut self,
        node: &mut Node,
        request: &TxnOffsetCommitRequest,
        of: Caller<'_>,
    ) -> Option<Response> {
        let version = of.form.version;
        let (mut plan, offsets) = plan(node, of.by, request);
        if offsets.is_empty() {
            return Some(of.form.response(&plan.0));
        }
        let found = if request.group_id.is_empty() {
            Err(ErrorCode::InvalidGroupId)
        } else {
            self.coordinators.here(&node.catalog, &request.group_id)
        };
        let partition = match found {
            Ok(partition) => partition,
            Err(error) => {
                plan.fail(known(error, version));
                return Some(of.form.response(&plan.0));
            }
        };
        let id = ProducerId(request.producer_id);
        let producer = Producer { id, epoch: ProducerEpoch(request.producer_epoch) };
        let guard = self.coordinators.get(partition).map(|machine| machine.transaction_guard(id));
        let who = member(
            &request.group_id,
            &request.member_id,
            request.group_instance_id.as_deref(),
            request.generation_id,
        );
        let commit = TxnOffsetCommit { who, producer, guard: guard.unwrap_or_default(), offsets };
        let client = Arc::clone(of.by.client);
        let unverified = Unverified { client, partition, form: of.form, plan, commit };
        self.transactional.unverified.insert(of.waiter, unverified);
        let who = TransactionRef { transactional_id: text(&request.transactional_id), producer };
        let partitions = vec![Participant::Offsets(partition)];
        let verify = VerifyPartitions { who, partitions, add: version >= ADDS };
        node.questions.push(Question { asker: Asker::Offsets(of.waiter), verify });
        None
    }

    /// The transaction's coordinator has said whether the offsets may be committed in it.
    pub(crate) fn verified(&mut self, node: &mut Node, waiter: Waiter, verdict: &Verdict, now: Now) {
        let Some(unverified) = self.transactional.unverified.remove(&waiter) else { return };
        let Unverified { client, partition, form, mut plan, commit } = unverified;
        let error = match verdict {
            _ if self.coordinators.get(partition).is_none() => ErrorCode::NotCoordinator,
            Ok(codes) => codes.first().copied().unwrap_or_default(),
            // It is not this group's coordinator that is elsewhere.
            Err(ErrorCode::NotCoordinator) => ErrorCode::CoordinatorNotAvailable,
            Err(error) => *error,
        };
        let response = if error == ErrorCode::None {
            let by = By { client: &client, api: ApiKey::TxnOffsetCommit };
            let of = Caller { by, waiter, form, client_id: "", client_host: &client.host };
            self.call(node, Kind::TxnCommit(plan), vec![(Ok(partition), Request::TxnCommit(commit))], of, now)
        } else {
            plan.fail(known(error, form.version));
            Some(form.response(&plan.0))
        };
        if let Some(response) = response {
            node.reply(waiter, response);
        }
    }

    /// A transaction ends: what it has pending in the groups of a partition is committed, or dropped. That is told under the
    /// same ticket once everybody sees it (L45).
    pub(crate) fn end_transaction(
        &mut self,
        node: &mut Node,
        ticket: Ticket,
        partition: i32,
        marker: Marker,
        now: Now,
    ) {
        if let Some(machine) = self.coordinators.get_mut(partition) {
            self.transactional.ending.insert(ticket);
            let topics = TopicsView { node, client: None };
            machine.handle(Request::EndTransaction(marker), ticket, &topics, now);
            return self.take_effects(node, partition, now);
        }
        let topic = node.catalog.find(TopicName::Name(OFFSETS.name)).ok();
        let place = usize::try_from(partition).ok();
        let is_known = topic.zip(place).is_some_and(|(topic, at)| at < topic.partitions.len());
        let error = if is_known { ErrorCode::NotCoordinator } else { ErrorCode::UnknownTopicOrPartition };
        self.transactional.ended.push((ticket, Answer::Failed(error)));
    }

    /// Takes what became of markers.
    pub(crate) fn take_ended(&mut self) -> Vec<(Ticket, Answer)> {
        std::mem::take(&mut self.transactional.ended)
    }
}

impl TxnCommitPlan {
    /// The response, with the answer of the group's coordinator.
    pub(super) fn committed(&self, answer: &Answer, version: i16) -> TxnOffsetCommitResponse {
        let mut plan = Self(self.0.clone());
        match answer {
            Answer::Each(codes) => plan.fill(codes.iter().copied()),
            Answer::Failed(error) => plan.fail(known(*error, version)),
            _ => plan.fail(ErrorCode::UnknownServerError),
        }
        plan.0
    }

    fn fail(&mut self, error: ErrorCode) {
        self.fill(std::iter::repeat(error));
    }

    fn fill(&mut self, codes: impl Iterator<Item = ErrorCode>) {
        let asked = self.0.topics.iter_mut().flat_map(|topic| &mut topic.partitions);
        for (partition, error) in asked.filter(|partition| partition.error_code == 0).zip(codes) {
            partition.error_code = error.code();
        }
    }
}

/// The error as clients of TxnOffsetCommit know it.
const fn known(error: ErrorCode, version: i16) -> ErrorCode {
    match error {
        // Another producer has followed, or the coordinator itself after a timeout.
        ErrorCode::ProducerFenced | ErrorCode::UnknownProducerId => ErrorCode::InvalidProducerEpoch,
        ErrorCode::TransactionAbortable if version < KNOWS_ABORTABLE => ErrorCode::InvalidTxnState,
        ErrorCode::CoordinatorLoadInProgress if version < KNOWS_LOADING => ErrorCode::CoordinatorNotAvailable,
        error => error,
    }
}

/// The response as far as it is known, and what is asked of the coordinator.
fn plan(node: &Node, by: By<'_>, request: &TxnOffsetCommitRequest) -> (TxnCommitPlan, Vec<NewOffset>) {
    let (mut plan, mut offsets) = (TxnOffsetCommitResponse::default(), Vec::new());
    let may = node.may(by, TRANSACTION_WRITE, &request.transactional_id);
    let may = may.and_then(|()| node.may(by, GROUP_READ, &request.group_id));
    for topic in &request.topics {
        let may = may.and_then(|()| node.may(by, TOPIC_READ, &topic.name));
        if may.is_ok() && asks_nothing(&node.catalog, TopicName::Name(&topic.name), topic.partitions.len()) {
            continue;
        }
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for wanted in &topic.partitions {
            let partition_index = wanted.partition_index;
            let name = TopicName::Name(&topic.name);
            let found = may.and_then(|()| known_partition(&node.catalog, name, partition_index));
            let error_code = found.as_ref().err().map_or(0, |error| error.code());
            partitions.push(TxnOffsetCommitResponsePartition { partition_index, error_code });
            offsets.extend(found.ok().map(|topic| NewOffset {
                topic,
                partition: partition_index,
                offset: Offset(wanted.committed_offset),
                leader_epoch: wanted.committed_leader_epoch,
                metadata: text(wanted.committed_metadata.as_deref().unwrap_or_default()),
            }));
        }
        plan.topics.push(TxnOffsetCommitResponseTopic { name: topic.name.clone(), partitions });
    }
    (TxnCommitPlan(plan), offsets)
}
