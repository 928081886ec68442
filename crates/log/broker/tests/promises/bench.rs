//! A broker whose disk does what the test says, asked by frames of another implementation of the protocol.

use base::Now;
use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, RequestHeader};
use kafka_protocol::protocol::{Decodable, Encodable, Request, StrBytes};
use log_broker::{
    Broker, BrokerConfig, DiskCommand, DiskEvent, Handled, Head, Outgoing, Response, SegmentFault,
    SegmentReader, StoredPartition, Waiter,
};
use log_metadata::{KeeperEvent, PartitionNode, TopicNode, paths};
use log_partition::{FoundTime, LeaderEpoch, PartitionId, SegmentRead, TimeLookup};
use log_storage::SegmentRange;
use net_event_loop::{ConnId, NoFile};
use storage_wal::LogId;

pub(crate) const NOW: Now = Now::of_ms(1_000, 1_000);

/// See the module.
pub(crate) struct Bench {
    pub(crate) broker: Broker,
    pub(crate) now: Now,
    /// Commands that the disk was given.
    pub(crate) given: u64,
    next_log: u64,
    /// Requests that wait, by number: what their answers look like.
    waiting: Vec<(u64, Head)>,
}

/// Segments that hold nothing: these tests read from memory.
struct NoSegments;

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
    let mut node = TopicNode::new([id; 16], std::collections::BTreeMap::new(), &vec![vec![1]; partitions]);
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

fn waiter(request: u64) -> Waiter {
    Waiter { shard: 0, conn: ConnId { slot: 0, generation: 1 }, request }
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

    pub(crate) fn starting(config: BrokerConfig, stored: Vec<StoredPartition>) -> Self {
        let broker = Broker::new(config, "cluster".into(), stored);
        Self { broker, now: NOW, given: 0, next_log: 7, waiting: Vec::new() }
    }

    /// With topics that are served.
    pub(crate) fn serving(topics: &[KeeperEvent]) -> Self {
        let mut bench = Self::new(Vec::new());
        topics.iter().for_each(|topic| bench.council(topic.clone()));
        bench.flush();
        bench
    }

    /// Something happens in the council.
    pub(crate) fn council(&mut self, event: KeeperEvent) {
        self.broker.keeper_event(event, self.now);
    }

    /// The disk takes what it is given, and makes the logs that are asked for.
    pub(crate) fn take(&mut self) -> Vec<DiskCommand> {
        let commands = self.broker.take_disk_commands();
        self.given += commands.len() as u64;
        for command in &commands {
            if let DiskCommand::Create(id, _) = command {
                self.next_log += 1;
                self.broker.disk_event(DiskEvent::Created(*id, LogId(self.next_log)), self.now);
            }
        }
        commands
    }

    /// Everything that was given is durable.
    pub(crate) fn flush(&mut self) {
        self.take();
        self.take();
        self.broker.disk_event(DiskEvent::Durable(self.given), self.now);
    }

    /// Asks in a version of the API. Gives the answer if it comes at once.
    pub(crate) fn ask<R: Request>(&mut self, number: u64, version: i16, request: &R) -> Option<R::Response> {
        let mut frame = BytesMut::new();
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_correlation_id(7)
            .with_client_id(Some(text("bench")));
        let key = ApiKey::try_from(R::KEY).expect("it is an API");
        header.encode(&mut frame, key.request_header_version(version)).expect("they can encode it");
        request.encode(&mut frame, version).expect("they can encode it");
        let (head, handled) =
            self.broker.request(&frame, waiter(number), "/1.2.3.4", self.now).expect("it is served");
        match handled {
            Handled::Done(response) => Some(decoded::<R>(&response, head)),
            Handled::Waits => {
                self.waiting.push((number, head));
                None
            }
            Handled::Silent => None,
        }
    }

    /// The answers that came since this was asked last, all to requests of one kind; the numbers of these first.
    pub(crate) fn answers<R: Request>(&mut self) -> Vec<(u64, R::Response)> {
        let done = self.broker.take_done().into_iter();
        done.map(|(waiter, response)| {
            let at = self.waiting.iter().position(|(number, _)| *number == waiter.request);
            let (number, head) = self.waiting.remove(at.expect("it waits, and is answered once"));
            (number, decoded::<R>(&response, head))
        })
        .collect()
    }
}

fn decoded<R: Request>(response: &Response, head: Head) -> R::Response {
    let mut body = Outgoing::default();
    response.write(head, &mut NoSegments, &mut body, 1 << 20);
    let mut body = Bytes::copy_from_slice(body.output().bytes);
    let answer = R::Response::decode(&mut body, head.version).expect("they can decode it");
    assert!(body.is_empty(), "there is nothing behind the answer");
    answer
}
