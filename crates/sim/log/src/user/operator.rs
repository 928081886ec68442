//! The operator: makes the topics, removes one now and then, and makes it again.

use std::collections::{BTreeMap, BTreeSet};

use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    CreateTopicsRequest, DeleteRecordsRequest, DeleteRecordsResponse, DeleteTopicsRequest, MetadataRequest,
    TopicName,
};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use super::{Around, Link, Target};
use crate::history::{Place, Retention};
pub(crate) use crate::names::{GROUP_TOPIC, NAMES, SHARE_TOPIC, all_names};
use crate::setting::Flushing;

/// How long the operator waits for an answer, milliseconds.
const PATIENCE_MS: u64 = 5_000;
const CREATE: i16 = 7;
const DELETE: i16 = 6;
const METADATA: i16 = 12;
const TRIM: i16 = 2;
const OFFSET_OUT_OF_RANGE: i16 = 1;

/// A volatile topic is flushed after so many milliseconds, whatever `flush.ms` says.
const FLUSH_MS: u64 = 1_000;

/// What all clients know of the topics: their present ids.
#[derive(Debug, Default)]
pub(crate) struct Topics {
    pub(crate) ids: BTreeMap<&'static str, [u8; 16]>,
    pub(crate) partitions: i32,
    /// How many replicas each has, and `min.insync.replicas`, if there are several brokers.
    pub(crate) replication: BTreeMap<&'static str, (i16, i16)>,
    /// If the first topic is volatile: when it is flushed.
    pub(crate) flushing: Option<Flushing>,
    /// What the first topic's records are kept for.
    pub(crate) retention: Option<Retention>,
    /// Tombstones stay for longer than a run.
    pub(crate) keeps_tombstones: bool,
    /// The topic that is compacted, if there is one.
    pub(crate) compacted: Option<&'static str>,
    /// The ids that it has had.
    pub(crate) compacted_ids: BTreeSet<[u8; 16]>,
    /// When names were asked to go: of several brokers, some may mean another topic by them than others.
    pub(crate) deleted: BTreeMap<&'static str, u64>,
    /// Whether there is a share group with a topic of its own.
    pub(crate) has_shares: bool,
}

impl Topics {
    /// All that are to be there.
    fn names(&self) -> impl Iterator<Item = &'static str> {
        all_names().chain(self.has_shares.then_some(SHARE_TOPIC))
    }

    /// Whether the topic of that id is compacted.
    pub(crate) fn is_compacted(&self, id: &[u8; 16]) -> bool {
        self.compacted_ids.contains(id)
    }
}

#[derive(Clone, Copy, Debug)]
enum Asked {
    Create,
    Delete,
    Look(&'static str),
    /// Records before that offset are to be deleted.
    Trim(Place, i64),
}

/// See the module.
pub(crate) struct Operator {
    link: Link<Asked>,
    /// With the leader of a partition, if there are several brokers.
    leader: Link<Asked>,
    /// The topic that is to be deleted and made again.
    pub(crate) remake: Option<&'static str>,
    /// Records of that partition of the first topic are to be deleted.
    pub(crate) trim: Option<i32>,
    /// A request to delete records was lost, and may arrive still: by its name it must not find another topic.
    has_lost_trim: bool,
}

impl Operator {
    pub(crate) const fn new() -> Self {
        Self { link: Link::new(), leader: Link::new(), remake: None, trim: None, has_lost_trim: false }
    }

    /// Whether every topic is there, as far as it knows.
    pub(crate) fn is_content(&self, topics: &Topics) -> bool {
        self.remake.is_none() && topics.names().all(|name| topics.ids.contains_key(name))
    }

    pub(crate) fn step(&mut self, around: &mut Around<'_>) {
        while let Some(answer) = self.link.receive(around).or_else(|| self.leader.receive(around)) {
            match answer.of {
                Asked::Create => drop(answer.read::<CreateTopicsRequest>()),
                Asked::Delete => drop(answer.read::<DeleteTopicsRequest>()),
                Asked::Trim(place, offset) => {
                    let answer = answer.read::<DeleteRecordsRequest>();
                    let of = answer.topics.first().and_then(|topic| topic.partitions.first());
                    self.leader.misled(around, of.map_or(0, |of| of.error_code));
                    trimmed(around, (place, offset), &answer);
                }
                Asked::Look(name) => self.looked(around, name, &answer.read::<MetadataRequest>()),
            }
        }
        let is_late = self.link.waits_since_ms().is_some_and(|since| since + PATIENCE_MS < around.now_ms);
        if self.link.broken(around).is_some_and(|lost| lost.iter().any(is_trim)) {
            self.has_lost_trim = true;
        }
        if is_late {
            self.has_lost_trim |= self.link.leave(around).iter().any(is_trim);
        }
        if self.leader.is_lost(around, PATIENCE_MS) {
            self.has_lost_trim |= !self.leader.leave(around).is_empty();
        }
        if self.leader.outstanding() > 0 || self.link.outstanding() > 0 || !self.link.connect(around) {
            return;
        }
        // First: if it goes by an id that is none any more, nobody leads a partition of it.
        if let Some(name) = self.remake {
            return self.delete(around, name);
        }
        if let Some(partition) = self.trim {
            return self.trim_now(around, partition);
        }
        let missing = around.topics.names().find(|name| !around.topics.ids.contains_key(*name));
        if let Some(name) = missing {
            match around.random.chance(50) {
                true => self.create(around, name),
                false => self.look(around, name),
            }
        }
    }

    fn create(&mut self, around: &mut Around<'_>, name: &'static str) {
        let mut configs = Vec::new();
        if around.topics.compacted == Some(name) {
            configs.extend([("cleanup.policy", "compact"), ("min.cleanable.dirty.ratio", "0.01")]);
            let keeps_long = around.topics.keeps_tombstones;
            configs.push(("delete.retention.ms", if keeps_long { "3600000" } else { "400" }));
        }
        let mut configs: Vec<(&str, String)> =
            configs.into_iter().map(|(name, value)| (name, String::from(value))).collect();
        match around.topics.retention.filter(|_| name == NAMES[0]) {
            None => {}
            Some(Retention::Time(ms)) => configs.push(("retention.ms", ms.to_string())),
            Some(Retention::Bytes(bytes)) => configs.push(("retention.bytes", bytes.to_string())),
        }
        if let Some(flushing) = around.topics.flushing.filter(|_| name == NAMES[0]) {
            configs.push(("diwan.durability", String::from("replicated")));
            configs.extend(flushing.messages.map(|count| ("flush.messages", count.to_string())));
            configs.extend(flushing.ms.map(|ms| ("flush.ms", ms.to_string())));
        }
        let (replicas, min_in_sync) = around.topics.replication.get(name).copied().unwrap_or_default();
        if replicas > 0 {
            configs.push(("min.insync.replicas", min_in_sync.to_string()));
        }
        let config = |(name, value): (&'static str, String)| {
            let value = Some(StrBytes::from_string(value));
            CreatableTopicConfig::default().with_name(StrBytes::from_static_str(name)).with_value(value)
        };
        let topic = CreatableTopic::default()
            .with_configs(configs.into_iter().map(config).collect())
            .with_name(topic_name(name))
            .with_num_partitions(around.topics.partitions)
            .with_replication_factor(if around.topics.replication.is_empty() { -1 } else { replicas });
        let request = CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(3_000);
        self.link.send(around, CREATE, &request, Asked::Create);
    }

    /// Deletes some of the records that were acknowledged.
    fn trim_now(&mut self, around: &mut Around<'_>, partition: i32) {
        let name = NAMES[0];
        let topic = around.topics.ids.get(name).copied();
        let Some(topic) = topic else { return self.trim = None };
        let place = Place { topic, partition };
        let link = if around.brokers.len() > 1 { &mut self.leader } else { &mut self.link };
        link.aim(around, Target::Leader(place));
        if !link.connect(around) {
            return;
        }
        self.trim = None;
        let offset = around.random.below(around.history.known_end(place) as u64 + 1) as i64;
        around.history.client_trims(place, offset);
        around
            .sim
            .tell("records deleted", format_args!("the operator deletes records of {name} before {offset}"));
        let of = DeleteRecordsPartition::default().with_partition_index(partition).with_offset(offset);
        let of = DeleteRecordsTopic::default().with_name(topic_name(name)).with_partitions(vec![of]);
        let request = DeleteRecordsRequest::default().with_topics(vec![of]).with_timeout_ms(2_000);
        link.send(around, TRIM, &request, Asked::Trim(place, offset));
    }

    fn delete(&mut self, around: &mut Around<'_>, name: &'static str) {
        self.remake = None;
        if self.has_lost_trim && name == NAMES[0] {
            return;
        }
        let Some(id) = around.topics.ids.remove(name) else { return };
        around.topics.deleted.insert(name, around.now_ms);
        around.history.topic_may_go(id);
        around.sim.tell("topic deleted", format_args!("the operator deletes {name}"));
        let topic = DeleteTopicState::default().with_name(None).with_topic_id(Uuid::from_bytes(id));
        let request = DeleteTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(3_000);
        self.link.send(around, DELETE, &request, Asked::Delete);
    }

    fn look(&mut self, around: &mut Around<'_>, name: &'static str) {
        let topic = MetadataRequestTopic::default().with_name(Some(topic_name(name)));
        let request =
            MetadataRequest::default().with_topics(Some(vec![topic])).with_allow_auto_topic_creation(false);
        self.link.send(around, METADATA, &request, Asked::Look(name));
    }

    fn looked(
        &mut self,
        around: &mut Around<'_>,
        name: &'static str,
        answer: &kafka_protocol::messages::MetadataResponse,
    ) {
        let Some(topic) = answer.topics.first().filter(|topic| topic.error_code == 0) else { return };
        let id = topic.topic_id.into_bytes();
        if around.topics.ids.contains_key(name) {
            return;
        }
        if around.history.may_be_new(&id) {
            around.history.topic_is_there(id);
        } else {
            // It was asked to go, and is there still: once more.
            self.remake = Some(name);
        }
        around.topics.ids.insert(name, id);
        if around.topics.compacted == Some(name) {
            around.topics.compacted_ids.insert(id);
        }
        if let Some(flushing) = around.topics.flushing.filter(|_| name == NAMES[0]) {
            around.history.topic_is_volatile(id, flushing.ms.unwrap_or(FLUSH_MS).min(FLUSH_MS));
        }
        if let Some(retention) = around.topics.retention.filter(|_| name == NAMES[0]) {
            around.history.retained(id, retention);
        }
    }
}

const fn is_trim(asked: &Asked) -> bool {
    matches!(asked, Asked::Trim(..))
}

/// Records were deleted, or not.
fn trimmed(around: &mut Around<'_>, (place, offset): (Place, i64), answer: &DeleteRecordsResponse) {
    let Some(partition) = answer.topics.first().and_then(|topic| topic.partitions.first()) else { return };
    match partition.error_code {
        0 if partition.low_watermark < offset => {
            let low = partition.low_watermark;
            around
                .history
                .wrong(69, format!("records of {place:?} go before {offset}, and it begins at {low}"));
        }
        0 => around.history.trimmed(place, partition.low_watermark),
        OFFSET_OUT_OF_RANGE => {
            around.history.wrong(69, format!("{offset} of {place:?} is acknowledged, and out of range"));
        }
        _ => {}
    }
}

pub(super) fn topic_name(name: &'static str) -> TopicName {
    TopicName(StrBytes::from_static_str(name))
}
