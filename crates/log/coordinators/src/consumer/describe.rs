//! ConsumerGroupDescribe.

use log_wire::ErrorCode;

use super::ConsumerGroup;
use super::heartbeat::numbers;
use crate::stored_consumer::StoredConsumerMember;
use crate::{
    ConsumerGroupDescription, ConsumerLimits, ConsumerMemberDescription, NamedPartitions, Partitions, Text,
    Topic, Topics,
};

impl ConsumerGroup {
    pub(crate) fn describe(
        &self,
        name: &Text,
        topics: &dyn Topics,
        limits: &ConsumerLimits,
    ) -> ConsumerGroupDescription {
        let member = |member: &StoredConsumerMember| ConsumerMemberDescription {
            member: member.id.clone(),
            instance: member.instance.clone(),
            rack: member.rack.clone(),
            epoch: member.epoch,
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            topics: member.topics.iter().cloned().collect(),
            regex: member.regex.clone(),
            assignment: named(&held(member), topics),
            target: named(&self.target_of(&member.id), topics),
            classic: member.classic.is_some(),
        };
        ConsumerGroupDescription {
            group: name.clone(),
            error: ErrorCode::None,
            state: self.state(),
            epoch: self.epoch,
            assignment_epoch: self.assignment_epoch,
            assignor: self.assignor(limits).name(),
            members: self.members.values().map(|each| member(&each.stored)).collect(),
        }
    }
}

/// What a member may own.
pub(super) fn held(member: &StoredConsumerMember) -> Partitions {
    let mut held = numbers(&member.assigned);
    for (id, numbers) in numbers(&member.revoking) {
        held.entry(id).or_default().extend(numbers);
    }
    held
}

/// With the topics' names. Topics that are gone are left out.
fn named(partitions: &Partitions, topics: &dyn Topics) -> NamedPartitions {
    let named = partitions.iter().filter_map(|(id, numbers)| {
        Some((Topic { name: topics.name(id)?, id: *id }, numbers.iter().copied().collect()))
    });
    named.collect()
}
