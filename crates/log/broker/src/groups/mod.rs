//! The groups whose coordinators live here, and the requests of their members.

mod call;
mod consumer;
mod offset_delete;
mod requests;
mod topics_view;
mod transactional;

use std::sync::Arc;

use base::Now;
use log_config::{GroupLayers, Source, Value, Values as _};
use log_coordinators::{Answer, Effect, GroupConfig, GroupCoordinator, Request, Text, Ticket, Topic};
use log_partition::LeaderEpoch;
use log_wire::{ApiKey, ErrorCode, Malformed};
use net_event_loop::ConnId;

use crate::call::{Call, Caller, Handled};
use crate::catalog::TopicImage;
use crate::config::BrokerConfig;
use crate::coordinators::{Calls, Coordinators, OFFSETS, Parts};
use crate::node::Node;
use crate::partitions::Slot;
use crate::response::Response;
use call::{GroupCall, Kind};
pub(crate) use topics_view::TopicsView;
use transactional::Transactional;

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[
    ApiKey::OffsetCommit,
    ApiKey::OffsetFetch,
    ApiKey::Heartbeat,
    ApiKey::JoinGroup,
    ApiKey::SyncGroup,
    ApiKey::LeaveGroup,
    ApiKey::DescribeGroups,
    ApiKey::ListGroups,
    ApiKey::DeleteGroups,
    ApiKey::TxnOffsetCommit,
    ApiKey::OffsetDelete,
    ApiKey::ConsumerGroupHeartbeat,
    ApiKey::ConsumerGroupDescribe,
];

/// See the module.
#[derive(Debug)]
pub(crate) struct Groups {
    pub(crate) coordinators: Coordinators<GroupCoordinator>,
    /// Requests whose parts are with coordinators.
    calls: Calls<GroupCall, Answer>,
    transactional: Transactional,
}

impl Groups {
    /// What is committed here: group, topic, partition, offset.
    pub(crate) fn committed_offsets(&self) -> impl Iterator<Item = (&str, &str, i32, i64)> {
        self.coordinators.machines().flat_map(GroupCoordinator::committed_offsets)
    }

    /// How many groups have their coordinator here.
    pub(crate) fn count(&self) -> usize {
        self.coordinators.machines().map(GroupCoordinator::count).sum()
    }

    /// Handles a request.
    ///
    /// # Errors
    /// It is malformed.
    pub(crate) fn dispatch(
        &mut self,
        node: &mut Node,
        key: ApiKey,
        mut call: Call<'_>,
    ) -> Result<Handled, Malformed> {
        let (of, now) = (call.caller(), call.now);
        Ok(Handled::of(match key {
            ApiKey::OffsetCommit => self.offset_commit(node, &call.body()?, of, now),
            ApiKey::OffsetFetch => self.offset_fetch(node, &call.body()?, of, now),
            ApiKey::Heartbeat => self.heartbeat(node, &call.body()?, of, now),
            ApiKey::JoinGroup => self.join_group(node, call.body()?, of, now),
            ApiKey::SyncGroup => self.sync_group(node, call.body()?, of, now),
            ApiKey::LeaveGroup => self.leave_group(node, &call.body()?, of, now),
            ApiKey::DescribeGroups => self.describe_groups(node, &call.body()?, of, now),
            ApiKey::TxnOffsetCommit => self.txn_offset_commit(node, &call.body()?, of),
            ApiKey::OffsetDelete => self.offset_delete(node, &call.body()?, of, now),
            ApiKey::ConsumerGroupHeartbeat => self.consumer_heartbeat(node, call.body()?, of, now),
            ApiKey::ConsumerGroupDescribe => self.describe_consumer_groups(node, call.body()?, of, now),
            ApiKey::ListGroups => self.list_groups(node, call.body()?, of, now),
            _ => self.delete_groups(node, &call.body()?, of, now),
        }))
    }

    pub(crate) fn new() -> Self {
        let transactional = Transactional::default();
        Self { coordinators: Coordinators::new(&OFFSETS), calls: Calls::new(), transactional }
    }

    /// Makes the internal topic if it is not there.
    pub(crate) fn make_topic(&self, node: &mut Node) {
        self.coordinators.make_topic(node);
    }

    /// A partition is served here: if it is one of the internal topic, its coordinator begins.
    pub(crate) fn ready(&mut self, node: &Node, slot: Slot) {
        if let Some(partition) = self.coordinators.partition_in(node, slot) {
            let epoch = node.partitions.get(slot).map_or(LeaderEpoch(-1), |hosted| hosted.partition.epoch());
            let seed = seed(&node.config, partition, epoch);
            let machine = GroupCoordinator::new(node.config.groups.clone(), seed);
            self.coordinators.begin(node, slot, machine);
            for group in node.configs.groups() {
                if self.coordinators.here(&node.catalog, group) == Ok(partition) {
                    self.configured(node, group);
                }
            }
        }
    }

    /// A group sets something else from now on.
    pub(crate) fn configured(&mut self, node: &Node, group: &str) {
        if let Some(machine) = self.coordinators.of_key(&node.catalog, group) {
            machine.configure(group.into(), own_config(&node.configs.group(group)));
        }
    }

    /// The broker has other settings of groups from now on.
    pub(crate) fn limited(&mut self, node: &Node) {
        let here: Vec<i32> = self.coordinators.partitions().collect();
        for partition in here {
            if let Some(machine) = self.coordinators.get_mut(partition) {
                machine.limit(node.config.groups.clone());
            }
        }
    }

    /// Records of a partition are committed.
    pub(crate) fn committed(&mut self, node: &mut Node, slot: Slot, now: Now) {
        if let Some(partition) = self.coordinators.committed(node, slot, now) {
            self.take_effects(node, partition, now);
        }
    }

    /// A partition was still led here when that was asked.
    pub(crate) fn confirmed(&mut self, node: &mut Node, slot: Slot, now: Now) {
        if let Some(partition) = self.coordinators.partition_in(node, slot) {
            self.take_effects(node, partition, now);
        }
    }

    /// A partition is gone: if it had a coordinator, nobody coordinates its groups here any more.
    pub(crate) fn gone(&mut self, node: &mut Node, slot: Slot) {
        let effects = self.coordinators.gone(slot).map(|(_, effects)| effects);
        for effect in effects.into_iter().flatten() {
            if let Effect::Reply { ticket, answer } = effect {
                self.answered(node, ticket, answer);
            }
        }
    }

    /// A topic is gone: nobody waits for the answers of the coordinators, which forget its offsets.
    pub(crate) fn topic_deleted(&mut self, node: &mut Node, gone: &TopicImage, now: Now) {
        let topic = Topic { name: Text::clone(&gone.name), id: gone.id };
        let here: Vec<i32> = self.coordinators.partitions().collect();
        for partition in here {
            let ticket = node.ticket();
            if let Some(machine) = self.coordinators.get_mut(partition) {
                let request = Request::TopicsDeleted(vec![topic.clone()]);
                machine.handle(request, ticket, &TopicsView { node, client: None }, now);
                self.take_effects(node, partition, now);
            }
        }
    }

    /// Time passes.
    pub(crate) fn tick(&mut self, node: &mut Node, now: Now) {
        for partition in self.coordinators.tick(now) {
            self.take_effects(node, partition, now);
        }
    }

    /// A connection is gone: nobody waits any more for what it asked for.
    pub(crate) fn disconnected(&mut self, shard: u16, conn: ConnId) {
        self.calls.disconnected(shard, conn);
        self.transactional.disconnected(shard, conn);
    }

    /// Sends each part to the coordinator of its group.
    fn call_groups(
        &mut self,
        node: &mut Node,
        kind: Kind,
        parts: Vec<(String, Request)>,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let need = kind.need();
        let here = |group: &str| {
            node.may(of.by, need, group)?;
            self.coordinators.here(&node.catalog, group)
        };
        let is_taken = |group: &str, request: &Request| {
            let joins = matches!(request, Request::Join(_) | Request::ConsumerHeartbeat(_));
            let is_share = joins && node.share_groups.contains_key(group);
            if is_share { Err(ErrorCode::InconsistentGroupProtocol) } else { Ok(()) }
        };
        let parts = parts
            .into_iter()
            .map(|(group, request)| (is_taken(&group, &request).and_then(|()| here(&group)), request));
        let parts = parts.collect();
        self.call(node, kind, parts, of, now)
    }

    /// Sends each part to the coordinator of its partition; one that has none fails.
    fn call(
        &mut self,
        node: &mut Node,
        kind: Kind,
        parts: Vec<(Result<i32, ErrorCode>, Request)>,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let client = Arc::clone(of.by.client);
        let mut call = Parts::new(GroupCall { form: of.form, client, kind }, parts.len());
        let mut asked = Vec::new();
        for (part, (partition, request)) in parts.into_iter().enumerate() {
            match partition {
                Ok(partition) => asked.push((partition, request, part)),
                Err(error) => call.answer(part, Answer::Failed(error)),
            }
        }
        if asked.is_empty() {
            let (call, answers) = call.take();
            return Some(call.response(node, answers));
        }
        self.calls.insert(of.waiter, call);
        for (partition, request, part) in asked {
            let ticket = node.ticket();
            self.calls.asked(ticket, of.waiter, part);
            if let Some(group) = share_group_of(node, &request) {
                node.share_deletions.push((ticket, group));
            } else if let Some(machine) = self.coordinators.get_mut(partition) {
                let topics = TopicsView { node, client: Some(of.by.client) };
                machine.handle(request, ticket, &topics, now);
                self.take_effects(node, partition, now);
            }
        }
        None
    }

    /// Whether the members of a share group of that name have their coordinator here, and no other kind of group has the name.
    ///
    /// # Errors
    /// `COORDINATOR_NOT_AVAILABLE`, `COORDINATOR_LOAD_IN_PROGRESS` or `GROUP_ID_NOT_FOUND`.
    pub(crate) fn check_share_group(&self, node: &Node, group: &str) -> Result<(), ErrorCode> {
        let partition = self.coordinators.here(&node.catalog, group)?;
        let is_taken = self.coordinators.get(partition).and_then(|machine| machine.has(group));
        match is_taken {
            None => Err(ErrorCode::CoordinatorLoadInProgress),
            Some(true) => Err(ErrorCode::GroupIdNotFound),
            Some(false) => Ok(()),
        }
    }

    /// The deletion of a share group has ended.
    pub(crate) fn share_group_deleted(&mut self, node: &mut Node, ticket: Ticket, error: ErrorCode) {
        self.answered(node, ticket, Answer::Each(vec![error]));
    }

    /// Does what a coordinator wants done.
    fn take_effects(&mut self, node: &mut Node, partition: i32, now: Now) {
        let (effects, _) = self.coordinators.take_effects(node, partition, now);
        for effect in effects {
            if let Effect::Reply { ticket, answer } = effect {
                self.answered(node, ticket, answer);
            }
        }
    }

    /// A part of a request, or a marker, has its answer.
    fn answered(&mut self, node: &mut Node, ticket: Ticket, answer: Answer) {
        if self.transactional.is_ended(ticket, &answer) {
            return;
        }
        if let Some((waiter, parts)) = self.calls.answered(ticket, answer) {
            let (call, answers) = parts.take();
            let response = call.response(node, answers);
            node.reply(waiter, response);
        }
    }
}

/// The share group that a request deletes.
fn share_group_of(node: &Node, request: &Request) -> Option<String> {
    let Request::DeleteGroups(groups) = request else { return None };
    let group = groups.first().filter(|group| node.share_groups.contains_key(*group))?;
    Some(group.to_string())
}

/// What a group sets itself of what its coordinator acts on.
fn own_config(layers: &GroupLayers<'_>) -> GroupConfig {
    let own = |name: &str| match layers.value(name) {
        Some((Value::Whole(ms), Source::Group)) => u64::try_from(ms).ok(),
        _ => None,
    };
    GroupConfig {
        session_timeout_ms: own("consumer.session.timeout.ms"),
        heartbeat_interval_ms: own("consumer.heartbeat.interval.ms"),
        assignment_interval_ms: own("consumer.assignment.interval.ms"),
    }
}

/// Each coordinator draws its own member ids, also one that is back at a broker: ids of members that others have expelled
/// meanwhile are not given to new ones.
fn seed(config: &BrokerConfig, partition: i32, LeaderEpoch(epoch): LeaderEpoch) -> u64 {
    let place = u64::from(partition.cast_unsigned()) << 32 | u64::from(epoch.cast_unsigned());
    config.seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
