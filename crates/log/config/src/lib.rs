//! Every configuration of Kafka by name: what it may be, what it is, and where its value comes from.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

pub mod change;
mod definition;
pub mod definitions;
pub mod describe;
mod entry;
mod group;
mod java_double;
mod layers;
mod limits;
mod offset_reset;
pub mod properties;
mod refusal;
mod resource;
mod rules;
mod topic;
mod value;

pub use definition::{Definition, Effect, Feature, Update, ValueType};
pub use entry::{Detail, Entry, Source, Synonym};
pub use group::GroupLayers;
pub use layers::{BrokerLayers, Overrides, Values};
pub use limits::Limits;
pub use offset_reset::OffsetReset;
pub use refusal::Refusal;
pub use resource::{LISTED, Resource, kind, to_list};
pub use topic::TopicLayers;
pub use value::{BadValue, Value};
