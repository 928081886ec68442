//! Groups of KIP-848: from the form of the wire to the coordinators, and back.

use base::Now;
use log_access::acl::ResourceType;
use log_coordinators::{
    Answer, ConsumerGroupDescription, ConsumerHeartbeat, ConsumerHeartbeatAnswer, ConsumerMemberDescription,
    Epoch, NamedPartitions, Partitions, Request,
};
use log_wire::ErrorCode;
use log_wire::messages::consumer_groups::{
    ConsumerGroupDescribeAssignment, ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse,
    ConsumerGroupDescribeTopicPartitions, ConsumerGroupHeartbeatAssignment, ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse, ConsumerGroupHeartbeatTopicPartitions, DescribedConsumerGroup, Member,
};

use super::Groups;
use super::call::{Kind, code};
use super::requests::{once_each, text};
use crate::call::Caller;
use crate::node::Node;
use crate::response::Response;
use crate::rights::{By, GROUP_READ, TOPIC_DESCRIBE};

/// The types of members in ConsumerGroupDescribe.
const TYPE_CLASSIC: i8 = 0;
const TYPE_CONSUMER: i8 = 1;

impl Groups {
    /// Handles a request.
    pub(crate) fn consumer_heartbeat(
        &mut self,
        node: &mut Node,
        request: ConsumerGroupHeartbeatRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        if let Err(error) = may_heartbeat(node, of.by, &request) {
            return Some(of.form.response(&heard(Answer::Failed(error))));
        }
        let owned = request.topic_partitions.map(|topics| {
            let each =
                topics.into_iter().map(|topic| (topic.topic_id, topic.partitions.into_iter().collect()));
            each.collect::<Partitions>()
        });
        let optional = |value: &Option<String>| value.as_deref().map(text);
        let heartbeat = ConsumerHeartbeat {
            group: text(&request.group_id),
            member: text(&request.member_id),
            epoch: Epoch(request.member_epoch),
            instance: optional(&request.instance_id),
            rack: optional(&request.rack_id),
            version: of.form.version,
            client_id: of.client_id.into(),
            client_host: of.client_host.into(),
            rebalance_timeout_ms: u64::try_from(request.rebalance_timeout_ms).ok(),
            topics: request.subscribed_topic_names.map(|names| names.iter().map(|name| text(name)).collect()),
            regex: optional(&request.subscribed_topic_regex),
            assignor: optional(&request.server_assignor),
            owned,
        };
        let part = (request.group_id, Request::ConsumerHeartbeat(heartbeat));
        self.call_groups(node, Kind::ConsumerHeartbeat, vec![part], of, now)
    }

    /// Handles a request.
    pub(crate) fn describe_consumer_groups(
        &mut self,
        node: &mut Node,
        request: ConsumerGroupDescribeRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let part = |group: &str| (group.to_owned(), Request::ConsumerDescribe(vec![text(group)]));
        let groups = once_each(request.group_ids.iter(), |group| group.as_str());
        let parts = groups.iter().map(|group| part(group)).collect();
        let groups = groups.into_iter().cloned().collect();
        let kind = Kind::ConsumerDescribe(groups, request.include_authorized_operations);
        self.call_groups(node, kind, parts, of, now)
    }
}

/// A member must be allowed to read in its group, and to see each topic that it names.
fn may_heartbeat(node: &Node, by: By<'_>, request: &ConsumerGroupHeartbeatRequest) -> Result<(), ErrorCode> {
    node.may(by, GROUP_READ, &request.group_id)?;
    let mut topics = request.subscribed_topic_names.iter().flatten();
    topics.try_for_each(|topic| node.may(by, TOPIC_DESCRIBE, topic))
}

/// The response to a heartbeat.
pub(super) fn heard(answer: Answer) -> ConsumerGroupHeartbeatResponse {
    let Answer::ConsumerHeartbeat(ConsumerHeartbeatAnswer {
        member,
        epoch,
        heartbeat_interval_ms,
        assignment,
    }) = answer
    else {
        return ConsumerGroupHeartbeatResponse {
            error_code: code(&answer),
            error_message: reason(&answer).map(String::from),
            ..ConsumerGroupHeartbeatResponse::default()
        };
    };
    let topics = |assigned: Partitions| {
        let each = assigned.into_iter().map(|(topic_id, partitions)| ConsumerGroupHeartbeatTopicPartitions {
            topic_id,
            partitions: partitions.into_iter().collect(),
        });
        ConsumerGroupHeartbeatAssignment { topic_partitions: each.collect() }
    };
    ConsumerGroupHeartbeatResponse {
        member_id: Some(member.to_string()),
        member_epoch: epoch.0,
        heartbeat_interval_ms: i32::try_from(heartbeat_interval_ms).unwrap_or(i32::MAX),
        assignment: assignment.map(topics),
        ..ConsumerGroupHeartbeatResponse::default()
    }
}

/// What a person reads in the log of the client.
fn reason(answer: &Answer) -> Option<&'static str> {
    let Answer::Failed(error) = answer else { return None };
    Some(match error {
        ErrorCode::InvalidRequest => "the heartbeat lacks something, or names too much",
        ErrorCode::UnknownMemberId => "the group has no such member",
        ErrorCode::FencedMemberEpoch => "the member has another epoch: it has to join again",
        ErrorCode::UnreleasedInstanceId => "another member has this instance id, and has not left",
        ErrorCode::FencedInstanceId => "another member has taken over this instance id",
        ErrorCode::UnsupportedAssignor => "there is no such assignor: `uniform` and `range` are known",
        ErrorCode::InvalidRegularExpression => "the regular expression is not one of RE2, or too large",
        ErrorCode::GroupMaxSizeReached => "the group has as many members as it may have",
        ErrorCode::GroupIdNotFound => "there is no such consumer group",
        _ => return None,
    })
}

/// The response to ConsumerGroupDescribe.
pub(super) fn described(
    (node, by): (&Node, By<'_>),
    (groups, with_operations): (&[String], bool),
    parts: impl Iterator<Item = Answer>,
) -> ConsumerGroupDescribeResponse {
    let described = groups.iter().zip(parts).map(|(group, answer)| {
        let error_code = code(&answer);
        let found = if let Answer::ConsumerDescribed(mut found) = answer { found.pop() } else { None };
        let unknown = DescribedConsumerGroup {
            group_id: group.clone(),
            error_code,
            ..DescribedConsumerGroup::default()
        };
        let mut described = found.map_or(unknown, of_description);
        if with_operations && described.error_code == 0 {
            described.authorized_operations = node.operations(by.client, (ResourceType::Group, group));
        }
        hide(node, by, &mut described);
        described
    });
    ConsumerGroupDescribeResponse { groups: described.collect(), ..ConsumerGroupDescribeResponse::default() }
}

/// A group with topics that the client may not see is not shown to it.
fn hide(node: &Node, by: By<'_>, described: &mut DescribedConsumerGroup) {
    let is_seen = |assignment: &ConsumerGroupDescribeAssignment| {
        let mut topics = assignment.topic_partitions.iter();
        topics.try_for_each(|topic| node.may(by, TOPIC_DESCRIBE, &topic.topic_name))
    };
    let mut members = described.members.iter();
    let seen = members
        .try_for_each(|member| is_seen(&member.assignment).and_then(|()| is_seen(&member.target_assignment)));
    if let Err(error) = seen {
        described.error_code = error.code();
        described.error_message = Some(String::from("the group has topics that the client may not see"));
        described.members.clear();
    }
}

fn of_description(found: ConsumerGroupDescription) -> DescribedConsumerGroup {
    let unknown = || format!("there is no consumer group {}", found.group);
    DescribedConsumerGroup {
        error_code: found.error.code(),
        error_message: (found.error == ErrorCode::GroupIdNotFound).then(unknown),
        group_id: found.group.to_string(),
        group_state: found.state.into(),
        group_epoch: found.epoch.0,
        assignment_epoch: found.assignment_epoch.0,
        assignor_name: found.assignor.into(),
        members: found.members.into_iter().map(of_member).collect(),
        ..DescribedConsumerGroup::default()
    }
}

fn of_member(member: ConsumerMemberDescription) -> Member {
    Member {
        member_id: member.member.to_string(),
        instance_id: member.instance.as_deref().map(String::from),
        rack_id: member.rack.as_deref().map(String::from),
        member_epoch: member.epoch.0,
        client_id: member.client_id.to_string(),
        client_host: member.client_host.to_string(),
        subscribed_topic_names: member.topics.iter().map(|topic| topic.to_string()).collect(),
        subscribed_topic_regex: Some(member.regex.to_string()),
        assignment: of_partitions(member.assignment),
        target_assignment: of_partitions(member.target),
        member_type: if member.classic { TYPE_CLASSIC } else { TYPE_CONSUMER },
    }
}

fn of_partitions(topics: NamedPartitions) -> ConsumerGroupDescribeAssignment {
    let each = topics.into_iter().map(|(topic, partitions)| ConsumerGroupDescribeTopicPartitions {
        topic_id: topic.id,
        topic_name: topic.name.to_string(),
        partitions,
    });
    ConsumerGroupDescribeAssignment { topic_partitions: each.collect() }
}
