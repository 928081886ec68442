//! Requests about groups: from the form of the wire to the coordinators, and back.

use std::sync::Arc;

use base::Now;
use log_coordinators::{
    Answer, Generation, Join, Leave, MemberRef, NewOffset, Offset, OffsetCommit, OffsetFetch, Request, Sync,
    Text, Topic,
};
use log_wire::messages::groups::{
    Coordinator, DeleteGroupsRequest, DescribeGroupsRequest, FindCoordinatorRequest, FindCoordinatorResponse,
    HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, ListGroupsRequest, SyncGroupRequest,
};
use log_wire::messages::offsets::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
    OffsetFetchRequest, OffsetFetchRequestTopics,
};
use log_wire::{ErrorCode, TopicName};

use crate::broker::Broker;
use crate::group_call::{
    Caller, CommitPlan, GroupCall, Kind, MANY_GROUPS, MANY_KEYS, MANY_MEMBERS, TOPIC_IDS,
};
use crate::response::{Form, Response};

/// The kind of a coordinator that FindCoordinator asks for: of a group.
const OF_GROUP: i8 = 0;

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
