//! Members of a consumer group that speak the classic protocol. They join, ask for their assignment and send heartbeats as in a
//! classic group, but nobody waits for anybody: a member's generation is its epoch, and nobody leads.

use std::sync::Arc;

use log_wire::ErrorCode;

use super::admission::{Admitted, successor};
use super::{ConsumerGroup, Context};
use crate::consumer_protocol::{self, PROTOCOL_TYPE, Subscription};
use crate::stored_consumer::{ClassicProtocols, MemberState, StoredConsumerMember};
use crate::turn::Turn;
use crate::{Answer, Blob, Generation, Join, Joined, Leave, MemberRef, Sync, Synced, Text};

/// The first version whose new members are sent back with an id (KIP-394).
const MEMBER_ID_REQUIRED: i16 = 4;

impl ConsumerGroup {
    /// JoinGroup into a consumer group with members.
    pub(crate) fn classic_join(
        &mut self,
        mut join: Join,
        context: Context<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<Answer, ErrorCode> {
        let is_new = join.who.member.is_empty();
        if is_new {
            let prefix = join.who.instance.as_ref().unwrap_or(&join.client_id).clone();
            join.who.member = turn.fresh_id(&prefix);
        }
        let full = self.members.len() >= turn.limits.consumer.group_size_max;
        if full && !self.members.contains_key(&join.who.member) {
            return Err(ErrorCode::GroupMaxSizeReached);
        }
        let protocol = self.check_protocols(&join)?;
        if is_new && join.version >= MEMBER_ID_REQUIRED && join.who.instance.is_none() {
            return Ok(Answer::MemberIdRequired(join.who.member));
        }
        let (id, sync_ms) = (join.who.member.clone(), join.rebalance_timeout_ms);
        self.take_classic(join, is_new, context, turn)?;
        self.touch(&id, context.config, turn.limits, turn.now);
        let member = self.members.get_mut(&id).ok_or(ErrorCode::UnknownMemberId)?;
        member.sync = Some(turn.now.plus_ms(sync_ms));
        Ok(Answer::Joined(Joined {
            generation: Generation(member.stored.epoch.0),
            protocol_type: PROTOCOL_TYPE.into(),
            protocol,
            leader: "".into(),
            member: id,
            members: Vec::new(),
            skip_assignment: false,
        }))
    }

    /// Takes a member with what its JoinGroup says, and leads it on.
    fn take_classic(
        &mut self,
        join: Join,
        is_new: bool,
        context: Context<'_>,
        turn: &Turn<'_>,
    ) -> Result<(), ErrorCode> {
        let admitted = self.admit_classic(&join, is_new)?;
        let (_, metadata) = join.protocols.first().ok_or(ErrorCode::InconsistentGroupProtocol)?;
        // Kafka answers this too, to what it cannot read.
        let subscription = Subscription::read(metadata).map_err(|_| ErrorCode::UnknownServerError)?;
        if subscription.owns_any() && admitted.is_new() {
            // It was in the group and is not any more: it has to hear that what it owns may be another's. Kafka takes it.
            return Err(ErrorCode::UnknownMemberId);
        }
        let owned = subscription.owned(context.topics);
        let after = Arc::new(joined(&admitted.member, join, subscription));
        self.check_growth(&admitted.member, &after, turn.limits)?;
        if let Some(old) = &admitted.succeeds {
            self.succeed(old, &after.id);
        }
        let before = &admitted.member;
        let subscription_changed = before.topics != after.topics || before.regex != after.regex;
        let id = after.id.clone();
        self.put(after, turn.now);
        self.lead(&id, subscription_changed, Some(&owned), context, turn);
        Ok(())
    }

    /// The protocol that the member will hear: its first. One of them all classic members must know.
    fn check_protocols(&self, join: &Join) -> Result<Text, ErrorCode> {
        let others = self.members.values().filter(|member| member.stored.id != join.who.member);
        let known = |name: &Text| {
            let mut classic = others.clone().filter_map(|member| member.stored.classic.as_ref());
            classic.all(|classic| classic.protocols.iter().any(|(known, _)| known == name))
        };
        let common = join.protocols.iter().any(|(name, _)| known(name));
        match join.protocols.first() {
            Some((first, _)) if &*join.protocol_type == PROTOCOL_TYPE && common => Ok(first.clone()),
            _ => Err(ErrorCode::InconsistentGroupProtocol),
        }
    }

    fn admit_classic(&self, join: &Join, is_new: bool) -> Result<Admitted, ErrorCode> {
        let id = &join.who.member;
        let as_it_is = || {
            let known = self.members.get(id).map(|member| Arc::clone(&member.stored));
            known.unwrap_or_else(|| Arc::new(StoredConsumerMember::new(id.clone())))
        };
        let Some(instance) = &join.who.instance else {
            return Ok(Admitted { member: as_it_is(), succeeds: None });
        };
        match self.static_member(instance) {
            None if is_new => Ok(Admitted { member: as_it_is(), succeeds: None }),
            None => Err(ErrorCode::UnknownMemberId),
            // In the classic protocol, who comes last has the instance id.
            Some(owner) if is_new => Ok(successor(owner, id)),
            Some(owner) if owner.id != *id => Err(ErrorCode::FencedInstanceId),
            Some(owner) => Ok(Admitted { member: Arc::clone(owner), succeeds: None }),
        }
    }

    /// SyncGroup.
    pub(crate) fn classic_sync(
        &mut self,
        sync: &Sync,
        context: Context<'_>,
        turn: &Turn<'_>,
    ) -> Result<Answer, ErrorCode> {
        let stored = Arc::clone(self.classic_member(&sync.who)?);
        let (name, metadata) = first_protocol(&stored).ok_or(ErrorCode::UnknownMemberId)?;
        if sync.protocol.as_ref().is_some_and(|(kind, named)| &**kind != PROTOCOL_TYPE || named != name) {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        self.touch(&stored.id, context.config, turn.limits, turn.now);
        // A member that gives up partitions has joined again already.
        if self.assignment_epoch > stored.epoch && stored.state != MemberState::Unrevoked {
            self.await_join(&stored.id, turn);
            return Err(ErrorCode::RebalanceInProgress);
        }
        if let Some(member) = self.members.get_mut(&stored.id) {
            member.sync = None;
        }
        let version = Subscription::read(metadata).map_or(0, |subscription| subscription.version);
        let assigned = super::heartbeat::numbers(&stored.assigned);
        Ok(Answer::Synced(Synced {
            protocol_type: PROTOCOL_TYPE.into(),
            protocol: name.clone(),
            assignment: consumer_protocol::assignment(version, &assigned, context.topics),
        }))
    }

    /// Heartbeat.
    pub(crate) fn classic_heartbeat(
        &mut self,
        who: &MemberRef,
        context: Context<'_>,
        turn: &Turn<'_>,
    ) -> Result<Answer, ErrorCode> {
        let stored = Arc::clone(self.classic_member(who)?);
        self.touch(&stored.id, context.config, turn.limits, turn.now);
        let has_to_join = stored.epoch < self.assignment_epoch
            || match stored.state {
                MemberState::Stable => false,
                MemberState::Unrevoked => true,
                MemberState::Unreleased => self.is_released(&stored),
            };
        if has_to_join {
            self.await_join(&stored.id, turn);
            return Err(ErrorCode::RebalanceInProgress);
        }
        Ok(Answer::Done)
    }

    /// LeaveGroup: an error code for each, and all leave at once.
    pub(crate) fn classic_leave(&mut self, leave: &Leave, turn: &Turn<'_>) -> Vec<ErrorCode> {
        let mut gone = Vec::new();
        let mut one = |(id, instance): &(Text, Option<Text>)| {
            let member = match instance {
                None => self.members.get(id).map(|member| &member.stored),
                Some(instance) => self.static_member(instance),
            };
            match member {
                None => ErrorCode::UnknownMemberId,
                // An operator may remove a static member by its instance id alone.
                Some(member) if member.id != *id && !id.is_empty() => ErrorCode::FencedInstanceId,
                Some(member) => {
                    gone.push(member.id.clone());
                    ErrorCode::None
                }
            }
        };
        let codes = leave.members.iter().map(&mut one).collect();
        self.remove(&gone, turn.wall);
        codes
    }

    /// The classic member that speaks, if it is in its present epoch.
    fn classic_member(&self, who: &MemberRef) -> Result<&Arc<StoredConsumerMember>, ErrorCode> {
        let member = match &who.instance {
            None => self.members.get(&who.member).map(|member| &member.stored),
            Some(instance) => self.static_member(instance),
        };
        let member = member.ok_or(ErrorCode::UnknownMemberId)?;
        if member.id != who.member {
            Err(ErrorCode::FencedInstanceId)
        } else if member.classic.is_none() {
            Err(ErrorCode::UnknownMemberId)
        } else if member.epoch.0 != who.generation.0 {
            Err(ErrorCode::IllegalGeneration)
        } else {
            Ok(member)
        }
    }

    /// Whether nobody else holds any more what the member is to get.
    fn is_released(&self, member: &StoredConsumerMember) -> bool {
        let target = self.target_of(&member.id);
        !target
            .iter()
            .any(|(id, numbers)| numbers.iter().any(|number| self.holders.others_hold(id, *number, member)))
    }

    /// The member was told to join again, and has its rebalance timeout to do so. Its assignment is out of date: it need not ask
    /// for it any more.
    fn await_join(&mut self, id: &Text, turn: &Turn<'_>) {
        let Some(member) = self.members.get_mut(id) else { return };
        let until = turn.now.plus_ms(member.stored.rebalance_timeout_ms);
        member.join.get_or_insert(until);
        member.sync = None;
    }
}

fn first_protocol(member: &StoredConsumerMember) -> Option<&(Text, Blob)> {
    member.classic.as_ref()?.protocols.first()
}

/// The member with what its JoinGroup says.
fn joined(before: &StoredConsumerMember, join: Join, subscription: Subscription) -> StoredConsumerMember {
    let mut member = before.clone();
    member.instance = join.who.instance.or(member.instance);
    member.rack = subscription.rack.or(member.rack);
    (member.client_id, member.client_host) = (join.client_id, join.client_host);
    member.rebalance_timeout_ms = join.rebalance_timeout_ms;
    member.topics = subscription.topics;
    // The classic protocol knows none: its clients match topics themselves.
    member.regex = "".into();
    member.classic =
        Some(ClassicProtocols { session_timeout_ms: join.session_timeout_ms, protocols: join.protocols });
    member
}
