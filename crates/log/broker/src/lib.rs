//! A broker: topics, their partitions, and the requests of Kafka's clients.
//!
//! It is a deterministic machine. [`Front`] is what one thread does with its connections; all threads share one
//! [`Broker`]. What is to be written goes out as [`DiskCommand`]s, and what became of it comes back as [`DiskEvent`]s; what
//! the council is to change goes out as [`log_metadata::Change`]s, and what happened there comes back as
//! [`log_metadata::KeeperEvent`]s.
//!
//! # A produce, a fetch, a crash
//! *A produce.* [`Front`] cuts the frame, [`Broker::request`] reads it without a copy and finds the area of its API. `produce`
//! finds each partition, judges the batch by its header and checksum and appends it
//! ([`log_partition::Partition::append`]); `partitions` sends it to the disk. When the disk says that it is durable, the high
//! watermark rises, and `produce` answers who waits for it.
//!
//! *A fetch.* `fetch` looks what is readable of each partition that may have something new. If that is enough, or when it
//! becomes so, or when the time is over, the answer is written by the thread of the connection: batches of the last moments
//! from memory, others from their segments.
//!
//! *A transaction.* A batch that begins one at its partition waits in `produce` until `transactions` has asked the coordinator,
//! which is a machine of `log-coordinators` like that of a group. When the client ends it, the decision is appended to the
//! coordinator's partition; once that is durable, the markers go to the partitions, and to the groups whose offsets it commits.
//!
//! *A crash.* What the disk gives back becomes a partition again once the council names its topic, under a new leader epoch;
//! it is served when the beginning of that epoch is durable.
//!
//! # Where things are
//! Each area of the protocol is a folder that owns what waits in it and names the APIs that it serves: `produce`, `fetch`
//! (with its sessions), `offsets`, `groups`, `share`, `topics`, `transactions`, `init_producer_id`. All of them use the `Node`: settings,
//! `catalog`, `partitions`, `producer_ids`. `coordinators` drives the machines of `log-coordinators`, and `replication` those that
//! replicate partitions with several replicas and appoint their leaders; `peer_dispatch` asks other brokers what is led there. `Broker` passes on what happens, and the questions that
//! areas have for the coordinators of transactions.
//!
//! # Invariants
//! - Nothing is acknowledged that is not durable, whatever `acks` says, but for `acks=0`, which is not acknowledged at all.
//! - A partition is served only under an epoch whose beginning is durable (L28).
//! - Answers of a connection leave in the order of its requests (L79).
//!
//! # Not done, and what that costs
//! - No delegation tokens: what is not served is not advertised.
//! - Segments are read by the thread that serves connections: a slow disk delays its other connections.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod access;
mod access_requests;
mod authentication;
mod balance;
mod balancing;
mod broker;
mod brokers;
mod call;
mod catalog;
mod client;
mod cluster;
mod cluster_loads;
mod compaction;
mod config;
mod config_layers;
mod configs;
mod coordinators;
mod council;
mod council_calls;
mod delegation_tokens;
mod delete_records;
mod disk_executor;
mod disk_work;
mod drains;
mod fetch;
mod figures;
mod find_coordinator;
mod front;
mod groups;
mod in_sync;
mod init_producer_id;
mod internal_growth;
mod internal_topics;
mod leader_instead;
mod listener;
pub mod lone_flush;
mod node;
mod notice;
mod offsets;
mod outgoing;
mod partitions;
mod peer_calls;
mod peer_dispatch;
mod produce;
mod producer_ids;
mod question;
mod replication;
mod response;
mod rights;
mod sasl_requests;
mod segment_reader;
mod share;
mod topics;
mod traffic;
mod transactions;
mod waits;

pub use broker::Broker;
pub use brokers::Announced;
pub use call::{Caller, Handled};
pub use catalog::{Catalog, TopicImage, is_internal, is_valid_name};
pub use client::{Client, Peer};
pub use compaction::{CompactionCommand, CompactionEvent};
pub use config::{BrokerConfig, BrokerSecrets, ReplicationRates, ServerProperties};
pub use coordinators::CoordinatorLoad;
pub use disk_executor::{DiskExecutor, Next};
pub use disk_work::{DiskCommand, DiskEvent, StoredPartition, Volume};
pub use figures::{ControllerFigures, Figures, GroupFigures, LedFigures, PartitionFigures};
pub use front::{BrokerDriver, Front, Refusal, Unanswerable};
pub use listener::{BrokerListener, SaslConfig, SaslMechanism, SecurityProtocol};
pub use log_config::InternalTopic;
pub use net_auth::sasl::oauthbearer::{BadToken, BearerToken, TokenValidator};
pub use notice::Notice;
pub use outgoing::Outgoing;
pub use replication::{BadMessage, PeerMessage, ReplicaRead};
pub use response::{
    FetchResponse, FetchedPartition, Form, Head, OffsetsResponse, ProduceResponse, Response, TopicKey,
};
pub use segment_reader::{SegmentFault, SegmentReader};
pub use traffic::Traffic;
pub use waits::Waiter;
