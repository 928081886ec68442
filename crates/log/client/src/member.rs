//! A member of a consumer group of the classic protocol: it joins, gets its partitions, and says now and then that it lives.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use log_wire::ErrorCode;
use log_wire::messages::Blob;
use log_wire::messages::groups::{
    HeartbeatRequest, JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse, LeaveGroupRequest,
    MemberIdentity, SyncGroupRequest, SyncGroupRequestAssignment,
};

use crate::cluster::Cluster;
use crate::consumer_protocol::{assignment, read_assignment, read_subscription, subscription};
use crate::error::{Error, Result, is_retriable};
use crate::topics::TopicPartition;

const SESSION_MS: i32 = 30_000;
const REBALANCE_MS: i32 = 60_000;
const HEARTBEAT: Duration = Duration::from_secs(3);
const REST: Duration = Duration::from_millis(100);
/// How long a member tries to join.
const PATIENCE: Duration = Duration::from_secs(90);
const PROTOCOL: &str = "range";

/// See the module.
#[derive(Debug)]
pub struct Member {
    group: String,
    topics: Vec<String>,
    id: String,
    generation: i32,
    heard: Instant,
}

impl Member {
    /// Of a group, of these topics. It joins at the first call of [`Self::join`].
    #[must_use]
    pub fn new(group: &str, topics: &[String]) -> Self {
        let (group, topics) = (group.into(), topics.to_vec());
        Self { group, topics, id: String::new(), generation: -1, heard: Instant::now() }
    }

    /// Joins, and gives the partitions of this member.
    ///
    /// # Errors
    /// The coordinator refuses.
    pub fn join(&mut self, cluster: &mut Cluster) -> Result<Vec<TopicPartition>> {
        let began = Instant::now();
        loop {
            match self.try_join(cluster) {
                Ok(partitions) => {
                    self.heard = Instant::now();
                    return Ok(partitions);
                }
                Err(error) if began.elapsed() > PATIENCE => return Err(error),
                Err(error) if error.is(ErrorCode::UnknownMemberId) => self.id.clear(),
                Err(error) if error.is_retriable() || error.is(ErrorCode::RebalanceInProgress) => {
                    thread::sleep(REST)
                }
                Err(error) if error.is(ErrorCode::IllegalGeneration) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Says that it lives, if that is due. Gives whether it has to join again.
    ///
    /// # Errors
    /// The coordinator refuses.
    pub fn heartbeat(&mut self, cluster: &mut Cluster) -> Result<bool> {
        if self.heard.elapsed() < HEARTBEAT {
            return Ok(false);
        }
        self.heard = Instant::now();
        let request = HeartbeatRequest {
            group_id: self.group.clone(),
            generation_id: self.generation,
            member_id: self.id.clone(),
            ..HeartbeatRequest::default()
        };
        let coordinator = cluster.coordinator(&self.group)?;
        let code = match cluster.call(coordinator, &request) {
            Ok(answer) => answer.error_code,
            Err(error) if error.is_retriable() => return Ok(false),
            Err(error) => return Err(error),
        };
        let rejoins =
            [ErrorCode::RebalanceInProgress, ErrorCode::IllegalGeneration, ErrorCode::UnknownMemberId];
        match code {
            0 => Ok(false),
            code if rejoins.iter().any(|of| of.code() == code) => Ok(true),
            code if is_retriable(code) => Ok(false),
            code => Err(Error::refused(format!("group `{}`", self.group), code)),
        }
    }

    /// Commits how far it has read.
    ///
    /// # Errors
    /// The coordinator refuses: the member is not in the group any more.
    pub fn commit(&self, cluster: &mut Cluster, positions: &BTreeMap<TopicPartition, i64>) -> Result<()> {
        if positions.is_empty() {
            return Ok(());
        }
        cluster.commit_as(&self.group, positions, (&self.id, self.generation))
    }

    /// Leaves the group, so that others get its partitions at once.
    ///
    /// # Errors
    /// The coordinator does not answer.
    pub fn leave(&self, cluster: &mut Cluster) -> Result<()> {
        let member = MemberIdentity { member_id: self.id.clone(), ..MemberIdentity::default() };
        let request = LeaveGroupRequest {
            group_id: self.group.clone(),
            members: vec![member],
            ..LeaveGroupRequest::default()
        };
        let coordinator = cluster.coordinator(&self.group)?;
        cluster.call(coordinator, &request).map(drop)
    }

    fn try_join(&mut self, cluster: &mut Cluster) -> Result<Vec<TopicPartition>> {
        let coordinator = cluster.coordinator(&self.group)?;
        let patience = Duration::from_millis(REBALANCE_MS as u64) + Duration::from_secs(10);
        cluster.broker(coordinator)?.set_patience(patience)?;
        let protocol =
            JoinGroupRequestProtocol { name: PROTOCOL.into(), metadata: Blob(subscription(&self.topics)) };
        let request = JoinGroupRequest {
            group_id: self.group.clone(),
            session_timeout_ms: SESSION_MS,
            rebalance_timeout_ms: REBALANCE_MS,
            member_id: self.id.clone(),
            protocol_type: "consumer".into(),
            protocols: vec![protocol],
            ..JoinGroupRequest::default()
        };
        let joined = cluster.call(coordinator, &request)?;
        if joined.error_code == ErrorCode::MemberIdRequired.code() {
            self.id = joined.member_id;
            return self.try_join(cluster);
        }
        self.check(joined.error_code)?;
        (self.id, self.generation) = (joined.member_id.clone(), joined.generation_id);
        let assignments =
            if joined.leader == joined.member_id { assign(cluster, &joined)? } else { Vec::new() };
        let request = SyncGroupRequest {
            group_id: self.group.clone(),
            generation_id: self.generation,
            member_id: self.id.clone(),
            protocol_type: Some("consumer".into()),
            protocol_name: Some(PROTOCOL.into()),
            assignments,
            ..SyncGroupRequest::default()
        };
        let synced = cluster.call(coordinator, &request)?;
        self.check(synced.error_code)?;
        read_assignment(&synced.assignment.0)
            .ok_or_else(|| Error::refused("the assignment", ErrorCode::UnknownServerError.code()))
    }

    fn check(&self, code: i16) -> Result<()> {
        if code == 0 { Ok(()) } else { Err(Error::refused(format!("group `{}`", self.group), code)) }
    }
}

/// The leader gives each member a range of each topic's partitions, as Kafka's `RangeAssignor` does.
fn assign(cluster: &mut Cluster, joined: &JoinGroupResponse) -> Result<Vec<SyncGroupRequestAssignment>> {
    let wanted: BTreeMap<&str, BTreeSet<String>> = joined
        .members
        .iter()
        .map(|member| {
            let topics = read_subscription(&member.metadata.0).unwrap_or_default();
            (member.member_id.as_str(), topics.into_iter().collect())
        })
        .collect();
    let topics: BTreeSet<&String> = wanted.values().flatten().collect();
    let mut given = BTreeMap::<&str, BTreeMap<&str, Vec<i32>>>::new();
    for topic in topics {
        let found = cluster.look(Some(std::slice::from_ref(topic)), false)?;
        let partitions = found.first().map_or(0, |topic| topic.partitions.len());
        let takers: Vec<&str> =
            wanted.iter().filter(|(_, topics)| topics.contains(topic)).map(|(member, _)| *member).collect();
        for (partition, member) in ranges(partitions, &takers) {
            given.entry(member).or_default().entry(topic).or_default().push(partition);
        }
    }
    Ok(wanted
        .keys()
        .map(|member| SyncGroupRequestAssignment {
            member_id: (*member).into(),
            assignment: Blob(assignment(given.get(member).unwrap_or(&BTreeMap::new()))),
        })
        .collect())
}

fn ranges<'m>(partitions: usize, members: &[&'m str]) -> Vec<(i32, &'m str)> {
    let (each, more) = (partitions / members.len().max(1), partitions % members.len().max(1));
    let counts =
        members.iter().enumerate().map(|(place, member)| (*member, each + usize::from(place < more)));
    let owners = counts.flat_map(|(member, count)| std::iter::repeat_n(member, count));
    (0..).zip(owners).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_even() {
        assert_eq!(ranges(5, &["x", "y"]), [(0, "x"), (1, "x"), (2, "x"), (3, "y"), (4, "y")]);
        assert_eq!(ranges(1, &["x", "y"]), [(0, "x")]);
    }
}
