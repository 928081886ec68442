//! Partitions with several replicas: what this broker owes to leaders, followers and controllers, and the controller, if this
//! broker is it.
//!
//! [`replication_node::Node`] decides for the copies that lie here, [`replication_controller::Controller`] for the whole cluster.
//! Here their effects are carried out: batches are read and sent, records are read and written in the council, copies are made and
//! dropped. What other brokers are to be told goes out as [`PeerMessage`]s, in the form of [`replication_wire`]; what they tell comes
//! in as bytes.
//!
//! # Who is the controller
//! Of the brokers that are connected to this one and heard, and itself, the one with the lowest number. Two that both take themselves
//! for it do no harm ([`replication_controller`]), so nobody waits for the session of one that has died: a broken connection is
//! enough, and so is silence. One that was silent is the controller again as soon as it is heard.
//! Each broker tells all others what a controller has to hear, and who is none does not listen.
//!
//! # Invariants
//! - Nothing is told to a controller before all records are known (a start reads them before it connects).
//! - Effects are carried out in the order in which they came.
//! - A message that cannot be understood changes nothing that came before it, and its sender's connection is to be closed.
//!
//! - *Bounded.* Of batches for a follower, little more than 4 MiB wait to be taken. What is beyond, or for a broker that takes
//!   nothing at the moment, is looked up again once there is room.

mod controller;
mod copies;
mod council;
mod drain;
mod receiving;
mod sending;
mod throttle;
mod unclean;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::{MonoTime, Now};
use log_config::LeaderSettings;
use log_metadata::paths;
use log_partition::{LeaderEpoch, PartitionId};
use replication_appointed::ReplicaId;
use replication_controller::{Event, Incarnation, Known};
use replication_node::{ControllerId, Effect, Node as Machine, Settings};
use replication_wire::Lagging;

use crate::catalog::{TopicImage, change};
use crate::config::ReplicationRates;
use crate::council::Purpose;
use crate::node::Node;
use crate::notice::Notice;
use crate::partitions::{partition_of, replicated};
use controller::Role;
use copies::Copies;
use council::Proposals;
pub use receiving::BadMessage;
pub(crate) use receiving::PeerCall;
use sending::Outbox;
pub use sending::{PeerMessage, ReplicaRead};
use throttle::Throttle;
use unclean::Unclean;

/// See the module.
#[derive(Debug)]
pub(crate) struct Replication {
    own: ReplicaId,
    machine: Machine,
    role: Role,
    /// Brokers that are connected, with their processes as far as they were told.
    peers: BTreeMap<ReplicaId, Option<Incarnation>>,
    /// Those of them of which nothing is heard.
    silent: BTreeSet<ReplicaId>,
    /// Brokers that were connected, and are not any more.
    lost: BTreeSet<ReplicaId>,
    /// All records were told.
    is_joined: bool,
    /// This broker is about to stop.
    is_stopping: bool,
    outbox: Outbox,
    copies: Copies,
    throttle: Throttle,
    proposals: Proposals,
    unclean: Unclean,
    /// Calls of other brokers that nobody has taken.
    calls: Vec<PeerCall>,
}

impl Replication {
    /// Of a broker with that number.
    pub(crate) fn new(
        own: ReplicaId,
        incarnation: Incarnation,
        leaders: LeaderSettings,
        rates: ReplicationRates,
    ) -> Self {
        Self {
            own,
            machine: Machine::new(own, incarnation, Settings::default()),
            role: Role::new(incarnation, leaders),
            peers: BTreeMap::new(),
            silent: BTreeSet::new(),
            lost: BTreeSet::new(),
            is_joined: false,
            is_stopping: false,
            outbox: Outbox::default(),
            copies: Copies::default(),
            throttle: Throttle::of(rates),
            proposals: Proposals::default(),
            unclean: Unclean::default(),
            calls: Vec::new(),
        }
    }

    /// All topics that there were at the start were told.
    pub(crate) fn joined(&mut self, node: &mut Node, now: Now) {
        self.is_joined = true;
        let all: Vec<ReplicaId> = self.peers.keys().copied().chain([self.own]).collect();
        all.into_iter().for_each(|peer| self.machine.connected(controller_id(peer)));
        self.judge_role(node, now);
        self.carry_out(node, now);
    }

    /// The connection to another broker is new.
    pub(crate) fn connected(&mut self, node: &mut Node, peer: ReplicaId, now: Now) {
        self.peers.insert(peer, None);
        self.lost.remove(&peer);
        self.silent.remove(&peer);
        node.in_sync.connected(peer);
        self.machine.reconnected(peer, now.mono(), &mut node.partitions);
        if self.is_joined {
            self.machine.connected(controller_id(peer));
        }
        self.judge_role(node, now);
        self.tell_lagging(&node.in_sync.all(), Some(peer));
        self.look_who_lags(node, now);
        self.carry_out(node, now);
    }

    /// The connection to another broker is gone.
    pub(crate) fn broken(&mut self, node: &mut Node, peer: ReplicaId, now: Now) {
        if self.peers.remove(&peer).is_some() {
            self.lost.insert(peer);
            self.silent.remove(&peer);
            self.machine.disconnected(controller_id(peer));
            self.outbox.forget(peer);
            self.copies.forget(peer);
            self.throttle.forget(peer);
            self.role.broken(peer, now);
            node.in_sync.broken(peer);
            self.look_who_lags(node, now);
            self.judge_role(node, now);
            self.carry_out(node, now);
        }
    }

    /// There is a sign of life of another broker: the controller takes it for dead without one for a while.
    pub(crate) fn heard(&mut self, node: &mut Node, peer: ReplicaId, now: Now) {
        self.role.hear(Event::Heard { node: peer }, now);
        if self.silent.remove(&peer) {
            self.judge_role(node, now);
            self.carry_out(node, now);
        }
    }

    /// There was no sign of life of a broker that is connected for a while. It is none that counts, neither as a leader nor as
    /// the controller; its connection stays, for it may only be slow.
    pub(crate) fn silent(&mut self, node: &mut Node, peer: ReplicaId, now: Now) {
        if self.peers.contains_key(&peer) && self.silent.insert(peer) {
            self.role.broken(peer, now);
            self.judge_role(node, now);
            self.carry_out(node, now);
        }
    }

    /// The broker with the lowest number of those that are heard, if it is another one.
    fn first(&self) -> Option<ReplicaId> {
        let heard = self.peers.keys().copied().filter(|peer| !self.silent.contains(peer));
        heard.min().filter(|first| *first < self.own)
    }

    /// The council has committed this of a topic.
    pub(crate) fn topic_changed(&mut self, node: &mut Node, topic: &TopicImage, now: Now) {
        let is_first = !self.role.is_active() && records(topic).next().is_some();
        for known in records(topic) {
            self.learn(node, known, now);
        }
        self.release_single(node, topic, now);
        self.throttle.set_topic(topic.id, &node.topic_config(&topic.settings));
        if is_first {
            self.judge_role(node, now);
        }
        self.keep_durability(node, topic);
        self.carry_out(node, now);
    }

    /// The controller sees to it that records are durable on as many replicas as `min.insync.replicas` says by now: leaders go on
    /// with the same replicas, of which more or fewer have to have each record. With one, either of two replicas may go on alone.
    fn keep_durability(&self, node: &mut Node, topic: &TopicImage) {
        let (min, purpose) =
            (topic.config.min_insync_replicas as usize, Purpose::Durability(Arc::clone(&topic.name)));
        let others = (0..).zip(&topic.partitions).filter(|(_, image)| image.has_other_durability(min));
        let wanted: Vec<_> = others.map(|(index, image)| (index, Some(image.replicas.clone()))).collect();
        if !self.role.is_active() || node.council.has(&purpose) {
            return;
        }
        if !wanted.is_empty() {
            let compute = change::reassign(topic.id, wanted, min);
            node.council.ask(paths::topic(&topic.name), purpose, compute);
        } else if topic.partitions.iter().any(|image| image.has_other_survivors(min)) {
            node.council.ask(paths::topic(&topic.name), purpose, change::permit_survivors(topic.id, min));
        }
    }

    /// These partitions are moved by the controller, for balance: their copies are throttled until then.
    pub(crate) fn throttle_moves(&mut self, node: &Node, moves: Vec<PartitionId>, until: MonoTime) {
        self.throttle.set_moves(moves, until, node.config.balance.move_bytes_per_s);
    }

    /// Other configurations are in force for topics that do not set them.
    pub(crate) fn configs_changed(&mut self, node: &mut Node) {
        self.throttle.set_rates(node.config.replication_rates);
        let topics: Vec<TopicImage> = match self.role.is_active() {
            true => node.catalog.topics().cloned().collect(),
            false => Vec::new(),
        };
        topics.iter().for_each(|topic| self.keep_durability(node, topic));
    }

    /// Partitions that had several replicas and have one now are none of the controller's any more, nor of other brokers. If the one
    /// that is left does not lead, because a controller has asked for promises meanwhile, it gets its leader from a controller once
    /// more.
    fn release_single(&mut self, node: &mut Node, topic: &TopicImage, now: Now) {
        for (index, image) in (0..).zip(&topic.partitions).filter(|(_, image)| !image.is_replicated()) {
            let id = topic.partition(index);
            self.role.removed(replicated(id), now);
            if self.machine.known(replicated(id)).is_none() {
                continue;
            }
            let known = image.known(topic.id, index.cast_unsigned());
            known.into_iter().for_each(|known| self.machine.learn(known, now.mono(), &mut node.partitions));
            if image.leader.cast_unsigned() != self.own.0 {
                continue;
            }
            if node.partitions.release(id) {
                self.machine.release(replicated(id));
            } else if let Ok(index) = usize::try_from(index) {
                let compute = change::reopen(topic.id, index, image.version);
                node.council.ask(paths::topic(&topic.name), Purpose::Reopening, compute);
            }
        }
    }

    /// The topic is gone.
    pub(crate) fn topic_deleted(&mut self, node: &mut Node, topic: &TopicImage, now: Now) {
        for known in records(topic) {
            self.removed(node, known.partition, now);
        }
        node.in_sync.forget(topic.id);
        self.throttle.forget_topic(topic.id);
        self.carry_out(node, now);
    }

    /// A copy was made that was asked for.
    pub(crate) fn made(&mut self, node: &mut Node, id: PartitionId, promised: LeaderEpoch, now: Now) {
        self.machine.created(replicated(id), promised.epoch(), now.mono(), &mut node.partitions);
    }

    /// Time passes.
    pub(crate) fn tick(&mut self, node: &mut Node, now: Now) {
        self.machine.tick(now.mono(), &mut node.partitions);
        node.in_sync.tick(&node.partitions, now);
        self.tell_lagging(&node.in_sync.take_news(), None);
        self.role.hear(Event::Heard { node: self.own }, now);
        self.role.tick(now);
        self.throttle.tick(now.mono());
        self.read_again(node, now);
        self.send_held(node, now);
        self.elect_unclean(node, now);
        self.carry_out(node, now);
    }

    /// When [`Self::tick`] is to be called.
    pub(crate) fn next_deadline(&self, node: &Node) -> Option<MonoTime> {
        let look = node.in_sync.next_deadline();
        let (again, held) = (self.read_again_at(), self.throttle.next_deadline());
        let all = [look, self.machine.next_deadline(), self.role.next_deadline(), again, held];
        all.into_iter().flatten().min()
    }

    /// Does what the machines have asked for, until nothing is left.
    pub(crate) fn carry_out(&mut self, node: &mut Node, now: Now) {
        loop {
            let touched = node.partitions.take_touched();
            for id in &touched {
                self.machine.follow_up(replicated(*id), now.mono(), &mut node.partitions);
            }
            let (own, controllers) = (self.machine.take_effects(), self.role.take_effects());
            if !touched.is_empty() {
                node.in_sync.moved(now);
            }
            if touched.is_empty() && own.is_empty() && controllers.is_empty() {
                return;
            }
            own.into_iter().for_each(|effect| self.carry_out_one(node, effect, now));
            controllers.into_iter().for_each(|effect| self.carry_out_for_controller(node, effect, now));
        }
    }

    fn carry_out_one(&mut self, node: &mut Node, effect: Effect, now: Now) {
        match effect {
            Effect::Inform { controller, event } => self.inform(controller, event, now),
            Effect::Read { partitions } => self.read(node, &partitions),
            Effect::Write(change) => self.write(node, *change),
            Effect::Create { partition, promised } => {
                let id = partition_of(partition);
                let topic = id.and_then(|id| node.catalog.topic_of(id).cloned().map(|topic| (id, topic)));
                if let Some((id, topic)) = topic {
                    node.partitions.make_copy(id, LeaderEpoch::of(promised), &topic);
                }
            }
            Effect::Drop { partition } => {
                partition_of(partition).into_iter().for_each(|id| node.partitions.drop_copy(id));
            }
            Effect::Pause { partition } => {
                partition_of(partition).into_iter().for_each(|id| node.partitions.pause(id, true));
            }
            Effect::Resume { partition } => {
                partition_of(partition).into_iter().for_each(|id| node.partitions.pause(id, false));
            }
            Effect::NotHandedOver { partition, to, behind } => {
                let told = partition_of(partition).map(|id| Notice::NotHandedOver(id, to.0, behind));
                node.notices.extend(told);
            }
            Effect::Send { to, partitions } => self.send(node, to, &partitions, now),
            Effect::Reply { to, replies } => self.reply(to, &replies),
        }
    }

    /// A connection stands or is gone: who is in sync may have changed.
    fn look_who_lags(&mut self, node: &mut Node, now: Now) {
        node.in_sync.look(&node.partitions, now);
        self.throttle.look_again();
        self.tell_lagging(&node.in_sync.take_news(), None);
    }

    /// Other brokers are told which replicas are not in sync with leaders here: one of them, or all.
    fn tell_lagging(&mut self, lagging: &[Lagging], to: Option<ReplicaId>) {
        if lagging.is_empty() {
            return;
        }
        for peer in self.peers.keys().filter(|peer| to.is_none_or(|to| to == **peer)) {
            Lagging::encode_parts(lagging, |bytes| self.outbox.say(*peer, bytes));
        }
    }

    /// What a record says is known here, and to the controller.
    fn learn(&mut self, node: &mut Node, known: Known, now: Now) {
        self.role.learn(&known, now);
        self.machine.learn(known, now.mono(), &mut node.partitions);
    }

    fn removed(&mut self, node: &mut Node, partition: replication_controller::PartitionId, now: Now) {
        self.role.removed(partition, now);
        self.machine.removed(partition, &mut node.partitions);
    }

    /// Whether this broker is the controller has to be judged again. Without a partition with several replicas none is needed: a
    /// broker with nothing to do sleeps.
    fn judge_role(&mut self, node: &mut Node, now: Now) {
        let is_needed = node.catalog.topics().any(|topic| records(topic).next().is_some());
        if !self.is_joined || self.first().is_some() || !is_needed {
            self.role.resign();
            self.proposals.forget();
        } else if self.role.begin(node.catalog.topics().flat_map(records), now) {
            let announced = self.peers.iter().filter_map(|(peer, process)| Some((*peer, (*process)?)));
            announced.for_each(|(peer, process)| self.role.announced(peer, process, now));
            // Of the others it waits to hear: they may be starting.
            self.lost.iter().chain(&self.silent).for_each(|peer| self.role.broken(*peer, now));
            self.machine.connected(controller_id(self.own));
            self.configs_changed(node);
        }
    }
}

/// The number that a broker has as a controller.
fn controller_id(broker: ReplicaId) -> ControllerId {
    ControllerId(broker.0.into())
}

/// What the node of a topic says of its partitions with several replicas.
fn records(topic: &TopicImage) -> impl Iterator<Item = Known> {
    let replicated = (0..).zip(&topic.partitions).filter(|(_, partition)| partition.is_replicated());
    replicated.filter_map(|(index, partition)| partition.known(topic.id, index))
}
