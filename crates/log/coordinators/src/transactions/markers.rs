//! Markers that are on their way. A decision's markers go out when its record is durable, and again to each participant that
//! could not write its own, until all have (L40, L44).

use std::collections::BTreeSet;

use base::Now;

use super::{MarkerOutcome, MarkersId, Participant, TransactionCoordinator, TransactionEffect, WriteMarkers};
use crate::Text;

/// The markers of one decision.
#[derive(Clone, Debug)]
pub(crate) struct Sending {
    id: MarkersId,
    /// Sent, and not answered.
    sent: BTreeSet<Participant>,
    /// To be sent again at the next timer.
    again: BTreeSet<Participant>,
    /// A newer coordinator has taken over: the rest is its own to do.
    fenced: bool,
}

impl TransactionCoordinator {
    /// What became of the marker of decision `id` at one participant. An answer to a decision that this coordinator does not
    /// know, or a second answer, changes nothing.
    pub fn markers_written(
        &mut self,
        transactional_id: &Text,
        id: MarkersId,
        participant: &Participant,
        outcome: MarkerOutcome,
        now: Now,
    ) {
        if !self.live.contains_key(transactional_id) {
            return;
        }
        self.advance(now);
        let retry_ms = self.limits.marker_retry_ms;
        let live = self.live.get_mut(transactional_id);
        let Some(sending) = live.and_then(|live| live.sending.as_mut()).filter(|sending| sending.id == id)
        else {
            return;
        };
        if !sending.sent.remove(participant) {
            return;
        }
        match outcome {
            MarkerOutcome::Written | MarkerOutcome::Unneeded => {}
            MarkerOutcome::Fenced => sending.fenced = true,
            MarkerOutcome::NotWritten => {
                sending.again.insert(participant.clone());
            }
        }
        let done = sending.sent.is_empty() && sending.again.is_empty() && !sending.fenced;
        let first_to_wait = outcome == MarkerOutcome::NotWritten && sending.again.len() == 1;
        if first_to_wait && !sending.fenced {
            self.set_timer(transactional_id, retry_ms);
        } else if done {
            self.complete(transactional_id);
        }
        self.finish();
    }

    /// Sends the markers of a transaction that was decided. They wait until the decision is durable.
    pub(crate) fn send_markers(&mut self, transactional_id: &Text) {
        self.clear_timer(transactional_id);
        let Some(transaction) = self.transaction(transactional_id) else { return };
        let sent = transaction.participants.clone();
        let id = self.begin_sending(transactional_id, sent.clone(), BTreeSet::new());
        let effect = self.write_markers(transactional_id, id, sent);
        self.outbox.extend(effect);
    }

    /// The same, behind a pause: the record that they are written was refused, and would be refused at once again.
    pub(crate) fn send_markers_later(&mut self, transactional_id: &Text) {
        let Some(transaction) = self.transaction(transactional_id) else { return };
        let again = transaction.participants.clone();
        self.begin_sending(transactional_id, BTreeSet::new(), again);
        self.set_timer(transactional_id, self.limits.marker_retry_ms);
    }

    fn begin_sending(
        &mut self,
        transactional_id: &Text,
        sent: BTreeSet<Participant>,
        again: BTreeSet<Participant>,
    ) -> MarkersId {
        self.last_markers = MarkersId(self.last_markers.0 + 1);
        let id = self.last_markers;
        let live = self.live.entry(transactional_id.clone()).or_default();
        live.sending = Some(Sending { id, sent, again, fenced: false });
        id
    }

    /// Sends markers again that could not be written.
    pub(crate) fn send_again(&mut self, transactional_id: &Text) {
        let live = self.live.get_mut(transactional_id);
        let Some(sending) = live.and_then(|live| live.sending.as_mut()) else { return };
        if sending.fenced {
            return;
        }
        let (id, again) = (sending.id, std::mem::take(&mut sending.again));
        sending.sent.extend(again.iter().cloned());
        let effect = self.write_markers(transactional_id, id, again);
        self.outbox.extend(effect);
    }

    /// Whether these are the markers that the transaction waits for.
    pub(crate) fn is_sending(&self, markers: &WriteMarkers) -> bool {
        let live = self.live.get(&markers.transactional_id);
        live.and_then(|live| live.sending.as_ref()).is_some_and(|sending| sending.id == markers.id)
    }

    fn write_markers(
        &self,
        transactional_id: &Text,
        id: MarkersId,
        participants: BTreeSet<Participant>,
    ) -> Option<TransactionEffect> {
        let marker = self.transaction(transactional_id)?.marker(self.epoch)?;
        Some(TransactionEffect::WriteMarkers(WriteMarkers {
            id,
            transactional_id: transactional_id.clone(),
            marker,
            participants: participants.into_iter().collect(),
        }))
    }

    fn complete(&mut self, transactional_id: &Text) {
        if let Some(mut transaction) = self.transaction(transactional_id).cloned() {
            transaction.complete();
            self.put(transactional_id, transaction);
        }
    }
}
