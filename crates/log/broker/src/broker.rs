//! The broker: its parts, and how what happens to one reaches the others.
//!
//! One for all threads that serve connections: a thread has it for itself for the requests of one turn.

use std::sync::Arc;

use base::{MonoTime, Now};
use bytes::Bytes;
use log_access::quota::QuotaKey;
use log_coordinators::Participant;
use log_metadata::access::AccessPlace;
use log_metadata::{Change, ConfigNode, Ended, KeeperEvent, PartitionNode, TopicNode, paths, read_configs};
use log_partition::{Partition, PartitionId};
use log_wire::{ApiKey, Malformed, TopicName};
use net_event_loop::ConnId;
use replication_appointed::ReplicaId;
use replication_controller::Incarnation;

use crate::balance::Balance;
use crate::brokers::Announced;
use crate::call::{Call, Handled};
use crate::catalog::{Appointments, TopicImage, change};
use crate::cluster::{self, Elections};
use crate::compaction::{CompactionCommand, CompactionEvent, Compactions};
use crate::config::BrokerConfig;
use crate::coordinators::{CoordinatorLoad, LoadOf};
use crate::council::Purpose;
use crate::council_calls::CouncilCalls;
use crate::delete_records::RecordDeletions;
use crate::disk_work::{DiskCommand, DiskEvent, StoredPartition};
use crate::drains::Drains;
use crate::fetch::Fetches;
use crate::groups::Groups;
use crate::internal_growth::InternalGrowth;
use crate::node::Node;
use crate::notice::Notice;
use crate::partitions::{PartitionEvent, Slot};
use crate::peer_calls::PeerCalls;
use crate::produce::Produces;
use crate::question::Asker;
use crate::replication::{BadMessage, PeerMessage, ReplicaRead, Replication};
use crate::response::Response;
use crate::segment_reader::SegmentFault;
use crate::share::Share;
use crate::topics::HeldMetadata;
use crate::traffic::RequestCounts;
use crate::transactions::{TransactionEvent, Transactions};
use crate::waits::Waiter;

/// See the module.
#[derive(Debug)]
pub struct Broker {
    pub(crate) node: Node,
    pub(crate) produces: Produces,
    pub(crate) fetches: Fetches,
    pub(crate) calls: CouncilCalls,
    elections: Elections,
    pub(crate) held_metadata: HeldMetadata,
    pub(crate) record_deletions: RecordDeletions,
    appointments: Appointments,
    /// All that the council held when the broker joined is known.
    is_joined: bool,
    pub(crate) groups: Groups,
    pub(crate) share: Share,
    pub(crate) transactions: Transactions,
    pub(crate) requests: RequestCounts,
    compactions: Compactions,
    pub(crate) replication: Replication,
    pub(crate) peer_calls: PeerCalls,
    retention_due: MonoTime,
    growth: InternalGrowth,
    drains: Drains,
    pub(crate) balance: Balance,
}

impl Broker {
    /// A broker with what its disk held.
    #[must_use]
    pub fn new(config: BrokerConfig, cluster_id: String, stored: Vec<StoredPartition>) -> Self {
        Self {
            produces: Produces::default(),
            fetches: Fetches::new(config.fetch_sessions_max, config.seed),
            calls: CouncilCalls::default(),
            elections: Elections::default(),
            held_metadata: HeldMetadata::default(),
            record_deletions: RecordDeletions::default(),
            appointments: Appointments::default(),
            is_joined: false,
            groups: Groups::new(),
            share: Share::new(config.share.sessions_max),
            transactions: Transactions::new(),
            requests: RequestCounts::default(),
            compactions: Compactions::new(),
            replication: Replication::new(
                replica_of(config.node_id),
                Incarnation(config.incarnation),
                config.leaders.with_file(&config.properties.0),
                config.replication_rates,
            ),
            peer_calls: PeerCalls::new(config.seed),
            retention_due: MonoTime::ZERO,
            growth: InternalGrowth::default(),
            drains: Drains::default(),
            balance: Balance::default(),
            node: Node::new(config, cluster_id, stored),
        }
    }

    /// Something happened in the council.
    pub fn keeper_event(&mut self, event: KeeperEvent, now: Now) {
        match event {
            KeeperEvent::Node { path, data } => {
                if let Some(name) = paths::topic_of(&path) {
                    self.topic_node(name, data, now);
                } else if let Some(id) = paths::broker_of(&path) {
                    self.node.brokers.announced(id, data.as_deref());
                } else if let Some(place) = AccessPlace::of_path(&path) {
                    let is_read = self.node.access.changed(&place, data.as_deref());
                    self.node.notices.extend((!is_read).then_some(Notice::BadAccess(path)));
                } else if path == paths::SECRET {
                    self.node.access.authentication.secret_changed(data.as_deref());
                } else if let Some(node) = ConfigNode::of(&path) {
                    self.config_node(node, (&path, data), now);
                }
            }
            KeeperEvent::Joined => {
                self.is_joined = true;
                self.appointments.complete();
                self.node.catalog.complete();
                self.node.claim_secret();
                self.replication.joined(&mut self.node, now);
                self.after_partitions(now);
                let unclaimed = self.node.partitions.unclaimed(&self.node.catalog);
                self.node.notices.extend((unclaimed > 0).then_some(Notice::Unclaimed(unclaimed)));
            }
            KeeperEvent::Ended { ticket, ended } => self.change_ended(ticket, ended, now),
            KeeperEvent::Standing(_) | KeeperEvent::Over(_) => {}
        }
    }

    /// How many connections a second an address may make, if it has a quota.
    #[must_use]
    pub fn connection_rate_of(&self, ip: std::net::IpAddr) -> Option<f64> {
        let quotas = &self.node.access.quotas;
        quotas.has(QuotaKey::ConnectionCreationRate).then(|| quotas.of_ip(&ip.to_string()))?
    }

    /// Takes what the council is asked for.
    pub fn take_changes(&mut self) -> Vec<Change> {
        self.node.council.take()
    }

    /// Takes what the operator should know.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.node.notices)
    }

    /// Takes what the disk is to do, in order.
    pub fn take_disk_commands(&mut self) -> Vec<DiskCommand> {
        let mut commands = Vec::new();
        self.swap_disk_commands(&mut commands);
        commands
    }

    /// The same; `into` is empty and gives its room in exchange.
    pub fn swap_disk_commands(&mut self, into: &mut Vec<DiskCommand>) {
        self.node.partitions.take_disk_commands(into);
    }

    /// Takes what the compactor is told.
    pub fn take_compaction_commands(&mut self) -> Vec<CompactionCommand> {
        self.compactions.take_commands()
    }

    /// The compactor tells something.
    pub fn compaction_event(&mut self, event: CompactionEvent, now: Now) {
        self.compactions.event(&mut self.node, event, now);
    }

    /// Takes answers to requests that waited.
    pub fn take_done(&mut self) -> Vec<(Waiter, Response)> {
        std::mem::take(&mut self.node.replies)
    }

    /// The same, to be put behind others.
    pub fn append_done(&mut self, into: &mut Vec<(Waiter, Response)>) {
        into.append(&mut self.node.replies);
    }

    /// Takes the other brokers that are announced, if they are others than before: to be connected to.
    pub fn take_announced(&mut self) -> Option<Vec<Announced>> {
        self.node.brokers.take_announced()
    }

    /// The connection to another broker is new.
    pub fn peer_connected(&mut self, broker: i32, now: Now) {
        self.node.brokers.connected(broker);
        self.balance.link_changed(broker);
        self.replication.connected(&mut self.node, replica_of(broker), now);
        self.after_partitions(now);
    }

    /// The connection to another broker is gone.
    pub fn peer_broken(&mut self, broker: i32, now: Now) {
        self.node.brokers.broken(broker, now.mono());
        self.replication.broken(&mut self.node, replica_of(broker), now);
        self.held_metadata.lost(broker);
        self.transactions.peer_broken(broker);
        self.calls_are_lost(broker, now);
        self.after_partitions(now);
    }

    /// There is a sign of life of another broker, which is connected. The controller takes it for dead after some 300 ms without one.
    pub fn peer_heard(&mut self, broker: i32, now: Now) {
        self.node.brokers.heard(broker);
        self.replication.heard(&mut self.node, replica_of(broker), now);
        self.after_partitions(now);
    }

    /// There was no sign of life of another broker, which is connected, for a while. What it was asked fails at once, and so does what
    /// it would be asked until it is heard again.
    pub fn peer_silent(&mut self, broker: i32, now: Now) {
        self.node.brokers.silent(broker, now.mono());
        self.replication.silent(&mut self.node, replica_of(broker), now);
        self.held_metadata.lost(broker);
        self.calls_are_lost(broker, now);
        self.after_partitions(now);
    }

    /// Another broker, which is connected, tells something.
    ///
    /// # Errors
    /// Its connection is to be closed.
    pub fn peer_message(&mut self, broker: i32, bytes: &Bytes, now: Now) -> Result<(), BadMessage> {
        self.node.brokers.heard(broker);
        let taken = self.replication.received(&mut self.node, replica_of(broker), bytes, now);
        let called = self.peer_called(now);
        self.after_partitions(now);
        taken.and(called)
    }

    /// Another broker takes no batches for now, or takes them again: what is for it waits on this side.
    pub fn peer_is_full(&mut self, broker: i32, is_full: bool) {
        self.replication.is_full(replica_of(broker), is_full);
    }

    /// Takes what other brokers are to be told: to be called after each turn.
    pub fn take_peer_messages(&mut self, now: Now) -> Vec<PeerMessage> {
        self.held_metadata.go_on(&mut self.node, now);
        self.replication.send_deferred(&mut self.node, now);
        self.replication.carry_out(&mut self.node, now);
        self.after_partitions(now);
        if self.produces.go_on(&mut self.node, now) {
            self.replication.carry_out(&mut self.node, now);
            self.after_partitions(now);
        }
        self.replication.take_messages()
    }

    /// Takes what is to be read for another broker. It is answered with [`Self::replica_was_read`].
    pub fn next_replica_read(&mut self) -> Option<ReplicaRead> {
        self.replication.next_read()
    }

    /// That was read.
    pub fn replica_was_read(&mut self, read: &ReplicaRead, bytes: Result<Vec<u8>, SegmentFault>, now: Now) {
        self.replication.was_read(&mut self.node, read, bytes, now);
        self.after_partitions(now);
    }

    /// This broker is about to stop, and wants to lead nothing any more: the controller hands over what it leads. There is no way
    /// back but another process.
    pub fn drain(&mut self, now: Now) {
        self.replication.drain(&mut self.node, now);
        self.after_partitions(now);
    }

    /// How many partitions this broker leads that another one could lead: what [`Self::drain`] waits for. It looks at all
    /// partitions.
    #[must_use]
    pub fn to_hand_over(&self) -> usize {
        self.replication.to_hand_over(&self.node)
    }

    /// The copy of a partition that is here, whether this broker leads it or not: for who looks at a broker from outside.
    #[must_use]
    pub fn copy_of(&self, id: PartitionId) -> Option<&Partition> {
        let slot = self.node.partitions.slot_of(id)?;
        self.node.partitions.get(slot).map(|hosted| &hosted.partition)
    }

    /// All copies of partitions that are here, in no order that means something: as [`Self::copy_of`].
    pub fn copies(&self) -> impl Iterator<Item = (PartitionId, &Partition)> {
        self.node.partitions.all().map(|hosted| (hosted.id, &hosted.partition))
    }

    /// Something happened on the disk.
    pub fn disk_event(&mut self, event: DiskEvent, now: Now) {
        if let DiskEvent::Volume(volume) = event {
            self.node.volume = Some(volume);
            return;
        }
        let Node { partitions, catalog, .. } = &mut self.node;
        partitions.disk_event(event, catalog);
        self.after_partitions(now);
    }

    /// Time passes.
    pub fn tick(&mut self, now: Now) {
        self.produces.expire(&mut self.node, now);
        self.fetches.expire(&mut self.node, now);
        self.calls.expire(&mut self.node, now);
        self.elections.expire(&mut self.node, now);
        self.ask_for_elections(now);
        self.node.brokers.tick(now.mono());
        self.held_metadata.expire(&mut self.node, now);
        self.record_deletions.expire(&mut self.node, now);
        self.groups.tick(&mut self.node, now);
        self.share.tick(&mut self.node, now);
        self.transactions.tick(&mut self.node, now);
        self.settle(now);
        self.compactions.tick(&mut self.node, now);
        self.replication.tick(&mut self.node, now);
        self.after_partitions(now);
        if self.is_joined {
            self.growth.tick(&mut self.node, now);
            self.drains.tick(&mut self.node, now);
            self.tick_balance(now);
        }
        if self.retention_due <= now.mono() {
            self.retention_due = now.mono().plus_ms(self.node.config.retention_check_ms);
            self.node.notices.extend(self.node.partitions.retain(now));
            self.after_partitions(now);
        }
    }

    /// When the first of the requests that wait is to be answered, whatever happens: [`Self::tick`] is to be called then. The
    /// coordinators' own times are seconds, and are kept by a tick every now and then.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        let deadlines = [
            self.produces.next_deadline(),
            self.fetches.next_deadline(),
            self.calls.next_deadline(),
            self.elections.next_deadline(),
            self.held_metadata.next_deadline(),
            self.record_deletions.next_deadline(),
            self.share.next_deadline(),
            self.drains.next_deadline(),
            self.balance.next_deadline().filter(|_| self.node.brokers.has_others()),
            self.replication.next_deadline(&self.node),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// A connection is gone: nothing waits for it any more.
    pub fn disconnected(&mut self, shard: u16, conn: ConnId) {
        self.produces.disconnected(shard, conn);
        self.fetches.disconnected(shard, conn);
        self.calls.disconnected(shard, conn);
        self.elections.disconnected(shard, conn);
        self.held_metadata.disconnected(shard, conn);
        self.record_deletions.disconnected(shard, conn);
        self.groups.disconnected(shard, conn);
        self.share.disconnected(shard, conn);
        self.transactions.disconnected(shard, conn);
        self.node.replies.retain(|(waiter, _)| waiter.shard != shard || waiter.conn != conn);
    }

    /// Whether requests must wait: so much is on its way to the disk that no more should be read from producers, or it is not
    /// known yet who may do what.
    #[must_use]
    pub const fn is_congested(&self) -> bool {
        let bytes = self.node.partitions.unflushed_bytes() + self.produces.held_bytes();
        !self.is_joined || bytes > self.node.config.unflushed_bytes_max
    }

    /// What a coordinator wants to read next. It is answered with [`Self::loaded`].
    #[must_use]
    pub fn next_load(&self) -> Option<CoordinatorLoad> {
        let of_groups = self.groups.coordinators.next_load(&self.node, LoadOf::Groups);
        let of_groups = of_groups.or_else(|| self.transactions.next_load(&self.node));
        of_groups.or_else(|| self.share.next_load(&self.node))
    }

    /// A coordinator gets what was read.
    pub fn loaded(&mut self, load: &CoordinatorLoad, read: Result<Vec<u8>, SegmentFault>, now: Now) {
        match load.of {
            LoadOf::Groups => self.groups.coordinators.loaded(&self.node, load, read, now),
            LoadOf::Transactions => self.transactions.loaded(&mut self.node, load, read, now),
            LoadOf::ShareStates => self.share.states_loaded(&mut self.node, load, read, now),
            LoadOf::Share(_) => self.share.was_read(&mut self.node, load, read, now),
        }
        self.settle(now);
    }

    /// The node of a topic has this data, or is gone.
    fn topic_node(&mut self, name: &str, data: Option<Vec<u8>>, now: Now) {
        let Some(data) = data else { return self.topic_deleted(name, now) };
        match TopicNode::read(&data) {
            Ok(node) => {
                let config = self.node.partition_config(&node.settings);
                self.topic_changed(TopicImage::new(name, node, config), now);
            }
            Err(bad) => self.node.notices.push(Notice::BadTopic(name.into(), bad.to_string())),
        }
    }

    /// The node of what is set for a broker, a group or a subscription has this data, or is gone.
    fn config_node(&mut self, node: ConfigNode, (path, data): (&str, Option<Vec<u8>>), now: Now) {
        match read_configs(&data.unwrap_or_default()) {
            Ok(set) => {
                let group = if let ConfigNode::Group(name) = &node { Some(name.clone()) } else { None };
                if self.node.configs.put(node, set) {
                    self.configs_changed();
                }
                if self.node.brokers.set_drained(self.node.configs.drained()) {
                    self.replication.drains_changed(&mut self.node, now);
                    self.after_partitions(now);
                }
                if let Some(group) = group {
                    self.groups.configured(&self.node, &group);
                    self.share.configured(&self.node, &group);
                }
            }
            Err(bad) => self.node.notices.push(Notice::BadConfigs(path.into(), bad.to_string())),
        }
    }

    /// Other configurations are in force for this broker, and for topics that do not set them.
    fn configs_changed(&mut self) {
        let Node { config, configs, .. } = &mut self.node;
        config.take(&configs.broker());
        let names: Vec<Arc<str>> = self.node.catalog.topics().map(|topic| Arc::clone(&topic.name)).collect();
        names.iter().for_each(|name| self.node.configure(name));
        self.groups.limited(&self.node);
        self.replication.configs_changed(&mut self.node);
        self.share.limited(&self.node);
    }

    fn topic_changed(&mut self, topic: TopicImage, now: Now) {
        let before = self.node.catalog.put(topic.clone());
        self.tell_losses(before.as_ref(), &topic);
        if before.is_none() && self.appointments.is_complete() {
            self.node.notices.push(Notice::TopicCreated(Arc::clone(&topic.name)));
        }
        if let Some(before) = before.filter(|before| before.id != topic.id) {
            self.forget_topic(&before, now);
        }
        let broker = self.node.config.node_id;
        let is_own = |partition: &PartitionNode| partition.leader == broker && !partition.is_replicated();
        let leads = topic.partitions.iter().any(is_own);
        if self.appointments.begin(&topic.name, leads) {
            let purpose = Purpose::Appointment(Arc::clone(&topic.name));
            let known = self.node.partitions.stored_epochs(&topic);
            self.node.council.ask(
                paths::topic(&topic.name),
                purpose,
                change::appoint(topic.id, broker, known),
            );
        }
        if !self.appointments.is_under_way(&topic.name) {
            self.serve(&topic, now);
        }
        self.held_metadata.leaders_changed();
        self.produces.leaders_changed();
        self.elections.topic_changed(&mut self.node, topic.id);
        self.after_partitions(now);
    }

    /// The operator is told of records that are lost, at the broker that leads without them.
    fn tell_losses(&mut self, before: Option<&TopicImage>, topic: &TopicImage) {
        let own = self.node.config.node_id;
        let Some(before) = before else { return };
        for ((partition, now), before) in (0..).zip(&topic.partitions).zip(&before.partitions) {
            if let Some(loss) = now.rest.loss.as_ref().filter(|_| now.leader == own)
                && now.rest.loss != before.rest.loss
            {
                let missing = loss.missing.iter().copied().collect();
                let (topic, kept) = (Arc::clone(&topic.name), loss.kept.1);
                self.node.notices.push(Notice::MayHaveLost { topic, partition, missing, kept });
            }
        }
    }

    /// The partitions of a topic that this broker leads live here from now on.
    fn serve(&mut self, topic: &TopicImage, now: Now) {
        if let Err((id, damage)) = self.node.partitions.topic_changed(topic) {
            self.node.notices.push(Notice::Damaged(id, damage));
        }
        // Copies that the disk held are here by now: what is not here has to be made.
        self.replication.topic_changed(&mut self.node, topic, now);
    }

    /// The topic is gone, with its records.
    fn topic_deleted(&mut self, name: &str, now: Now) {
        if let Some(gone) = self.node.catalog.remove(name) {
            self.node.notices.push(Notice::TopicDeleted(Arc::clone(&gone.name)));
            self.forget_topic(&gone, now);
            self.produces.leaders_changed();
            self.elections.topic_changed(&mut self.node, gone.id);
            self.after_partitions(now);
        }
    }

    /// A topic is not there any more: neither are its records and the offsets that groups have committed for it.
    fn forget_topic(&mut self, gone: &TopicImage, now: Now) {
        self.replication.topic_deleted(&mut self.node, gone, now);
        self.node.partitions.drop_topic(gone);
        self.groups.topic_deleted(&mut self.node, gone, now);
        self.share.topic_deleted(&mut self.node, gone, now);
    }

    /// What was asked of the council has ended.
    fn change_ended(&mut self, ticket: u64, ended: Ended, now: Now) {
        match self.node.council.ended(ticket) {
            Some(Purpose::Part(waiter, part)) => {
                self.calls.ended(&mut self.node, (waiter, part), ended, now);
            }
            Some(Purpose::Appointment(name)) => {
                self.appointments.end(&name);
                if let Some(topic) = self.node.catalog.find(TopicName::Name(&name)).ok().cloned() {
                    self.serve(&topic, now);
                    self.after_partitions(now);
                }
            }
            Some(Purpose::ProducerIds) => {
                self.node.producer_ids.ended(&ended);
                self.transactions.producer_ids_given(&mut self.node, now);
                self.settle(now);
            }
            Some(Purpose::Replicas(asked)) => {
                self.replication.ended(&mut self.node, asked, ended, now);
                self.after_partitions(now);
            }
            Some(Purpose::Balance(_)) => self.balance_written(now),
            Some(
                Purpose::Topic(_)
                | Purpose::Secret
                | Purpose::Reopening
                | Purpose::Durability(_)
                | Purpose::Growth(_)
                | Purpose::Drain(_),
            )
            | None => {}
        }
    }

    /// Handles a request to delete records.
    ///
    /// # Errors
    /// It is malformed.
    pub(crate) fn delete_records(&mut self, call: Call<'_>) -> Result<Handled, Malformed> {
        let now = call.now;
        let handled = self.record_deletions.dispatch(&mut self.node, call);
        self.after_partitions(now);
        handled
    }

    /// Handles a request that concerns the cluster.
    ///
    /// # Errors
    /// It is malformed.
    pub(crate) fn cluster_request(&mut self, key: ApiKey, call: Call<'_>) -> Result<Handled, Malformed> {
        let now = call.now;
        let waits = (&mut self.calls, &mut self.elections);
        let handled = cluster::dispatch(&mut self.node, waits, key, call);
        self.ask_for_elections(now);
        handled
    }

    /// The controller is asked for the leaders that clients want.
    fn ask_for_elections(&mut self, now: Now) {
        let acts = self.elections.take_acts();
        if !acts.is_empty() {
            self.replication.ask_for(&mut self.node, acts, now);
            self.after_partitions(now);
        }
    }

    /// Handles a request of share groups.
    ///
    /// # Errors
    /// It is malformed.
    pub(crate) fn share_request(&mut self, key: ApiKey, call: Call<'_>) -> Result<Handled, Malformed> {
        let Self { share, node, groups, .. } = self;
        share.dispatch(node, key, call, groups)
    }

    /// What happened to partitions reaches who waits for it.
    fn after_partitions(&mut self, now: Now) {
        while self.node.partitions.has_events() {
            let mut events = self.node.partitions.take_events();
            self.partitions_told(&mut events, now);
            self.node.partitions.give_room(events);
        }
        self.settle(now);
    }

    fn partitions_told(&mut self, events: &mut Vec<PartitionEvent>, now: Now) {
        self.leaders_may_have_changed(events);
        for event in events.drain(..) {
            match event {
                PartitionEvent::Ready(slot) => {
                    self.groups.ready(&self.node, slot);
                    self.share.ready(&self.node, slot);
                    self.transactions.ready(&self.node, slot);
                }
                PartitionEvent::Committed(slot, bytes) => {
                    self.produces.committed(&mut self.node, slot);
                    self.fetches.committed(&mut self.node, slot, bytes);
                    self.groups.committed(&mut self.node, slot, now);
                    self.share.committed(&mut self.node, slot, now);
                    self.transactions.committed(&mut self.node, slot, now);
                }
                PartitionEvent::Confirmed(slot) => self.confirmed(slot, now),
                PartitionEvent::Flushed(slot) => self.produces.flushed(&mut self.node, slot),
                PartitionEvent::StartMoved(slot) => {
                    self.fetches.changed(&mut self.node, slot);
                    self.record_deletions.deleted(&mut self.node, slot);
                }
                PartitionEvent::Gone(slot) => {
                    self.produces.gone(&mut self.node, slot);
                    self.not_led(slot, now);
                }
                PartitionEvent::Resumed => {}
                PartitionEvent::Lost(slot) => {
                    self.produces.lost(&mut self.node, slot);
                    self.not_led(slot, now);
                }
                PartitionEvent::Followed(slot) => self.fetches.changed(&mut self.node, slot),
                PartitionEvent::Made(id, promised) => {
                    self.replication.made(&mut self.node, id, promised, now);
                }
            }
        }
    }

    /// What waits for leaders goes on if one of these concerns them.
    fn leaders_may_have_changed(&mut self, events: &[PartitionEvent]) {
        if events.iter().any(|event| matches!(event, PartitionEvent::Ready(_) | PartitionEvent::Gone(_))) {
            self.calls.partitions_changed(&mut self.node);
            self.held_metadata.leaders_changed();
        }
        if events.iter().any(PartitionEvent::is_of_leaders) {
            self.produces.leaders_changed();
        }
    }

    /// A partition was still led here when that was asked.
    fn confirmed(&mut self, slot: Slot, now: Now) {
        self.produces.confirmed(&mut self.node, slot);
        self.record_deletions.confirmed(&mut self.node, slot);
        self.groups.confirmed(&mut self.node, slot, now);
        self.share.confirmed(&mut self.node, slot, now);
        self.transactions.confirmed(&mut self.node, slot, now);
    }

    /// A partition is not led here any more.
    fn not_led(&mut self, slot: Slot, now: Now) {
        self.record_deletions.gone(&mut self.node, slot);
        self.fetches.changed(&mut self.node, slot);
        self.groups.gone(&mut self.node, slot);
        self.share.gone(&mut self.node, slot, now);
        self.transactions.gone(&mut self.node, slot, now);
    }

    /// What areas ask of each other is done, in order, until nothing is left.
    pub(crate) fn settle(&mut self, now: Now) {
        loop {
            for question in std::mem::take(&mut self.node.questions) {
                self.ask_coordinator(question, now);
            }
            for (ticket, group) in std::mem::take(&mut self.node.share_deletions) {
                self.share.delete_group(&mut self.node, ticket, &group, now);
            }
            for (ticket, error) in self.share.take_ended() {
                self.groups.share_group_deleted(&mut self.node, ticket, error);
            }
            for (ticket, answer) in self.groups.take_ended() {
                self.transactions.offsets_marker_done(&mut self.node, ticket, &answer, now);
            }
            self.share.settle(&mut self.node, now);
            let has_asked = self.share_elsewhere(now);
            match self.transactions.next_event() {
                Some(event) => self.do_for_transactions(event, now),
                None if !has_asked => break,
                None => {}
            }
        }
        self.probe_leaders();
    }

    fn do_for_transactions(&mut self, event: TransactionEvent, now: Now) {
        let Some(event) = self.do_elsewhere(event, now) else { return };
        let Self { node, transactions, groups, produces, .. } = self;
        match event {
            // They are another broker's.
            TransactionEvent::Answered(Asker::Peer(_), _) | TransactionEvent::Written(..) => {}
            TransactionEvent::Answered(Asker::Produce(waiter), verdict) => {
                produces.verified(node, waiter, &verdict, now);
            }
            TransactionEvent::Answered(Asker::Offsets(waiter), verdict) => {
                groups.verified(node, waiter, &verdict, now);
            }
            TransactionEvent::Marker(ticket, Participant::Partition(topic, index), marker) => {
                transactions.write_marker(node, ticket, (&topic, index), &marker, now);
            }
            TransactionEvent::Marker(ticket, Participant::Offsets(partition), marker) => {
                groups.end_transaction(node, ticket, partition, marker, now);
            }
        }
    }
}

/// The number of a broker among replicas.
const fn replica_of(broker: i32) -> ReplicaId {
    ReplicaId(broker.cast_unsigned())
}
