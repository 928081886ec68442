//! A request about groups while its parts are with coordinators, and how their answers become its response.

use std::sync::Arc;

use log_access::acl::ResourceType;
use log_coordinators::{Answer, GroupDescription, GroupOffsets, Joined, Synced, Topic};
use log_wire::messages::Blob;
use log_wire::messages::groups::{
    DeletableGroupResult, DeleteGroupsResponse, DescribeGroupsResponse, DescribedGroup, DescribedGroupMember,
    HeartbeatResponse, JoinGroupResponse, JoinGroupResponseMember, LeaveGroupResponse, ListGroupsResponse,
    ListedGroup, MemberResponse, SyncGroupResponse,
};
use log_wire::messages::offsets::{
    OffsetCommitResponse, OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions, OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use log_wire::{ApiKey, ErrorCode};

use super::consumer;
use super::offset_delete::DeletePlan;
use super::transactional::TxnCommitPlan;
use crate::client::Client;
use crate::node::Node;
use crate::response::{Form, Response};
use crate::rights::{By, GROUP_DELETE, GROUP_DESCRIBE, GROUP_LIST, GROUP_READ, Need, TOPIC_DESCRIBE};

/// The first versions with a list of groups, or of members, and with topic ids.
pub(crate) const MANY_GROUPS: i16 = 8;
pub(crate) const MANY_MEMBERS: i16 = 3;
pub(crate) const TOPIC_IDS: i16 = 10;
/// The first version of DescribeGroups in which an unknown group is an error.
pub(crate) const KNOWS_UNKNOWN: i16 = 6;

/// A request whose parts are with coordinators.
#[derive(Debug)]
pub(crate) struct GroupCall {
    pub(crate) form: Form,
    /// Who asks.
    pub(crate) client: Arc<Client>,
    pub(crate) kind: Kind,
}

/// What is needed to write the answer.
#[derive(Debug)]
pub(crate) enum Kind {
    /// The member id in the request.
    Join(String),
    Sync,
    Heartbeat,
    Leave(Vec<(String, Option<String>)>),
    Commit(CommitPlan),
    TxnCommit(TxnCommitPlan),
    DeleteOffsets(DeletePlan),
    /// Of each part, in order.
    Fetch(Vec<FetchedGroup>),
    /// The group of each part, in order, and whether it is asked what the client may do with them.
    Describe(Vec<String>, bool),
    /// Of these types, and in these states; none means all.
    List((Vec<String>, Vec<String>)),
    Delete(Vec<String>),
    ConsumerHeartbeat,
    /// As [`Self::Describe`].
    ConsumerDescribe(Vec<String>, bool),
}

/// A group whose offsets are asked for.
#[derive(Debug)]
pub(crate) struct FetchedGroup {
    pub(crate) group: String,
    /// Whether all of them are.
    pub(crate) all: bool,
    /// Topics of which no partition is named: the response names them, too.
    pub(crate) bare: Vec<Topic>,
    /// The partitions that an error is told of, in versions that cannot tell it of the group.
    pub(crate) told: Vec<(Topic, i32)>,
}

/// Where each committed offset stands in the response: those without an error go to the coordinator, in order.
#[derive(Debug)]
pub(crate) struct CommitPlan(pub(crate) OffsetCommitResponse);

impl Kind {
    /// What a client must be allowed to do with each group.
    pub(crate) const fn need(&self) -> Need {
        match self {
            Self::Join(_)
            | Self::Sync
            | Self::Heartbeat
            | Self::ConsumerHeartbeat
            | Self::Leave(_)
            | Self::Commit(_)
            | Self::TxnCommit(_) => GROUP_READ,
            Self::Fetch(_) | Self::Describe(..) | Self::ConsumerDescribe(..) => GROUP_DESCRIBE,
            Self::List(..) => GROUP_LIST,
            Self::Delete(_) | Self::DeleteOffsets(_) => GROUP_DELETE,
        }
    }
}

/// Kafka's name of share groups.
const SHARE: &str = "share";

fn blob(bytes: &[u8]) -> Blob {
    Blob(bytes.to_vec())
}

impl GroupCall {
    /// The response, once all parts have their answers.
    pub(crate) fn response(&self, node: &Node, mut parts: impl Iterator<Item = Answer>) -> Response {
        let by = |api| By { client: &self.client, api };
        let form = self.form;
        match &self.kind {
            Kind::List(wanted) => form.response(&listed((node, by(ApiKey::ListGroups)), wanted, parts)),
            Kind::Fetch(groups) => {
                let of = (node, by(ApiKey::OffsetFetch));
                form.response(&fetched(of, groups, parts, form.version))
            }
            Kind::Describe(groups, with_operations) => {
                let mut response = described(groups, parts, form.version);
                for group in
                    response.groups.iter_mut().filter(|group| *with_operations && group.error_code == 0)
                {
                    let resource = (ResourceType::Group, group.group_id.as_str());
                    group.authorized_operations = node.operations(&self.client, resource);
                }
                form.response(&response)
            }
            Kind::Delete(groups) => form.response(&deleted(groups, parts)),
            Kind::ConsumerDescribe(groups, with_operations) => {
                let of = (node, by(ApiKey::ConsumerGroupDescribe));
                form.response(&consumer::described(of, (groups, *with_operations), parts))
            }
            single => {
                let answer = parts.next().unwrap_or(Answer::Failed(ErrorCode::CoordinatorNotAvailable));
                match single {
                    Kind::Join(id) => form.response(&joined(answer, id, form.version)),
                    Kind::Sync => form.response(&synced(answer)),
                    Kind::Leave(members) => form.response(&left(members, &answer, form.version)),
                    Kind::Commit(plan) => form.response(&committed(plan, &answer)),
                    Kind::TxnCommit(plan) => form.response(&plan.committed(&answer, form.version)),
                    Kind::DeleteOffsets(plan) => form.response(&plan.deleted(&answer)),
                    Kind::ConsumerHeartbeat => form.response(&consumer::heard(answer)),
                    _ => {
                        form.response(&HeartbeatResponse { error_code: code(&answer), ..Default::default() })
                    }
                }
            }
        }
    }
}

pub(super) fn code(answer: &Answer) -> i16 {
    if let Answer::Failed(error) = answer { error.code() } else { 0 }
}

/// A member that is refused finds its own id in the response, unless there was no room for it, or its client lacks the right.
fn joined(answer: Answer, id: &str, version: i16) -> JoinGroupResponse {
    const NULL_PROTOCOL: i16 = 7;
    let mut response = JoinGroupResponse { error_code: code(&answer), ..JoinGroupResponse::default() };
    response.protocol_name = if version >= NULL_PROTOCOL { None } else { Some(String::new()) };
    match answer {
        Answer::MemberIdRequired(id) => {
            (response.error_code, response.member_id) = (ErrorCode::MemberIdRequired.code(), id.to_string());
        }
        Answer::Joined(Joined {
            generation,
            protocol_type,
            protocol,
            leader,
            member,
            members,
            skip_assignment,
        }) => {
            (response.generation_id, response.skip_assignment) = (generation.0, skip_assignment);
            (response.protocol_type, response.protocol_name) =
                (Some(protocol_type.to_string()), Some(protocol.to_string()));
            (response.leader, response.member_id) = (leader.to_string(), member.to_string());
            let members = members.iter().map(|member| JoinGroupResponseMember {
                member_id: member.member.to_string(),
                group_instance_id: member.instance.as_deref().map(String::from),
                metadata: blob(&member.metadata),
            });
            response.members = members.collect();
        }
        Answer::Failed(ErrorCode::GroupMaxSizeReached | ErrorCode::GroupAuthorizationFailed) => {}
        _ => response.member_id = id.into(),
    }
    response
}

fn synced(answer: Answer) -> SyncGroupResponse {
    let mut response = SyncGroupResponse { error_code: code(&answer), ..SyncGroupResponse::default() };
    if let Answer::Synced(Synced { protocol_type, protocol, assignment }) = answer {
        response.protocol_type = Some(protocol_type.to_string());
        response.protocol_name = Some(protocol.to_string());
        response.assignment = blob(&assignment);
    }
    response
}

fn left(members: &[(String, Option<String>)], answer: &Answer, version: i16) -> LeaveGroupResponse {
    let mut response = LeaveGroupResponse { error_code: code(answer), ..LeaveGroupResponse::default() };
    if let Answer::Each(codes) = answer {
        if version < MANY_MEMBERS {
            response.error_code = codes.first().map_or(0, |error| error.code());
        }
        let each = members.iter().zip(codes).map(|((id, instance), error)| MemberResponse {
            member_id: id.clone(),
            group_instance_id: instance.clone(),
            error_code: error.code(),
        });
        response.members = each.collect();
    }
    response
}

fn committed(plan: &CommitPlan, answer: &Answer) -> OffsetCommitResponse {
    let mut response = plan.0.clone();
    let codes = if let Answer::Each(codes) = answer { codes.as_slice() } else { &[] };
    let mut codes = codes.iter().map(|error| error.code());
    let asked = response.topics.iter_mut().flat_map(|topic| &mut topic.partitions);
    for partition in asked.filter(|partition| partition.error_code == 0) {
        partition.error_code = codes.next().unwrap_or_else(|| code(answer));
    }
    response
}

fn fetched(
    (node, by): (&Node, By<'_>),
    groups: &[FetchedGroup],
    parts: impl Iterator<Item = Answer>,
    version: i16,
) -> OffsetFetchResponse {
    let mut response = OffsetFetchResponse::default();
    for (FetchedGroup { group, all, bare, told }, answer) in groups.iter().zip(parts) {
        let error_code = code(&answer);
        let offsets = if let Answer::Offsets(mut found) = answer { found.pop() } else { None };
        let error_code = offsets.as_ref().map_or(error_code, |found| found.error.code());
        let mut topics = offsets.map(by_topic).unwrap_or_default();
        let may = |topic: &OffsetFetchResponseTopics| match topic.name.is_empty() {
            true if version >= TOPIC_IDS || topic.topic_id != [0; 16] => Err(ErrorCode::UnknownTopicId),
            _ => node.may(by, TOPIC_DESCRIBE, &topic.name),
        };
        hide(&mut topics, may, *all);
        if error_code == 0 {
            topics.extend(bare.iter().map(topic_without_offsets));
        }
        if version >= MANY_GROUPS {
            let group_id = group.clone();
            response.groups.push(OffsetFetchResponseGroup { group_id, topics, error_code });
        } else {
            if error_code != 0 {
                topics = all_refused(told, error_code);
            }
            response.error_code = error_code;
            response.topics = topics.into_iter().map(old_form).collect();
        }
    }
    response
}

/// Takes out what the client may not see: of all offsets it is left out, of those that were named it is refused, as one is
/// of an id that no topic has.
fn hide(
    topics: &mut Vec<OffsetFetchResponseTopics>,
    may: impl Fn(&OffsetFetchResponseTopics) -> Result<(), ErrorCode>,
    all: bool,
) {
    topics.retain_mut(|topic| {
        let Err(error) = may(topic) else { return true };
        for partition in &mut topic.partitions {
            *partition = without_offset(partition.partition_index, error.code());
        }
        !all
    });
}

fn without_offset(partition_index: i32, error_code: i16) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index,
        committed_offset: -1,
        committed_leader_epoch: -1,
        metadata: Some(String::new()),
        error_code,
    }
}

/// The error of a group, told of each partition that was asked for.
fn all_refused(told: &[(Topic, i32)], error_code: i16) -> Vec<OffsetFetchResponseTopics> {
    let topics = told.chunk_by(|(one, _), (other, _)| one == other);
    let refused = topics.filter_map(|partitions| {
        let mut topic = topic_without_offsets(&partitions.first()?.0);
        topic.partitions = partitions.iter().map(|(_, index)| without_offset(*index, error_code)).collect();
        Some(topic)
    });
    refused.collect()
}

fn topic_without_offsets(topic: &Topic) -> OffsetFetchResponseTopics {
    OffsetFetchResponseTopics { name: topic.name.to_string(), topic_id: topic.id, partitions: Vec::new() }
}

fn by_topic(of: GroupOffsets) -> Vec<OffsetFetchResponseTopics> {
    let mut topics: Vec<OffsetFetchResponseTopics> = Vec::new();
    for found in of.offsets {
        let is_same = |last: &OffsetFetchResponseTopics| {
            last.name == *found.topic.name && last.topic_id == found.topic.id
        };
        if !topics.last().is_some_and(is_same) {
            topics.push(topic_without_offsets(&found.topic));
        }
        if let Some(topic) = topics.last_mut() {
            topic.partitions.push(OffsetFetchResponsePartitions {
                partition_index: found.partition,
                committed_offset: found.offset.0,
                committed_leader_epoch: found.leader_epoch,
                metadata: Some(found.metadata.to_string()),
                error_code: found.error.code(),
            });
        }
    }
    topics
}

fn old_form(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic {
    let partitions = topic.partitions.into_iter().map(|found| OffsetFetchResponsePartition {
        partition_index: found.partition_index,
        committed_offset: found.committed_offset,
        committed_leader_epoch: found.committed_leader_epoch,
        metadata: found.metadata,
        error_code: found.error_code,
    });
    OffsetFetchResponseTopic { name: topic.name, partitions: partitions.collect() }
}

fn described(groups: &[String], parts: impl Iterator<Item = Answer>, version: i16) -> DescribeGroupsResponse {
    let mut response = DescribeGroupsResponse::default();
    for (group, answer) in groups.iter().zip(parts) {
        let mut described =
            DescribedGroup { group_id: group.clone(), error_code: code(&answer), ..Default::default() };
        if let Answer::Described(mut found) = answer
            && let Some(found) = found.pop()
        {
            describe(&mut described, &found);
            if found.error == ErrorCode::GroupIdNotFound {
                match version {
                    ..KNOWS_UNKNOWN => described.error_code = 0,
                    _ => described.error_message = Some(format!("there is no classic group {group}")),
                }
            }
        }
        response.groups.push(described);
    }
    response
}

fn describe(described: &mut DescribedGroup, found: &GroupDescription) {
    described.error_code = found.error.code();
    described.group_state = found.state.into();
    (described.protocol_type, described.protocol_data) =
        (found.protocol_type.to_string(), found.protocol.to_string());
    let members = found.members.iter().map(|member| DescribedGroupMember {
        member_id: member.member.to_string(),
        group_instance_id: member.instance.as_deref().map(String::from),
        client_id: member.client_id.to_string(),
        client_host: member.client_host.to_string(),
        member_metadata: blob(&member.metadata),
        member_assignment: blob(&member.assignment),
    });
    described.members = members.collect();
}

fn deleted(groups: &[String], parts: impl Iterator<Item = Answer>) -> DeleteGroupsResponse {
    let results = groups.iter().zip(parts).map(|(group, answer)| {
        let each =
            if let Answer::Each(codes) = &answer { codes.first().map(|error| error.code()) } else { None };
        DeletableGroupResult { group_id: group.clone(), error_code: each.unwrap_or_else(|| code(&answer)) }
    });
    DeleteGroupsResponse { results: results.collect(), ..DeleteGroupsResponse::default() }
}

fn listed(
    (node, by): (&Node, By<'_>),
    (types, states): &(Vec<String>, Vec<String>),
    parts: impl Iterator<Item = Answer>,
) -> ListGroupsResponse {
    let is_wanted =
        |kind: &str| types.is_empty() || types.iter().any(|wanted| wanted.eq_ignore_ascii_case(kind));
    let may = |group: &str| node.may(by, GROUP_LIST, group).is_ok();
    let mut response = ListGroupsResponse::default();
    for answer in parts {
        match answer {
            Answer::Listed(groups) => {
                let wanted = groups.iter().filter(|group| is_wanted(group.group_type) && may(&group.group));
                response.groups.extend(wanted.map(|group| ListedGroup {
                    group_id: group.group.to_string(),
                    protocol_type: group.protocol_type.to_string(),
                    group_state: group.state.into(),
                    group_type: group.group_type.into(),
                }));
            }
            failed => response.error_code = code(&failed),
        }
    }
    let is_in_state =
        |state: &str| states.is_empty() || states.iter().any(|wanted| wanted.eq_ignore_ascii_case(state));
    let share = node
        .share_groups
        .iter()
        .filter(|(group, state)| is_wanted(SHARE) && is_in_state(state) && may(group));
    response.groups.extend(share.map(|(group, state)| ListedGroup {
        group_id: group.to_string(),
        protocol_type: SHARE.into(),
        group_state: (*state).into(),
        group_type: SHARE.into(),
    }));
    response
}
