//! DescribeLogDirs and AlterReplicaLogDirs, for the one directory that a broker has.

use std::collections::{BTreeMap, BTreeSet};

use log_config::Values as _;
use log_wire::messages::cluster::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult, AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse, DescribeLogDirsPartition, DescribeLogDirsRequest, DescribeLogDirsResponse,
    DescribeLogDirsResult, DescribeLogDirsTopic,
};
use log_wire::{ErrorCode, TopicName};

use crate::catalog::TopicImage;
use crate::node::Node;
use crate::rights::{By, CLUSTER_ALTER, CLUSTER_DESCRIBE};

/// Handles a request.
pub(super) fn describe_log_dirs(
    node: &Node,
    by: By<'_>,
    request: &DescribeLogDirsRequest,
) -> DescribeLogDirsResponse {
    if let Err(error) = node.may_on_cluster(by, CLUSTER_DESCRIBE) {
        return DescribeLogDirsResponse { error_code: error.code(), ..Default::default() };
    }
    let topics = match &request.topics {
        None => node.catalog.topics().filter_map(|topic| node.sizes(topic, |_| true)).collect(),
        Some(topics) => {
            let mut asked = BTreeMap::<&str, BTreeSet<i32>>::new();
            for topic in topics {
                asked.entry(&topic.topic).or_default().extend(&topic.partitions);
            }
            let found = asked.iter().filter_map(|(name, wanted)| {
                let topic = node.catalog.find(TopicName::Name(name)).ok()?;
                node.sizes(topic, |index| wanted.contains(&index))
            });
            found.collect()
        }
    };
    let (total_bytes, usable_bytes) = node.volume.map_or((-1, -1), |volume| {
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        (signed(volume.total_bytes), signed(volume.usable_bytes))
    });
    let log_dir = node.log_dir();
    let only = DescribeLogDirsResult {
        error_code: 0,
        log_dir,
        topics,
        total_bytes,
        usable_bytes,
        is_cordoned: false,
    };
    DescribeLogDirsResponse { results: vec![only], ..Default::default() }
}

/// Handles a request.
pub(super) fn alter_replica_log_dirs(
    node: &Node,
    by: By<'_>,
    request: &AlterReplicaLogDirsRequest,
) -> AlterReplicaLogDirsResponse {
    let (log_dir, may) = (node.log_dir(), node.may_on_cluster(by, CLUSTER_ALTER));
    if let Err(error) = may {
        return refused(request, error);
    }
    // A partition that is named for several directories goes to the last one.
    let mut wanted = BTreeMap::<&str, BTreeMap<i32, &str>>::new();
    for directory in &request.dirs {
        for topic in directory.topics.iter().filter(|topic| !topic.partitions.is_empty()) {
            let of_topic = wanted.entry(&topic.name).or_default();
            of_topic.extend(topic.partitions.iter().map(|index| (*index, directory.path.as_str())));
        }
    }
    let results = wanted.into_iter().map(|(topic, partitions)| AlterReplicaLogDirTopicResult {
        topic_name: topic.into(),
        partitions: partitions
            .into_iter()
            .map(|(partition_index, path)| {
                let error = match path == log_dir {
                    // It is there, and stays.
                    true => node.find(TopicName::Name(topic), partition_index).err(),
                    false => Some(ErrorCode::LogDirNotFound),
                };
                let error_code = error.unwrap_or_default().code();
                AlterReplicaLogDirPartitionResult { partition_index, error_code }
            })
            .collect(),
    });
    AlterReplicaLogDirsResponse { results: results.collect(), ..Default::default() }
}

/// What each partition that is named is told.
fn refused(request: &AlterReplicaLogDirsRequest, error: ErrorCode) -> AlterReplicaLogDirsResponse {
    let result =
        |index: &i32| AlterReplicaLogDirPartitionResult { partition_index: *index, error_code: error.code() };
    let topics = request.dirs.iter().flat_map(|directory| &directory.topics);
    let results = topics.map(|topic| AlterReplicaLogDirTopicResult {
        topic_name: topic.name.clone(),
        partitions: topic.partitions.iter().map(result).collect(),
    });
    AlterReplicaLogDirsResponse { results: results.collect(), ..Default::default() }
}

impl Node {
    /// `log.dirs`.
    fn log_dir(&self) -> String {
        let layers = self.configs.broker();
        let set = ["log.dirs", "log.dir"].into_iter().find_map(|name| layers.list(name).into_iter().next());
        set.unwrap_or_default()
    }

    /// The sizes of those of a topic's partitions that live here; nothing if there are none of them.
    fn sizes(&self, topic: &TopicImage, wanted: impl Fn(i32) -> bool) -> Option<DescribeLogDirsTopic> {
        let indexes = (0..).take(topic.partitions.len()).filter(|index| wanted(*index));
        let partitions = indexes.filter_map(|partition_index| {
            let hosted = self.partitions.by_id(topic.partition(partition_index))?;
            Some(DescribeLogDirsPartition {
                partition_index,
                partition_size: i64::try_from(hosted.partition.bytes()).unwrap_or(i64::MAX),
                offset_lag: 0,
                is_future_key: false,
            })
        });
        let partitions: Vec<_> = partitions.collect();
        (!partitions.is_empty()).then(|| DescribeLogDirsTopic { name: topic.name.to_string(), partitions })
    }
}
