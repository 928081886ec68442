//! Requests about groups: from the form of the wire to the coordinators, and back.

use std::sync::Arc;

use base::Now;
use log_coordinators::{
    Answer, Generation, GroupDescription, GroupOffsets, Join, Joined, Leave, MemberRef, NewOffset, Offset,
    OffsetCommit, OffsetFetch, Request, Sync, Synced, Text, Topic,
};
use log_wire::messages::Blob;
use log_wire::messages::groups::{
    Coordinator, DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse, DescribeGroupsRequest,
    DescribeGroupsResponse, DescribedGroup, DescribedGroupMember, FindCoordinatorRequest,
    FindCoordinatorResponse, HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, JoinGroupResponse,
    JoinGroupResponseMember, LeaveGroupRequest, LeaveGroupResponse, ListGroupsRequest, ListGroupsResponse,
    ListedGroup, MemberResponse, SyncGroupRequest, SyncGroupResponse,
};
use log_wire::messages::offsets::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
    OffsetFetchRequest, OffsetFetchRequestTopics, OffsetFetchResponse, OffsetFetchResponseGroup,
    OffsetFetchResponsePartition, OffsetFetchResponsePartitions, OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
};
use log_wire::{ErrorCode, TopicName};

use crate::broker::Broker;
use crate::response::{Form, Response};
use crate::waits::Waiter;

/// The first versions with a list of groups, or of members, and with topic ids.
const MANY_GROUPS: i16 = 8;
const MANY_KEYS: i16 = 4;
const MANY_MEMBERS: i16 = 3;
const TOPIC_IDS: i16 = 10;
/// The first version of DescribeGroups in which an unknown group is an error.
const KNOWS_UNKNOWN: i16 = 6;
/// The kind of a coordinator that FindCoordinator asks for: of a group.
const OF_GROUP: i8 = 0;

/// A request whose parts are with coordinators.
#[derive(Debug)]
pub(crate) struct GroupCall {
    pub(crate) waiter: Waiter,
    form: Form,
    kind: Kind,
    parts: Vec<Option<Answer>>,
}

/// What is needed to write the answer.
#[derive(Debug)]
enum Kind {
    Join,
    Sync,
    Heartbeat,
    Leave(Vec<(String, Option<String>)>),
    Commit(CommitPlan),
    /// The group of each part, in order.
    Fetch(Vec<String>),
    Describe(Vec<String>),
    List,
    Delete(Vec<String>),
}

/// Where each committed offset stands in the response: those without an error go to the coordinator, in order.
#[derive(Debug)]
struct CommitPlan(OffsetCommitResponse);

/// A part of a request: the group that says which coordinator it is for, and what is asked.
type Part = (String, Request);

impl Broker {
    /// Handles a request.
    pub fn find_coordinator(
        &mut self,
        request: &FindCoordinatorRequest,
        form: Form,
    ) -> FindCoordinatorResponse {
        let keys = if form.version >= MANY_KEYS {
            request.coordinator_keys.clone()
        } else {
            vec![request.key.clone()]
        };
        let mut found = Vec::new();
        for key in keys {
            let error = if request.key_type == OF_GROUP {
                self.make_offsets_topic();
                self.coordinates(&key).err().unwrap_or_default()
            } else {
                ErrorCode::CoordinatorNotAvailable
            };
            let mut coordinator = Coordinator {
                key,
                node_id: -1,
                port: -1,
                error_code: error.code(),
                ..Coordinator::default()
            };
            if error == ErrorCode::None {
                coordinator.node_id = self.config.node_id;
                coordinator.host.clone_from(&self.config.advertised_host);
                coordinator.port = i32::from(self.config.advertised_port);
            }
            found.push(coordinator);
        }
        let mut response = FindCoordinatorResponse::default();
        if form.version >= MANY_KEYS {
            response.coordinators = found;
        } else if let Some(only) = found.pop() {
            (response.error_code, response.node_id) = (only.error_code, only.node_id);
            (response.host, response.port) = (only.host, only.port);
        }
        response
    }

    /// Handles a request.
    pub fn join_group(&mut self, request: JoinGroupRequest, of: Caller<'_>, now: Now) -> Option<Response> {
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
        self.call_groups(Kind::Join, vec![(request.group_id, Request::Join(join))], of, now)
    }

    /// Handles a request.
    pub fn sync_group(&mut self, request: SyncGroupRequest, of: Caller<'_>, now: Now) -> Option<Response> {
        let instance = request.group_instance_id.as_deref();
        let who = member(&request.group_id, &request.member_id, instance, request.generation_id);
        let protocol = request.protocol_type.as_deref().zip(request.protocol_name.as_deref());
        let assignments = request.assignments.into_iter();
        let sync = Sync {
            who,
            protocol: protocol.map(|(kind, name)| (text(kind), text(name))),
            assignments: assignments
                .map(|given| (text(&given.member_id), given.assignment.0.into()))
                .collect(),
        };
        self.call_groups(Kind::Sync, vec![(request.group_id, Request::Sync(sync))], of, now)
    }

    /// Handles a request.
    pub fn heartbeat(&mut self, request: &HeartbeatRequest, of: Caller<'_>, now: Now) -> Option<Response> {
        let instance = request.group_instance_id.as_deref();
        let who = member(&request.group_id, &request.member_id, instance, request.generation_id);
        self.call_groups(Kind::Heartbeat, vec![(request.group_id.clone(), Request::Heartbeat(who))], of, now)
    }

    /// Handles a request.
    pub fn leave_group(&mut self, request: &LeaveGroupRequest, of: Caller<'_>, now: Now) -> Option<Response> {
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
            Kind::Leave(members),
            vec![(request.group_id.clone(), Request::Leave(leave))],
            of,
            now,
        )
    }

    /// Handles a request.
    pub fn offset_commit(
        &mut self,
        request: &OffsetCommitRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let version = of.form.version;
        let (plan, offsets) = self.commit_plan(request, version);
        let instance = request.group_instance_id.as_deref();
        let generation = request.generation_id_or_member_epoch;
        let who = member(&request.group_id, &request.member_id, instance, generation);
        let commit = Request::Commit(OffsetCommit { who, version, offsets });
        self.call_groups(Kind::Commit(plan), vec![(request.group_id.clone(), commit)], of, now)
    }

    /// The response as far as it is known, and what is asked of the coordinator.
    fn commit_plan(&self, request: &OffsetCommitRequest, version: i16) -> (CommitPlan, Vec<NewOffset>) {
        let (mut plan, mut offsets) = (OffsetCommitResponse::default(), Vec::new());
        for topic in &request.topics {
            let by_id = version >= TOPIC_IDS;
            let name = if by_id { TopicName::Id(topic.topic_id) } else { TopicName::Name(&topic.name) };
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for wanted in &topic.partitions {
                let partition_index = wanted.partition_index;
                let known = self.known_partition(name, partition_index);
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

    /// The topic of a partition that there is.
    fn known_partition(&self, name: TopicName<'_>, index: i32) -> Result<Topic, ErrorCode> {
        let image = self.catalog.find(name)?;
        let place = usize::try_from(index).ok();
        place.and_then(|at| image.partitions.get(at)).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        Ok(Topic { name: Arc::clone(&image.name), id: image.id })
    }

    /// Handles a request.
    pub fn offset_fetch(
        &mut self,
        request: &OffsetFetchRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let version = of.form.version;
        let mut parts = Vec::new();
        if version >= MANY_GROUPS {
            for group in &request.groups {
                let partitions = group.topics.as_ref().map(|topics| self.named(topics, version));
                parts.push(fetch_part(&group.group_id, partitions, request.require_stable));
            }
        } else {
            let partitions = request.topics.as_ref().map(|topics| {
                let named = topics.iter().flat_map(|topic| {
                    let known = self.topic_of(TopicName::Name(&topic.name));
                    topic.partition_indexes.iter().map(move |index| (known.clone(), *index))
                });
                named.collect()
            });
            parts.push(fetch_part(&request.group_id, partitions, request.require_stable));
        }
        let groups = parts.iter().map(|(group, _)| group.clone()).collect();
        self.call_groups(Kind::Fetch(groups), parts, of, now)
    }

    /// Handles a request.
    pub fn describe_groups(
        &mut self,
        request: &DescribeGroupsRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let part = |group: &String| (group.clone(), Request::Describe(vec![text(group)]));
        let parts = request.groups.iter().map(part).collect();
        self.call_groups(Kind::Describe(request.groups.clone()), parts, of, now)
    }

    /// Handles a request.
    pub fn delete_groups(
        &mut self,
        request: &DeleteGroupsRequest,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let part = |group: &String| (group.clone(), Request::DeleteGroups(vec![text(group)]));
        let parts = request.groups_names.iter().map(part).collect();
        self.call_groups(Kind::Delete(request.groups_names.clone()), parts, of, now)
    }

    /// Handles a request.
    pub fn list_groups(&mut self, request: &ListGroupsRequest, of: Caller<'_>, now: Now) -> Option<Response> {
        let states: Vec<Text> = request.states_filter.iter().map(|state| text(state)).collect();
        let classic = request.types_filter.is_empty()
            || request.types_filter.iter().any(|kind| kind.eq_ignore_ascii_case("classic"));
        let coordinators = if classic { self.coordinators() } else { Vec::new() };
        let parts = coordinators.into_iter().map(|at| (at, Request::List(states.clone()))).collect();
        self.call(Kind::List, parts, of, now)
    }

    /// Sends each part to the coordinator of its group.
    fn call_groups(&mut self, kind: Kind, parts: Vec<Part>, of: Caller<'_>, now: Now) -> Option<Response> {
        let found =
            parts.into_iter().map(|(group, request)| (self.coordinates(&group).unwrap_or(-1), request));
        let parts = found.collect();
        self.call(kind, parts, of, now)
    }

    fn call(&mut self, kind: Kind, parts: Vec<(i32, Request)>, of: Caller<'_>, now: Now) -> Option<Response> {
        let mut pending =
            GroupCall { waiter: of.waiter, form: of.form, kind, parts: vec![None; parts.len()] };
        if parts.is_empty() {
            return Some(pending.response());
        }
        let call = self.ticket();
        let mut asked = Vec::new();
        for (part, (partition, request)) in parts.into_iter().enumerate() {
            if partition >= 0 {
                asked.push((partition, request, part));
            } else if let Some(place) = pending.parts.get_mut(part) {
                *place = Some(Answer::Failed(ErrorCode::CoordinatorNotAvailable));
            }
        }
        if asked.is_empty() {
            return Some(pending.response());
        }
        self.group_calls.insert(call, pending);
        for (partition, request, part) in asked {
            self.ask_group(partition, request, call, part, now);
        }
        None
    }

    fn topic_of(&self, name: TopicName<'_>) -> Topic {
        match self.catalog.find(name) {
            Ok(image) => Topic { name: Arc::clone(&image.name), id: image.id },
            Err(_) => match name {
                TopicName::Name(name) => Topic { name: name.into(), id: [0; 16] },
                TopicName::Id(id) => Topic { name: "".into(), id },
            },
        }
    }

    fn named(&self, topics: &[OffsetFetchRequestTopics], version: i16) -> Vec<(Topic, i32)> {
        let named = topics.iter().flat_map(|topic| {
            let by_id = version >= TOPIC_IDS;
            let known = self.topic_of(if by_id {
                TopicName::Id(topic.topic_id)
            } else {
                TopicName::Name(&topic.name)
            });
            topic.partition_indexes.iter().map(move |index| (known.clone(), *index))
        });
        named.collect()
    }
}

/// Who sent a request, and how its answer is written.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'c> {
    /// Who waits.
    pub waiter: Waiter,
    /// The form of the answer.
    pub form: Form,
    /// What the client calls itself.
    pub client_id: &'c str,
    /// Its address.
    pub client_host: &'c str,
}

fn text(text: &str) -> Text {
    text.into()
}

fn member(group: &str, member: &str, instance: Option<&str>, generation: i32) -> MemberRef {
    let (group, member, instance) = (text(group), text(member), instance.map(text));
    MemberRef { group, member, instance, generation: Generation(generation) }
}

fn fetch_part(group: &str, partitions: Option<Vec<(Topic, i32)>>, require_stable: bool) -> Part {
    (group.into(), Request::Fetch(vec![OffsetFetch { group: text(group), partitions, require_stable }]))
}

fn blob(bytes: &[u8]) -> Blob {
    Blob(bytes.to_vec())
}

impl GroupCall {
    /// A part has its answer. Gives the response once all have.
    pub(crate) fn answered(&mut self, part: usize, answer: Answer) -> Option<Response> {
        if let Some(place) = self.parts.get_mut(part) {
            *place = Some(answer);
        }
        self.parts.iter().all(Option::is_some).then(|| self.response())
    }

    fn response(&mut self) -> Response {
        let mut parts = std::mem::take(&mut self.parts).into_iter().flatten();
        let form = self.form;
        match &self.kind {
            Kind::List => form.response(&listed(parts)),
            Kind::Fetch(groups) => form.response(&fetched(groups, parts, form.version)),
            Kind::Describe(groups) => form.response(&described(groups, parts, form.version)),
            Kind::Delete(groups) => form.response(&deleted(groups, parts)),
            single => {
                let answer = parts.next().unwrap_or(Answer::Failed(ErrorCode::CoordinatorNotAvailable));
                match single {
                    Kind::Join => form.response(&joined(answer, form.version)),
                    Kind::Sync => form.response(&synced(answer)),
                    Kind::Leave(members) => form.response(&left(members, &answer, form.version)),
                    Kind::Commit(plan) => form.response(&committed(plan, &answer)),
                    _ => {
                        form.response(&HeartbeatResponse { error_code: code(&answer), ..Default::default() })
                    }
                }
            }
        }
    }
}

fn code(answer: &Answer) -> i16 {
    if let Answer::Failed(error) = answer { error.code() } else { 0 }
}

fn joined(answer: Answer, version: i16) -> JoinGroupResponse {
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
        _ => {}
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

fn fetched(groups: &[String], parts: impl Iterator<Item = Answer>, version: i16) -> OffsetFetchResponse {
    let mut response = OffsetFetchResponse::default();
    for (group, answer) in groups.iter().zip(parts) {
        let error_code = code(&answer);
        let offsets = if let Answer::Offsets(mut found) = answer { found.pop() } else { None };
        let topics = offsets.map(by_topic).unwrap_or_default();
        if version >= MANY_GROUPS {
            let group_id = group.clone();
            response.groups.push(OffsetFetchResponseGroup { group_id, topics, error_code });
        } else {
            response.error_code = error_code;
            response.topics = topics.into_iter().map(old_form).collect();
        }
    }
    response
}

fn by_topic(of: GroupOffsets) -> Vec<OffsetFetchResponseTopics> {
    let mut topics: Vec<OffsetFetchResponseTopics> = Vec::new();
    for found in of.offsets {
        let is_same = |last: &OffsetFetchResponseTopics| {
            last.name == *found.topic.name && last.topic_id == found.topic.id
        };
        if !topics.last().is_some_and(is_same) {
            let (name, topic_id) = (found.topic.name.to_string(), found.topic.id);
            topics.push(OffsetFetchResponseTopics { name, topic_id, partitions: Vec::new() });
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
            if version < KNOWS_UNKNOWN && found.error == ErrorCode::GroupIdNotFound {
                described.error_code = 0;
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

fn listed(parts: impl Iterator<Item = Answer>) -> ListGroupsResponse {
    let mut response = ListGroupsResponse::default();
    for answer in parts {
        match answer {
            Answer::Listed(groups) => response.groups.extend(groups.iter().map(|group| ListedGroup {
                group_id: group.group.to_string(),
                protocol_type: group.protocol_type.to_string(),
                group_state: group.state.into(),
                group_type: String::from("classic"),
            })),
            failed => response.error_code = code(&failed),
        }
    }
    response
}
