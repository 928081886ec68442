//! Requests about groups: from the form of the wire to the coordinators, and back.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::Now;
use log_coordinators::{
    Generation, Join, Leave, MemberRef, NewOffset, Offset, OffsetCommit, OffsetFetch, Request, Sync, Text,
    Topic,
};
use log_wire::messages::groups::{
    DeleteGroupsRequest, DescribeGroupsRequest, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest,
    ListGroupsRequest, SyncGroupRequest, SyncGroupResponse,
};
use log_wire::messages::offsets::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use log_wire::{ErrorCode, TopicName};

use super::Groups;
use super::call::{CommitPlan, FetchedGroup, Kind, MANY_GROUPS, MANY_MEMBERS, TOPIC_IDS};
use crate::call::Caller;
use crate::catalog::Catalog;
use crate::node::Node;
use crate::response::Response;
use crate::rights::{By, GROUP_READ, TOPIC_READ};

/// The first version of OffsetFetch whose response has an error of the group.
const GROUP_ERROR: i16 = 2;
/// The first version of SyncGroup in which a member says which protocol it believes in.
const NAMES_PROTOCOL: i16 = 5;

/// A part of a request: the group that says which coordinator it is for, and what is asked.
type Part = (String, Request);

impl Groups {
    /// Handles a request.
    pub(crate) fn join_group(
        &mut self,
        node: &mut Node,
        request: JoinGroupRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let rebalance_ms = if request.rebalance_timeout_ms < 0 {
            request.session_timeout_ms
        } else {
            request.rebalance_timeout_ms
        };
        let protocols = request.protocols.into_iter();
        let who = member(&request.group_id, &request.member_id, request.group_instance_id.as_deref(), -1);
        let join = Join {
            who,
            version: of.form.version,
            client_id: of.client_id.into(),
            client_host: of.client_host.into(),
            session_timeout_ms: u64::try_from(request.session_timeout_ms).unwrap_or(0),
            rebalance_timeout_ms: u64::try_from(rebalance_ms).unwrap_or(0),
            protocol_type: request.protocol_type.as_str().into(),
            protocols: protocols.map(|protocol| (text(&protocol.name), protocol.metadata.0.into())).collect(),
        };
        let kind = Kind::Join(request.member_id);
        self.call_groups(node, kind, vec![(request.group_id, Request::Join(join))], of, now)
    }

    /// Handles a request.
    pub(crate) fn sync_group(
        &mut self,
        node: &mut Node,
        request: SyncGroupRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let instance = request.group_instance_id.as_deref();
        let who = member(&request.group_id, &request.member_id, instance, request.generation_id);
        let protocol = request.protocol_type.as_deref().zip(request.protocol_name.as_deref());
        if of.form.version >= NAMES_PROTOCOL && protocol.is_none() {
            let error_code = ErrorCode::InconsistentGroupProtocol.code();
            return Some(of.form.response(&SyncGroupResponse { error_code, ..SyncGroupResponse::default() }));
        }
        let assignments = request.assignments.into_iter();
        let sync = Sync {
            who,
            protocol: protocol.map(|(kind, name)| (text(kind), text(name))),
            assignments: assignments
                .map(|given| (text(&given.member_id), given.assignment.0.into()))
                .collect(),
        };
        self.call_groups(node, Kind::Sync, vec![(request.group_id, Request::Sync(sync))], of, now)
    }

    /// Handles a request.
    pub(crate) fn heartbeat(
        &mut self,
        node: &mut Node,
        request: &HeartbeatRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let instance = request.group_instance_id.as_deref();
        let who = member(&request.group_id, &request.member_id, instance, request.generation_id);
        self.call_groups(
            node,
            Kind::Heartbeat,
            vec![(request.group_id.clone(), Request::Heartbeat(who))],
            of,
            now,
        )
    }

    /// Handles a request.
    pub(crate) fn leave_group(
        &mut self,
        node: &mut Node,
        request: &LeaveGroupRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let members: Vec<(String, Option<String>)> = match of.form.version >= MANY_MEMBERS {
            true => request
                .members
                .iter()
                .map(|gone| (gone.member_id.clone(), gone.group_instance_id.clone()))
                .collect(),
            false => vec![(request.member_id.clone(), None)],
        };
        let named = members.iter().map(|(id, instance)| (text(id), instance.as_deref().map(text)));
        let leave = Leave { group: text(&request.group_id), members: named.collect() };
        self.call_groups(
            node,
            Kind::Leave(members),
            vec![(request.group_id.clone(), Request::Leave(leave))],
            of,
            now,
        )
    }

    /// Handles a request.
    pub(crate) fn offset_commit(
        &mut self,
        node: &mut Node,
        request: &OffsetCommitRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let version = of.form.version;
        let (plan, offsets) = commit_plan(node, of.by, request, version);
        let instance = request.group_instance_id.as_deref();
        let generation = request.generation_id_or_member_epoch;
        let who = member(&request.group_id, &request.member_id, instance, generation);
        let commit = Request::Commit(OffsetCommit { who, version, offsets });
        self.call_groups(node, Kind::Commit(plan), vec![(request.group_id.clone(), commit)], of, now)
    }

    /// Handles a request.
    pub(crate) fn offset_fetch(
        &mut self,
        node: &mut Node,
        request: &OffsetFetchRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let version = of.form.version;
        let (mut groups, mut parts) = (Vec::new(), Vec::new());
        if version >= MANY_GROUPS {
            for group in once_each(request.groups.iter(), |group| group.group_id.as_str()) {
                let topics = group.topics.as_ref().map(|topics| {
                    let named =
                        topics.iter().map(|topic| (name_of(topic, version), &*topic.partition_indexes));
                    wanted(&node.catalog, named)
                });
                let (fetched, partitions) = fetched_group(&group.group_id, topics, version);
                groups.push(fetched);
                let member = fetching_member(group);
                parts.push(fetch_part(&group.group_id, partitions, request.require_stable, member));
            }
        } else {
            let topics = request.topics.as_ref().map(|topics| {
                let named =
                    topics.iter().map(|topic| (TopicName::Name(&topic.name), &*topic.partition_indexes));
                wanted(&node.catalog, named)
            });
            let (fetched, partitions) = fetched_group(&request.group_id, topics, version);
            groups.push(fetched);
            parts.push(fetch_part(&request.group_id, partitions, request.require_stable, None));
        }
        self.call_groups(node, Kind::Fetch(groups), parts, of, now)
    }

    /// Handles a request.
    pub(crate) fn describe_groups(
        &mut self,
        node: &mut Node,
        request: &DescribeGroupsRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let part = |group: &String| (group.clone(), Request::Describe(vec![text(group)]));
        let groups = once_each(request.groups.iter(), |group| group.as_str());
        let parts = groups.iter().map(|group| part(group)).collect();
        let groups = groups.into_iter().cloned().collect();
        let kind = Kind::Describe(groups, request.include_authorized_operations);
        self.call_groups(node, kind, parts, of, now)
    }

    /// Handles a request.
    pub(crate) fn delete_groups(
        &mut self,
        node: &mut Node,
        request: &DeleteGroupsRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let part = |group: &String| (group.clone(), Request::DeleteGroups(vec![text(group)]));
        let parts = request.groups_names.iter().map(part).collect();
        self.call_groups(node, Kind::Delete(request.groups_names.clone()), parts, of, now)
    }

    /// Handles a request.
    pub(crate) fn list_groups(
        &mut self,
        node: &mut Node,
        request: ListGroupsRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let states: Vec<Text> = request.states_filter.iter().map(|state| text(state)).collect();
        let parts =
            self.coordinators.partitions().map(|at| (Ok(at), Request::List(states.clone()))).collect();
        self.call(node, Kind::List((request.types_filter, request.states_filter)), parts, of, now)
    }
}

/// The response as far as it is known, and what is asked of the coordinator.
fn commit_plan(
    node: &Node,
    by: By<'_>,
    request: &OffsetCommitRequest,
    version: i16,
) -> (CommitPlan, Vec<NewOffset>) {
    let (mut plan, mut offsets) = (OffsetCommitResponse::default(), Vec::new());
    let may = node.may(by, GROUP_READ, &request.group_id);
    for topic in &request.topics {
        let by_id = version >= TOPIC_IDS;
        let name = if by_id { TopicName::Id(topic.topic_id) } else { TopicName::Name(&topic.name) };
        let may = may.and_then(|()| node.may_on_topic(by, TOPIC_READ, name));
        if may.is_ok() && asks_nothing(&node.catalog, name, topic.partitions.len()) {
            continue;
        }
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for wanted in &topic.partitions {
            let partition_index = wanted.partition_index;
            let known = may.and_then(|()| known_partition(&node.catalog, name, partition_index));
            let error_code = known.as_ref().err().map_or(0, |error| error.code());
            partitions.push(OffsetCommitResponsePartition { partition_index, error_code });
            offsets.extend(known.ok().map(|topic| NewOffset {
                topic,
                partition: partition_index,
                offset: Offset(wanted.committed_offset),
                leader_epoch: wanted.committed_leader_epoch,
                metadata: text(wanted.committed_metadata.as_deref().unwrap_or_default()),
            }));
        }
        let (name, topic_id) = (topic.name.clone(), topic.topic_id);
        plan.topics.push(OffsetCommitResponseTopic { name, topic_id, partitions });
    }
    (CommitPlan(plan), offsets)
}

/// Whether a topic is named without partitions: it is left out of the response, as Kafka does, if there is such a topic. To
/// be asked only for who may read it.
pub(super) fn asks_nothing(catalog: &Catalog, name: TopicName<'_>, partitions: usize) -> bool {
    partitions == 0 && catalog.find(name).is_ok()
}

/// The topic of a partition that there is.
pub(super) fn known_partition(
    catalog: &Catalog,
    name: TopicName<'_>,
    index: i32,
) -> Result<Topic, ErrorCode> {
    let image = catalog.find(name)?;
    let place = usize::try_from(index).ok();
    place.and_then(|at| image.partitions.get(at)).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    Ok(Topic { name: Arc::clone(&image.name), id: image.id })
}

/// A topic by its name and id, as far as these are known.
fn topic_of(catalog: &Catalog, name: TopicName<'_>) -> Topic {
    match (catalog.find(name), name) {
        (Ok(image), _) => Topic { name: Arc::clone(&image.name), id: image.id },
        (Err(_), TopicName::Name(name)) => Topic { name: name.into(), id: [0; 16] },
        (Err(_), TopicName::Id(id)) => Topic { name: "".into(), id },
    }
}

const fn name_of(topic: &OffsetFetchRequestTopics, version: i16) -> TopicName<'_> {
    if version >= TOPIC_IDS { TopicName::Id(topic.topic_id) } else { TopicName::Name(topic.name.as_str()) }
}

/// The partitions whose offsets are asked for, and the topics of which none is named.
type Wanted = (Vec<(Topic, i32)>, Vec<Topic>);

fn wanted<'r>(catalog: &Catalog, topics: impl Iterator<Item = (TopicName<'r>, &'r [i32])>) -> Wanted {
    let (mut partitions, mut bare) = (Vec::new(), Vec::new());
    for (name, indexes) in topics {
        let topic = topic_of(catalog, name);
        partitions.extend(indexes.iter().map(|index| (topic.clone(), *index)));
        if indexes.is_empty() {
            bare.push(topic);
        }
    }
    (partitions, bare)
}

/// A group of an OffsetFetch, and the partitions that are asked for; nothing for all of them.
fn fetched_group(
    group: &str,
    topics: Option<Wanted>,
    version: i16,
) -> (FetchedGroup, Option<Vec<(Topic, i32)>>) {
    let all = topics.is_none();
    let (partitions, bare) = topics.unzip();
    let told = if version < GROUP_ERROR { partitions.clone().unwrap_or_default() } else { Vec::new() };
    (FetchedGroup { group: group.into(), all, bare: bare.unwrap_or_default(), told }, partitions)
}

/// What a request names, each once: one that names a large group very often would have a huge answer.
pub(super) fn once_each<'r, T>(
    named: impl Iterator<Item = &'r T>,
    name: impl Fn(&'r T) -> &'r str,
) -> Vec<&'r T> {
    let mut names = BTreeSet::new();
    named.filter(|one| names.insert(name(one))).collect()
}

pub(super) fn text(text: &str) -> Text {
    text.into()
}

pub(super) fn member(group: &str, member: &str, instance: Option<&str>, generation: i32) -> MemberRef {
    let (group, member, instance) = (text(group), text(member), instance.map(text));
    MemberRef { group, member, instance, generation: Generation(generation) }
}

fn fetch_part(
    group: &str,
    partitions: Option<Vec<(Topic, i32)>>,
    require_stable: bool,
    member: Option<(Text, i32)>,
) -> Part {
    let fetch = OffsetFetch { group: text(group), partitions, require_stable, member };
    (group.into(), Request::Fetch(vec![fetch]))
}

/// Who asks for a group's offsets, from version 9 on.
fn fetching_member(group: &OffsetFetchRequestGroup) -> Option<(Text, i32)> {
    let is_named = group.member_id.is_some() || group.member_epoch >= 0;
    is_named.then(|| (text(group.member_id.as_deref().unwrap_or_default()), group.member_epoch))
}
