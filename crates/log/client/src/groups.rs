//! Groups: what an administrator does with them.

use std::collections::BTreeMap;

use log_wire::ErrorCode;
use log_wire::messages::groups::{
    DeleteGroupsRequest, DescribeGroupsRequest, DescribedGroup, ListGroupsRequest, ListedGroup,
};
use log_wire::messages::offsets::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetFetchRequest,
    OffsetFetchRequestGroup,
};

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::topics::check;

/// A partition of a topic.
pub type TopicPartition = (String, i32);

impl Cluster {
    /// All groups.
    ///
    /// # Errors
    /// A broker does not answer.
    pub fn groups(&mut self) -> Result<Vec<ListedGroup>> {
        let brokers: Vec<i32> = self.brokers().keys().copied().collect();
        let mut groups = Vec::new();
        for broker in brokers {
            let listed = self.call(broker, &ListGroupsRequest::default())?;
            check(format!("the groups of broker {broker}"), listed.error_code, None)?;
            groups.extend(listed.groups);
        }
        groups.sort_by(|one, other| one.group_id.cmp(&other.group_id));
        Ok(groups)
    }

    /// A group with its members.
    ///
    /// # Errors
    /// Its coordinator refuses.
    pub fn describe_group(&mut self, group: &str) -> Result<DescribedGroup> {
        let coordinator = self.coordinator(group)?;
        let request =
            DescribeGroupsRequest { groups: vec![group.into()], ..DescribeGroupsRequest::default() };
        let described = self.call(coordinator, &request)?.groups.pop().unwrap_or_default();
        check(format!("group `{group}`"), described.error_code, None)?;
        if described.group_state == "Dead" {
            return Err(Error::refused(format!("group `{group}`"), ErrorCode::GroupIdNotFound.code()));
        }
        Ok(described)
    }

    /// The offsets that a group has committed.
    ///
    /// # Errors
    /// Its coordinator refuses.
    pub fn committed(&mut self, group: &str) -> Result<BTreeMap<TopicPartition, i64>> {
        let coordinator = self.coordinator(group)?;
        let of = OffsetFetchRequestGroup {
            group_id: group.into(),
            topics: None,
            ..OffsetFetchRequestGroup::default()
        };
        let request =
            OffsetFetchRequest { groups: vec![of], require_stable: true, ..OffsetFetchRequest::default() };
        let found = self.call(coordinator, &request)?.groups.pop().unwrap_or_default();
        check(format!("group `{group}`"), found.error_code, None)?;
        let offsets = found.topics.into_iter().flat_map(|topic| {
            let name = topic.name;
            let partitions = topic.partitions.into_iter().filter(|partition| partition.committed_offset >= 0);
            partitions
                .map(move |partition| ((name.clone(), partition.partition_index), partition.committed_offset))
        });
        Ok(offsets.collect())
    }

    /// Commits offsets of a group that has no members.
    ///
    /// # Errors
    /// Its coordinator refuses: `UNKNOWN_MEMBER_ID` if the group has members.
    pub fn commit(&mut self, group: &str, offsets: &BTreeMap<TopicPartition, i64>) -> Result<()> {
        self.commit_as(group, offsets, ("", -1))
    }

    pub(crate) fn commit_as(
        &mut self,
        group: &str,
        offsets: &BTreeMap<TopicPartition, i64>,
        (member, generation): (&str, i32),
    ) -> Result<()> {
        let mut topics = BTreeMap::<&str, Vec<OffsetCommitRequestPartition>>::new();
        for ((topic, partition), offset) in offsets {
            let partition = OffsetCommitRequestPartition {
                partition_index: *partition,
                committed_offset: *offset,
                committed_leader_epoch: -1,
                ..OffsetCommitRequestPartition::default()
            };
            topics.entry(topic).or_default().push(partition);
        }
        let topics = topics.into_iter().map(|(name, partitions)| OffsetCommitRequestTopic {
            name: name.into(),
            partitions,
            ..OffsetCommitRequestTopic::default()
        });
        let request = OffsetCommitRequest {
            group_id: group.into(),
            member_id: member.into(),
            generation_id_or_member_epoch: generation,
            topics: topics.collect(),
            ..OffsetCommitRequest::default()
        };
        let coordinator = self.coordinator(group)?;
        for topic in self.call(coordinator, &request)?.topics {
            for partition in topic.partitions {
                let what =
                    format!("the offset of partition {} of `{}`", partition.partition_index, topic.name);
                check(what, partition.error_code, None)?;
            }
        }
        Ok(())
    }

    /// Deletes a group that has no members.
    ///
    /// # Errors
    /// Its coordinator refuses.
    pub fn delete_group(&mut self, group: &str) -> Result<()> {
        let coordinator = self.coordinator(group)?;
        let request = DeleteGroupsRequest { groups_names: vec![group.into()] };
        let done = self.call(coordinator, &request)?.results.pop().unwrap_or_default();
        check(format!("group `{group}`"), done.error_code, None)
    }
}
