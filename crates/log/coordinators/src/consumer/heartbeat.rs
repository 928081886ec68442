//! ConsumerGroupHeartbeat: a member joins, says what has changed, is led on, or leaves.

use std::sync::Arc;

use log_wire::ErrorCode;

use super::{ConsumerGroup, Context};
use crate::stored_consumer::{MemberState, Owned, StoredConsumerMember};
use crate::turn::Turn;
use crate::{ConsumerHeartbeat, ConsumerHeartbeatAnswer, Epoch, Partitions, Text};

impl ConsumerGroup {
    /// A heartbeat that [`check_heartbeat`](super::check_heartbeat) let pass.
    pub(crate) fn heartbeat(
        &mut self,
        heartbeat: &ConsumerHeartbeat,
        context: Context<'_>,
        turn: &Turn<'_>,
    ) -> Result<ConsumerHeartbeatAnswer, ErrorCode> {
        if heartbeat.epoch < Epoch::JOIN {
            return self.leave(heartbeat, turn);
        }
        let admitted = self.admit(heartbeat, &turn.limits.consumer)?;
        let (before, after) = (&admitted.member, updated(&admitted.member, heartbeat));
        if !Arc::ptr_eq(before, &after) {
            self.check_growth(before, &after, turn.limits)?;
        }
        let id = after.id.clone();
        if let Some(old) = &admitted.succeeds {
            self.succeed(old, &id);
        }
        let subscription_changed = before.topics != after.topics || before.regex != after.regex;
        self.put(after, turn.now);
        self.lead(&id, subscription_changed, heartbeat.owned.as_ref(), context, turn);
        self.touch(&id, context.config, turn.limits, turn.now);
        Ok(self.answer(&id, before, heartbeat, context, turn))
    }

    /// Does for a member what there is to do: topics, target, and its own step towards it.
    pub(super) fn lead(
        &mut self,
        id: &Text,
        subscription_changed: bool,
        owned: Option<&Partitions>,
        context: Context<'_>,
        turn: &Turn<'_>,
    ) {
        if let Some(member) = self.members.get_mut(id) {
            // What a classic member had to do in time is done, or does not concern the member any more.
            member.join = None;
            if member.stored.classic.is_none() {
                member.sync = None;
            }
        }
        self.refresh(subscription_changed, context.topics, turn);
        self.assign_if_due(context.config, turn);
        self.reconcile(id, subscription_changed, owned, turn);
    }

    fn answer(
        &self,
        id: &Text,
        before: &StoredConsumerMember,
        heartbeat: &ConsumerHeartbeat,
        context: Context<'_>,
        turn: &Turn<'_>,
    ) -> ConsumerHeartbeatAnswer {
        let empty = Owned::new();
        let member = self.members.get(id).map(|member| &member.stored);
        let assigned = member.map_or(&empty, |member| &member.assigned);
        let tell = heartbeat.epoch == Epoch::JOIN || heartbeat.is_full() || *assigned != before.assigned;
        ConsumerHeartbeatAnswer {
            member: id.clone(),
            epoch: member.map_or(Epoch::JOIN, |member| member.epoch),
            heartbeat_interval_ms: context.config.heartbeat_interval_ms(&turn.limits.consumer),
            assignment: tell.then(|| numbers(assigned)),
        }
    }

    fn leave(
        &mut self,
        heartbeat: &ConsumerHeartbeat,
        turn: &Turn<'_>,
    ) -> Result<ConsumerHeartbeatAnswer, ErrorCode> {
        let member = match &heartbeat.instance {
            None => self.members.get(&heartbeat.member).map(|member| &member.stored),
            Some(instance) => self.static_member(instance),
        };
        let member = Arc::clone(member.ok_or(ErrorCode::UnknownMemberId)?);
        if member.id != heartbeat.member {
            return Err(ErrorCode::FencedInstanceId);
        }
        if heartbeat.epoch == Epoch::LEAVE_STATIC {
            self.put(Arc::new(away(&member)), turn.now);
            if let Some(member) = self.members.get_mut(&member.id) {
                (member.rebalance, member.join, member.sync) = (None, None, None);
            }
        } else {
            self.remove(std::slice::from_ref(&member.id), turn.wall);
        }
        Ok(ConsumerHeartbeatAnswer {
            member: member.id.clone(),
            epoch: heartbeat.epoch,
            heartbeat_interval_ms: 0,
            assignment: None,
        })
    }
}

/// The member with what the heartbeat says of it: the same, if that is nothing new.
fn updated(member: &Arc<StoredConsumerMember>, heartbeat: &ConsumerHeartbeat) -> Arc<StoredConsumerMember> {
    let says_nothing = heartbeat.rebalance_timeout_ms.is_none()
        && heartbeat.topics.is_none()
        && heartbeat.regex.is_none()
        && heartbeat.assignor.is_none()
        && heartbeat.rack.is_none()
        && (heartbeat.instance.is_none() || heartbeat.instance == member.instance);
    let same_client = heartbeat.client_id == member.client_id && heartbeat.client_host == member.client_host;
    if says_nothing && same_client && member.classic.is_none() {
        return Arc::clone(member);
    }
    let mut next = StoredConsumerMember::clone(member);
    let or_before = |new: &Option<Text>, before: &Option<Text>| new.as_ref().or(before.as_ref()).cloned();
    next.instance = or_before(&heartbeat.instance, &member.instance);
    next.rack = or_before(&heartbeat.rack, &member.rack);
    next.assignor = or_before(&heartbeat.assignor, &member.assignor);
    next.client_id = heartbeat.client_id.clone();
    next.client_host = heartbeat.client_host.clone();
    next.rebalance_timeout_ms = heartbeat.rebalance_timeout_ms.unwrap_or(member.rebalance_timeout_ms);
    if let Some(topics) = &heartbeat.topics {
        next.topics = topics.iter().cloned().collect();
    }
    if let Some(regex) = &heartbeat.regex {
        next.regex = regex.clone();
    }
    next.classic = None;
    Arc::new(next)
}

/// A static member that has left for a while. It has given up everything, but what it was to own is kept for its successor,
/// which counts as its owner since ever: it may commit with any epoch that it gets.
fn away(member: &StoredConsumerMember) -> StoredConsumerMember {
    let mut away = member.clone();
    away.advance(Epoch::LEAVE_STATIC);
    away.state = MemberState::Stable;
    away.revoking.clear();
    for since in away.assigned.values_mut().flat_map(|numbers| numbers.values_mut()) {
        *since = Epoch::JOIN;
    }
    away
}

/// The partitions without their epochs.
pub(crate) fn numbers(owned: &Owned) -> Partitions {
    owned.iter().map(|(id, numbers)| (*id, numbers.keys().copied().collect())).collect()
}
