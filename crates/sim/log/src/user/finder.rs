//! How a client finds the broker that it has to ask: the leaders of partitions, by Metadata, and coordinators, by FindCoordinator.
//! It asks any broker, and another one if that does not answer or does not know. Where there is one broker, nothing is asked.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    ApiKey, FindCoordinatorRequest, FindCoordinatorResponse, MetadataRequest, MetadataResponse,
    RequestHeader, ResponseHeader,
};
use kafka_protocol::protocol::{Decodable, Encodable, Request, StrBytes};
use uuid::Uuid;

use super::Around;
use crate::history::Place;
use crate::wire::WireId;

/// A broker whose disk was wiped begins anew under a number that is so much higher: see there.
pub(crate) const NUMBERS_EACH: usize = 10;
const METADATA: i16 = 12;
const FIND: i16 = 4;
/// How long it waits for an answer, milliseconds.
const PATIENCE_MS: u64 = 1_000;
/// How long it rests before it asks again, milliseconds.
const REST_MS: u64 = 30;

/// Whom a client has to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Any,
    /// The broker at that place among all.
    Broker(usize),
    Leader(Place),
    /// The coordinator of a group (0) or of a transactional id (1).
    Coordinator(i8, StrBytes),
}

/// Who leads a partition: the broker's place among all, and the leader's epoch.
pub(crate) type Leader = (usize, i32);

/// What was answered.
enum Found {
    Leaders(BTreeMap<Place, Leader>),
    Coordinator(usize),
}

struct Asked {
    wire: WireId,
    at_ms: u64,
    /// Whether it was asked for leaders.
    for_leaders: bool,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Finder {
    asked: Option<Asked>,
    /// What it has found.
    known: Option<usize>,
    rests_until_ms: u64,
    /// The highest epoch of each leader that it was told: what it is told of an earlier one is not believed.
    epochs: BTreeMap<Place, i32>,
}

impl Finder {
    pub(crate) const fn new() -> Self {
        Self { asked: None, known: None, rests_until_ms: 0, epochs: BTreeMap::new() }
    }

    /// What was found is not true any more.
    pub(crate) const fn forget(&mut self) {
        self.known = None;
    }

    /// The broker to connect to, if it is known by now.
    pub(crate) fn find(&mut self, around: &mut Around<'_>, target: &Target) -> Option<usize> {
        let all = around.brokers.len();
        if all == 1 {
            return Some(0);
        }
        if self.known.is_some() {
            return self.known;
        }
        self.known = match target {
            Target::Any => Some(around.random.below(all as u64) as usize),
            Target::Broker(at) => Some(*at),
            Target::Leader(place) => match self.ask(around, || leaders_of(&[place.topic])) {
                Some(Found::Leaders(leaders)) => leaders.get(place).map(|(broker, _)| *broker),
                _ => None,
            },
            Target::Coordinator(kind, key) => match self.ask(around, || coordinator_of(*kind, key)) {
                Some(Found::Coordinator(broker)) => Some(broker),
                _ => None,
            },
        };
        self.known
    }

    /// The leaders of all partitions of these topics, if they are known by now.
    pub(crate) fn leaders(
        &mut self,
        around: &mut Around<'_>,
        topics: &[[u8; 16]],
    ) -> Option<BTreeMap<Place, Leader>> {
        match self.ask(around, || leaders_of(topics)) {
            Some(Found::Leaders(leaders)) => Some(leaders),
            _ => None,
        }
    }

    /// Asks, or takes what was answered.
    fn ask(&mut self, around: &mut Around<'_>, question: impl FnOnce() -> (bool, BytesMut)) -> Option<Found> {
        if let Some(asked) = &self.asked {
            let (wire, for_leaders) = (asked.wire, asked.for_leaders);
            let is_late = asked.at_ms + PATIENCE_MS < around.now_ms;
            if let Some(frame) = take_frame(around, wire) {
                let found = self.answered(frame, for_leaders);
                self.end(around, wire);
                return found;
            }
            if is_late || around.wires.is_broken(wire) {
                self.end(around, wire);
            }
            return None;
        }
        if around.now_ms < self.rests_until_ms {
            return None;
        }
        let broker = around.random.below(around.brokers.len() as u64) as usize;
        let process = around.brokers[broker].serving(around.now_ms)?;
        let wire = around.wires.open(broker);
        process.accept(wire);
        let (for_leaders, frame) = question();
        around.wires.send(wire, &frame);
        self.asked = Some(Asked { wire, at_ms: around.now_ms, for_leaders });
        None
    }

    fn end(&mut self, around: &mut Around<'_>, wire: WireId) {
        around.wires.leave(wire);
        self.asked = None;
        self.rests_until_ms = around.now_ms + REST_MS;
    }

    fn answered(&mut self, mut frame: Bytes, for_leaders: bool) -> Option<Found> {
        if !for_leaders {
            ResponseHeader::decode(&mut frame, ApiKey::FindCoordinator.response_header_version(FIND)).ok()?;
            let answer = FindCoordinatorResponse::decode(&mut frame, FIND).ok()?;
            let found = answer.coordinators.first().filter(|found| found.error_code == 0)?;
            return Some(Found::Coordinator(place_of(found.node_id.0)?));
        }
        ResponseHeader::decode(&mut frame, ApiKey::Metadata.response_header_version(METADATA)).ok()?;
        let answer = MetadataResponse::decode(&mut frame, METADATA).ok()?;
        let mut leaders = BTreeMap::new();
        for topic in answer.topics.iter().filter(|topic| topic.error_code == 0) {
            for partition in topic.partitions.iter().filter(|partition| partition.error_code == 0) {
                let place =
                    Place { topic: topic.topic_id.into_bytes(), partition: partition.partition_index };
                let newest = self.epochs.entry(place).or_insert(partition.leader_epoch);
                *newest = partition.leader_epoch.max(*newest);
                if let Some(broker) = place_of(partition.leader_id.0)
                    && *newest == partition.leader_epoch
                {
                    leaders.insert(place, (broker, partition.leader_epoch));
                }
            }
        }
        Some(Found::Leaders(leaders))
    }
}

/// The place of a broker among all, by its number.
pub(super) fn place_of(node_id: i32) -> Option<usize> {
    let place = usize::try_from(node_id).ok()?.checked_sub(1)?;
    Some(place % NUMBERS_EACH)
}

fn leaders_of(topics: &[[u8; 16]]) -> (bool, BytesMut) {
    let topic =
        |id: &[u8; 16]| MetadataRequestTopic::default().with_name(None).with_topic_id(Uuid::from_bytes(*id));
    let request = MetadataRequest::default()
        .with_topics(Some(topics.iter().map(topic).collect()))
        .with_allow_auto_topic_creation(false);
    (true, frame(0, METADATA, &request))
}

fn coordinator_of(kind: i8, key: &StrBytes) -> (bool, BytesMut) {
    let request =
        FindCoordinatorRequest::default().with_key_type(kind).with_coordinator_keys(vec![key.clone()]);
    (false, frame(0, FIND, &request))
}

/// A request with its header and its length.
pub(super) fn frame<R: Request>(correlation_id: i32, version: i16, request: &R) -> BytesMut {
    let key = ApiKey::try_from(R::KEY).expect("it is an API");
    let header = RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_correlation_id(correlation_id)
        .with_client_id(Some(StrBytes::from_static_str("sim")));
    let mut frame = BytesMut::from(&[0u8; 4][..]);
    header.encode(&mut frame, key.request_header_version(version)).expect("it can be written");
    request.encode(&mut frame, version).expect("it can be written");
    let length = (frame.len() - 4) as u32;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    frame
}

/// The next whole answer of a connection.
pub(super) fn take_frame(around: &mut Around<'_>, wire: WireId) -> Option<Bytes> {
    let arrived = around.wires.arrived(wire)?;
    let length = u32::from_be_bytes(*arrived.first_chunk()?) as usize;
    if arrived.len() < 4 + length {
        return None;
    }
    let frame: Vec<u8> = arrived.drain(..4 + length).skip(4).collect();
    Some(Bytes::from(frame))
}
