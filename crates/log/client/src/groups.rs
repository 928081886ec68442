//! Groups: what an administrator does with them.

use std::collections::BTreeMap;

use log_wire::ErrorCode;
use log_wire::messages::consumer_groups::{ConsumerGroupDescribeRequest, Member as ConsumerGroupMember};
use log_wire::messages::groups::{
    DeleteGroupsRequest, DescribeGroupsRequest, DescribedGroupMember, ListGroupsRequest, ListedGroup,
};
use log_wire::messages::offsets::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetFetchRequest,
    OffsetFetchRequestGroup,
};

use crate::cluster::Cluster;
use crate::consumer_protocol::read_assignment;
use crate::error::{Error, Result};
use crate::topics::{TopicPartition, check};

/// A group.
#[derive(Clone, Debug)]
pub struct GroupDescription {
    /// The broker that coordinates it.
    pub coordinator: i32,
    /// Kafka's name of its state: `Stable`, `Empty` and so on.
    pub state: String,
    /// `classic` or `consumer`.
    pub protocol: String,
    /// How its partitions are shared out.
    pub assignor: String,
    /// Its members.
    pub members: Vec<GroupMember>,
}

/// A member of a group.
#[derive(Clone, Debug)]
pub struct GroupMember {
    /// The id that it got from its coordinator.
    pub id: String,
    /// The name of a static member.
    pub instance: Option<String>,
    /// What its client calls itself.
    pub client_id: String,
    /// Where it is.
    pub host: String,
    /// What it reads.
    pub partitions: Vec<TopicPartition>,
}

fn classic_member(member: DescribedGroupMember) -> GroupMember {
    GroupMember {
        partitions: read_assignment(&member.member_assignment.0).unwrap_or_default(),
        id: member.member_id,
        instance: member.group_instance_id,
        client_id: member.client_id,
        host: member.client_host,
    }
}

fn consumer_member(member: ConsumerGroupMember) -> GroupMember {
    let topics = member.assignment.topic_partitions.into_iter();
    let each = topics
        .flat_map(|topic| topic.partitions.into_iter().map(move |index| (topic.topic_name.clone(), index)));
    GroupMember {
        partitions: each.collect(),
        id: member.member_id,
        instance: member.instance_id,
        client_id: member.client_id,
        host: member.client_host,
    }
}

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

    /// A group with its members, of either protocol.
    ///
    /// # Errors
    /// Its coordinator refuses.
    pub fn describe_group(&mut self, group: &str) -> Result<GroupDescription> {
        let coordinator = self.coordinator(group)?;
        let request =
            DescribeGroupsRequest { groups: vec![group.into()], ..DescribeGroupsRequest::default() };
        let described = self.call(coordinator, &request)?.groups.pop().unwrap_or_default();
        check(format!("group `{group}`"), described.error_code, None)?;
        // A group of the newer protocol is not one of the classic protocol.
        if described.group_state == "Dead" {
            return self.describe_consumer_group(group, coordinator);
        }
        Ok(GroupDescription {
            coordinator,
            state: described.group_state,
            protocol: String::from("classic"),
            assignor: described.protocol_data,
            members: described.members.into_iter().map(classic_member).collect(),
        })
    }

    fn describe_consumer_group(&mut self, group: &str, coordinator: i32) -> Result<GroupDescription> {
        let unknown = || Error::refused(format!("group `{group}`"), ErrorCode::GroupIdNotFound.code());
        let request = ConsumerGroupDescribeRequest {
            group_ids: vec![group.into()],
            ..ConsumerGroupDescribeRequest::default()
        };
        // A broker of an older version does not know the request.
        let described = self.call(coordinator, &request).map_err(|_| unknown())?.groups.pop();
        let described = described.ok_or_else(unknown)?;
        check(format!("group `{group}`"), described.error_code, described.error_message)?;
        Ok(GroupDescription {
            coordinator,
            state: described.group_state,
            protocol: String::from("consumer"),
            assignor: described.assignor_name,
            members: described.members.into_iter().map(consumer_member).collect(),
        })
    }

    /// The offsets that a group has committed.
    ///
    /// # Errors
    /// Its coordinator refuses.
    pub fn committed(&mut self, group: &str) -> Result<BTreeMap<TopicPartition, i64>> {
        let coordinator = self.coordinator(group)?;
        self.committed_at(coordinator, group)
    }

    /// The same, from the broker that was its coordinator.
    ///
    /// # Errors
    /// It is not any more, or refuses.
    pub fn committed_at(&mut self, coordinator: i32, group: &str) -> Result<BTreeMap<TopicPartition, i64>> {
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
