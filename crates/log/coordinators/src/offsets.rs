//! Committed offsets: who may commit, what is read, and what deletes an offset.

use std::collections::BTreeMap;

use log_wire::ErrorCode;

use crate::classic::Phase;
use crate::codec::{Key, StoredOffset, Value};
use crate::group::Group;
use crate::{
    Answer, CommittedOffset, Epoch, Generation, GroupCoordinator, GroupOffsets, NewOffset, Offset,
    OffsetCommit, OffsetFetch, Text, Topic, Topics,
};

/// The first version of OffsetCommit that knows GROUP_ID_NOT_FOUND.
const GROUP_ID_NOT_FOUND: i16 = 9;

impl GroupCoordinator {
    pub(crate) fn commit(&mut self, commit: OffsetCommit) -> Answer {
        if let Err(code) = self.may_commit(&commit) {
            return Answer::Failed(code);
        }
        let group = commit.who.group;
        self.heard_of(&group, &commit.who.member);
        Answer::Each(commit.offsets.into_iter().map(|offset| self.commit_one(&group, offset)).collect())
    }

    fn may_commit(&self, commit: &OffsetCommit) -> Result<(), ErrorCode> {
        let who = &commit.who;
        // Of somebody who is not, or not any more, in the group: an administrator, or a consumer that assigns for itself.
        let from_outside = who.generation < Generation(0);
        match self.groups.get(&who.group) {
            None if from_outside => Ok(()),
            None if self.has_offsets(&who.group) => Err(ErrorCode::UnknownMemberId),
            None if commit.version >= GROUP_ID_NOT_FOUND => Err(ErrorCode::GroupIdNotFound),
            None => Err(ErrorCode::IllegalGeneration),
            Some(Group::Consumer(group)) => group.check_commit(who, commit.version, &commit.offsets),
            Some(Group::Classic(group)) if from_outside && group.phase == Phase::Empty => Ok(()),
            Some(Group::Classic(group)) => {
                group.check(who)?;
                match group.phase {
                    Phase::Completing { .. } => Err(ErrorCode::RebalanceInProgress),
                    _ => Ok(()),
                }
            }
        }
    }

    /// A commit keeps a member of a classic group in it. A member of a consumer group has to send heartbeats.
    pub(crate) fn heard_of(&mut self, group: &Text, member: &Text) {
        self.brief(group, member, |group, turn| {
            if let Group::Classic(group) = group {
                group.touch(member, turn.now);
            }
        });
    }

    fn commit_one(&mut self, group: &Text, new: NewOffset) -> ErrorCode {
        if new.metadata.len() > self.limits.offset_metadata_bytes_max {
            return ErrorCode::OffsetMetadataTooLarge;
        }
        let key = Key::Offset(group.clone(), new.topic.name.clone(), new.partition);
        let table = self.journal.table();
        if table.len() >= self.limits.records_max && !table.contains_key(&key) {
            return ErrorCode::PolicyViolation;
        }
        let value = StoredOffset::new(new, self.wall);
        self.journal.put(key, Some(Value::Offset(value)));
        ErrorCode::None
    }

    pub(crate) fn fetch(&self, groups: Vec<OffsetFetch>) -> Answer {
        let fetched = |fetch: OffsetFetch| {
            if let Err(error) = self.may_fetch(&fetch) {
                return GroupOffsets { group: fetch.group, error, offsets: Vec::new() };
            }
            let unstable = if fetch.require_stable { self.unstable(&fetch.group) } else { BTreeMap::new() };
            let mut offsets = match fetch.partitions {
                None => self.fetch_all(&fetch.group, &unstable),
                Some(partitions) => {
                    let one = |(topic, partition)| self.fetch_one(&fetch.group, topic, partition);
                    partitions.into_iter().map(one).collect()
                }
            };
            for one in &mut offsets {
                if unstable.get(&(one.topic.name.clone(), one.partition)) == Some(&one.topic.id) {
                    let error = ErrorCode::UnstableOffsetCommit;
                    *one = CommittedOffset { error, ..uncommitted(one.topic.clone(), one.partition) };
                }
            }
            GroupOffsets { group: fetch.group, error: ErrorCode::None, offsets }
        };
        Answer::Offsets(groups.into_iter().map(fetched).collect())
    }

    fn may_fetch(&self, fetch: &OffsetFetch) -> Result<(), ErrorCode> {
        match (self.groups.get(&fetch.group), &fetch.member) {
            (Some(Group::Consumer(group)), Some((member, epoch))) => group.check_fetch(member, Epoch(*epoch)),
            _ => Ok(()),
        }
    }

    /// All offsets of a group, and the partitions whose first offset is pending: to leave these out would show the state of
    /// before (L45).
    fn fetch_all(&self, group: &Text, unstable: &BTreeMap<(Text, i32), [u8; 16]>) -> Vec<CommittedOffset> {
        let first = unstable.iter().filter(|((topic, partition), _)| {
            !self.journal.table().contains_key(&Key::Offset(group.clone(), topic.clone(), *partition))
        });
        let first = first
            .map(|((name, partition), id)| uncommitted(Topic { name: name.clone(), id: *id }, *partition));
        self.offsets_of(group).map(shown).chain(first).collect()
    }

    fn fetch_one(&self, group: &Text, topic: Topic, partition: i32) -> CommittedOffset {
        let key = Key::Offset(group.clone(), topic.name.clone(), partition);
        match self.journal.table().get(&key) {
            // An offset of a deleted topic of the same name is none of this topic (L73).
            Some(Value::Offset(stored)) if stored.topic_id == topic.id => {
                shown((&topic.name, partition, stored))
            }
            _ => uncommitted(topic, partition),
        }
    }

    pub(crate) fn offsets_of(&self, group: &Text) -> impl Iterator<Item = (&Text, i32, &StoredOffset)> {
        let first = Key::Offset(group.clone(), "".into(), i32::MIN);
        let group = group.clone();
        self.journal.table().range(first..).map_while(move |entry| match entry {
            (Key::Offset(owner, topic, partition), Value::Offset(stored)) if *owner == group => {
                Some((topic, *partition, stored))
            }
            _ => None,
        })
    }

    pub(crate) fn has_offsets(&self, group: &Text) -> bool {
        self.offsets_of(group).next().is_some() || self.has_pending(group)
    }

    pub(crate) fn delete_offsets(
        &mut self,
        name: &Text,
        partitions: &[(Topic, i32)],
        topics: &dyn Topics,
    ) -> Answer {
        let (now, has_offsets) = (self.clock.reading(), self.has_offsets(name));
        match self.groups.get_mut(name) {
            None if !has_offsets => return Answer::Failed(ErrorCode::GroupIdNotFound),
            Some(Group::Classic(group))
                if group.phase != Phase::Empty && &*group.protocol_type != "consumer" =>
            {
                return Answer::Failed(ErrorCode::NonEmptyGroup);
            }
            Some(Group::Consumer(group)) => group.look(topics, &self.limits, now),
            _ => {}
        }
        let used = |topic: &Topic| match self.groups.get(name) {
            Some(group) if group.is_empty() => false,
            Some(Group::Classic(group)) => group.subscribes(&topic.name),
            Some(Group::Consumer(group)) => group.subscribes(&topic.name),
            None => false,
        };
        let used: Vec<_> = partitions.iter().map(|(topic, _)| used(topic)).collect();
        let each = partitions.iter().zip(used).map(|((topic, partition), used)| {
            if used {
                return ErrorCode::GroupSubscribedToTopic;
            }
            self.remove_offset(Key::Offset(name.clone(), topic.name.clone(), *partition));
            self.drop_pending(name, |gone, number| gone == topic && number == *partition);
            ErrorCode::None
        });
        Answer::Each(each.collect())
    }

    pub(crate) fn remove_offset(&mut self, key: Key) {
        if self.journal.table().contains_key(&key) {
            self.journal.put(key, None);
        }
    }

    pub(crate) fn delete_group(&mut self, name: &Text) -> ErrorCode {
        match self.groups.get(name) {
            Some(group) if !group.is_empty() => return ErrorCode::NonEmptyGroup,
            None if !self.has_offsets(name) => return ErrorCode::GroupIdNotFound,
            _ => {}
        }
        for key in self.keys_of(name, |_, _| true) {
            self.remove_offset(key);
        }
        self.drop_pending(name, |_, _| true);
        self.remove_group(name);
        ErrorCode::None
    }

    pub(crate) fn keys_of(&self, name: &Text, wanted: impl Fn(&Text, &StoredOffset) -> bool) -> Vec<Key> {
        let wanted = self.offsets_of(name).filter(|(topic, _, stored)| wanted(topic, stored));
        wanted.map(|(topic, partition, _)| Key::Offset(name.clone(), topic.clone(), partition)).collect()
    }

    pub(crate) fn topics_deleted(&mut self, topics: &[Topic]) -> Answer {
        let of_topics = self.journal.table().iter().filter(|entry| match entry {
            (Key::Offset(_, name, _), Value::Offset(stored)) => {
                topics.iter().any(|topic| topic.name == *name && topic.id == stored.topic_id)
            }
            _ => false,
        });
        for key in of_topics.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            self.journal.put(key, None);
        }
        for group in self.groups_with_pending() {
            self.drop_pending(&group, |topic, _| topics.contains(topic));
        }
        Answer::Done
    }
}

fn uncommitted(topic: Topic, partition: i32) -> CommittedOffset {
    CommittedOffset {
        topic,
        partition,
        offset: Offset::NONE,
        leader_epoch: -1,
        metadata: "".into(),
        error: ErrorCode::None,
    }
}

fn shown((name, partition, stored): (&Text, i32, &StoredOffset)) -> CommittedOffset {
    CommittedOffset {
        topic: Topic { name: name.clone(), id: stored.topic_id },
        partition,
        offset: stored.offset,
        leader_epoch: stored.leader_epoch,
        metadata: stored.metadata.clone(),
        error: ErrorCode::None,
    }
}
