//! Which heartbeats are taken. Nothing has changed yet when one is refused.

use std::sync::Arc;

use log_wire::ErrorCode;

use super::ConsumerGroup;
use crate::pattern::Pattern;
use crate::stored_consumer::{Owned, StoredConsumerMember};
use crate::{ConsumerHeartbeat, ConsumerLimits, Epoch, GroupLimits, Partitions, Text};

/// The first version whose members make their ids themselves.
const OWN_MEMBER_ID: i16 = 1;

/// Whether the request is one at all, whatever the group.
pub(crate) fn check_heartbeat(
    heartbeat: &ConsumerHeartbeat,
    limits: &ConsumerLimits,
) -> Result<(), ErrorCode> {
    let is_empty = |text: &Option<Text>| text.as_ref().is_some_and(|text| text.is_empty());
    let epoch = heartbeat.epoch;
    let needs_id = heartbeat.version >= OWN_MEMBER_ID || epoch > Epoch::JOIN || epoch == Epoch::LEAVE;
    let malformed = (needs_id && heartbeat.member.is_empty())
        || heartbeat.group.is_empty()
        || is_empty(&heartbeat.instance)
        || is_empty(&heartbeat.rack);
    let impossible = match epoch {
        Epoch::JOIN => {
            let owns_nothing = heartbeat.owned.as_ref().is_some_and(Partitions::is_empty);
            !owns_nothing || !heartbeat.is_full()
        }
        Epoch::LEAVE_STATIC => heartbeat.instance.is_none(),
        other => other < Epoch::LEAVE_STATIC,
    };
    if malformed || impossible {
        return Err(ErrorCode::InvalidRequest);
    }
    let known = |name: &Text| limits.assignors.iter().any(|assignor| assignor.name() == &**name);
    match &heartbeat.assignor {
        Some(name) if !known(name) => Err(ErrorCode::UnsupportedAssignor),
        _ => Ok(()),
    }
}

/// The member that a heartbeat is of.
pub(super) struct Admitted {
    /// As it was until now.
    pub(super) member: Arc<StoredConsumerMember>,
    /// The static member whose place it takes.
    pub(super) succeeds: Option<Text>,
}

impl Admitted {
    /// Nobody of this id, and nobody whose place it takes, is in the group.
    pub(super) fn is_new(&self) -> bool {
        self.succeeds.is_none()
            && self.member.previous_epoch == Epoch::JOIN
            && self.member.epoch == Epoch::JOIN
    }
}

impl ConsumerGroup {
    pub(super) fn admit(
        &self,
        heartbeat: &ConsumerHeartbeat,
        limits: &ConsumerLimits,
    ) -> Result<Admitted, ErrorCode> {
        let (id, epoch) = (&heartbeat.member, heartbeat.epoch);
        let known = self.members.get(id);
        if known.is_none() && self.members.len() >= limits.group_size_max {
            return Err(ErrorCode::GroupMaxSizeReached);
        }
        let new = || Arc::new(StoredConsumerMember::new(id.clone()));
        let Some(instance) = &heartbeat.instance else {
            let member = match known {
                Some(member) => Arc::clone(&member.stored),
                None if epoch == Epoch::JOIN => new(),
                None => return Err(ErrorCode::UnknownMemberId),
            };
            check_epoch(&member, epoch, heartbeat.owned.as_ref())?;
            return Ok(Admitted { member, succeeds: None });
        };
        match self.static_member(instance) {
            None if epoch == Epoch::JOIN => {
                let member = known.map_or_else(new, |member| Arc::clone(&member.stored));
                Ok(Admitted { member, succeeds: None })
            }
            None => Err(ErrorCode::UnknownMemberId),
            Some(owner) if epoch == Epoch::JOIN => {
                // Kafka does not make an exception for the owner itself: it waits until its session ends.
                let released = owner.epoch == Epoch::LEAVE_STATIC || owner.classic.is_some();
                if released { Ok(successor(owner, id)) } else { Err(ErrorCode::UnreleasedInstanceId) }
            }
            Some(owner) if owner.id != *id => Err(ErrorCode::FencedInstanceId),
            Some(owner) => {
                check_epoch(owner, epoch, heartbeat.owned.as_ref())?;
                Ok(Admitted { member: Arc::clone(owner), succeeds: None })
            }
        }
    }

    pub(super) fn static_member(&self, instance: &Text) -> Option<&Arc<StoredConsumerMember>> {
        self.instances.get(instance).and_then(|id| self.members.get(id)).map(|member| &member.stored)
    }

    /// Whether the group can take the member as it is from now on.
    pub(super) fn check_growth(
        &self,
        before: &StoredConsumerMember,
        after: &StoredConsumerMember,
        limits: &GroupLimits,
    ) -> Result<(), ErrorCode> {
        if after.bytes() > limits.member_bytes_max {
            return Err(ErrorCode::InvalidRequest);
        }
        if self.bytes + after.bytes() > limits.group_bytes_max {
            return Err(ErrorCode::GroupMaxSizeReached);
        }
        if after.regex == before.regex || after.regex.is_empty() || self.subscriptions.has_regex(&after.regex)
        {
            return Ok(());
        }
        let limits = &limits.consumer;
        let compiled = Pattern::new(&after.regex, limits.regex_compiled_bytes_max);
        if after.regex.len() > limits.regex_bytes_max || compiled.is_err() {
            return Err(ErrorCode::InvalidRegularExpression);
        }
        if self.subscriptions.regexes() >= limits.regexes_max {
            return Err(ErrorCode::PolicyViolation);
        }
        Ok(())
    }
}

/// A static member under its new id. It has to be led from the start, and owns what the old one owned.
pub(super) fn successor(owner: &StoredConsumerMember, id: &Text) -> Admitted {
    let mut member = owner.clone();
    member.id = id.clone();
    (member.epoch, member.previous_epoch) = (Epoch::JOIN, Epoch::JOIN);
    Admitted { member: Arc::new(member), succeeds: Some(owner.id.clone()) }
}

/// A member may be one epoch behind, for it may not have heard of the newest. It must then own nothing that it was not given.
fn check_epoch(
    member: &StoredConsumerMember,
    epoch: Epoch,
    owned: Option<&Partitions>,
) -> Result<(), ErrorCode> {
    if epoch == Epoch::JOIN || epoch == member.epoch {
        return Ok(());
    }
    let is_late = epoch < member.epoch && epoch == member.previous_epoch;
    if is_late && owned.is_some_and(|owned| is_within(owned, &member.assigned)) {
        return Ok(());
    }
    Err(ErrorCode::FencedMemberEpoch)
}

fn is_within(owned: &Partitions, assigned: &Owned) -> bool {
    owned.iter().all(|(id, numbers)| {
        let assigned = assigned.get(id);
        numbers.iter().all(|number| assigned.is_some_and(|assigned| assigned.contains_key(number)))
    })
}
