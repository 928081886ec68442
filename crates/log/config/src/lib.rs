//! Every configuration of Kafka by name: what it may be, what it is, and where its value comes from.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod broker_config;
pub mod change;
mod definition;
pub mod definitions;
pub mod describe;
mod entry;
mod file;
mod group;
mod group_config;
mod java_double;
mod layers;
mod limits;
mod offset_reset;
pub mod properties;
mod refusal;
mod resource;
mod rules;
mod topic;
mod topic_config;
mod value;

pub use broker_config::{
    GroupKinds, GroupMigration, GroupSettings, InternalTopic, LogMaintenance, NetworkLimits, QuotaWindow,
    QuotaWindows, TopicCreation, TransactionSettings,
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
pub use offset_reset::OffsetReset;
pub use refusal::Refusal;
pub use resource::{LISTED, Resource, kind, to_list};
pub use topic::TopicLayers;
pub use topic_config::{Compaction, Durability, ThrottledReplicas, TopicCompression, TopicConfig};
pub use value::{BadValue, Value};
