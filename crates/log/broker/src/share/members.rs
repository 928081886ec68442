//! The members of share groups: heartbeats, and what groups look like.

use base::Now;
use log_access::acl::ResourceType;
use log_coordinators::{Partitions, Text};
use log_share::{ShareHeartbeat, ShareHeartbeatAnswer, ShareMemberDescription, ShareMemberLimits};
use log_wire::messages::share::{
    DescribedShareGroup, ShareGroupDescribeAssignment, ShareGroupDescribeMember, ShareGroupDescribeRequest,
    ShareGroupDescribeResponse, ShareGroupDescribeTopicPartitions, ShareGroupHeartbeatAssignment,
    ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse, ShareGroupHeartbeatTopicPartitions,
};
use log_wire::{ErrorCode, TopicName};

use super::{Share, group_config};
use crate::call::Caller;
use crate::groups::{Groups, TopicsView};
use crate::node::Node;
use crate::response::Response;
use crate::rights::{By, GROUP_DESCRIBE, GROUP_READ, TOPIC_DESCRIBE};

/// The only assignor that there is.
const ASSIGNOR: &str = "simple";

impl Share {
    /// Handles a request.
    pub(super) fn heartbeat(
        &mut self,
        node: &mut Node,
        request: ShareGroupHeartbeatRequest,
        of: Caller<'_>,
        (groups, now): (&Groups, Now),
    ) -> Response {
        let heard = self.heard(node, &request, of, (groups, now));
        let interval_ms = group_config(node, &request.group_id).members.heartbeat_interval_ms;
        let response = match heard {
            Ok(ShareHeartbeatAnswer { epoch, assignment }) => ShareGroupHeartbeatResponse {
                member_id: Some(request.member_id),
                member_epoch: epoch,
                heartbeat_interval_ms: i32::try_from(interval_ms).unwrap_or(i32::MAX),
                assignment: assignment.map(told),
                ..ShareGroupHeartbeatResponse::default()
            },
            Err(error) => ShareGroupHeartbeatResponse {
                error_code: error.code(),
                error_message: Some(String::from(why(error))),
                ..ShareGroupHeartbeatResponse::default()
            },
        };
        of.form.response(&response)
    }

    fn heard(
        &mut self,
        node: &mut Node,
        request: &ShareGroupHeartbeatRequest,
        of: Caller<'_>,
        (groups, now): (&Groups, Now),
    ) -> Result<ShareHeartbeatAnswer, ErrorCode> {
        node.may(of.by, GROUP_READ, &request.group_id)?;
        let mut named = request.subscribed_topic_names.iter().flatten();
        named.try_for_each(|topic| node.may(of.by, TOPIC_DESCRIBE, topic))?;
        if request.group_id.is_empty() {
            return Err(ErrorCode::InvalidGroupId);
        }
        groups.check_share_group(node, &request.group_id)?;
        self.coordinators.make_topic(node);
        let limits = ShareMemberLimits {
            session_timeout_ms: group_config(node, &request.group_id).members.session_timeout_ms,
            size_max: node.config.share.size_max,
            topics_max: node.config.groups.names_per_request_max,
        };
        let heartbeat = ShareHeartbeat {
            member: request.member_id.as_str().into(),
            epoch: request.member_epoch,
            rack: request.rack_id.as_deref().map(Text::from),
            topics: request
                .subscribed_topic_names
                .as_ref()
                .map(|names| names.iter().map(|name| Text::from(name.as_str())).collect()),
            client_id: of.client_id.into(),
            client_host: of.client_host.into(),
        };
        let group: Text = request.group_id.as_str().into();
        self.touched.insert(Text::clone(&group));
        let topics = TopicsView { node, client: Some(of.by.client) };
        self.groups.entry(group).or_default().heartbeat(&heartbeat, &topics, limits, now)
    }

    /// Members that were silent for too long are gone.
    pub(super) fn expire_members(&mut self, node: &Node, now: Now) {
        let topics = TopicsView { node, client: None };
        for (name, group) in &mut self.groups {
            if group.next_deadline().is_some_and(|due| due <= now.mono())
                && !group.tick(&topics, now).is_empty()
            {
                self.touched.insert(Text::clone(name));
            }
        }
    }

    /// Handles a request.
    pub(super) fn describe(
        &self,
        node: &Node,
        request: &ShareGroupDescribeRequest,
        of: Caller<'_>,
        coordinated: &Groups,
    ) -> Response {
        let mut groups: Vec<DescribedShareGroup> = Vec::new();
        for group in &request.group_ids {
            if groups.iter().all(|described| described.group_id != *group) {
                let by = (of.by, request.include_authorized_operations);
                groups.push(self.described(node, group, by, coordinated));
            }
        }
        of.form.response(&ShareGroupDescribeResponse { groups, ..ShareGroupDescribeResponse::default() })
    }

    fn described(
        &self,
        node: &Node,
        group: &str,
        (by, with_operations): (By<'_>, bool),
        coordinated: &Groups,
    ) -> DescribedShareGroup {
        let mut described = DescribedShareGroup { group_id: group.into(), ..DescribedShareGroup::default() };
        let may = node.may(by, GROUP_DESCRIBE, group);
        let may = may.and_then(|()| coordinated.check_share_group(node, group));
        let is_there = node.share_groups.contains_key(group);
        if let Err(error) = may.and(if is_there { Ok(()) } else { Err(ErrorCode::GroupIdNotFound) }) {
            (described.error_code, described.error_message) = (error.code(), Some(String::from(why(error))));
            return described;
        }
        (described.group_state, described.assignor_name) = ("Empty".into(), ASSIGNOR.into());
        if let Some(found) = self.groups.get(group).map(log_share::ShareGroup::describe) {
            described.group_state = found.state.into();
            (described.group_epoch, described.assignment_epoch) = (found.epoch, found.epoch);
            described.members = found.members.into_iter().map(|member| shown(node, by, member)).collect();
        }
        if with_operations {
            described.authorized_operations = node.operations(by.client, (ResourceType::Group, group));
        }
        described
    }
}

fn told(assigned: Partitions) -> ShareGroupHeartbeatAssignment {
    let topics = assigned.into_iter().map(|(topic_id, partitions)| ShareGroupHeartbeatTopicPartitions {
        topic_id,
        partitions: partitions.into_iter().collect(),
    });
    ShareGroupHeartbeatAssignment { topic_partitions: topics.collect() }
}

/// A member, without topics that the client may not see.
fn shown(node: &Node, by: By<'_>, member: ShareMemberDescription) -> ShareGroupDescribeMember {
    let may = |topic: &str| node.may(by, TOPIC_DESCRIBE, topic).is_ok();
    let assigned = member.assignment.into_iter().filter_map(|(topic_id, partitions)| {
        let name = node.catalog.find(TopicName::Id(topic_id)).ok()?.name.to_string();
        let partitions = partitions.into_iter().collect();
        may(&name).then_some(ShareGroupDescribeTopicPartitions { topic_id, topic_name: name, partitions })
    });
    let topics = member.topics.iter().filter(|topic| may(topic)).map(|topic| topic.to_string());
    ShareGroupDescribeMember {
        member_id: member.member.to_string(),
        rack_id: member.rack.as_deref().map(String::from),
        member_epoch: member.epoch,
        client_id: member.client_id.to_string(),
        client_host: member.client_host.to_string(),
        subscribed_topic_names: topics.collect(),
        assignment: ShareGroupDescribeAssignment { topic_partitions: assigned.collect() },
    }
}

/// What a person reads in the log of the client.
const fn why(error: ErrorCode) -> &'static str {
    match error {
        ErrorCode::InvalidRequest => "the heartbeat lacks something, or names too much",
        ErrorCode::UnknownMemberId => "the group has no such member",
        ErrorCode::FencedMemberEpoch => "the member has another epoch: it has to join again",
        ErrorCode::GroupMaxSizeReached => "the group has as many members as it may have",
        ErrorCode::GroupIdNotFound => "there is no such share group",
        ErrorCode::InvalidGroupId => "a group has a name",
        ErrorCode::GroupAuthorizationFailed | ErrorCode::TopicAuthorizationFailed => {
            "the client has no right to"
        }
        _ => "it cannot be done at the moment",
    }
}
