//! Every configuration of Kafka 4.3 by name: what it may be, where its value comes from, what a request may change, and what a
//! broker's `server.properties` says.
//!
//! Pure functions of text. Nothing is stored here, nothing is known of which topics, groups or brokers there are, and no
//! connection is known. The caller keeps what was set as [`Overrides`], a map of names to text as it was written: one for each
//! topic, group and subscription to client metrics, one for each broker, and one for all brokers.
//!
//! # How a broker uses it
//! 1. **Start.** [`StaticConfig::read`] judges the file. Every [`Problem`] refuses the start; the warnings go to the log.
//!    [`Given`] says what security the program has: what a file asks for besides refuses the start. Options of the command
//!    line are appended as properties of line 0 ([`StaticConfig::of`]).
//! 2. **Values.** [`BrokerLayers`] puts together what is set for this broker, for all brokers and in the file
//!    ([`StaticConfig::layers`]). Everything that a broker acts on is read from it, as often as it likes: [`NetworkLimits`],
//!    [`TopicCreation`], [`GroupSettings`], [`TransactionSettings`], [`QuotaWindows`], [`LogMaintenance`]; [`TopicConfig`] with
//!    the topic's own ([`TopicLayers`]), [`GroupConfig`] with the group's ([`GroupLayers`]). Single values are read by name
//!    ([`Values`]). [`TopicConfig::partition_config`] is what a partition acts on: a new field of `PartitionConfig` is filled in
//!    there.
//! 3. **DescribeConfigs.** [`Resource::to_describe`] judges what a request names, [`describe`] has a function for each kind of
//!    resource, and [`Entry::described`] makes the part of the response. CreateTopics answers with [`Entry::created`].
//! 4. **IncrementalAlterConfigs, AlterConfigs, CreateTopics.** See [`change`]. A [`Refusal`] has Kafka's error code for the
//!    same mistake.
//! 5. **ListConfigResources.** [`to_list`] says which kinds to list.
//!
//! # The tables
//! [`definitions`] holds each configuration with its type, default, limits, who may change it, and what Diwan does with it
//! ([`Effect`]): it acts, it is only shown, or it asks for something that Diwan does not have and is refused. `Acts` says that
//! a typed value above has it. Two configurations are Diwan's own: `diwan.durability` of topics, and the same of the broker for
//! topics that do not set it. They are shown where they are set, so that a client sees the 33 and 340 of Kafka otherwise.
//!
//! # Beside Kafka
//! `tests/golden` holds what a Kafka 4.3.1 said: all its configurations, 2,900 values that it takes or refuses, 250 files,
//! the error codes of some 500 requests and what it showed after them. The differences on purpose are lists in `tests/beside_kafka`:
//! - What Kafka takes and fails with later is refused at once: a port that is none, a key that is missing, a default for topics
//!   that no topic could have.
//! - Where a change needs a restart here, it is refused: listeners, and everything of TLS and SASL.
//! - AlterConfigs that names a resource twice is answered with INVALID_REQUEST; Kafka never answers it.
//! - After a change of `log.retention.ms` while it runs, Kafka shows a wrong value of `log.retention.hours`; likewise of
//!   `log.roll.hours` and `log.flush.scheduler.interval.ms`.
//!
//! # Not done, and what that costs
//! - Regular expressions of subscriptions to client metrics, principal mapping rules and JAAS texts are not looked into here.
//! - Values in files are taken as they are written: there are no config providers.
//! - A broker has one directory, so `cordoned.log.dirs` and several `log.dirs` are refused.
//! - Numbers with a hexadecimal exponent, which Java reads, are refused, and so is a ratio that is not a number.
//! - A key that is long and a suggestion for it: nothing is suggested for names above 128 bytes.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod broker_config;
pub mod change;
mod definition;
pub mod definitions;
pub mod describe;
pub mod drain;
mod entry;
mod file;
mod group;
mod group_config;
mod java_double;
mod layers;
mod limits;
mod offset_reset;
pub mod properties;
mod queue_config;
mod reading;
mod refusal;
mod resource;
mod rules;
mod topic;
mod topic_config;
mod value;

pub use broker_config::{
    BalanceMode, BalanceSettings, GroupKinds, GroupMigration, GroupSettings, GroupTime, InternalTopic,
    LeaderSettings, LogMaintenance, NetworkLimits, QuotaWindow, QuotaWindows, TopicCreation,
    TransactionSettings,
};
pub use definition::{Definition, Effect, Feature, Update, ValueType};
pub use entry::{Detail, Entry, Source, Synonym};
pub use file::{
    Advertised, Authorizer, ClientAuth, Council, Given, Listener, ListenerSecurity, Problem, Protocol, Sasl,
    StaticConfig, Store, Tls,
};
pub use group::GroupLayers;
pub use group_config::{GroupConfig, MemberTimes, ShareGroupConfig, StreamsGroupConfig};
pub use layers::{BrokerLayers, Overrides, Values};
pub use limits::Limits;
pub use log_partition::{Compaction, Durability, TopicCompression};
pub use offset_reset::OffsetReset;
pub use queue_config::{QueueGroupConfig, QueueTopicConfig, takes_dead_letters};
pub use reading::BadValue;
pub use refusal::Refusal;
pub use resource::{LISTED, Resource, kind, to_list};
pub use topic::TopicLayers;
pub use topic_config::{ThrottledReplicas, TopicConfig};
pub use value::Value;
