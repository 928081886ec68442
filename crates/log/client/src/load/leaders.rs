//! Where the leaders of a topic's partitions are, as Metadata says.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};

use log_wire::messages::data::{MetadataBody, MetadataBodyTopic};

use crate::cluster::Cluster;
use crate::connection::Connection;

/// Who leads a partition, as one broker says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Led {
    /// The id of the leader; -1 if there is none.
    pub leader: i32,
    /// The epoch of the leader.
    pub epoch: i32,
    /// The ids of the replicas that are in sync.
    pub in_sync: Vec<i32>,
    /// Where the leader is.
    at: Option<String>,
}

impl Led {
    /// Asks the broker at that address, and no other.
    ///
    /// # Errors
    /// It does not answer, or knows of no such partition.
    pub fn ask(broker: SocketAddr, topic: &str, partition: i32) -> io::Result<Self> {
        let mut connection =
            Connection::open(&broker.to_string(), "log-load", None).map_err(io::Error::other)?;
        Self::ask_over(&mut connection, topic, partition)
    }

    /// Asks the broker of that connection.
    ///
    /// # Errors
    /// It does not answer, or knows of no such partition.
    pub fn ask_over(connection: &mut Connection, topic: &str, partition: i32) -> io::Result<Self> {
        let topic = MetadataBodyTopic { name: Some(topic.into()), ..MetadataBodyTopic::default() };
        let request = MetadataBody { topics: Some(vec![topic]), ..MetadataBody::default() };
        let answer = connection.call(&request).map_err(io::Error::other)?;
        let partitions = answer.topics.into_iter().flat_map(|topic| topic.partitions);
        let found = partitions.into_iter().find(|of| of.partition_index == partition);
        let found = found.ok_or_else(|| io::Error::other("the broker knows of no such partition"))?;
        let leader = answer.brokers.iter().find(|broker| broker.node_id == found.leader_id);
        Ok(Self {
            leader: found.leader_id,
            epoch: found.leader_epoch,
            in_sync: found.isr_nodes,
            at: leader.map(|broker| format!("{}:{}", broker.host, broker.port)),
        })
    }

    /// Where the leader is.
    ///
    /// # Errors
    /// There is no leader.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        let at = self.at.as_ref().ok_or_else(|| io::Error::other("the partition has no leader"))?;
        at.to_socket_addrs()?.next().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// The address of the leader of each partition, from 0 on. `cluster` has looked at the topic.
pub(super) fn leaders(cluster: &Cluster, topic: &str, partitions: i32) -> io::Result<Vec<SocketAddr>> {
    let of = |partition: i32| {
        let leader = cluster.leader(topic, partition);
        let address = leader.and_then(|leader| cluster.brokers().get(&leader));
        let unled = || io::Error::other(format!("partition {partition} of `{topic}` has no leader"));
        address.ok_or_else(unled)?.to_socket_addrs()?.next().ok_or_else(|| io::ErrorKind::NotFound.into())
    };
    (0..partitions).map(of).collect()
}
