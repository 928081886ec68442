//! What a broker has done and holds at one moment: plain numbers, for metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use log_wire::{ApiKey, TopicName};

use crate::broker::Broker;
use crate::front::served;
use crate::partitions::Hosted;
use crate::produce::in_sync_min;
use crate::traffic::Traffic;

/// A partition of which this broker has a replica.
#[derive(Clone, Debug)]
pub struct PartitionFigures {
    /// Its topic.
    pub topic: Arc<str>,
    /// Its number in the topic.
    pub index: i32,
    /// The first offset that can be read.
    pub start: i64,
    /// The offset behind the last record that is committed.
    pub high_watermark: i64,
    /// The offset behind its last record, committed or not.
    pub end: i64,
    /// Bytes of its log.
    pub bytes: u64,
    /// Its replicas, if this broker leads it.
    pub led: Option<LedFigures>,
}

/// The replicas of a partition that this broker leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedFigures {
    /// How many count.
    pub replicas: usize,
    /// How many of them are in sync.
    pub in_sync: usize,
    /// `min.insync.replicas`.
    pub in_sync_min: usize,
}

/// What only the broker tells that has the controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControllerFigures {
    /// Partitions that nobody leads who is there.
    pub offline: usize,
    /// Partitions that another broker leads than the preferred one.
    pub not_preferred: usize,
    /// Leaders that were changed for balance, since this broker is the controller.
    pub balanced_leaders: u64,
    /// Partitions of which a replica was moved for balance.
    pub balanced_replicas: u64,
    /// Partitions that are being changed for balance.
    pub balancing: u64,
}

/// The offset that a group has committed in a partition.
#[derive(Clone, Debug)]
pub struct GroupFigures {
    /// The group.
    pub group: String,
    /// The topic.
    pub topic: String,
    /// The partition's number.
    pub index: i32,
    /// What is committed.
    pub offset: i64,
    /// How far that is behind the partition's high watermark; nothing if another broker leads the partition.
    pub lag: Option<i64>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Requests so far, by API; none of those that were never asked.
    pub requests: Vec<(ApiKey, u64)>,
    /// By topic, in the order of names.
    pub topics: Vec<(Arc<str>, Traffic)>,
    /// In no order that means something.
    pub partitions: Vec<PartitionFigures>,
    /// Topics of the whole cluster, and their partitions.
    pub cluster: (usize, usize),
    /// Nothing if another broker has the controller.
    pub controller: Option<ControllerFigures>,
    /// How many groups the coordinators here have.
    pub groups: usize,
    /// In the order of groups, topics and partitions of each coordinator.
    pub offsets: Vec<GroupFigures>,
    /// Bytes on their way to the disk.
    pub unflushed_bytes: usize,
}

impl Broker {
    /// The figures of this moment. Copies one small entry for each partition and for each committed offset.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let mut by_topic: BTreeMap<&Arc<str>, Traffic> = BTreeMap::new();
        let mut partitions = Vec::new();
        for hosted in self.node.partitions.all() {
            by_topic.entry(&hosted.topic).or_default().add(&hosted.traffic);
            partitions.push(PartitionFigures {
                topic: Arc::clone(&hosted.topic),
                index: hosted.id.index,
                start: hosted.partition.start().0,
                high_watermark: hosted.partition.high_watermark().0,
                end: hosted.partition.end().0,
                bytes: hosted.partition.bytes(),
                led: self.led_figures(hosted),
            });
        }
        let topics = self.node.catalog.topics();
        let cluster = topics.fold((0, 0), |(topics, all), topic| (topics + 1, all + topic.partitions.len()));
        let offsets = self.groups.committed_offsets().map(|(group, topic, index, offset)| {
            let hosted = self.node.find(TopicName::Name(topic), index);
            let lag = hosted.ok().map(|(_, hosted)| (hosted.partition.high_watermark().0 - offset).max(0));
            GroupFigures { group: group.to_owned(), topic: topic.to_owned(), index, offset, lag }
        });
        Figures {
            requests: served()
                .map(|api| (api, self.requests.of(api)))
                .filter(|(_, count)| *count > 0)
                .collect(),
            topics: by_topic.into_iter().map(|(topic, traffic)| (Arc::clone(topic), traffic)).collect(),
            partitions,
            cluster,
            controller: self.controller_figures(),
            groups: self.groups.count(),
            offsets: offsets.collect(),
            unflushed_bytes: self.node.partitions.unflushed_bytes(),
        }
    }

    fn led_figures(&self, hosted: &Hosted) -> Option<LedFigures> {
        let config = hosted.partition.replica().leading_config()?;
        let replicas = config.voters.replicas().len();
        let in_sync = self.node.in_sync.count(hosted.id, replicas);
        let in_sync_min = in_sync_min(&self.node, hosted);
        Some(LedFigures { replicas, in_sync, in_sync_min })
    }

    fn controller_figures(&self) -> Option<ControllerFigures> {
        let node = &self.node;
        if node.brokers.controller() != node.config.node_id {
            return None;
        }
        let report = &node.balance_report;
        let mut figures = ControllerFigures {
            balanced_leaders: report.changed.0,
            balanced_replicas: report.changed.1,
            balancing: report.under_way,
            ..ControllerFigures::default()
        };
        for topic in node.catalog.topics() {
            for (index, image) in (0..).zip(&topic.partitions) {
                let leader = node.leader_of(topic, index, image);
                figures.offline += usize::from(!leader.is_some_and(|leader| node.is_reached(leader)));
                figures.not_preferred += usize::from(image.replicas.first() != Some(&image.leader));
            }
        }
        Some(figures)
    }
}
