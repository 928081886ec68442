//! Requests to the holder of states, and its answers.

use base::Now;
use log_coordinators::{Text, Ticket};
use log_share::{ShareKey, StateAnswer, StateEffect, StateRequest};
use log_wire::{ErrorCode, TopicName};

use super::Share;
use crate::coordinators::{CoordinatorLoad, SHARE_STATE};
use crate::node::Node;
use crate::question::PeerAsker;
use crate::segment_reader::SegmentFault;
use crate::waits::Waiter;

/// What a request to the holder of a state is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A share partition begins to be served.
    State(ShareKey),
    /// Its start becomes durable.
    Start(ShareKey),
    /// What has changed becomes durable.
    Write(ShareKey),
    /// An administrator waits: for a place in the answer.
    Change(Waiter, (usize, usize)),
    /// A group is deleted: this is one of its states.
    Group(Ticket),
    /// The same, before it is known which these are.
    Deletion(Ticket, Text),
    /// An administrator waits for what there is of a group.
    Inspection(Waiter, Text),
    /// Another broker waits.
    Peer(PeerAsker, Text),
    /// Nobody waits.
    Nothing,
}

/// A request for the holder of states on another broker.
#[derive(Clone, Debug)]
pub(crate) struct PeerRequest {
    pub(crate) broker: i32,
    pub(crate) attempt: Ticket,
    pub(crate) request: StateRequest,
}

impl Share {
    /// Asks the holder of a state, wherever it is. The answer comes by [`Self::conclude`].
    pub(super) fn ask(&mut self, node: &mut Node, request: StateRequest, purpose: Asked) -> Ticket {
        let ticket = node.ticket();
        self.asked.insert(ticket, purpose);
        let key = match &request {
            StateRequest::Read { key, .. }
            | StateRequest::Write { key, .. }
            | StateRequest::Initialize { key, .. }
            | StateRequest::Delete(key) => Some(key.clone()),
            StateRequest::Describe(_) => None,
        };
        let Some(key) = key else {
            self.send(node, request, ticket);
            return ticket;
        };
        if !self.persister.push(&key, request, ticket) {
            self.answers.push_back((ticket, StateAnswer::Failed(ErrorCode::CoordinatorNotAvailable)));
        }
        ticket
    }

    /// Sends a request to the holder of its states. Says whether that is here.
    pub(super) fn send(&mut self, node: &Node, request: StateRequest, attempt: Ticket) -> bool {
        let group = request.group();
        if let Ok(partition) = self.coordinators.here(&node.catalog, group)
            && let Some(machine) = self.coordinators.get_mut(partition)
        {
            machine.handle(request, attempt);
            self.busy.insert(partition);
            return true;
        }
        let has_no_topic = node.catalog.find(TopicName::Name(SHARE_STATE.name)).is_err();
        match self.coordinators.broker_of(node, group) {
            Ok(broker) if broker != node.config.node_id => {
                self.to_peers.push(PeerRequest { broker, attempt, request });
            }
            _ if has_no_topic && matches!(request, StateRequest::Describe(_)) => {
                self.answers.push_back((attempt, StateAnswer::Summaries(Vec::new())));
            }
            _ => {
                let failed = StateAnswer::Failed(ErrorCode::CoordinatorNotAvailable);
                self.answers.push_back((attempt, failed));
            }
        }
        false
    }

    /// Another broker asks the holder of a state. It is answered by [`Self::take_peer_answers`]; nothing is passed on.
    pub(crate) fn ask_for_peer(&mut self, node: &mut Node, asker: PeerAsker, request: StateRequest) {
        let ticket = node.ticket();
        self.asked.insert(ticket, Asked::Peer(asker, Text::clone(request.group())));
        if let Ok(partition) = self.coordinators.here(&node.catalog, request.group())
            && let Some(machine) = self.coordinators.get_mut(partition)
        {
            machine.handle(request, ticket);
            self.busy.insert(partition);
        } else {
            self.answers.push_back((ticket, StateAnswer::Failed(ErrorCode::NotCoordinator)));
        }
    }

    /// Takes requests for other brokers. Each is answered with [`Self::peer_answered`].
    pub(crate) fn take_peer_requests(&mut self) -> Vec<PeerRequest> {
        std::mem::take(&mut self.to_peers)
    }

    /// Another broker has answered a request, or cannot be asked.
    pub(crate) fn peer_answered(&mut self, attempt: Ticket, answer: StateAnswer) {
        self.answers.push_back((attempt, answer));
    }

    /// Takes answers for other brokers.
    pub(crate) fn take_peer_answers(&mut self) -> Vec<(PeerAsker, StateAnswer)> {
        std::mem::take(&mut self.for_peers)
    }

    /// Does what a coordinator wants done.
    pub(super) fn take_effects(&mut self, node: &mut Node, partition: i32, now: Now) {
        let (effects, _) = self.coordinators.take_effects(node, partition, now);
        self.answers.extend(effects.into_iter().filter_map(reply_of));
    }

    /// A request to the holder of a state has its answer, or one of its attempts has.
    pub(super) fn state_answered(&mut self, node: &mut Node, ticket: Ticket, answer: StateAnswer, now: Now) {
        if !self.persister.has(ticket) {
            return self.conclude(node, ticket, answer, now);
        }
        for (ticket, answer) in self.persister.answered(ticket, answer, now) {
            self.conclude(node, ticket, answer, now);
        }
    }

    /// What becomes of a request to the holder of a state.
    pub(super) fn conclude(&mut self, node: &mut Node, ticket: Ticket, answer: StateAnswer, now: Now) {
        let Some(purpose) = self.asked.remove(&ticket) else { return };
        match purpose {
            Asked::State(key) => {
                self.touched.insert(key.group.clone());
                self.state_read(node, &key, answer, now);
            }
            Asked::Start(key) => self.start_written(&key, &answer),
            Asked::Write(key) => self.written(node, &key, (ticket, &answer), now),
            Asked::Change(waiter, place) => self.change_answered(node, waiter, place, &answer),
            Asked::Group(deletion) => self.group_state_deleted(deletion, &answer),
            Asked::Deletion(deletion, group) => self.delete_states(node, (deletion, group), answer),
            Asked::Inspection(waiter, group) => self.inspected(node, waiter, (group, answer), now),
            Asked::Peer(asker, group) => {
                self.touched.insert(group);
                self.for_peers.push((asker, answer));
            }
            Asked::Nothing => {}
        }
    }

    /// Topics may have been deleted while their states could not be.
    fn forget_deleted_topics(&mut self, node: &mut Node) {
        if !node.catalog.is_complete() {
            return;
        }
        let states = self.coordinators.machines().flat_map(|machine| machine.states(None));
        let is_gone = |key: &&ShareKey| node.catalog.find(TopicName::Id(key.topic)).is_err();
        let gone: Vec<ShareKey> = states.map(|(key, _)| key).filter(is_gone).cloned().collect();
        for key in gone {
            self.ask(node, StateRequest::Delete(key), Asked::Nothing);
        }
    }

    /// What a coordinator, or a share partition, wants to read next.
    pub(crate) fn next_load(&self, node: &Node) -> Option<CoordinatorLoad> {
        let of_states = self.coordinators.next_load(node, crate::coordinators::LoadOf::ShareStates);
        of_states.or_else(|| self.reads.next())
    }

    /// A coordinator gets what was read.
    pub(crate) fn states_loaded(
        &mut self,
        node: &mut Node,
        load: &CoordinatorLoad,
        read: Result<Vec<u8>, SegmentFault>,
        now: Now,
    ) {
        self.coordinators.loaded(node, load, read, now);
        if let Some(machine) = self.coordinators.get(load.partition)
            && machine.is_loaded()
        {
            self.touched.extend(machine.states(None).map(|(key, _)| key.group.clone()));
            // Whoever waits for a state asks for it again.
            self.ask_again();
            self.forget_deleted_topics(node);
        }
        self.settle(node, now);
    }
}

/// The answer that a coordinator gives.
pub(super) fn reply_of(effect: StateEffect) -> Option<(Ticket, StateAnswer)> {
    match effect {
        StateEffect::Reply { ticket, answer } => Some((ticket, answer)),
        StateEffect::Append { .. } | StateEffect::Confirm => None,
    }
}
