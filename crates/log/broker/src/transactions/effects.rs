//! What a coordinator wants done, in its order.

use base::Now;
use log_coordinators::{Ticket, TransactionAnswer, TransactionEffect, TransactionRequest};
use log_wire::ErrorCode;

use super::{TransactionEvent, Transactions, markers, questions};
use crate::node::Node;

/// How many producer ids a coordinator gets at once.
const PRODUCER_IDS: i64 = 10;

impl Transactions {
    /// Does what a coordinator wants done. If it has changed something, questions about transactions that were still ending are
    /// asked again.
    pub(super) fn turn(&mut self, node: &mut Node, partition: i32, now: Now) {
        let mut is_changed = self.take_effects(node, partition, now);
        while std::mem::take(&mut is_changed) {
            for (question, until) in self.questions.take_waiting(partition) {
                let (ticket, verify) = (node.ticket(), question.verify.clone());
                self.questions.asked(ticket, question, until);
                if let Some(machine) = self.coordinators.get_mut(partition) {
                    machine.handle(TransactionRequest::Verify(verify), ticket, now);
                }
                is_changed |= self.take_effects(node, partition, now);
            }
        }
    }

    /// Whether it has appended something.
    fn take_effects(&mut self, node: &mut Node, partition: i32, now: Now) -> bool {
        let mut is_changed = false;
        loop {
            let (effects, has_appended) = self.coordinators.take_effects(node, partition, now);
            is_changed |= has_appended;
            if effects.is_empty() {
                return is_changed;
            }
            for effect in effects {
                match effect {
                    TransactionEffect::Reply { ticket, answer } => {
                        self.answered(node, partition, ticket, answer, now);
                    }
                    TransactionEffect::WriteMarkers(markers) => {
                        self.events.extend(self.markers.send(node, partition, &markers));
                    }
                    TransactionEffect::AllocateProducerIds => self.allocate_producer_ids(node, partition),
                    // The coordinators have done these.
                    TransactionEffect::Append { .. } | TransactionEffect::Confirm => {}
                }
            }
        }
    }

    pub(super) fn answered(
        &mut self,
        node: &mut Node,
        partition: i32,
        ticket: Ticket,
        answer: TransactionAnswer,
        now: Now,
    ) {
        if let Some((question, until)) = self.questions.answered(ticket) {
            let verdict = questions::verdict(answer);
            if questions::is_worth_waiting(&question, &verdict) && now.mono() < until {
                return self.questions.wait(partition, question, until);
            }
            return self.conclude(question, verdict);
        }
        if let Some((waiter, parts)) = self.calls.answered(ticket, answer) {
            let (call, answers) = parts.take();
            let response = call.response(node, answers);
            node.reply(waiter, response);
        }
    }

    /// What became of a marker reaches who wants it written.
    pub(crate) fn marker_done(
        &mut self,
        node: &mut Node,
        ticket: Ticket,
        result: Result<(), ErrorCode>,
        now: Now,
    ) {
        if let Some((waiter, response)) = self.marker_requests.written(ticket, result) {
            return node.reply(waiter, response);
        }
        if let Some(asker) = self.of_peers.remove(&ticket) {
            return self.events.push_back(TransactionEvent::Written(asker, result));
        }
        let Some(decision) = self.markers.take(ticket) else { return };
        let outcome = markers::outcome(&node.catalog, &decision.participant, result);
        if let Some(machine) = self.coordinators.get_mut(decision.coordinator) {
            let (id, participant) = (decision.id, &decision.participant);
            machine.markers_written(&decision.transactional_id, id, participant, outcome, now);
            self.turn(node, decision.coordinator, now);
        }
    }

    pub(super) fn allocate_producer_ids(&mut self, node: &mut Node, partition: i32) {
        let ids = node.take_producer_ids(PRODUCER_IDS);
        if ids.is_empty() {
            self.without_ids.insert(partition);
        } else if let Some(machine) = self.coordinators.get_mut(partition) {
            machine.producer_ids(Some(ids));
        }
    }
}
