//! What the controller makes of the loads that brokers have told.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Now;
use log_balance::{BrokerLoad, Change, Look, PartitionLoad, Rates, Scope, Snapshot};
use log_config::BalanceMode;
use log_metadata::{PartitionNode, paths};
use log_wire::TopicName;
use replication_appointed::ReplicaId;
use replication_controller::{Act, ActKind};

use super::{AGAIN_MS, WINDOWS_SILENT_MAX};
use crate::balance::Balance;
use crate::broker::Broker;
use crate::catalog::{TopicImage, change};
use crate::council::Purpose;
use crate::node::Node;
use crate::notice::Notice;
use crate::partitions::replicated;

impl Broker {
    /// The controller's window has ended.
    pub(super) fn look_at_loads(&mut self, now: Now) {
        let Self { node, balance, .. } = self;
        let Node { loads, catalog, brokers, config, .. } = node;
        loads.keep(catalog, |id| brokers.is_live(id));
        let (interval_ms, mode) = (config.balance.interval_ms, config.balance.mode);
        let report = &mut node.balance_report;
        report.mode = mode.to_string();
        report.looked_ms = now.wall.ms();
        report.next_look_ms = now.wall.ms().saturating_add_unsigned(interval_ms);
        let looked = match hindrance(node, balance, now) {
            Some(why) => Err(why),
            None => {
                let times = (now.mono().ms(), interval_ms);
                balance
                    .balancer
                    .look(&snapshot(node, now), times, scope(mode))
                    .map_err(|error| error.to_string())
            }
        };
        match looked {
            Ok(look) => {
                node.balance_report.looked(&look, now.wall.ms());
                self.begin_changes(&look);
            }
            Err(why) => {
                balance.balancer.hold(now.mono().ms());
                balance.again = None;
                node.balance_report.held(&why);
            }
        }
        self.node.balance_report.under_way = self.balance.balancer.open().count() as u64;
        self.tell_moves(now);
    }

    /// The council is asked for what begins.
    fn begin_changes(&mut self, look: &Look) {
        let mut moves = BTreeMap::<Arc<str>, Vec<(i32, Vec<i32>, Vec<i32>)>>::new();
        for Change { topic, index, before, after, reasons, .. } in &look.begin {
            let name: Arc<str> = topic.as_str().into();
            let (topic, partition, why) = (Arc::clone(&name), *index, reasons.join("; "));
            let (before, after) = (before.clone(), after.clone());
            let told =
                Notice::Balanced { topic, partition, before: before.clone(), after: after.clone(), why };
            self.node.notices.push(told);
            moves.entry(name).or_default().push((*index, before, after));
        }
        for (name, moves) in moves {
            let Ok(topic) = self.node.catalog.find(TopicName::Name(&name)) else { continue };
            let (id, min) = (topic.id, topic.config.min_insync_replicas as usize);
            let compute = change::relocate(id, moves, min);
            self.node.council.ask(paths::topic(&name), Purpose::Balance(name), compute);
        }
    }

    /// The council has the other order of replicas, or other replicas: leaders follow.
    pub(crate) fn balance_written(&mut self, now: Now) {
        self.tell_moves(now);
        self.ask_for_leaders(now);
    }

    /// The controller's machine is asked for leaders that are to change and have not.
    pub(super) fn ask_for_leaders(&mut self, now: Now) {
        let Self { node, balance, .. } = self;
        let acts: Vec<Act> =
            balance.balancer.open().filter_map(|(topic, index, to)| act(node, topic, (index, to))).collect();
        let is_open = balance.balancer.open().next().is_some();
        balance.again = is_open.then(|| now.mono().plus_ms(AGAIN_MS));
        if !acts.is_empty() {
            self.replication.ask_for(&mut self.node, acts, now);
        }
    }
}

fn scope(mode: BalanceMode) -> Scope {
    match mode {
        BalanceMode::Off | BalanceMode::Propose => Scope::Nothing,
        BalanceMode::Leaders => Scope::Leaders,
        BalanceMode::All => Scope::All,
    }
}

/// What is to be asked for, if the replica is the preferred one by now and does not lead.
fn act(node: &Node, topic: &str, (index, to): (i32, i32)) -> Option<Act> {
    let topic = node.catalog.find(TopicName::Name(topic)).ok()?;
    let image = topic.partitions.get(usize::try_from(index).ok()?)?;
    let is_preferred = image.settled_replicas()?.first() == Some(&to);
    let kind = ActKind::HandOver(ReplicaId(to.cast_unsigned()));
    (is_preferred && image.leader != to && node.brokers.may_lead(to))
        .then(|| Act { partition: replicated(topic.partition(index)), kind })
}

/// Why nothing may be changed for now, in words.
fn hindrance(node: &Node, balance: &Balance, now: Now) -> Option<String> {
    if let Some(broker) = node.brokers.first_draining() {
        return Some(format!("broker {broker} drains, or stops"));
    }
    let silent_ms = node.config.balance.interval_ms.saturating_mul(WINDOWS_SILENT_MAX);
    let since = now.mono().minus_ms(silent_ms);
    for broker in node.brokers.that_take_replicas() {
        if !node.reaches(broker) {
            return Some(format!("broker {broker} is not connected"));
        }
        if node.loads.room(broker, since).is_none() {
            return Some(format!("broker {broker} has not told its loads yet"));
        }
    }
    let returns = leaders_return(node);
    let all = node.catalog.topics().flat_map(|topic| (0..).zip(&topic.partitions).map(move |of| (topic, of)));
    for (topic, (index, image)) in
        all.filter(|(topic, (index, _))| !balance.balancer.is_open(&topic.name, *index))
    {
        let named = |what: &str| Some(format!("{what} partition {index} of `{}`", topic.name));
        if image.settled_replicas().is_none() {
            return named("somebody changes the replicas of");
        }
        if !node.reaches(image.leader) {
            return named("nobody leads");
        }
        if returns && image.is_replicated() && image.replicas.first() != Some(&image.leader) {
            return named("a preferred replica is to lead again");
        }
    }
    None
}

/// Whether leaders go back to all preferred replicas by themselves.
fn leaders_return(node: &Node) -> bool {
    let leaders = node.config.leaders.with_file(&node.config.properties.0);
    leaders.preferred_after_ms.is_some() && leaders.imbalance_percent == 0
}

/// The cluster as it was measured.
fn snapshot(node: &Node, now: Now) -> Snapshot {
    let silent_ms = node.config.balance.interval_ms.saturating_mul(WINDOWS_SILENT_MAX);
    let since = now.mono().minus_ms(silent_ms);
    let broker = |id: i32| {
        let room = node.loads.room(id, since);
        BrokerLoad {
            id,
            rack: node.brokers.rack(id).map(String::from),
            disk_bytes: room.and_then(|room| room.disk_bytes),
            network_bytes_per_s: room.map(|room| room.network_bytes_per_s),
            is_excluded: false,
        }
    };
    let partitions = node.catalog.topics().flat_map(|topic| {
        (0..).zip(&topic.partitions).map(move |(index, image)| partition(node, topic, (index, image)))
    });
    Snapshot {
        brokers: node.brokers.that_take_replicas().map(broker).collect(),
        partitions: partitions.collect(),
        ..Snapshot::default()
    }
}

fn partition(node: &Node, topic: &TopicImage, (index, image): (i32, &PartitionNode)) -> PartitionLoad {
    let settled = image.settled_replicas();
    let Rates { write_bytes_per_s, read_bytes_per_s, requests_per_s, stored_bytes } =
        node.loads.rates(topic.partition(index));
    PartitionLoad {
        topic: topic.name.to_string(),
        index,
        is_moving: settled.is_none(),
        is_pinned: topic.is_internal() || image.rest.goal.is_some() || !image.rest.learners.is_empty(),
        replicas: settled.unwrap_or_else(|| image.replicas.clone()),
        leader: Some(image.leader),
        write_bytes_per_s,
        read_bytes_per_s,
        requests_per_s,
        stored_bytes,
    }
}
