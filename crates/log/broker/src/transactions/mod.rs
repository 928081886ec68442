//! The transactions whose coordinators live here: requests of their clients, questions of other areas, and markers.
//!
//! A record may enter a partition only as part of a transaction that its coordinator knows to be open, and never behind the
//! transaction's marker (L43). Both follow from the order in which a coordinator's effects are done: what it answers to a
//! question and the markers that it wants written go out as [`TransactionEvent`]s, one behind the other, and each is done before
//! the next.

mod answers;
mod effects;
mod marker_request;
mod markers;
mod producers;
mod questions;
mod requests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use base::{MonoTime, Now};
use log_coordinators::{
    Answer, Participant, Text, Ticket, TransactionAnswer, TransactionCoordinator, TransactionEffect,
    TransactionRequest,
};
use log_partition::{CoordinatorEpoch, Marker};
use log_wire::messages::transactions::InitProducerIdRequest;
use log_wire::{ApiKey, ErrorCode, Malformed};
use net_event_loop::ConnId;

use crate::call::{Call, Caller, Handled};
use crate::coordinators::{Calls, CoordinatorLoad, Coordinators, LoadOf, Parts, TRANSACTIONS};
use crate::node::Node;
use crate::partitions::Slot;
use crate::question::{Asker, PeerAsker, Question, Verdict};
use crate::response::Response;
use crate::rights::TRANSACTION_WRITE;
use crate::segment_reader::SegmentFault;
use answers::{Kind, TransactionCall};
use marker_request::MarkerRequests;
use markers::{Markers, Sent};
use questions::Questions;

/// What is served here, besides InitProducerId with a transactional id.
pub(crate) const SERVED: &[ApiKey] = &[
    ApiKey::AddPartitionsToTxn,
    ApiKey::AddOffsetsToTxn,
    ApiKey::EndTxn,
    ApiKey::WriteTxnMarkers,
    ApiKey::DescribeProducers,
    ApiKey::DescribeTransactions,
    ApiKey::ListTransactions,
];

/// What other areas have to do, in this order.
#[derive(Debug)]
pub(crate) enum TransactionEvent {
    /// A question has its answer.
    Answered(Asker, Verdict),
    /// A marker is to be written. What became of it is told by its ticket.
    Marker(Ticket, Participant, Marker),
    /// What became of a marker that another broker wanted written.
    Written(PeerAsker, Result<(), ErrorCode>),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Transactions {
    coordinators: Coordinators<TransactionCoordinator>,
    /// Requests whose parts are with coordinators.
    calls: Calls<TransactionCall, TransactionAnswer>,
    questions: Questions,
    markers: Markers,
    marker_requests: MarkerRequests,
    /// Markers that other brokers want written.
    of_peers: BTreeMap<Ticket, PeerAsker>,
    /// Coordinators that wait for producer ids.
    without_ids: BTreeSet<i32>,
    events: VecDeque<TransactionEvent>,
}

impl Transactions {
    pub(crate) fn new() -> Self {
        Self {
            coordinators: Coordinators::new(&TRANSACTIONS),
            calls: Calls::new(),
            questions: Questions::default(),
            markers: Markers::default(),
            marker_requests: MarkerRequests::default(),
            of_peers: BTreeMap::new(),
            without_ids: BTreeSet::new(),
            events: VecDeque::new(),
        }
    }

    /// Handles a request.
    ///
    /// # Errors
    /// It is malformed.
    pub(crate) fn dispatch(
        &mut self,
        node: &mut Node,
        key: ApiKey,
        mut call: Call<'_>,
    ) -> Result<Handled, Malformed> {
        let (of, now) = (call.caller(), call.now);
        Ok(Handled::of(match key {
            ApiKey::AddPartitionsToTxn => self.add_partitions(node, call.body()?, of, now),
            ApiKey::AddOffsetsToTxn => self.add_offsets(node, &call.body()?, of, now),
            ApiKey::EndTxn => self.end(node, &call.body()?, of, now),
            ApiKey::WriteTxnMarkers => self.write_markers(node, &call.body()?, of),
            ApiKey::DescribeTransactions => self.describe(node, call.body()?, of, now),
            ApiKey::ListTransactions => self.list(node, &call.body()?, of, now),
            _ => Some(call.form.response(&producers::describe(node, of.by, call.body()?))),
        }))
    }

    /// Handles an InitProducerId with a transactional id.
    pub(crate) fn init_producer_id(
        &mut self,
        node: &mut Node,
        request: &InitProducerIdRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Handled {
        Handled::of(self.init(node, request, of, now))
    }

    /// Makes the internal topic if it is not there.
    pub(crate) fn make_topic(&self, node: &mut Node) {
        self.coordinators.make_topic(node);
    }

    /// The broker that coordinates a transactional id.
    ///
    /// # Errors
    /// `COORDINATOR_NOT_AVAILABLE`.
    pub(crate) fn broker_of(&self, node: &Node, transactional_id: &str) -> Result<i32, ErrorCode> {
        self.coordinators.broker_of(node, transactional_id)
    }

    /// What a coordinator wants to read next. It is answered with [`Self::loaded`].
    pub(crate) fn next_load(&self, node: &Node) -> Option<CoordinatorLoad> {
        self.coordinators.next_load(node, LoadOf::Transactions)
    }

    /// A coordinator gets what was read.
    pub(crate) fn loaded(
        &mut self,
        node: &mut Node,
        load: &CoordinatorLoad,
        read: Result<Vec<u8>, SegmentFault>,
        now: Now,
    ) {
        self.coordinators.loaded(node, load, read, now);
        self.turn(node, load.partition, now);
    }

    /// A partition is served here: if it is one of the internal topic, its coordinator begins.
    pub(crate) fn ready(&mut self, node: &Node, slot: Slot) {
        if let Some(partition) = self.coordinators.partition_in(node, slot)
            && let Some(hosted) = node.partitions.get(slot)
        {
            let epoch = CoordinatorEpoch(hosted.partition.epoch().0);
            let machine = TransactionCoordinator::new(node.config.transactions.clone(), epoch);
            self.without_ids.remove(&partition);
            self.coordinators.begin(node, slot, machine);
        }
    }

    /// Records of a partition are committed.
    pub(crate) fn committed(&mut self, node: &mut Node, slot: Slot, now: Now) {
        if let Some(partition) = self.coordinators.committed(node, slot, now) {
            self.turn(node, partition, now);
        }
        while let Some(ticket) = self.markers.next_committed(node, slot) {
            self.marker_done(node, ticket, Ok(()), now);
        }
    }

    /// A partition was still led here when that was asked.
    pub(crate) fn confirmed(&mut self, node: &mut Node, slot: Slot, now: Now) {
        if let Some(partition) = self.coordinators.partition_in(node, slot) {
            self.turn(node, partition, now);
        }
    }

    /// A partition is gone, with the markers that were on their way to it, and with its coordinator if it had one.
    pub(crate) fn gone(&mut self, node: &mut Node, slot: Slot, now: Now) {
        if let Some((partition, effects)) = self.coordinators.gone(slot) {
            self.without_ids.remove(&partition);
            self.markers.forget_coordinator(partition);
            for (question, _) in self.questions.take_waiting(partition) {
                self.conclude(question, Err(ErrorCode::NotCoordinator));
            }
            for effect in effects {
                if let TransactionEffect::Reply { ticket, answer } = effect {
                    self.answered(node, partition, ticket, answer, now);
                }
            }
        }
        while let Some(ticket) = self.markers.next_gone(slot) {
            self.marker_done(node, ticket, Err(ErrorCode::NotLeaderOrFollower), now);
        }
    }

    /// Another broker's coordinator wants a marker written here.
    pub(crate) fn write_for_peer(
        &mut self,
        node: &mut Node,
        asker: PeerAsker,
        (participant, marker): (Participant, Marker),
    ) {
        let ticket = node.ticket();
        self.of_peers.insert(ticket, asker);
        self.events.push_back(TransactionEvent::Marker(ticket, participant, marker));
    }

    /// Whether a coordinator that lives here has decided what a marker says.
    pub(crate) fn has_decided(&self, ticket: Ticket) -> bool {
        self.markers.has(ticket)
    }

    /// The link to another broker is gone: nobody waits any more for what it asked for.
    pub(crate) fn peer_broken(&mut self, broker: i32) {
        self.of_peers.retain(|_, asker| asker.broker != broker);
    }

    /// Time passes.
    pub(crate) fn tick(&mut self, node: &mut Node, now: Now) {
        for partition in self.coordinators.tick(now) {
            self.turn(node, partition, now);
        }
        for question in self.questions.take_overdue(now.mono()) {
            self.conclude(question, Err(ErrorCode::ConcurrentTransactions));
        }
    }

    /// A connection is gone: nobody waits any more for what it asked for.
    pub(crate) fn disconnected(&mut self, shard: u16, conn: ConnId) {
        self.calls.disconnected(shard, conn);
        self.marker_requests.disconnected(shard, conn);
    }

    /// Takes the next of what other areas have to do.
    pub(crate) fn next_event(&mut self) -> Option<TransactionEvent> {
        self.events.pop_front()
    }

    /// An area asks whether something may enter a transaction.
    pub(crate) fn ask(&mut self, node: &mut Node, question: Question, now: Now) {
        self.ask_until(node, question, questions::deadline(now.mono()), now);
    }

    /// Writes a marker into a partition that lives here.
    pub(crate) fn write_marker(
        &mut self,
        node: &mut Node,
        ticket: Ticket,
        to: (&log_coordinators::Topic, i32),
        marker: &Marker,
        now: Now,
    ) {
        if let Sent::Done(result) = self.markers.write(node, ticket, to, marker, now) {
            self.marker_done(node, ticket, result, now);
        }
    }

    /// The coordinator of groups has done what a marker says, or not.
    pub(crate) fn offsets_marker_done(&mut self, node: &mut Node, ticket: Ticket, answer: &Answer, now: Now) {
        let result = if let Answer::Failed(error) = answer { Err(*error) } else { Ok(()) };
        self.marker_done(node, ticket, result, now);
    }

    /// The council has given producer ids.
    pub(crate) fn producer_ids_given(&mut self, node: &mut Node, now: Now) {
        for partition in std::mem::take(&mut self.without_ids) {
            self.allocate_producer_ids(node, partition);
            self.turn(node, partition, now);
        }
    }

    /// Sends a request to the coordinator of a transactional id, if the client may use that.
    fn call_one(
        &mut self,
        node: &mut Node,
        kind: Kind,
        (transactional_id, request): (&str, TransactionRequest),
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let may = node.may(of.by, TRANSACTION_WRITE, transactional_id);
        let at = may.and_then(|()| self.coordinator_of(node, transactional_id));
        self.call(node, kind, vec![at.map(|at| (at, request)).map_err(TransactionAnswer::Failed)], of, now)
    }

    /// Sends each part to the coordinator of that partition; some have their answers already.
    fn call(
        &mut self,
        node: &mut Node,
        kind: Kind,
        parts: Vec<Result<(i32, TransactionRequest), TransactionAnswer>>,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let client = Arc::clone(of.by.client);
        let mut call = Parts::new(TransactionCall { form: of.form, client, kind }, parts.len());
        let mut asked = Vec::new();
        for (part, ask) in parts.into_iter().enumerate() {
            match ask {
                Ok((partition, request)) => asked.push((partition, request, part)),
                Err(answer) => call.answer(part, answer),
            }
        }
        if call.is_complete() {
            let (call, answers) = call.take();
            return Some(call.response(node, answers));
        }
        self.calls.insert(of.waiter, call);
        for (partition, request, part) in asked {
            let ticket = node.ticket();
            self.calls.asked(ticket, of.waiter, part);
            self.handle(node, partition, (request, ticket), now);
        }
        None
    }

    /// The partition whose coordinator a transactional id has.
    ///
    /// # Errors
    /// `INVALID_REQUEST` for an empty one, `NOT_COORDINATOR` if that coordinator does not live here.
    fn coordinator_of(&self, node: &Node, transactional_id: &str) -> Result<i32, ErrorCode> {
        if transactional_id.is_empty() {
            return Err(ErrorCode::InvalidRequest);
        }
        self.coordinators.here(&node.catalog, transactional_id).map_err(|_| ErrorCode::NotCoordinator)
    }

    /// Gives a request to a coordinator, and does what follows.
    fn handle(
        &mut self,
        node: &mut Node,
        partition: i32,
        (request, ticket): (TransactionRequest, Ticket),
        now: Now,
    ) {
        if let Some(machine) = self.coordinators.get_mut(partition) {
            machine.handle(request, ticket, now);
            self.turn(node, partition, now);
        }
    }

    fn ask_until(&mut self, node: &mut Node, question: Question, until: MonoTime, now: Now) {
        match self.coordinator_of(node, &question.verify.who.transactional_id) {
            // A topic that is not known here yet would count as deleted when the transaction ends, and get no marker.
            Ok(_) if !markers::are_known(&node.catalog, &question.verify.partitions) => {
                self.conclude(question, Err(ErrorCode::CoordinatorLoadInProgress));
            }
            Ok(partition) => {
                let (ticket, verify) = (node.ticket(), question.verify.clone());
                self.questions.asked(ticket, question, until);
                self.handle(node, partition, (TransactionRequest::Verify(verify), ticket), now);
            }
            Err(error) => self.conclude(question, Err(error)),
        }
    }

    /// A question has its answer.
    pub(crate) fn conclude(&mut self, question: Question, verdict: Verdict) {
        self.events.push_back(TransactionEvent::Answered(question.asker, verdict));
    }
}

fn text(text: &str) -> Text {
    text.into()
}
