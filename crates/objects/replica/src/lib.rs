//! One member of a group of live objects: what its commands mean to a [`consensus_replica::Replica`].
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

pub mod edge;
