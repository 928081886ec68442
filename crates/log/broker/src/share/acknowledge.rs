//! ShareAcknowledge, and what a ShareFetch acknowledges: it is answered when it is durable.

use base::Now;
use log_share::{Acknowledgement, SessionKey, ShareKey};
use log_wire::messages::share::ShareAcknowledgeRequest;
use log_wire::{ErrorCode, TopicName};

use super::Share;
use super::fetch::{Said, acknowledgements};
use super::pending::Place;
use super::served::OpenAcknowledgement;
use crate::call::Caller;
use crate::node::Node;
use crate::response::Response;
use crate::rights::TOPIC_READ;
use crate::waits::Waiter;

/// How long it may take, milliseconds.
const WAIT_MS: u64 = 5_000;

impl Share {
    /// Handles a request.
    pub(super) fn share_acknowledge(
        &mut self,
        node: &mut Node,
        request: ShareAcknowledgeRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let mut acknowledged = Vec::new();
        for topic in request.topics {
            for partition in topic.partitions {
                let place = (topic.topic_id, partition.partition_index);
                acknowledged.push((place, acknowledgements(partition.acknowledgement_batches)));
            }
        }
        let said = Said {
            group: request.group_id,
            member: request.member_id,
            epoch: request.share_session_epoch,
            acknowledged,
            may_renew: request.is_renew_ack,
        };
        self.enter(node, said, (&[], &[]), (None, WAIT_MS), of, now)
    }

    /// A member gives records back.
    pub(super) fn acknowledge_all(
        &mut self,
        node: &mut Node,
        of: Caller<'_>,
        session: &SessionKey,
        said: Said,
        now: Now,
    ) {
        for (place, acknowledged) in said.acknowledged {
            let may = node.may_on_topic(of.by, TOPIC_READ, TopicName::Id(place.0));
            let how = (acknowledged.as_slice(), said.may_renew);
            let waits = may.and_then(|()| self.acknowledge(node, of.waiter, session, (place, how), now));
            let Some(pending) = self.pending.get_mut(of.waiter) else { return };
            pending.outcomes.entry(place).or_default().acknowledged = waits.err().unwrap_or_default();
            if waits == Ok(true) {
                pending.open.insert(place);
            }
        }
    }

    /// Says whether the answer has to wait: also one that changes nothing, for it may tell of a change that is under way.
    fn acknowledge(
        &mut self,
        node: &mut Node,
        waiter: Waiter,
        session: &SessionKey,
        (place, (acknowledged, may_renew)): (Place, (&[Acknowledgement], bool)),
        now: Now,
    ) -> Result<bool, ErrorCode> {
        let key = ShareKey { group: session.0.clone(), topic: place.0, partition: place.1 };
        node.find(TopicName::Id(place.0), place.1)?;
        let served = self.served.get_mut(&key).ok_or(ErrorCode::InvalidRecordState)?;
        let may_renew = may_renew && served.config.renews_locks;
        let machine = served.machine.as_mut().ok_or(ErrorCode::InvalidRecordState)?;
        machine.acknowledge(&session.1, acknowledged, may_renew, now)?;
        let write = self.write_changes(node, &key).or_else(|| self.under_way(&key));
        self.wake(&key);
        let Some(write) = write else { return Ok(false) };
        if let Some(served) = self.served.get_mut(&key) {
            served.open.push(OpenAcknowledgement { waiter, write });
        }
        Ok(true)
    }

    /// What a request said of a partition is durable, or failed.
    pub(super) fn acknowledged(&mut self, waiter: Waiter, place: Place, error: ErrorCode) {
        let Some(pending) = self.pending.get_mut(waiter) else { return };
        pending.open.remove(&place);
        pending.outcomes.entry(place).or_default().acknowledged = error;
        self.ready.push_back((waiter, None));
    }
}
