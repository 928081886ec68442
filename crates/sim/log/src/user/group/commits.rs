//! What a member commits, over a connection of its own: requests of a connection that it has left may still arrive, when others
//! have followed it. And a client that reads all offsets of all groups.

use std::collections::BTreeSet;

use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use kafka_protocol::messages::{
    FindCoordinatorRequest, GroupId, OffsetCommitRequest, OffsetFetchRequest, OffsetFetchResponse,
};
use kafka_protocol::protocol::StrBytes;

use super::{GROUPS, registers};
use crate::history::{Place, Register};
use crate::user::operator::{GROUP_TOPIC, topic_name};
use crate::user::{Around, Link, Target};

const COMMIT: i16 = 9;
const FETCH: i16 = 9;
const FIND: i16 = 4;
const PATIENCE_MS: u64 = 4_000;
const OUTSTANDING_MAX: usize = 3;
/// The commit has no effect.
const REFUSED: [i16; 8] = [22, 25, 27, 69, 82, 110, 111, 113];

/// Who commits: its id, its generation or epoch, and its instance id.
#[derive(Clone, Debug)]
pub(super) struct Who {
    pub(super) id: StrBytes,
    pub(super) generation: i32,
    pub(super) instance: Option<StrBytes>,
}

enum Asked {
    Commit(i64),
    Fetch(Register, u64),
}

/// See the module.
pub(super) struct Commits {
    group: &'static str,
    number: u32,
    link: Link<Asked>,
}

impl Commits {
    pub(super) const fn new(group: &'static str, number: u32) -> Self {
        Self { group, number, link: Link::to(coordinator(group)) }
    }

    /// Takes what has arrived.
    pub(super) fn step(&mut self, around: &mut Around<'_>) {
        while let Some(answer) = self.link.receive(around) {
            match answer.of {
                Asked::Commit(offset) => {
                    let answer = answer.read::<OffsetCommitRequest>();
                    let code = answer.topics.first().and_then(|topic| topic.partitions.first());
                    match code.map_or(0, |partition| partition.error_code) {
                        0 => around.history.offset_committed(offset),
                        error if REFUSED.contains(&error) => {
                            around.sim.count("commit fenced", 1);
                            around.history.offset_refused(offset);
                        }
                        error => self.link.misled(around, error),
                    }
                }
                Asked::Fetch(register, asked) => {
                    let answer = answer.read::<OffsetFetchRequest>();
                    self.link.misled(around, error_of(&answer));
                    judge(around, register, asked, &answer);
                }
            }
        }
        if self.link.is_lost(around, PATIENCE_MS) {
            self.link.leave(around);
        }
    }

    /// Commits an offset, as whoever it is or was.
    pub(super) fn commit(&mut self, around: &mut Around<'_>, who: &Who, place: Place, is_classic: bool) {
        if self.link.outstanding() >= OUTSTANDING_MAX || !self.link.connect(around) {
            return;
        }
        let register = Register { group: self.group, place };
        let history = &mut *around.history;
        let is_fenced = history.is_gone(&who.id)
            || match is_classic {
                true => who.generation < history.known_generation(self.group),
                false => history.is_of_another(register, self.number),
            };
        // Only a generation that follows makes a classic member's commit come too late, and only another owner that of others.
        let generation = if is_classic { who.generation } else { -1 };
        let offset = history.commit_offset(register, (self.number, generation), is_fenced);
        let partition = OffsetCommitRequestPartition::default()
            .with_partition_index(place.partition)
            .with_committed_offset(offset);
        let topic = OffsetCommitRequestTopic::default()
            .with_name(topic_name(GROUP_TOPIC))
            .with_partitions(vec![partition]);
        let request = OffsetCommitRequest::default()
            .with_group_id(group_id(self.group))
            .with_generation_id_or_member_epoch(who.generation)
            .with_member_id(who.id.clone())
            .with_group_instance_id(who.instance.clone())
            .with_topics(vec![topic]);
        self.link.send(around, COMMIT, &request, Asked::Commit(offset));
    }

    /// Reads what is committed.
    pub(super) fn fetch(&mut self, around: &mut Around<'_>, place: Place) {
        if self.link.outstanding() < OUTSTANDING_MAX && self.link.connect(around) {
            let register = Register { group: self.group, place };
            let asked = around.history.moment();
            self.link.send(around, FETCH, &request(register), Asked::Fetch(register, asked));
        }
    }
}

/// A client that is no member, and reads all offsets.
pub(crate) struct OffsetReader {
    link: Link<Option<(Register, u64)>>,
    /// The topic of the coordinators is there, or is being made.
    is_found: bool,
    /// What it has read since it was made.
    read: BTreeSet<Register>,
}

impl OffsetReader {
    pub(crate) const fn new() -> Self {
        Self { link: Link::new(), is_found: false, read: BTreeSet::new() }
    }

    pub(crate) fn step(&mut self, around: &mut Around<'_>) {
        while let Some(answer) = self.link.receive(around) {
            let Some((register, asked)) = answer.of else {
                drop(answer.read::<FindCoordinatorRequest>());
                continue;
            };
            let answer = answer.read::<OffsetFetchRequest>();
            self.link.misled(around, error_of(&answer));
            self.is_found = judge(around, register, asked, &answer);
            if self.is_found {
                self.read.insert(register);
            }
        }
        if self.link.is_lost(around, PATIENCE_MS) {
            self.link.leave(around);
        }
        let all = registers(around);
        if !all.is_empty() && self.link.outstanding() == 0 {
            self.ask(around, &all);
        }
    }

    /// Asks for one of these, or first for what it needs for that.
    fn ask(&mut self, around: &mut Around<'_>, all: &[Register]) {
        if around.brokers.len() > 1 {
            // The group that it reads next may have another coordinator.
            let unread = all.iter().find(|register| !self.read.contains(register)).copied();
            let next = unread.unwrap_or(all[around.random.below(all.len() as u64) as usize]);
            self.link.aim(around, coordinator(next.group));
            if self.link.connect(around) {
                let asked = around.history.moment();
                self.link.send(around, FETCH, &request(next), Some((next, asked)));
            }
            return;
        }
        if !self.link.connect(around) {
            return;
        }
        if !std::mem::replace(&mut self.is_found, true) {
            let keys = GROUPS.map(StrBytes::from_static_str).to_vec();
            let request = FindCoordinatorRequest::default().with_key_type(0).with_coordinator_keys(keys);
            return self.link.send(around, FIND, &request, None);
        }
        let unread = all.iter().find(|register| !self.read.contains(register));
        let drawn = all[around.random.below(all.len() as u64) as usize];
        let register = unread.copied().unwrap_or(drawn);
        let asked = around.history.moment();
        self.link.send(around, FETCH, &request(register), Some((register, asked)));
    }

    /// Whether it has read everything.
    pub(crate) fn is_done(&self, around: &Around<'_>) -> bool {
        registers(around).iter().all(|register| self.read.contains(register))
    }
}

fn request(register: Register) -> OffsetFetchRequest {
    let topic = OffsetFetchRequestTopics::default()
        .with_name(topic_name(GROUP_TOPIC))
        .with_partition_indexes(vec![register.place.partition]);
    let group = OffsetFetchRequestGroup::default()
        .with_group_id(group_id(register.group))
        .with_member_epoch(-1)
        .with_topics(Some(vec![topic]));
    OffsetFetchRequest::default().with_groups(vec![group]).with_require_stable(true)
}

/// Gives whether an offset was read, or that there is none.
fn judge(around: &mut Around<'_>, register: Register, asked: u64, answer: &OffsetFetchResponse) -> bool {
    let Some(group) = answer.groups.first().filter(|group| group.error_code == 0) else { return false };
    let partition = group.topics.first().and_then(|topic| topic.partitions.first());
    let Some(partition) = partition.filter(|partition| partition.error_code == 0) else { return false };
    let offset = partition.committed_offset;
    around.history.offset_read(register, asked, (offset >= 0).then_some(offset));
    true
}

fn error_of(answer: &OffsetFetchResponse) -> i16 {
    answer.groups.first().map_or(0, |group| group.error_code)
}

pub(super) const fn coordinator(group: &'static str) -> Target {
    Target::Coordinator(0, StrBytes::from_static_str(group))
}

pub(super) fn group_id(group: &'static str) -> GroupId {
    GroupId(StrBytes::from_static_str(group))
}
