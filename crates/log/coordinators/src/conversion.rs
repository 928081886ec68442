//! A classic group becomes a consumer group while its members are in it, and the other way round.
//!
//! What a member may own is never forgotten on the way. A classic member may own what it was assigned last, and what it said that
//! it owned when it joined last: its leader may have taken that from it without its having heard of it (L48).

use std::sync::Arc;

use base::MonoTime;
use log_wire::{ErrorCode, Malformed};

use crate::classic::{ClassicGroup, Phase};
use crate::codec::StoredMember;
use crate::consumer::{ConsumerGroup, Context};
use crate::consumer_protocol::{self, Assignment, PROTOCOL_TYPE, Subscription};
use crate::stored_consumer::{ClassicProtocols, Owned, StoredConsumerMember};
use crate::turn::Turn;
use crate::{Epoch, Generation, GroupLimits, Partitions, Topics};

/// The consumer group that takes the place of a classic group without members. Kafka begins with epoch 1 again. Here the epoch
/// goes on from the generation: a member that comes back never gets an older one than it had (L49), and a commit from then
/// does not count now (L50).
pub(crate) fn filled(classic: &ClassicGroup) -> ConsumerGroup {
    let mut group = ConsumerGroup::new(classic.empty_since);
    group.epoch = group.epoch.max(Epoch(classic.generation.0));
    group
}

/// The classic group that takes the place of a consumer group without members. Its generations go on from the epoch.
pub(crate) fn emptied(group: &ConsumerGroup) -> ClassicGroup {
    let mut classic = ClassicGroup::new(group.empty_since);
    (classic.generation, classic.dirty) = (Generation(group.epoch.0), true);
    classic
}

/// The consumer group that a classic group with members becomes. Its epoch is the generation.
///
/// # Errors
/// GROUP_ID_NOT_FOUND: the group is not of consumers, or uses an assignor of its own, or the policy does not allow it.
pub(crate) fn upgraded(
    classic: &ClassicGroup,
    context: Context<'_>,
    limits: &GroupLimits,
    now: MonoTime,
) -> Result<ConsumerGroup, ErrorCode> {
    let limits_allow = limits.consumer.migration_policy.upgrades()
        && classic.members.len() <= limits.consumer.group_size_max;
    if !limits_allow || &*classic.protocol_type != PROTOCOL_TYPE {
        return Err(ErrorCode::GroupIdNotFound);
    }
    let mut group = ConsumerGroup::new(classic.empty_since);
    let epoch = Epoch(classic.generation.0);
    (group.epoch, group.assignment_epoch) = (epoch, epoch);
    // Members that have joined again own what they said then, whatever the generation before gave them.
    let is_assigned = classic.assigned || classic.leader.is_empty();
    for member in classic.by_rank().map(|member| &member.stored) {
        let chosen = member.protocols.iter().find(|(name, _)| *name == classic.protocol);
        // A group in its first rebalance has chosen none yet.
        let Some((_, metadata)) = chosen.or(member.protocols.first()) else {
            return Err(ErrorCode::GroupIdNotFound);
        };
        let assignment = if is_assigned { &*member.assignment } else { &[] };
        let member = upgraded_member(member, (metadata, assignment), epoch, context.topics);
        let member = member.map_err(|_| ErrorCode::GroupIdNotFound)?;
        let (id, target) = (member.id.clone(), crate::consumer::partitions(&member.assigned));
        group.put(Arc::new(member), now);
        group.aim(&id, Arc::new(target));
        group.touch(&id, context.config, limits, now);
    }
    Ok(group)
}

fn upgraded_member(
    classic: &StoredMember,
    (metadata, assignment): (&[u8], &[u8]),
    epoch: Epoch,
    topics: &dyn Topics,
) -> Result<StoredConsumerMember, Malformed> {
    let subscription = Subscription::read(metadata)?;
    let mut owned = subscription.owned(topics);
    if !assignment.is_empty() {
        let assignment = Assignment::read(assignment)?;
        if assignment.has_user_data {
            return Err(Malformed("an assignment with something of its assignor's own"));
        }
        for (id, numbers) in assignment.partitions(topics) {
            owned.entry(id).or_default().extend(numbers);
        }
    }
    let mut member = StoredConsumerMember::new(classic.id.clone());
    (member.epoch, member.previous_epoch) = (epoch, epoch);
    member.instance = classic.instance.clone();
    member.rack = subscription.rack;
    (member.client_id, member.client_host) = (classic.client_id.clone(), classic.client_host.clone());
    member.rebalance_timeout_ms = classic.rebalance_timeout_ms;
    member.topics = subscription.topics;
    member.classic = Some(ClassicProtocols {
        session_timeout_ms: classic.session_timeout_ms,
        protocols: classic.protocols.clone(),
    });
    let since = |numbers: std::collections::BTreeSet<i32>| {
        numbers.into_iter().map(|number| (number, epoch)).collect()
    };
    member.assigned = owned.into_iter().map(|(id, numbers)| (id, since(numbers))).collect::<Owned>();
    Ok(member)
}

/// The classic group that a consumer group of classic members becomes. Its generation is the group's epoch, and it rebalances.
///
/// Kafka does not rebalance if every member has what it is to have. But then no member knows that it leads, so nobody looks
/// after topics that come and grow (L53).
pub(crate) fn downgraded(group: &ConsumerGroup, topics: &dyn Topics, turn: &mut Turn<'_>) -> ClassicGroup {
    let mut classic = ClassicGroup::new(group.empty_since);
    classic.generation = Generation(group.epoch.0);
    classic.protocol_type = PROTOCOL_TYPE.into();
    for member in group.members.values().map(|member| &*member.stored) {
        if let Some(protocols) = &member.classic {
            classic.insert(downgraded_member(member, protocols, &group.held(&member.id), topics), turn.now);
        }
    }
    classic.protocol = classic.choose_protocol();
    // Without an assignment and a leader, a replay of its record rebalances too.
    (classic.phase, classic.assigned, classic.dirty) = (Phase::Stable, false, true);
    classic.prepare(turn);
    classic
}

fn downgraded_member(
    member: &StoredConsumerMember,
    classic: &ClassicProtocols,
    held: &Partitions,
    topics: &dyn Topics,
) -> StoredMember {
    let metadata = classic.protocols.first().map(|(_, metadata)| metadata);
    let version =
        metadata.and_then(|metadata| Subscription::read(metadata).ok()).map_or(0, |read| read.version);
    StoredMember {
        id: member.id.clone(),
        instance: member.instance.clone(),
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        session_timeout_ms: classic.session_timeout_ms,
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        protocols: classic.protocols.clone(),
        assignment: consumer_protocol::assignment(version, held, topics),
    }
}
