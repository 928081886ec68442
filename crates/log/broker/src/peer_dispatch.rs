//! Calls between brokers on their way: from who asks to the broker that can answer, and back. What they are for, and what holds of
//! them, is told in [`crate::peer_calls`].

use base::Now;
use log_coordinators::{Participant, Ticket};
use log_metadata::PartitionNode;
use log_partition::{Marker, PartitionId};
use log_share::StateAnswer;
use log_wire::{ErrorCode, TopicName};
use replication_wire::Call;

use crate::broker::Broker;
use crate::coordinators::OFFSETS;
use crate::node::Node;
use crate::peer_calls::codec::{self, Asked};
use crate::peer_calls::ends_codec::{self, Ends};
use crate::peer_calls::{CALL_BYTES_MAX, Open};
use crate::peer_calls::{append_codec, share_codec};
use crate::question::{Asker, PeerAsker, Question};
use crate::replication::{BadMessage, PeerCall};
use crate::share::{PeerAppend, PeerEnds, PeerRequest, ends_here};
use crate::transactions::TransactionEvent;
use crate::waits::Waiter;

impl Broker {
    /// A question goes to the coordinator of its transaction, wherever that lives.
    pub(crate) fn ask_coordinator(&mut self, question: Question, now: Now) {
        let id = &question.verify.who.transactional_id;
        let of_peer = matches!(question.asker, Asker::Peer(_));
        match self.transactions.broker_of(&self.node, id) {
            Ok(broker) if broker != self.node.config.node_id && !of_peer => self.ask_peer(broker, question),
            _ => self.transactions.ask(&mut self.node, question, now),
        }
    }

    fn ask_peer(&mut self, broker: i32, question: Question) {
        let (id, bytes) = (self.peer_calls.next_id(), codec::verify(&question.verify));
        if self.replication.call(broker, &Call { id, is_answer: false, bytes: &bytes }) {
            self.peer_calls.open.insert((broker, id), Open::Question(question, false));
        } else {
            self.transactions.conclude(question, Err(ErrorCode::NotCoordinator));
        }
    }

    /// Does what has to be done at another broker. Gives back what is to be done here.
    pub(crate) fn do_elsewhere(&mut self, event: TransactionEvent, now: Now) -> Option<TransactionEvent> {
        match event {
            TransactionEvent::Answered(Asker::Peer(asker), verdict) => {
                self.answer(asker, &codec::verdict(&verdict));
            }
            TransactionEvent::Written(asker, result) => self.answer(asker, &codec::written(result)),
            TransactionEvent::Marker(ticket, participant, marker) => {
                match leader_elsewhere(&self.node, &participant) {
                    Some(leader) if self.transactions.has_decided(ticket) => {
                        self.write_at_peer(leader, ticket, (&participant, &marker), now);
                    }
                    _ => {
                        self.peer_calls.overtake(marker.producer_id, &participant);
                        return Some(TransactionEvent::Marker(ticket, participant, marker));
                    }
                }
            }
            event @ TransactionEvent::Answered(..) => return Some(event),
        }
        None
    }

    fn write_at_peer(&mut self, leader: i32, ticket: Ticket, what: (&Participant, &Marker), now: Now) {
        let epoch = led(&self.node, what.0).filter(|image| image.is_replicated()).map(|image| image.epoch.0);
        let (id, bytes) = (self.peer_calls.next_id(), codec::marker(what, epoch));
        if self.replication.call(leader, &Call { id, is_answer: false, bytes: &bytes }) {
            self.peer_calls.open.insert((leader, id), Open::Marker(ticket));
        } else {
            let result = Err(ErrorCode::NotLeaderOrFollower);
            self.transactions.marker_done(&mut self.node, ticket, result, now);
        }
    }

    /// Asks leaders whether they live, as far as somebody wants to know.
    pub(crate) fn probe_leaders(&mut self) {
        if !self.held_metadata.has_probes() {
            return;
        }
        for broker in self.held_metadata.take_probes() {
            let id = self.peer_calls.next_id();
            if self.replication.call(broker, &Call { id, is_answer: false, bytes: codec::PROBE_CALL }) {
                self.peer_calls.open.insert((broker, id), Open::Probe);
            }
        }
    }

    /// Does what share groups have to do at other brokers. Says whether there was anything.
    pub(crate) fn share_elsewhere(&mut self, now: Now) -> bool {
        if !self.share.has_some_for_peers() {
            return false;
        }
        let (requests, answers) = (self.share.take_peer_requests(), self.share.take_peer_answers());
        let mut has_some = !requests.is_empty() || !answers.is_empty();
        for PeerRequest { broker, attempt, request } in requests {
            let (id, bytes) = (self.peer_calls.next_id(), share_codec::request(&request));
            if self.replication.call(broker, &Call { id, is_answer: false, bytes: &bytes }) {
                self.peer_calls.open.insert((broker, id), Open::ShareState(attempt));
            } else {
                let failed = StateAnswer::Failed(ErrorCode::NotCoordinator);
                self.share.peer_answered(attempt, failed);
            }
        }
        for (asker, answer) in answers {
            let bytes = share_codec::answer(&answer);
            if bytes.len() <= CALL_BYTES_MAX {
                self.answer(asker, &bytes);
            } else {
                // A group with so many partitions can be described and deleted in parts only.
                let failed = StateAnswer::Failed(ErrorCode::UnknownServerError);
                self.answer(asker, &share_codec::answer(&failed));
            }
        }
        has_some |= self.append_elsewhere();
        has_some |= self.ask_for_ends(now);
        for (broker, told) in self.share.take_told() {
            // Nobody waits for the answer, and one that is not connected is told again later.
            let (id, bytes) = (self.peer_calls.next_id(), share_codec::groups(&told));
            let _ = self.replication.call(broker, &Call { id, is_answer: false, bytes: &bytes });
        }
        has_some
    }

    /// Dead letters go where their partitions are led, and what became of those of others is told to them.
    fn append_elsewhere(&mut self) -> bool {
        let (appends, done) = (self.share.take_peer_appends(), self.share.take_peer_appended());
        let has_some = !appends.is_empty() || !done.is_empty();
        for PeerAppend { broker, ticket, append } in appends {
            let (id, bytes) = (self.peer_calls.next_id(), append_codec::append(append));
            if self.replication.call(broker, &Call { id, is_answer: false, bytes: &bytes }) {
                self.peer_calls.open.insert((broker, id), Open::Append(ticket));
            } else {
                self.share.append_answered(ticket, ErrorCode::NotLeaderOrFollower);
            }
        }
        for (asker, error) in done {
            self.answer(asker, &append_codec::appended(error));
        }
        has_some
    }

    /// Leaders are asked where partitions end, for administrators of share groups.
    fn ask_for_ends(&mut self, now: Now) -> bool {
        let asked = self.share.take_peer_ends();
        let has_some = !asked.is_empty();
        for PeerEnds { broker, waiter, partitions } in asked {
            let (id, bytes) = (self.peer_calls.next_id(), ends_codec::ends(&partitions));
            if self.replication.call(broker, &Call { id, is_answer: false, bytes: &bytes }) {
                self.peer_calls.open.insert((broker, id), Open::Ends(waiter, partitions));
            } else {
                self.ends_told(waiter, partitions, Vec::new(), now);
            }
        }
        has_some
    }

    /// Partitions for which nothing was told are led elsewhere, as far as anybody knows.
    fn ends_told(&mut self, waiter: Waiter, of: Vec<PartitionId>, told: Vec<Option<Ends>>, now: Now) {
        let told = of.into_iter().zip(told);
        self.share.ends_told(&mut self.node, waiter, told, now);
    }

    fn answer(&mut self, PeerAsker { broker, id }: PeerAsker, bytes: &[u8]) {
        // One that is not connected has forgotten its question.
        let _ = self.replication.call(broker, &Call { id, is_answer: true, bytes });
    }

    /// Other brokers have asked and answered.
    ///
    /// # Errors
    /// What one of them said makes no sense: its connection is to be closed.
    pub(crate) fn peer_called(&mut self, now: Now) -> Result<(), BadMessage> {
        for call in self.replication.take_calls() {
            if call.is_answer { self.answered(&call, now)? } else { self.asked(&call, now)? }
        }
        Ok(())
    }

    fn asked(&mut self, PeerCall { from, id, bytes, .. }: &PeerCall, now: Now) -> Result<(), BadMessage> {
        let asker = PeerAsker { broker: *from, id: *id };
        match codec::asked(bytes).map_err(|_| BadMessage::Call)? {
            Asked::Probe => self.answer(asker, &[]),
            Asked::Verify(verify) => self.node.questions.push(Question { asker: Asker::Peer(asker), verify }),
            Asked::Marker(participant, _, Some(epoch)) if !self.leads_under(&participant, epoch) => {
                self.answer(asker, &codec::written(Err(ErrorCode::NotLeaderOrFollower)));
            }
            Asked::Marker(participant, marker, _) => {
                self.transactions.write_for_peer(&mut self.node, asker, (participant, marker));
            }
            Asked::ShareState(request) => self.share.ask_for_peer(&mut self.node, asker, request),
            Asked::ShareGroups(told) => self.share.told(told, now),
            Asked::Append(append) => self.share.append_for_peer(&mut self.node, asker, &append, now),
            Asked::Loads(told) => self.loads_told(*from, told, now),
            Asked::Moves(moves) => self.throttle_moves(moves, now),
            Asked::Ends(partitions) => {
                let ends = partitions.into_iter().map(|id| ends_here(&self.node, id));
                let bytes = ends_codec::ends_answer(ends);
                self.answer(asker, &bytes);
            }
        }
        Ok(())
    }

    /// Whether the participant is led here, under that epoch.
    fn leads_under(&self, participant: &Participant, epoch: i32) -> bool {
        let (topic, index) = place_of(participant);
        self.node.find(topic, index).is_ok_and(|(_, hosted)| hosted.partition.epoch().0 == epoch)
    }

    fn answered(&mut self, call: &PeerCall, now: Now) -> Result<(), BadMessage> {
        match self.peer_calls.open.remove(&(call.from, call.id)) {
            Some(Open::Question(question, is_overtaken)) => {
                let verdict = codec::read_verdict(&call.bytes).map_err(|_| BadMessage::Call);
                let verdict = verdict.inspect_err(|_| {
                    self.transactions.conclude(question.clone(), Err(ErrorCode::NotCoordinator));
                })?;
                let verdict = if is_overtaken { Err(ErrorCode::NotCoordinator) } else { verdict };
                self.transactions.conclude(question, verdict);
            }
            Some(Open::Marker(ticket)) => {
                let read = codec::read_written(&call.bytes);
                let result = read.unwrap_or(Err(ErrorCode::NotLeaderOrFollower));
                self.transactions.marker_done(&mut self.node, ticket, result, now);
                return read.map(drop).map_err(|_| BadMessage::Call);
            }
            Some(Open::ShareState(attempt)) => {
                let read = share_codec::read_answer(&call.bytes);
                let failed = StateAnswer::Failed(ErrorCode::CoordinatorNotAvailable);
                self.share.peer_answered(attempt, read.clone().unwrap_or(failed));
                return read.map(drop).map_err(|_| BadMessage::Call);
            }
            Some(Open::Append(ticket)) => {
                let read = append_codec::read_appended(&call.bytes);
                self.share.append_answered(ticket, read.unwrap_or(ErrorCode::UnknownServerError));
                return read.map(drop).map_err(|_| BadMessage::Call);
            }
            Some(Open::Ends(waiter, partitions)) => {
                let read = ends_codec::read_ends_answer(&call.bytes);
                self.ends_told(waiter, partitions, read.clone().unwrap_or_default(), now);
                return read.map(drop).map_err(|_| BadMessage::Call);
            }
            Some(Open::Probe) => self.held_metadata.lives(&mut self.node, call.from, now),
            None => {}
        }
        Ok(())
    }

    /// The link to another broker is gone, with what was on its way; or nothing is heard of that broker, and its answers count for
    /// nothing if they come.
    pub(crate) fn calls_are_lost(&mut self, broker: i32, now: Now) {
        for open in self.peer_calls.take_of(broker) {
            match open {
                Open::Question(question, _) => {
                    self.transactions.conclude(question, Err(ErrorCode::NotCoordinator));
                }
                Open::Marker(ticket) => {
                    let result = Err(ErrorCode::NotLeaderOrFollower);
                    self.transactions.marker_done(&mut self.node, ticket, result, now);
                }
                Open::ShareState(attempt) => {
                    self.share.peer_answered(attempt, StateAnswer::Failed(ErrorCode::NotCoordinator));
                }
                Open::Append(ticket) => self.share.append_answered(ticket, ErrorCode::NotLeaderOrFollower),
                Open::Ends(waiter, partitions) => self.ends_told(waiter, partitions, Vec::new(), now),
                Open::Probe => {}
            }
        }
    }
}

/// The broker that leads a participant, if it is another one.
fn leader_elsewhere(node: &Node, participant: &Participant) -> Option<i32> {
    let leader = led(node, participant)?.leader;
    (leader >= 0 && leader != node.config.node_id).then_some(leader)
}

/// What the council says of a participant.
fn led<'n>(node: &'n Node, participant: &Participant) -> Option<&'n PartitionNode> {
    let (topic, index) = place_of(participant);
    node.catalog.find(topic).ok()?.partitions.get(usize::try_from(index).ok()?)
}

fn place_of(participant: &Participant) -> (TopicName<'_>, i32) {
    match participant {
        Participant::Partition(topic, index) => (TopicName::Id(topic.id), *index),
        Participant::Offsets(index) => (TopicName::Name(OFFSETS.name), *index),
    }
}
