//! Share groups: queues on top of partitions (KIP-932).
//!
//! The machines are those of `log-share`. A share partition lives here if this broker leads its topic's partition; the members
//! of a group, if it leads the group's partition of `__consumer_offsets`; the durable state, if it leads the group's partition
//! of `__share_group_state`. A share partition reaches its state by requests and answers only.
//!
//! # A fetch
//! `fetch` takes the request, gives its acknowledgements to the share partitions (`acknowledge`), and waits until they are
//! durable. Then it reads from one partition of the session after the other (`reading`), as soon as the partition's other replicas
//! have said that it is led here still (`doubts`), gives the member what it may take, and answers when that is enough or the time is over. A partition that has nothing puts the request into its queue, and wakes it
//! when something is committed or given back.
//!
//! # Invariants
//! - All that one event leads to is done before the next one, without recursion: [`Share::settle`].
//! - What a state's holder refuses makes the share partition forget everything: it reads its state again.
//! - One read of a share partition is under way at a time.
//!
//! # Not done, and what that costs
//! - A consumer's quota of bytes limits one answer, and does not hold up the next one.

mod acknowledge;
mod announced;
mod appends;
mod burial;
mod connections;
mod doubts;
mod ends;
mod fates;
mod fetch;
mod inspect;
mod letter;
mod members;
mod offsets;
mod pending;
mod persister;
mod reading;
mod served;
mod states;
mod weights;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use base::{MonoTime, Now};
use log_config::{GroupConfig, QueueGroupConfig, ShareGroupConfig};
use log_coordinators::{Text, Ticket};
use log_share::{
    Release, SessionKey, ShareCoordinator, ShareGroup, ShareKey, ShareSessions, StateAnswer, StateRequest,
};
use log_wire::{ApiKey, ErrorCode, Malformed};
use net_event_loop::ConnId;

use crate::call::{Call, Handled};
use crate::catalog::TopicImage;
use crate::coordinators::{Coordinators, SHARE_STATE};
use crate::groups::Groups;
use crate::node::Node;
use crate::partitions::Slot;
use crate::question::PeerAsker;
use crate::waits::{Waiter, Waits};
use announced::Announced;
use appends::Appends;
pub(crate) use appends::PeerAppend;
use connections::Connections;
pub(crate) use ends::{PeerEnds, ends_here};
use inspect::{Administration, Inspection};
use offsets::PendingChange;
use pending::Pending;
use persister::Persister;
use reading::Reads;
use served::Served;
use states::Asked;
pub(crate) use states::PeerRequest;

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[
    ApiKey::ShareFetch,
    ApiKey::ShareAcknowledge,
    ApiKey::ShareGroupHeartbeat,
    ApiKey::ShareGroupDescribe,
    ApiKey::DescribeShareGroupOffsets,
    ApiKey::AlterShareGroupOffsets,
    ApiKey::DeleteShareGroupOffsets,
];

/// See the module.
#[derive(Debug)]
pub(crate) struct Share {
    coordinators: Coordinators<ShareCoordinator>,
    groups: BTreeMap<Text, ShareGroup>,
    served: BTreeMap<ShareKey, Served>,
    /// The groups of each partition that has some.
    groups_of: BTreeMap<([u8; 16], i32), BTreeSet<Text>>,
    sessions: ShareSessions,
    connections: Connections,
    /// Sessions of connections that are gone.
    lost: Vec<SessionKey>,
    pending: Waits<Pending>,
    changes: Waits<PendingChange>,
    /// What each request to the holder of states is for.
    asked: BTreeMap<Ticket, Asked>,
    reads: Reads,
    /// Coordinators that may have something to be done.
    busy: BTreeSet<i32>,
    answers: VecDeque<(Ticket, StateAnswer)>,
    persister: Persister,
    to_peers: Vec<PeerRequest>,
    for_peers: Vec<(PeerAsker, StateAnswer)>,
    announced: Announced,
    inspections: Waits<Inspection>,
    peer_ends: Vec<PeerEnds>,
    appends: Appends,
    /// Whose dead letters are on their way.
    burials: BTreeMap<Ticket, ShareKey>,
    /// Requests that go on, and the share partition that has something for them.
    ready: VecDeque<(Waiter, Option<ShareKey>)>,
    /// Requests whose state could not be had: they go on later.
    asks_again: BTreeSet<Waiter>,
    /// Groups that may have changed.
    touched: BTreeSet<Text>,
    /// Share groups that are being deleted, and how many of their states are still there.
    deletions: BTreeMap<Ticket, (Text, usize)>,
    /// Share groups whose deletion has ended: the ticket, and how.
    ended: Vec<(Ticket, ErrorCode)>,
}

impl Share {
    pub(crate) fn new(sessions_max: usize) -> Self {
        Self {
            coordinators: Coordinators::new(&SHARE_STATE),
            groups: BTreeMap::new(),
            served: BTreeMap::new(),
            groups_of: BTreeMap::new(),
            sessions: ShareSessions::new(sessions_max),
            connections: Connections::default(),
            lost: Vec::new(),
            pending: Waits::default(),
            changes: Waits::default(),
            asked: BTreeMap::new(),
            reads: Reads::default(),
            busy: BTreeSet::new(),
            answers: VecDeque::new(),
            persister: Persister::default(),
            to_peers: Vec::new(),
            for_peers: Vec::new(),
            announced: Announced::default(),
            inspections: Waits::default(),
            peer_ends: Vec::new(),
            appends: Appends::default(),
            burials: BTreeMap::new(),
            ready: VecDeque::new(),
            asks_again: BTreeSet::new(),
            touched: BTreeSet::new(),
            deletions: BTreeMap::new(),
            ended: Vec::new(),
        }
    }

    /// Handles a request. The answer is among the node's replies, now or later.
    ///
    /// # Errors
    /// It is malformed.
    pub(crate) fn dispatch(
        &mut self,
        node: &mut Node,
        key: ApiKey,
        mut call: Call<'_>,
        groups: &Groups,
    ) -> Result<Handled, Malformed> {
        let (of, now) = (call.caller(), call.now);
        let answered = match key {
            ApiKey::ShareFetch => self.fetch(node, call.body()?, of, now),
            ApiKey::ShareAcknowledge => self.share_acknowledge(node, call.body()?, of, now),
            ApiKey::ShareGroupHeartbeat => Some(self.heartbeat(node, call.body()?, of, (groups, now))),
            ApiKey::ShareGroupDescribe => Some(self.describe(node, &call.body()?, of, groups)),
            ApiKey::DescribeShareGroupOffsets => {
                self.inspect(node, Administration::Describe(call.body()?), of, now)
            }
            ApiKey::AlterShareGroupOffsets => {
                self.change_offsets(node, Administration::Alter(call.body()?), of, (groups, now))
            }
            _ => self.change_offsets(node, Administration::Delete(call.body()?), of, (groups, now)),
        };
        self.settle(node, now);
        Ok(Handled::of(answered))
    }

    /// The broker that holds the states of a group's share partitions.
    ///
    /// # Errors
    /// `COORDINATOR_NOT_AVAILABLE`.
    pub(crate) fn broker_of(&self, node: &mut Node, group: &str) -> Result<i32, ErrorCode> {
        self.coordinators.make_topic(node);
        self.coordinators.broker_of(node, group)
    }

    /// A partition is served here: if it is one of the internal topic, its coordinator begins.
    pub(crate) fn ready(&mut self, node: &Node, slot: Slot) {
        if self.coordinators.partition_in(node, slot).is_some() {
            let machine = ShareCoordinator::new(node.config.share.updates_per_snapshot);
            self.coordinators.begin(node, slot, machine);
        }
    }

    /// Records of a partition are committed.
    pub(crate) fn committed(&mut self, node: &mut Node, slot: Slot, now: Now) {
        self.appends.committed(node, slot);
        if let Some(partition) = self.coordinators.committed(node, slot, now) {
            self.busy.insert(partition);
        } else if let Some(id) = node.partitions.get(slot).map(|hosted| hosted.id) {
            self.wake_partition((id.topic, id.index));
        } else {
            return;
        }
        self.settle(node, now);
    }

    /// A partition was still led here when that was asked.
    pub(crate) fn confirmed(&mut self, node: &mut Node, slot: Slot, now: Now) {
        if let Some(partition) = self.coordinators.partition_in(node, slot) {
            self.busy.insert(partition);
        } else {
            self.end_doubts(node, slot);
        }
        self.settle(node, now);
    }

    /// A partition is gone from here, or its log begins elsewhere: what is served of it is read again.
    pub(crate) fn gone(&mut self, node: &mut Node, slot: Slot, now: Now) {
        let effects = self.coordinators.gone(slot).map(|(_, effects)| effects);
        self.answers.extend(effects.into_iter().flatten().filter_map(states::reply_of));
        self.appends.gone(slot);
        let gone: Vec<ShareKey> =
            self.served.iter().filter(|(_, of)| of.slot == slot).map(|(key, _)| key.clone()).collect();
        for key in gone {
            self.forget(&key, ErrorCode::NotLeaderOrFollower);
        }
        self.settle(node, now);
    }

    /// A topic is gone: so is what groups have done with it.
    pub(crate) fn topic_deleted(&mut self, node: &mut Node, gone: &TopicImage, now: Now) {
        let states = self.coordinators.machines().flat_map(|machine| machine.states(None));
        let gone: Vec<ShareKey> =
            states.map(|(key, _)| key).filter(|key| key.topic == gone.id).cloned().collect();
        for key in gone {
            self.forget(&key, ErrorCode::UnknownTopicId);
            self.ask(node, StateRequest::Delete(key), Asked::Nothing);
        }
        self.settle(node, now);
    }

    /// A group sets something else from now on.
    pub(crate) fn configured(&mut self, node: &Node, group: &str) {
        let config = group_config(node, group);
        for (_, served) in self.served.iter_mut().filter(|(key, _)| *key.group == *group) {
            served.configure(config, queue_config(node, group));
        }
    }

    /// The broker has other settings from now on.
    pub(crate) fn limited(&mut self, node: &Node) {
        self.sessions.limit(node.config.share.sessions_max);
        for (key, served) in &mut self.served {
            served.configure(group_config(node, &key.group), queue_config(node, &key.group));
        }
    }

    /// Time passes.
    pub(crate) fn tick(&mut self, node: &mut Node, now: Now) {
        self.end_lost(node);
        self.forget_idle();
        self.expire_members(node, now);
        self.expire_locks(node, now);
        self.bury_again(node, now);
        self.expire_requests(node, now);
        self.expire_changes(node, now);
        self.expire_inspections(node, now);
        for (ticket, answer) in self.persister.tick(now) {
            self.conclude(node, ticket, answer, now);
        }
        self.announce(node, now);
        self.ask_again();
        self.settle(node, now);
    }

    /// Others may take what members had whose connections are gone.
    fn end_lost(&mut self, node: &mut Node) {
        while let Some(session) = self.lost.pop() {
            self.end_session(node, &session, Release::Lost);
        }
    }

    /// When the first of the requests that wait is to be answered. Locks and sessions last seconds, and are kept by a tick every
    /// now and then.
    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        let lost = (!self.lost.is_empty()).then_some(MonoTime::ZERO);
        let requests = [lost, self.pending.next_deadline(), self.changes.next_deadline()];
        let others = [self.persister.next_deadline(), self.inspections.next_deadline()];
        requests.into_iter().chain(others).flatten().min()
    }

    /// A connection is gone: nothing waits for it any more, and with the next tick others may take what its members had.
    pub(crate) fn disconnected(&mut self, shard: u16, conn: ConnId) {
        while let Some((waiter, pending)) = self.pending.pop_of(shard, conn) {
            self.abandon(waiter, &pending);
        }
        while self.changes.pop_of(shard, conn).is_some() {}
        while self.inspections.pop_of(shard, conn).is_some() {}
        self.lost.extend(self.connections.gone((shard, conn)));
    }

    /// Share groups whose deletion has ended.
    pub(crate) fn take_ended(&mut self) -> Vec<(Ticket, ErrorCode)> {
        std::mem::take(&mut self.ended)
    }

    /// Does all that is to be done, until nothing is left.
    pub(crate) fn settle(&mut self, node: &mut Node, now: Now) {
        loop {
            if let Some(partition) = self.busy.pop_first() {
                self.take_effects(node, partition, now);
            } else if let Some((key, request)) = self.persister.next() {
                let attempt = node.ticket();
                let is_here = self.send(node, request, attempt);
                self.persister.sent(&key, attempt, is_here, now);
            } else if let Some((ticket, answer)) = self.answers.pop_front() {
                self.state_answered(node, ticket, answer, now);
            } else if let Some((ticket, error)) = self.appends.next_done() {
                self.letters_written(node, ticket, error, now);
            } else if let Some((waiter, has_some)) = self.ready.pop_front() {
                self.go_on(node, waiter, now);
                self.wake_next(node, has_some.as_ref());
            } else {
                break;
            }
        }
        while let Some(group) = self.touched.pop_first() {
            self.show_group(node, &group);
        }
    }

    /// What the node knows of a share group: so others see it in lists, and that its name is taken. That is so where its members
    /// are coordinated.
    fn show_group(&mut self, node: &mut Node, group: &Text) {
        let holds = self.coordinators.machines().any(|machine| machine.states(Some(group)).next().is_some());
        let is_here = match announced::coordinator_of(node, group) {
            Some(broker) if broker != node.config.node_id => {
                let is_holder = self.coordinators.here(&node.catalog, group).is_ok();
                self.announced.tell(broker, group, (is_holder, holds));
                false
            }
            _ => holds || self.announced.has(group),
        };
        let is_empty = self.groups.get(group).is_none_or(ShareGroup::is_empty);
        if is_empty && !is_here {
            self.groups.remove(group);
            node.share_groups.remove(group);
        } else {
            let state = self.groups.get(group).map_or("Empty", ShareGroup::state);
            node.share_groups.insert(Arc::clone(group), state);
        }
    }
}

/// What is in force for a group.
fn group_config(node: &Node, group: &str) -> ShareGroupConfig {
    GroupConfig::of(&node.configs.group(group)).share
}

/// The same, beyond what Kafka's share groups have.
fn queue_config(node: &Node, group: &str) -> QueueGroupConfig {
    QueueGroupConfig::of(&node.configs.group(group))
}
