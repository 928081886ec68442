//! A broker whose disk does what the test says, asked by frames of another implementation of the protocol.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Now;
use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, RequestHeader};
use kafka_protocol::protocol::{Decodable, Encodable, Request, StrBytes};
use log_broker::{
    Broker, BrokerConfig, Client, DiskCommand, DiskEvent, Handled, Head, Outgoing, Peer, Response,
    SegmentFault, SegmentReader, StoredPartition, Waiter,
};
use log_metadata::access::ClusterSecret;
use log_metadata::{Change, Decision, Ended, Found, KeeperEvent, PartitionNode, TopicNode, paths};
use log_partition::{FoundTime, LeaderEpoch, PartitionId, SegmentRead, TimeLookup};
use log_storage::SegmentRange;
use net_event_loop::{ConnId, NoFile};

use crate::disk::Disk;

pub(crate) const NOW: Now = Now::of_ms(1_000, 1_000);
/// The disk is not full.
pub(crate) const ROOM: u64 = u64::MAX;

/// See the module.
pub(crate) struct Bench {
    pub(crate) broker: Broker,
    pub(crate) now: Now,
    pub(crate) disk: Disk,
    /// The connection that asks.
    pub(crate) conn: u32,
    config: BrokerConfig,
    /// What the council holds, by path.
    nodes: BTreeMap<String, Vec<u8>>,
    /// Requests that wait, by number: what their answers look like, and whether the next one of the connection waits behind.
    waiting: BTreeMap<u64, (Head, bool)>,
    /// Answers that nobody has asked for.
    answered: BTreeMap<u64, Option<Bytes>>,
    /// The number of the last request whose answer was waited for.
    last_number: u64,
}

/// Segments that hold nothing: these tests read from memory.
pub(crate) struct NoSegments;

impl SegmentReader for NoSegments {
    type File = NoFile;

    fn range(
        &mut self,
        _: PartitionId,
        _: &SegmentRead,
    ) -> Result<Option<SegmentRange<NoFile>>, SegmentFault> {
        Err(SegmentFault::Gone)
    }

    fn copy(&mut self, range: &SegmentRange<NoFile>, _: &mut Vec<u8>) -> Result<(), SegmentFault> {
        match range.file {}
    }

    fn find_time(&mut self, _: PartitionId, lookup: &TimeLookup) -> Result<Option<FoundTime>, SegmentFault> {
        Ok(lookup.find_in_memory())
    }
}

/// A topic as the council tells of it.
pub(crate) fn topic(name: &str, id: u8, partitions: usize, epoch: i32) -> KeeperEvent {
    topic_with(&[], name, id, partitions, epoch)
}

/// The same, with settings of its own.
pub(crate) fn topic_with(
    settings: &[(&str, &str)],
    name: &str,
    id: u8,
    partitions: usize,
    epoch: i32,
) -> KeeperEvent {
    let settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let mut node = TopicNode::new([id; 16], settings, &vec![vec![1]; partitions]);
    let raise = |partition: &mut PartitionNode| partition.epoch = LeaderEpoch(epoch);
    node.partitions.iter_mut().for_each(raise);
    KeeperEvent::Node { path: paths::topic(name), data: Some(node.bytes()) }
}

/// A topic is gone.
pub(crate) fn no_topic(name: &str) -> KeeperEvent {
    KeeperEvent::Node { path: paths::topic(name), data: None }
}

pub(crate) fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

pub(crate) fn peer() -> Peer {
    Peer { ip: [1, 2, 3, 4].into(), listener: 0, certified: None }
}

impl Bench {
    pub(crate) fn new(stored: Vec<StoredPartition>) -> Self {
        Self::with(BrokerConfig::default(), stored)
    }

    /// Of a broker that has been told of everything that there was at its start: of nothing.
    pub(crate) fn with(config: BrokerConfig, stored: Vec<StoredPartition>) -> Self {
        let mut bench = Self::starting(config, stored);
        bench.council(KeeperEvent::Joined);
        bench
    }

    /// Of a broker that is being told what there was at its start.
    pub(crate) fn starting(config: BrokerConfig, stored: Vec<StoredPartition>) -> Self {
        let disk = Disk::holding(&stored);
        let broker = Broker::new(config.clone(), "cluster".into(), stored);
        let mut bench = Self {
            broker,
            now: NOW,
            disk,
            conn: 0,
            config,
            nodes: BTreeMap::new(),
            waiting: BTreeMap::new(),
            answered: BTreeMap::new(),
            last_number: 1 << 32,
        };
        let secret = Some(ClusterSecret([7; 32]).bytes());
        bench.council(KeeperEvent::Node { path: paths::SECRET.into(), data: secret });
        bench
    }

    /// With topics that are served.
    pub(crate) fn serving(topics: &[KeeperEvent]) -> Self {
        Self::serving_with(BrokerConfig::default(), topics)
    }

    pub(crate) fn serving_with(config: BrokerConfig, topics: &[KeeperEvent]) -> Self {
        let mut bench = Self::with(config, Vec::new());
        topics.iter().for_each(|topic| bench.council(topic.clone()));
        bench.flush();
        bench
    }

    /// Something happens in the council.
    pub(crate) fn council(&mut self, event: KeeperEvent) {
        if let KeeperEvent::Node { path, data } = &event {
            match data {
                Some(data) => self.nodes.insert(path.clone(), data.clone()),
                None => self.nodes.remove(path),
            };
        }
        self.broker.keeper_event(event, self.now);
    }

    /// The disk takes what it is given, and makes the logs that are asked for.
    pub(crate) fn take(&mut self) -> Vec<DiskCommand> {
        let commands = self.broker.take_disk_commands();
        for command in &commands {
            if let Some((id, log)) = self.disk.give(command) {
                self.broker.disk_event(DiskEvent::Created(id, log), self.now);
            }
        }
        commands
    }

    /// Everything that was given is durable.
    pub(crate) fn flush(&mut self) {
        self.take();
        self.take();
        self.durable(self.disk.given);
    }

    /// So many commands since the start are durable.
    pub(crate) fn durable(&mut self, commands: u64) {
        self.disk.keep(commands);
        self.broker.disk_event(DiskEvent::Durable(commands), self.now);
    }

    /// The disk has room for so many bytes.
    pub(crate) fn room(&mut self, bytes: u64) {
        self.broker.disk_event(DiskEvent::Room(bytes), self.now);
    }

    pub(crate) fn pass(&mut self, ms: u64) {
        self.now.advance_ms(ms);
        self.now.wall = self.now.wall.plus_ms(ms as i64);
        self.broker.tick(self.now);
    }

    /// The council does what it is asked for.
    pub(crate) fn serve_council(&mut self) {
        for Change { path, mut compute, ticket, .. } in self.broker.take_changes() {
            let data = self.nodes.get(&path).cloned();
            let ended = match compute(Found { data: data.as_deref(), may_be_done: false }) {
                Decision::Write(data) => {
                    self.council(KeeperEvent::Node { path, data: Some(data.clone()) });
                    Ended::Done(Some(data))
                }
                Decision::Delete => {
                    self.council(KeeperEvent::Node { path, data: None });
                    Ended::Done(None)
                }
                Decision::Keep => Ended::Done(data),
                Decision::Refuse(error, why) => Ended::Refused(error, why),
            };
            self.council(KeeperEvent::Ended { ticket, ended });
        }
    }

    /// Coordinators read their partitions.
    pub(crate) fn load(&mut self) {
        while let Some(load) = self.broker.next_load() {
            let read = load.read(&mut NoSegments);
            self.broker.loaded(&load, read, self.now);
        }
    }

    /// Everything that can go on does, without a fault, until nothing moves any more.
    pub(crate) fn settle(&mut self) {
        loop {
            let before = self.disk.given;
            self.serve_council();
            self.flush();
            self.load();
            self.gather();
            if self.disk.given == before && self.broker.next_load().is_none() {
                return;
            }
        }
    }

    /// The process dies. Of what was not durable, the first `more` commands are on the disk nevertheless. A new broker leads
    /// under the next epochs.
    pub(crate) fn crash(&mut self, more: u64) {
        self.crash_until_named(more, "");
        self.council(KeeperEvent::Joined);
    }

    /// The same, but the council does not name one of the topics yet.
    pub(crate) fn crash_until_named(&mut self, more: u64, late: &str) {
        let stored = self.disk.crash(more);
        let BrokerConfig { seed, incarnation, .. } = self.config;
        let config = BrokerConfig { seed: seed + 1, incarnation: incarnation + 1, ..self.config.clone() };
        self.config = config.clone();
        self.broker = Broker::new(config, "cluster".into(), stored);
        self.room(ROOM);
        self.waiting.clear();
        self.answered.clear();
        for (path, data) in self.nodes.clone() {
            if path == paths::topic(late) {
                self.nodes.remove(&path);
            } else {
                self.council(KeeperEvent::Node { path, data: Some(data) });
            }
        }
        self.serve_council();
    }

    /// The connection is gone.
    pub(crate) fn disconnect(&mut self) {
        self.broker.disconnected(0, ConnId { slot: self.conn, generation: 1 });
        self.waiting.clear();
    }

    fn waiter(&self, request: u64) -> Waiter {
        Waiter { shard: 0, conn: ConnId { slot: self.conn, generation: 1 }, request }
    }

    /// Asks in a version of the API. Gives the answer if it comes at once.
    pub(crate) fn ask<R: Request>(&mut self, number: u64, version: i16, request: &R) -> Option<R::Response> {
        let body = self.send(number, version, request);
        body.flatten().map(|body| decoded::<R>(body, version))
    }

    /// The same, as bytes; nothing within something for a request that has no answer.
    pub(crate) fn send<R: Request>(
        &mut self,
        number: u64,
        version: i16,
        request: &R,
    ) -> Option<Option<Bytes>> {
        self.send_frame(number, &frame(version, request))
    }

    fn send_frame(&mut self, number: u64, frame: &[u8]) -> Option<Option<Bytes>> {
        let waiter = self.waiter(number);
        let (head, handled) = self
            .broker
            .request(frame, waiter, &Arc::new(Client::of(&peer())), self.now)
            .expect("it is served");
        match handled {
            Handled::Done(response) => Some(body(&response, head)),
            Handled::Waits | Handled::Pipelined => {
                let blocks = matches!(handled, Handled::Waits);
                self.waiting.insert(number, (head, blocks));
                None
            }
            Handled::Silent => Some(None),
        }
    }

    /// Whether a request waits, and the next one of its connection behind it.
    pub(crate) fn blocks(&self, number: u64) -> bool {
        self.waiting.get(&number).is_some_and(|(_, blocks)| *blocks)
    }

    /// Takes the answers that have come, by the numbers of their requests. Nothing for a request that has none.
    pub(crate) fn take_answered(&mut self) -> BTreeMap<u64, Option<Bytes>> {
        self.gather();
        std::mem::take(&mut self.answered)
    }

    /// Those to requests up to that number.
    pub(crate) fn take_answered_to(&mut self, last: u64) -> BTreeMap<u64, Option<Bytes>> {
        self.gather();
        let later = self.answered.split_off(&(last + 1));
        std::mem::replace(&mut self.answered, later)
    }

    fn gather(&mut self) {
        for (waiter, response) in self.broker.take_done() {
            let (head, _) = self.waiting.remove(&waiter.request).expect("it waits, and is answered once");
            let before = self.answered.insert(waiter.request, body(&response, head));
            assert!(before.is_none(), "it is answered once");
        }
    }

    /// The answers that came since this was asked last, all to requests of one kind; the numbers of these first.
    pub(crate) fn answers<R: Request>(&mut self) -> Vec<(u64, R::Response)> {
        let heads: BTreeMap<u64, Head> =
            self.waiting.iter().map(|(number, (head, _))| (*number, *head)).collect();
        let mut answers = Vec::new();
        for (waiter, response) in self.broker.take_done() {
            let number = waiter.request;
            self.waiting.remove(&number).expect("it waits, and is answered once");
            let body = body(&response, heads[&number]).expect("it has an answer");
            answers.push((number, decoded::<R>(body, heads[&number].version)));
        }
        answers
    }

    /// Asks, and lets everything go on until the answer is there.
    pub(crate) fn call<R: Request>(&mut self, version: i16, request: &R) -> R::Response {
        self.last_number += 1;
        let number = self.last_number;
        if let Some(answer) = self.ask(number, version, request) {
            return answer;
        }
        for _ in 0..20 {
            self.settle();
            if let Some(body) = self.answered.remove(&number) {
                return decoded::<R>(body.expect("it has an answer"), version);
            }
            self.pass(50);
        }
        panic!("it is not answered within a second");
    }

    /// Asks, and gives the number under which its answer will come, if that is not there yet.
    pub(crate) fn begin<R: Request>(&mut self, version: i16, request: &R) -> Result<R::Response, u64> {
        self.last_number += 1;
        let number = self.last_number;
        self.ask(number, version, request).ok_or(number)
    }

    /// The same in a version that the other crate does not know, whose request is that of the version before.
    pub(crate) fn begin_newer<R: Request>(&mut self, version: i16, request: &R) -> Result<Bytes, u64> {
        self.last_number += 1;
        let (number, mut frame) = (self.last_number, frame(version - 1, request));
        frame[2..4].copy_from_slice(&version.to_be_bytes());
        self.send_frame(number, &frame).flatten().ok_or(number)
    }

    /// The bytes of the answer to it, if it has come.
    pub(crate) fn end_newer(&mut self, number: u64) -> Option<Bytes> {
        self.gather();
        self.answered.remove(&number).map(|body| body.expect("it has an answer"))
    }

    /// The answer to a request that was begun, if it has come.
    pub(crate) fn end<R: Request>(&mut self, number: u64, version: i16) -> Option<R::Response> {
        self.gather();
        let body = self.answered.remove(&number)?;
        Some(decoded::<R>(body.expect("it has an answer"), version))
    }
}

pub(crate) fn frame<R: Request>(version: i16, request: &R) -> BytesMut {
    let mut frame = BytesMut::new();
    let header = RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_correlation_id(7)
        .with_client_id(Some(text("bench")));
    let key = ApiKey::try_from(R::KEY).expect("it is an API");
    header.encode(&mut frame, key.request_header_version(version)).expect("they can encode it");
    request.encode(&mut frame, version).expect("they can encode it");
    frame
}

/// Nothing for a request that has no answer.
fn body(response: &Response, head: Head) -> Option<Bytes> {
    if matches!(response, Response::Nothing | Response::Close) {
        return None;
    }
    let mut body = Outgoing::default();
    response.write(head, &mut NoSegments, &mut body, 1 << 20);
    Some(Bytes::copy_from_slice(body.output().bytes))
}

pub(crate) fn decoded<R: Request>(mut body: Bytes, version: i16) -> R::Response {
    let answer = R::Response::decode(&mut body, version).expect("they can decode it");
    assert!(body.is_empty(), "there is nothing behind the answer");
    answer
}
