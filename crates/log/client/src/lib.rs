//! A client of brokers that speak Kafka's protocol, ours or Apache Kafka's from 3.3 on: for our own tools. It blocks, and it is
//! not made for speed: each batch is acknowledged before the next one is sent.
//!
//! [`Cluster`] knows the brokers and what an administrator asks them; [`Producer`] and [`Consumer`] write and read records;
//! [`Member`] takes part in a consumer group. Behind the feature `load` is a load generator that has nothing to do with these.
//!
//! # Not done, and what that costs
//! - Of SASL there are PLAIN, SCRAM and OAUTHBEARER with a token that is given: brokers that know Kerberos only cannot be used.
//! - Records are not compressed when they are written.
#![deny(missing_docs)]

mod balance;
mod call;
mod cluster;
mod connection;
mod consumer;
mod consumer_protocol;
mod drain;
mod error;
mod groups;
#[cfg(feature = "load")]
pub mod load;
mod member;
mod partitioner;
mod producer;
mod record;
mod replicas;
mod security;
mod stream;
mod topics;

pub use call::Call;
pub use cluster::Cluster;
pub use connection::Connection;
pub use consumer::Consumer;
pub use error::{Error, Result, is_retriable};
pub use groups::{GroupDescription, GroupMember};
pub use log_wire::ErrorCode;
pub use log_wire::messages;
pub use member::Member;
pub use partitioner::partition_of;
pub use producer::{NewRecord, Producer};
pub use record::ConsumedRecord;
pub use security::{Login, Security};
pub use topics::{End, NewTopic, TopicPartition};
