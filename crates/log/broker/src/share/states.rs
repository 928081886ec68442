//! Requests to the holder of states, and its answers.

use base::Now;
use log_coordinators::Ticket;
use log_share::{ShareKey, StateAnswer, StateEffect, StateRequest};
use log_wire::{ErrorCode, TopicName};

use super::Share;
use crate::coordinators::CoordinatorLoad;
use crate::node::Node;
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
    /// Nobody waits.
    Nothing,
}

impl Share {
    /// Asks the holder of a state. The answer comes by [`Self::state_answered`].
    pub(super) fn ask(&mut self, node: &mut Node, request: StateRequest, purpose: Asked) -> Ticket {
        let ticket = node.ticket();
        self.asked.insert(ticket, purpose);
        let group = match &request {
            StateRequest::Read { key, .. }
            | StateRequest::Write { key, .. }
            | StateRequest::Initialize { key, .. }
            | StateRequest::Delete(key) => key.group.clone(),
        };
        let here = self.coordinators.here(&node.catalog, &group);
        if let Ok(partition) = here
            && let Some(machine) = self.coordinators.get_mut(partition)
        {
            machine.handle(request, ticket);
            self.busy.insert(partition);
        } else {
            self.answers.push_back((ticket, StateAnswer::Failed(ErrorCode::CoordinatorNotAvailable)));
        }
        ticket
    }

    /// Does what a coordinator wants done.
    pub(super) fn take_effects(&mut self, node: &mut Node, partition: i32, now: Now) {
        let Some(machine) = self.coordinators.get_mut(partition) else { return };
        let mut appends = true;
        for effect in machine.take_effects() {
            match effect {
                StateEffect::Append { seq, records } => {
                    appends = appends && self.coordinators.append(node, partition, (seq, &records), now);
                    if !appends {
                        self.busy.insert(partition);
                    }
                }
                StateEffect::Reply { ticket, answer } => self.answers.push_back((ticket, answer)),
            }
        }
    }

    /// A request to the holder of a state has its answer.
    pub(super) fn state_answered(&mut self, node: &mut Node, ticket: Ticket, answer: StateAnswer, now: Now) {
        let Some(purpose) = self.asked.remove(&ticket) else { return };
        match purpose {
            Asked::State(key) => {
                self.touched.insert(key.group.clone());
                self.state_read(node, &key, answer, now);
            }
            Asked::Start(key) => self.start_written(&key, &answer),
            Asked::Write(key) => self.written(&key, ticket, &answer),
            Asked::Change(waiter, place) => self.change_answered(node, waiter, place, &answer),
            Asked::Group(deletion) => self.group_state_deleted(deletion, &answer),
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
