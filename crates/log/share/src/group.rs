//! The members of a share group: who they are, what they read, and which partitions each is assigned.
//!
//! Interface: a member joins, goes on and leaves by [`heartbeat`](ShareGroup::heartbeat); one that is silent for its session
//! timeout is removed by [`tick`](ShareGroup::tick). The assignment follows from members and topics, and nobody waits for
//! anybody to give a partition up: a partition may be with several members.
//!
//! Invariants: the epoch rises whenever an assignment may have changed; a member's epoch is the group's once it was told.
//! Members are not durable: one that is unknown is told so, and joins again.

use std::collections::{BTreeMap, BTreeSet};

use base::{MonoTime, Now};
use log_coordinators::{Partitions, Text, Topics};
use log_wire::ErrorCode;

use crate::assignor::{Readers, assign};

/// What a member says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareHeartbeat {
    /// Who it is: it has chosen that itself.
    pub member: Text,
    /// The epoch that it knows: 0 to join, -1 to leave.
    pub epoch: i32,
    /// Its rack, if it says so.
    pub rack: Option<Text>,
    /// What it reads, if that is new.
    pub topics: Option<BTreeSet<Text>>,
    /// What its client calls itself.
    pub client_id: Text,
    /// Where it is.
    pub client_host: Text,
}

/// What a member is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareHeartbeatAnswer {
    /// Its epoch from now on.
    pub epoch: i32,
    /// Its partitions, if they are new to it.
    pub assignment: Option<Partitions>,
}

/// What is in force for the members of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareMemberLimits {
    /// `share.session.timeout.ms`.
    pub session_timeout_ms: u64,
    /// `group.share.max.size`.
    pub size_max: usize,
    /// Names of topics that a member may read.
    pub topics_max: usize,
}

/// A group, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareGroupDescription {
    /// `Empty` or `Stable`.
    pub state: &'static str,
    /// Its epoch.
    pub epoch: i32,
    /// Its members.
    pub members: Vec<ShareMemberDescription>,
}

/// A member, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareMemberDescription {
    /// Who it is.
    pub member: Text,
    /// Its rack.
    pub rack: Option<Text>,
    /// Its epoch.
    pub epoch: i32,
    /// What its client calls itself.
    pub client_id: Text,
    /// Where it is.
    pub client_host: Text,
    /// What it reads.
    pub topics: Vec<Text>,
    /// Its partitions.
    pub assignment: Partitions,
}

#[derive(Clone, Debug)]
struct Member {
    epoch: i32,
    rack: Option<Text>,
    topics: BTreeSet<Text>,
    client_id: Text,
    client_host: Text,
    /// What it was told.
    told: Option<Partitions>,
    deadline: MonoTime,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct ShareGroup {
    epoch: i32,
    members: BTreeMap<Text, Member>,
    assigned: BTreeMap<Text, Partitions>,
    /// The version of the topics that the assignment was computed from.
    topics_version: Option<u64>,
}

impl ShareGroup {
    /// A member says something.
    ///
    /// # Errors
    /// `UNKNOWN_MEMBER_ID`, `FENCED_MEMBER_EPOCH`, `GROUP_MAX_SIZE_REACHED` or `INVALID_REQUEST`.
    pub fn heartbeat(
        &mut self,
        heartbeat: &ShareHeartbeat,
        topics: &dyn Topics,
        limits: ShareMemberLimits,
        now: Now,
    ) -> Result<ShareHeartbeatAnswer, ErrorCode> {
        if heartbeat.member.is_empty() || heartbeat.epoch < -1 {
            return Err(ErrorCode::InvalidRequest);
        }
        if heartbeat.epoch == -1 {
            self.members.remove(&heartbeat.member).ok_or(ErrorCode::UnknownMemberId)?;
            self.reassign(topics);
            return Ok(ShareHeartbeatAnswer { epoch: -1, assignment: None });
        }
        self.admit(heartbeat, limits)?;
        let deadline = now.mono().plus_ms(limits.session_timeout_ms);
        let member = self.members.entry(Text::clone(&heartbeat.member)).or_insert_with(|| Member {
            epoch: 0,
            rack: None,
            topics: BTreeSet::new(),
            client_id: Text::clone(&heartbeat.client_id),
            client_host: Text::clone(&heartbeat.client_host),
            told: None,
            deadline,
        });
        member.deadline = deadline;
        if heartbeat.epoch == 0 {
            member.told = None;
        }
        if heartbeat.rack.is_some() {
            member.rack.clone_from(&heartbeat.rack);
        }
        let new_topics = heartbeat.topics.as_ref().filter(|topics| **topics != member.topics);
        if let Some(new_topics) = new_topics {
            member.topics.clone_from(new_topics);
            self.reassign(topics);
        } else if self.topics_version != Some(topics.version()) {
            self.reassign(topics);
        }
        Ok(self.tell(&heartbeat.member))
    }

    /// Time has passed: members that were silent for too long are gone. Gives which.
    pub fn tick(&mut self, topics: &dyn Topics, now: Now) -> Vec<Text> {
        let silent = self.members.iter().filter(|(_, member)| member.deadline <= now.mono());
        let silent: Vec<Text> = silent.map(|(id, _)| Text::clone(id)).collect();
        for id in &silent {
            self.members.remove(id);
        }
        if !silent.is_empty() {
            self.reassign(topics);
        }
        silent
    }

    /// When the first member is gone if it stays silent.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        self.members.values().map(|member| member.deadline).min()
    }

    /// Whether it has no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether a member reads that topic.
    #[must_use]
    pub fn reads(&self, topic: &str) -> bool {
        self.members.values().any(|member| member.topics.contains(topic))
    }

    /// Kafka's name of its state.
    #[must_use]
    pub fn state(&self) -> &'static str {
        if self.members.is_empty() { "Empty" } else { "Stable" }
    }

    /// The group, as it is shown.
    #[must_use]
    pub fn describe(&self) -> ShareGroupDescription {
        let members = self.members.iter().map(|(id, member)| ShareMemberDescription {
            member: Text::clone(id),
            rack: member.rack.clone(),
            epoch: member.epoch,
            client_id: Text::clone(&member.client_id),
            client_host: Text::clone(&member.client_host),
            topics: member.topics.iter().cloned().collect(),
            assignment: self.assigned.get(id).cloned().unwrap_or_default(),
        });
        ShareGroupDescription { state: self.state(), epoch: self.epoch, members: members.collect() }
    }

    fn admit(&self, heartbeat: &ShareHeartbeat, limits: ShareMemberLimits) -> Result<(), ErrorCode> {
        let names = heartbeat.topics.as_ref().map_or(0, BTreeSet::len);
        match self.members.get(&heartbeat.member) {
            _ if names > limits.topics_max => Err(ErrorCode::InvalidRequest),
            None if heartbeat.epoch > 0 => Err(ErrorCode::UnknownMemberId),
            None if names == 0 => Err(ErrorCode::InvalidRequest),
            None if self.members.len() >= limits.size_max => Err(ErrorCode::GroupMaxSizeReached),
            Some(known) if heartbeat.epoch > known.epoch => Err(ErrorCode::FencedMemberEpoch),
            _ => Ok(()),
        }
    }

    /// Computes who gets what.
    fn reassign(&mut self, topics: &dyn Topics) {
        self.topics_version = Some(topics.version());
        let mut by_topic: BTreeMap<&Text, Vec<&Text>> = BTreeMap::new();
        for (id, member) in &self.members {
            member.topics.iter().for_each(|topic| by_topic.entry(topic).or_default().push(id));
        }
        let readers: Vec<Readers<'_>> = by_topic
            .into_iter()
            .filter_map(|(name, members)| {
                let (topic, partitions) = topics.find(name)?;
                Some(Readers { topic, partitions, members })
            })
            .collect();
        let assigned = assign(&readers);
        if assigned != self.assigned || self.epoch == 0 {
            self.epoch = self.epoch.saturating_add(1);
        }
        self.assigned = assigned;
    }

    fn tell(&mut self, id: &Text) -> ShareHeartbeatAnswer {
        let assigned = self.assigned.get(id).cloned().unwrap_or_default();
        let epoch = self.epoch;
        let Some(member) = self.members.get_mut(id) else {
            return ShareHeartbeatAnswer { epoch, assignment: None };
        };
        let is_new = member.told.as_ref() != Some(&assigned);
        member.epoch = epoch;
        if is_new {
            member.told = Some(assigned.clone());
        }
        ShareHeartbeatAnswer { epoch, assignment: is_new.then_some(assigned) }
    }
}

#[cfg(test)]
mod tests {
    use log_coordinators::TopicId;

    use super::*;

    struct Two;

    impl Topics for Two {
        fn version(&self) -> u64 {
            1
        }

        fn find(&self, name: &str) -> Option<(TopicId, i32)> {
            (name == "t").then_some(([1; 16], 2))
        }

        fn name(&self, _: &TopicId) -> Option<Text> {
            None
        }

        fn each(&self, _: &mut dyn FnMut(&Text)) {}
    }

    const LIMITS: ShareMemberLimits =
        ShareMemberLimits { session_timeout_ms: 1_000, size_max: 2, topics_max: 5 };

    fn says(member: &str, epoch: i32, topics: Option<&[&str]>) -> ShareHeartbeat {
        let topics = topics.map(|names| names.iter().map(|name| Text::from(*name)).collect());
        let (client_id, client_host) = ("c".into(), "/h".into());
        ShareHeartbeat { member: member.into(), epoch, rack: None, topics, client_id, client_host }
    }

    fn partitions(answer: &ShareHeartbeatAnswer) -> Vec<i32> {
        let assigned = answer.assignment.iter().flat_map(|assigned| assigned.values().flatten());
        assigned.copied().collect()
    }

    #[test]
    fn members_join_share_and_leave() {
        let mut group = ShareGroup::default();
        let mut say =
            |heartbeat: ShareHeartbeat, ms| group.heartbeat(&heartbeat, &Two, LIMITS, Now::of_ms(ms, 0));
        assert_eq!(say(says("a", 3, None), 0), Err(ErrorCode::UnknownMemberId));
        let first = say(says("a", 0, Some(&["t"])), 0).expect("it joins");
        assert_eq!(partitions(&first), [0, 1]);
        let second = say(says("b", 0, Some(&["t"])), 0).expect("it joins");
        assert_eq!((partitions(&second), second.epoch > first.epoch), (vec![1], true));
        let told = say(says("a", first.epoch, None), 0).expect("it is one");
        assert_eq!(partitions(&told), [0]);
        assert_eq!(say(says("a", told.epoch, None), 0).expect("it is one").assignment, None);
        assert_eq!(say(says("c", 0, Some(&["t"])), 0), Err(ErrorCode::GroupMaxSizeReached));
        assert_eq!(say(says("b", -1, None), 0).expect("it leaves").epoch, -1);
        let alone = say(says("a", told.epoch, None), 0).expect("it is one");
        assert_eq!(partitions(&alone), [0, 1]);
        assert_eq!(say(says("a", alone.epoch + 1, None), 0), Err(ErrorCode::FencedMemberEpoch));
        assert_eq!(group.tick(&Two, Now::of_ms(999, 0)), Vec::<Text>::new());
        assert_eq!(group.tick(&Two, Now::of_ms(1_000, 0)), ["a".into()]);
        assert!(group.is_empty());
    }
}
