//! DescribeGroups, ConsumerGroupDescribe and ListGroups.

use log_wire::ErrorCode;

use crate::classic::{ClassicGroup, Phase};
use crate::codec::StoredMember;
use crate::group::Group;
use crate::{
    Answer, Blob, ConsumerGroupDescription, Epoch, GroupCoordinator, GroupDescription, GroupListing,
    MemberDescription, Text, Topics,
};

impl GroupCoordinator {
    pub(crate) fn describe(&self, name: &Text) -> GroupDescription {
        let (error, state) = match self.groups.get(name) {
            Some(Group::Classic(group)) => return describe_classic(name, group),
            // Kafka says so of groups of every other type.
            Some(Group::Consumer(_)) => (ErrorCode::GroupIdNotFound, "Dead"),
            None if self.has_offsets(name) => (ErrorCode::None, "Empty"),
            None => (ErrorCode::GroupIdNotFound, "Dead"),
        };
        GroupDescription {
            group: name.clone(),
            error,
            state,
            protocol_type: "".into(),
            protocol: "".into(),
            members: Vec::new(),
        }
    }

    pub(crate) fn describe_consumers(&self, name: &Text, topics: &dyn Topics) -> ConsumerGroupDescription {
        if let Some(Group::Consumer(group)) = self.groups.get(name) {
            return group.describe(name, topics, &self.limits.consumer);
        }
        let error = if name.is_empty() { ErrorCode::InvalidGroupId } else { ErrorCode::GroupIdNotFound };
        ConsumerGroupDescription {
            group: name.clone(),
            error,
            state: "",
            epoch: Epoch(0),
            assignment_epoch: Epoch(0),
            assignor: "",
            members: Vec::new(),
        }
    }

    pub(crate) fn list(&self, states: &[Text]) -> Answer {
        let mut listed = Vec::new();
        let mut next = self.next_name(None);
        while let Some(name) = next {
            let group = self.groups.get(&name);
            let state = group.map_or("Empty", Group::state);
            if states.is_empty() || states.iter().any(|wanted| wanted.trim().eq_ignore_ascii_case(state)) {
                listed.push(GroupListing {
                    group: name.clone(),
                    protocol_type: group.map_or_else(|| "".into(), Group::protocol_type),
                    state,
                    group_type: group.map_or("classic", Group::group_type),
                });
            }
            next = self.next_name(Some(&name));
        }
        Answer::Listed(listed)
    }
}

/// Only a stable group has a protocol, as Kafka shows it.
fn describe_classic(name: &Text, group: &ClassicGroup) -> GroupDescription {
    let stable = group.phase == Phase::Stable;
    let member = |member: &StoredMember| MemberDescription {
        member: member.id.clone(),
        instance: member.instance.clone(),
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        metadata: if stable { group.metadata(member) } else { Blob::from(&[][..]) },
        assignment: member.assignment.clone(),
    };
    GroupDescription {
        group: name.clone(),
        error: ErrorCode::None,
        state: group.state(),
        protocol_type: group.protocol_type.clone(),
        protocol: if stable { group.protocol.clone() } else { "".into() },
        members: group.by_rank().map(|each| member(&each.stored)).collect(),
    }
}
