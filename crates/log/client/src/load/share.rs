//! One consumer of a share group (KIP-932) that acknowledges every record by itself.

use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use log_wire::messages::share::{
    AcknowledgementBatch, AcquiredRecords, ShareFetchPartition, ShareFetchPartitionResponse,
    ShareFetchRequest, ShareFetchTopic, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse,
};

use super::measured::{Measured, thread_cpu};
use super::requests::count;
use crate::cluster::Cluster;
use crate::connection::Connection;
use crate::error::{is_retriable, name};

/// `max.poll.records` of Kafka's clients, which is also the size of the batches that they ask for.
const RECORDS_MAX: i32 = 500;
const FETCH_BYTES: i32 = 4 << 20;
const FETCH_WAIT_MS: i32 = 500;
/// How long a group may take until it has a coordinator and gives a partition to its member.
const JOINED_WITHIN: Duration = Duration::from_secs(60);
const REST: Duration = Duration::from_millis(50);
/// How long nothing may come behind the last record: what is not acknowledged would come again.
const QUIET: Duration = Duration::from_secs(1);
/// `AcknowledgeType.ACCEPT`.
const ACCEPT: i8 = 1;

/// A queue of one partition.
#[derive(Clone, Debug)]
pub struct Share {
    /// The broker, which leads the partition and coordinates the group.
    pub address: SocketAddr,
    /// The topic, of which partition 0 is read.
    pub topic: String,
    /// The group, which begins with the first record.
    pub group: String,
    /// How many records there are.
    pub expected: u64,
}

/// Consumes for `warm_up`, or a quarter of the records, without counting, then for `duration` or until all are consumed. Calls `edge`
/// at both ends of the latter. Consumes the rest then, and looks whether anything comes again. A record counts when its
/// acknowledgement is answered. Each has an entry of its own in the next ShareFetch, as Kafka's clients send them.
///
/// # Errors
/// The broker refused, or a record was given out twice or left out.
pub fn share(
    load: &Share,
    warm_up: Duration,
    duration: Duration,
    mut edge: impl FnMut(),
) -> io::Result<Measured> {
    let mut member = Member::join(load)?;
    member.drive(Instant::now() + warm_up, load.expected / 4)?;
    edge();
    member.measured = Measured::none();
    let (began, cpu) = (Instant::now(), thread_cpu());
    member.drive(began + duration, load.expected)?;
    let (elapsed, cpu) = (began.elapsed(), thread_cpu().saturating_sub(cpu));
    edge();
    let measured = std::mem::replace(&mut member.measured, Measured::none());
    member.drain(load.expected)?;
    Ok(Measured { elapsed, cpu, total: member.acknowledged, ..measured })
}

struct Member {
    connection: Connection,
    coordinator: Connection,
    group: String,
    id: String,
    epoch: i32,
    heartbeat_due: Instant,
    topic_id: [u8; 16],
    /// Of the share session.
    session_epoch: i32,
    /// Given out and not acknowledged.
    acquired: Vec<AcquiredRecords>,
    /// The offset of the next record that was never given out.
    next: i64,
    measured: Measured,
    acknowledged: u64,
}

impl Member {
    fn join(load: &Share) -> io::Result<Self> {
        let address = load.address.to_string();
        let mut cluster = Cluster::connect(&address, "log-load").map_err(io::Error::other)?;
        let topic = cluster.topic(&load.topic, false).map_err(io::Error::other)?;
        // The topics of coordinators are made when one is looked for.
        cluster.coordinator(&load.group).map_err(io::Error::other)?;
        let open = || Connection::open(&address, "log-load", None).map_err(io::Error::other);
        let mut member = Self {
            connection: open()?,
            coordinator: open()?,
            group: load.group.clone(),
            // Its client chooses it: a UUID, in the alphabet of Kafka's.
            id: format!("{:0>22}", std::process::id()),
            epoch: 0,
            heartbeat_due: Instant::now(),
            topic_id: topic.topic_id,
            session_epoch: 0,
            acquired: Vec::new(),
            next: 0,
            measured: Measured::none(),
            acknowledged: 0,
        };
        let began = Instant::now();
        while !member.heartbeat(Some(&load.topic))? {
            if began.elapsed() > JOINED_WITHIN {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the share group gives no partition"));
            }
            thread::sleep(REST);
            member.heartbeat_due = Instant::now();
        }
        Ok(member)
    }

    /// Says that it lives, if that is due. Gives whether it has got a partition by this answer.
    fn heartbeat(&mut self, topic: Option<&String>) -> io::Result<bool> {
        if Instant::now() < self.heartbeat_due {
            return Ok(false);
        }
        let is_first = self.epoch == 0;
        let request = ShareGroupHeartbeatRequest {
            group_id: self.group.clone(),
            member_id: self.id.clone(),
            member_epoch: self.epoch,
            subscribed_topic_names: topic.filter(|_| is_first).map(|topic| vec![topic.clone()]),
            ..ShareGroupHeartbeatRequest::default()
        };
        let answer = self.coordinator.call(&request).map_err(io::Error::other)?;
        let ShareGroupHeartbeatResponse { error_code, member_epoch, heartbeat_interval_ms, .. } = answer;
        match error_code {
            0 => self.epoch = member_epoch,
            code if is_retriable(code) && is_first => return Ok(false),
            code => return Err(refused("a heartbeat", code)),
        }
        self.heartbeat_due = Instant::now() + Duration::from_millis(heartbeat_interval_ms.max(1) as u64);
        Ok(answer.assignment.is_some_and(|given| !given.topic_partitions.is_empty()))
    }

    /// Until so many are acknowledged, or until then.
    fn drive(&mut self, until: Instant, count: u64) -> io::Result<()> {
        while self.acknowledged < count && Instant::now() < until {
            self.heartbeat(None)?;
            self.fetch()?;
        }
        Ok(())
    }

    /// Until all are acknowledged, and nothing came for a while behind that.
    fn drain(&mut self, count: u64) -> io::Result<()> {
        self.drive(Instant::now() + JOINED_WITHIN, count)?;
        let began = Instant::now();
        while began.elapsed() < QUIET {
            self.fetch()?;
        }
        match self.acknowledged == count && self.acquired.is_empty() {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "of {count} records {} were given out and acknowledged",
                self.acknowledged
            ))),
        }
    }

    /// Acknowledges what it has, and asks for more.
    fn fetch(&mut self) -> io::Result<()> {
        let acquired = std::mem::take(&mut self.acquired);
        let each = acquired.iter().flat_map(|range| range.first_offset..=range.last_offset);
        let acknowledgement_batches: Vec<_> = each
            .map(|offset| AcknowledgementBatch {
                first_offset: offset,
                last_offset: offset,
                acknowledge_types: vec![ACCEPT],
            })
            .collect();
        let count = acknowledgement_batches.len() as u64;
        let partition = ShareFetchPartition { acknowledgement_batches, ..ShareFetchPartition::default() };
        let request = ShareFetchRequest {
            group_id: Some(self.group.clone()),
            member_id: Some(self.id.clone()),
            share_session_epoch: self.session_epoch,
            max_wait_ms: FETCH_WAIT_MS,
            min_bytes: 1,
            max_bytes: FETCH_BYTES,
            max_records: RECORDS_MAX,
            batch_size: RECORDS_MAX,
            topics: vec![ShareFetchTopic { topic_id: self.topic_id, partitions: vec![partition] }],
            ..ShareFetchRequest::default()
        };
        let sent = Instant::now();
        let answer = self.connection.call(&request).map_err(io::Error::other)?;
        if is_retriable(answer.error_code) && self.session_epoch == 0 {
            thread::sleep(REST);
            return Ok(());
        }
        taken("a fetch", answer.error_code)?;
        self.session_epoch = self.session_epoch.checked_add(1).unwrap_or(1);
        self.acknowledged += count;
        self.measured.messages += count;
        self.measured.requests += 1;
        if count > 0 {
            self.measured.note(sent.elapsed(), count);
        }
        answer.responses.into_iter().flat_map(|topic| topic.partitions).try_for_each(|one| self.take(one))
    }

    /// Takes records, of which none may be given out twice or left out.
    fn take(&mut self, given: ShareFetchPartitionResponse) -> io::Result<()> {
        taken("an acknowledgement", given.acknowledge_error_code)?;
        taken("a partition", given.error_code)?;
        self.measured.bytes += given.records.0.len() as u64;
        let held = count(&given.records.0, |_| ());
        for range in &given.acquired_records {
            if range.first_offset != self.next || range.delivery_count != 1 {
                return Err(io::Error::other(format!(
                    "records {} to {} are given out (delivery {}), and {} is the next one",
                    range.first_offset, range.last_offset, range.delivery_count, self.next
                )));
            }
            self.next = range.last_offset + 1;
        }
        if !given.acquired_records.is_empty() && held.end.is_none_or(|end| end < self.next) {
            return Err(io::Error::other("records are given out whose bytes are not there"));
        }
        self.acquired.extend(given.acquired_records);
        Ok(())
    }
}

fn taken(what: &str, code: i16) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(refused(what, code)) }
}

fn refused(what: &str, code: i16) -> io::Error {
    io::Error::other(format!("{what} was refused: {}", name(code)))
}
