//! Committed offsets: who may commit, what is read, and when an offset goes.

use std::collections::BTreeMap;

use log_wire::ErrorCode;

use crate::codec::{Key, StoredOffset, Value};
use crate::group::Phase;
use crate::{
    Answer, CommittedOffset, Generation, GroupCoordinator, GroupOffsets, NewOffset, Offset, OffsetCommit,
    OffsetFetch, Text, Topic,
};

/// The first version of OffsetCommit that knows GROUP_ID_NOT_FOUND.
const GROUP_ID_NOT_FOUND: i16 = 9;

impl GroupCoordinator {
    pub(crate) fn commit(&mut self, commit: OffsetCommit) -> Answer {
        if let Err(code) = self.may_commit(&commit) {
            return Answer::Failed(code);
        }
        let group = commit.who.group;
        self.turn(&group, |state, turn| state.touch(&commit.who.member, turn.now));
        Answer::Each(commit.offsets.into_iter().map(|offset| self.commit_one(&group, offset)).collect())
    }

    fn may_commit(&self, commit: &OffsetCommit) -> Result<(), ErrorCode> {
        let who = &commit.who;
        if who.group.is_empty() {
            return Err(ErrorCode::InvalidGroupId);
        }
        let memberless = who.generation < Generation(0) && who.member.is_empty() && who.instance.is_none();
        match self.groups.get(&who.group) {
            None if memberless => Ok(()),
            None if commit.version >= GROUP_ID_NOT_FOUND => Err(ErrorCode::GroupIdNotFound),
            None => Err(ErrorCode::IllegalGeneration),
            Some(group) if memberless && group.phase == Phase::Empty => Ok(()),
            Some(group) => {
                group.check(who)?;
                match group.phase {
                    Phase::Completing { .. } => Err(ErrorCode::RebalanceInProgress),
                    _ => Ok(()),
                }
            }
        }
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
            GroupOffsets { group: fetch.group, offsets }
        };
        Answer::Offsets(groups.into_iter().map(fetched).collect())
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

    fn offsets_of(&self, group: &Text) -> impl Iterator<Item = (&Text, i32, &StoredOffset)> {
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

    pub(crate) fn delete_offsets(&mut self, name: &Text, partitions: &[(Topic, i32)]) -> Answer {
        let group = self.groups.get(name);
        if group.is_none() && !self.has_offsets(name) {
            return Answer::Failed(ErrorCode::GroupIdNotFound);
        }
        let active = group.filter(|group| group.phase != Phase::Empty);
        if active.is_some_and(|group| &*group.protocol_type != "consumer") {
            return Answer::Failed(ErrorCode::NonEmptyGroup);
        }
        let used = |topic: &Topic| active.is_some_and(|group| group.subscribes(&topic.name));
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

    fn remove_offset(&mut self, key: Key) {
        if self.journal.table().contains_key(&key) {
            self.journal.put(key, None);
        }
    }

    pub(crate) fn delete_group(&mut self, name: &Text) -> ErrorCode {
        match self.groups.get(name) {
            Some(group) if group.phase != Phase::Empty => return ErrorCode::NonEmptyGroup,
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

    fn remove_group(&mut self, name: &Text) {
        self.remove_offset(Key::Group(name.clone()));
        self.forget(name);
    }

    fn keys_of(&self, name: &Text, wanted: impl Fn(&Text, &StoredOffset) -> bool) -> Vec<Key> {
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

    /// Removes offsets whose retention is over, and groups that have neither members nor offsets (L55).
    pub(crate) fn expire_offsets(&mut self) {
        let (wall, retention) = (self.wall, self.limits.offsets_retention_ms);
        let mut names: Vec<Text> = self.groups.keys().cloned().collect();
        names.extend(self.journal.table().keys().filter_map(|key| match key {
            Key::Offset(group, ..) => Some(group.clone()),
            _ => None,
        }));
        names.sort();
        names.dedup();
        for name in names {
            let (group, unstable) = (self.groups.get(&name), self.unstable(&name));
            let over = self.keys_of(&name, |topic, stored| {
                let since = match group {
                    None => stored.committed_at,
                    Some(group) if group.phase == Phase::Empty => stored.committed_at.max(group.empty_since),
                    Some(group)
                        if group.phase == Phase::Stable
                            && &*group.protocol_type == "consumer"
                            && !group.subscribes(topic) =>
                    {
                        stored.committed_at
                    }
                    Some(_) => return false,
                };
                wall.since(since) >= retention
            });
            for key in over {
                let stable = |topic: &Text, partition| !unstable.contains_key(&(topic.clone(), partition));
                if matches!(&key, Key::Offset(_, topic, partition) if stable(topic, *partition)) {
                    self.remove_offset(key);
                }
            }
            let idle = |group: &crate::group::Group| group.phase == Phase::Empty && group.expected.is_empty();
            if self.groups.get(&name).is_some_and(idle) && !self.has_offsets(&name) {
                self.remove_group(&name);
            }
        }
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
