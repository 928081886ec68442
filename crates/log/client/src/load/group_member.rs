//! One member of a consumer group of KIP-848: what it says to its coordinator, and what it reads. Knows no connections but by number.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use log_wire::ErrorCode;
use log_wire::messages::consumer_groups::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, ConsumerGroupHeartbeatTopicPartitions,
};
use log_wire::messages::offsets::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetFetchRequest,
    OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponse,
};

use super::requests::FetchRequest;
use crate::call::Call;
use crate::connection::{decode, encode};
use crate::error::{is_retriable, name};

/// `max.poll.interval.ms` of Kafka's clients.
const REBALANCE_MS: i32 = 300_000;
/// Kafka's clients commit every 5 s. More often, less is read twice behind a death.
const COMMIT_EVERY: Duration = Duration::from_secs(1);
const FETCH_BYTES: i32 = 1 << 20;
const FETCH_WAIT_MS: i32 = 500;
/// Before something is asked again that may go well soon.
const REST: Duration = Duration::from_millis(100);

/// A partition that a member reads.
pub(super) struct Reading {
    /// The number of its connection.
    pub(super) socket: usize,
    /// Where it reads on.
    pub(super) offset: i64,
    pub(super) fetch: FetchRequest,
}

/// What the coordinator was asked for.
#[derive(Clone, Debug)]
enum Question {
    Heartbeat,
    /// Of these partitions.
    Offsets(BTreeSet<i32>),
    Commit,
}

/// What the coordinator has answered that is not the member's own matter.
pub(super) enum Asked {
    /// From which offsets on partitions are to be read.
    Offsets(Vec<(i32, i64)>),
}

pub(super) struct Member {
    /// The number of its connection with the coordinator.
    pub(super) coordinator: usize,
    /// When the coordinator has answered its last heartbeat.
    pub(super) heard: Instant,
    pub(super) is_dead: bool,
    pub(super) reads: BTreeMap<i32, Reading>,
    group: String,
    topic: String,
    topic_id: [u8; 16],
    client: String,
    id: String,
    epoch: i32,
    questions: VecDeque<Question>,
    owned: BTreeSet<i32>,
    /// The coordinator does not know yet what is owned.
    is_changed: bool,
    /// Partitions whose offsets are to be asked for.
    unasked: BTreeSet<i32>,
    /// How far what was taken away had been read.
    left: BTreeMap<i32, i64>,
    /// Connections that are not needed any more.
    gone: Vec<usize>,
    heartbeat_due: Instant,
    commit_due: Instant,
}

impl Member {
    /// The member of that number of a group, with a connection with the coordinator.
    pub(super) fn new(
        (group, topic): (&str, &str),
        topic_id: [u8; 16],
        number: usize,
        coordinator: usize,
    ) -> Self {
        let now = Instant::now();
        Self {
            coordinator,
            heard: now,
            is_dead: false,
            reads: BTreeMap::new(),
            group: group.into(),
            topic: topic.into(),
            topic_id,
            client: format!("log-load-{number}"),
            id: String::new(),
            epoch: 0,
            questions: VecDeque::new(),
            owned: BTreeSet::new(),
            is_changed: true,
            unasked: BTreeSet::new(),
            left: BTreeMap::new(),
            gone: Vec::new(),
            heartbeat_due: now,
            commit_due: now + COMMIT_EVERY,
        }
    }

    /// All its connections.
    pub(super) fn sockets(&self) -> Vec<usize> {
        self.reads.values().map(|reading| reading.socket).chain([self.coordinator]).collect()
    }

    /// The connections that it needs no more, once.
    pub(super) fn gone(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.gone)
    }

    /// Whether it reads what the coordinator wants it to read, and the coordinator knows that.
    pub(super) fn is_settled(&self) -> bool {
        self.epoch > 0 && !self.is_changed && self.reads.len() == self.owned.len()
    }

    /// When it has something to say next.
    pub(super) fn due(&self) -> Instant {
        self.heartbeat_due.min(self.commit_due)
    }

    /// Appends what it has to say by now. Gives whether that is anything.
    pub(super) fn speak(&mut self, out: &mut Vec<u8>) -> bool {
        let (now, before) = (Instant::now(), out.len());
        if self.commit_due <= now || !self.left.is_empty() {
            self.commit_due = now + COMMIT_EVERY;
            self.commit(out);
        }
        let awaits = self.questions.iter().any(|question| matches!(question, Question::Heartbeat));
        if !awaits && (self.heartbeat_due <= now || (self.is_changed && self.epoch > 0)) {
            self.heartbeat(out);
        }
        if !self.unasked.is_empty() {
            self.ask_offsets(out);
        }
        out.len() > before
    }

    fn ask<C: Call>(&mut self, request: &C, question: Question, out: &mut Vec<u8>) {
        encode(request, (0, &self.client), out);
        self.questions.push_back(question);
    }

    fn heartbeat(&mut self, out: &mut Vec<u8>) {
        let is_first = self.epoch == 0;
        let owned = ConsumerGroupHeartbeatTopicPartitions {
            topic_id: self.topic_id,
            partitions: self.owned.iter().copied().collect(),
        };
        let owned = if self.owned.is_empty() { Vec::new() } else { vec![owned] };
        let request = ConsumerGroupHeartbeatRequest {
            group_id: self.group.clone(),
            member_id: self.id.clone(),
            member_epoch: self.epoch,
            rebalance_timeout_ms: if is_first { REBALANCE_MS } else { -1 },
            subscribed_topic_names: is_first.then(|| vec![self.topic.clone()]),
            topic_partitions: self.is_changed.then_some(owned),
            ..ConsumerGroupHeartbeatRequest::default()
        };
        self.is_changed = false;
        // Until the answer says how often.
        self.heartbeat_due = Instant::now() + REST;
        self.ask(&request, Question::Heartbeat, out);
    }

    fn ask_offsets(&mut self, out: &mut Vec<u8>) {
        let asked = std::mem::take(&mut self.unasked);
        let partition_indexes = asked.iter().copied().collect();
        let topic =
            OffsetFetchRequestTopics { name: self.topic.clone(), partition_indexes, ..Default::default() };
        let group = OffsetFetchRequestGroup {
            group_id: self.group.clone(),
            topics: Some(vec![topic]),
            ..OffsetFetchRequestGroup::default()
        };
        let request = OffsetFetchRequest { groups: vec![group], ..OffsetFetchRequest::default() };
        self.ask(&request, Question::Offsets(asked), out);
    }

    fn commit(&mut self, out: &mut Vec<u8>) {
        let mut offsets = std::mem::take(&mut self.left);
        offsets.extend(self.reads.iter().map(|(index, reading)| (*index, reading.offset)));
        if offsets.is_empty() || self.epoch == 0 {
            return;
        }
        let partitions =
            offsets.into_iter().map(|(partition_index, committed_offset)| OffsetCommitRequestPartition {
                partition_index,
                committed_offset,
                committed_leader_epoch: -1,
                ..Default::default()
            });
        let topic = OffsetCommitRequestTopic {
            name: self.topic.clone(),
            partitions: partitions.collect(),
            ..OffsetCommitRequestTopic::default()
        };
        let request = OffsetCommitRequest {
            group_id: self.group.clone(),
            member_id: self.id.clone(),
            generation_id_or_member_epoch: self.epoch,
            topics: vec![topic],
            ..OffsetCommitRequest::default()
        };
        self.ask(&request, Question::Commit, out);
    }

    /// Takes an answer of the coordinator.
    pub(super) fn take(&mut self, frame: &[u8]) -> io::Result<Option<Asked>> {
        let unread = |malformed: log_wire::Malformed| io::Error::other(malformed.0);
        match self.questions.pop_front() {
            Some(Question::Heartbeat) => {
                let answer = decode::<ConsumerGroupHeartbeatRequest>(frame).map_err(unread)?;
                self.heard(answer).map(|()| None)
            }
            Some(Question::Offsets(asked)) => {
                let answer = decode::<OffsetFetchRequest>(frame).map_err(unread)?;
                self.take_offsets(asked, answer).map(|offsets| Some(Asked::Offsets(offsets)))
            }
            // An offset that is not committed, because the epoch has changed meanwhile, is committed next time.
            Some(Question::Commit) => Ok(None),
            None => Err(io::Error::other("the coordinator has answered what it was not asked")),
        }
    }

    /// Gives the offsets that were asked for. Those that are not given for now are asked for again, if they still are wanted then.
    fn take_offsets(
        &mut self,
        mut asked: BTreeSet<i32>,
        answer: OffsetFetchResponse,
    ) -> io::Result<Vec<(i32, i64)>> {
        let mut offsets = Vec::new();
        for group in answer.groups {
            let each = group.topics.into_iter().flat_map(|topic| topic.partitions);
            let codes = each.map(|of| (of.error_code, Some(of))).chain([(group.error_code, None)]);
            for (code, of) in codes {
                match of {
                    Some(of) if code == 0 => {
                        asked.remove(&of.partition_index);
                        offsets.push((of.partition_index, of.committed_offset.max(0)));
                    }
                    _ if code == 0 || is_retriable(code) => {}
                    _ => return Err(refused("an offset", code)),
                }
            }
        }
        self.unasked.extend(asked.intersection(&self.owned));
        Ok(offsets)
    }

    fn heard(&mut self, answer: ConsumerGroupHeartbeatResponse) -> io::Result<()> {
        let now = Instant::now();
        let is_fenced = [ErrorCode::FencedMemberEpoch, ErrorCode::UnknownMemberId]
            .iter()
            .any(|code| code.code() == answer.error_code);
        match answer.error_code {
            0 => {}
            _ if is_fenced => {
                self.epoch = 0;
                self.owns(&BTreeSet::new());
                self.heartbeat_due = now;
                return Ok(());
            }
            // It is looked for once, at the beginning.
            code if is_retriable(code) && code != ErrorCode::NotCoordinator.code() => {
                self.is_changed = true;
                self.heartbeat_due = now + REST;
                return Ok(());
            }
            code => return Err(refused("a heartbeat", code)),
        }
        self.heard = now;
        (self.epoch, self.id) =
            (answer.member_epoch, answer.member_id.unwrap_or(std::mem::take(&mut self.id)));
        self.heartbeat_due = now + Duration::from_millis(answer.heartbeat_interval_ms.max(1) as u64);
        if let Some(given) = answer.assignment {
            let of_topic = given.topic_partitions.into_iter().filter(|topic| topic.topic_id == self.topic_id);
            self.owns(&of_topic.flat_map(|topic| topic.partitions).collect());
        }
        Ok(())
    }

    /// It reads these partitions from now on, and no others.
    fn owns(&mut self, wanted: &BTreeSet<i32>) {
        self.is_changed = true;
        self.unasked.retain(|index| wanted.contains(index));
        self.unasked.extend(wanted.difference(&self.owned));
        for index in self.owned.difference(wanted) {
            if let Some(Reading { socket, offset, .. }) = self.reads.remove(index) {
                self.gone.push(socket);
                self.left.insert(*index, offset);
            }
        }
        self.owned.clone_from(wanted);
    }

    /// Begins to read a partition over a connection, if it still is the member's. Gives the request then.
    pub(super) fn begin(&mut self, index: i32, (socket, offset): (usize, i64)) -> Option<&mut FetchRequest> {
        if !self.owned.contains(&index) || self.reads.contains_key(&index) {
            self.gone.push(socket);
            return None;
        }
        let fetch = FetchRequest::new((&self.topic, index), FETCH_BYTES, FETCH_WAIT_MS);
        let reading = Reading { socket, offset, fetch };
        Some(&mut self.reads.entry(index).or_insert(reading).fetch)
    }
}

fn refused(what: &str, code: i16) -> io::Error {
    io::Error::other(format!("{what} of a group was refused: {}", name(code)))
}

#[cfg(test)]
mod tests {
    use log_wire::messages::offsets::OffsetFetchResponseGroup;

    use super::*;

    fn member(owned: &[i32]) -> Member {
        let mut member = Member::new(("group", "topic"), [1; 16], 1, 0);
        member.epoch = 1;
        member.owns(&owned.iter().copied().collect());
        member
    }

    #[test]
    fn partition_that_is_taken_away_is_committed_and_its_connection_closed() {
        let mut member = member(&[1, 2]);
        assert!(member.begin(1, (10, 5)).is_some() && member.begin(2, (11, 7)).is_some());
        assert!(member.begin(3, (12, 0)).is_none(), "it is not its own");
        member.owns(&BTreeSet::from([2, 3]));
        assert_eq!(member.gone(), [12, 10]);
        assert_eq!(member.left, BTreeMap::from([(1, 5)]));
        assert!(member.unasked.contains(&3) && !member.is_settled());
        assert!(member.speak(&mut Vec::new()) && member.left.is_empty());
    }

    #[test]
    fn offsets_that_are_not_given_are_asked_for_again_if_they_are_wanted() {
        let mut member = member(&[1, 2]);
        member.unasked.clear();
        let code = ErrorCode::CoordinatorLoadInProgress.code();
        let group = OffsetFetchResponseGroup { error_code: code, ..OffsetFetchResponseGroup::default() };
        let answer = OffsetFetchResponse { groups: vec![group], ..OffsetFetchResponse::default() };
        assert_eq!(member.take_offsets(BTreeSet::from([1, 2, 9]), answer).unwrap(), []);
        assert_eq!(member.unasked, BTreeSet::from([1, 2]));
    }
}
