//! Who may use a broker, for what and how much: access control lists, quotas, and limits of connections.
//!
//! | module | what it holds |
//! |---|---|
//! | [`Principal`] | who a client is |
//! | [`acl`], [`Authorizer`] | the rules, and whether a client may do something |
//! | [`quota`] | the quotas, and how long a client must wait |
//! | [`Connections`] | how many connections there may be, from where and how fast |
//! | [`SampledRate`], [`TokenBucket`] | how use is measured |
//!
//! It is pure: it knows no wire, no council and no clock. The broker asks it, tells it what the council has committed, and
//! keeps one of each.
//!
//! # Invariants
//! - A question about rights costs a few searches in sorted maps, however many rules there are.
//! - Rules, entities with quotas, clients that are measured and addresses that are counted are bounded, each by a limit with a
//!   name.
//!
//! # Not done, and what that costs
//! - Principals are of one kind, users; groups of principals do not exist, as in Kafka.
//! - A rule names one address or all: no networks, as in Kafka.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

pub mod acl;
mod authorizer;
mod connections;
mod principal;
pub mod quota;
mod rate;
mod token_bucket;

pub use authorizer::{Asker, Authorizer, AuthorizerConfig};
pub use connections::{ConnectionLimit, ConnectionLimits, ConnectionVerdict, Connections, ListenerLimits};
pub use principal::Principal;
pub use rate::{SampledRate, Windows};
pub use token_bucket::TokenBucket;
