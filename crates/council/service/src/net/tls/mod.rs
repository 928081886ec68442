//! Encryption of client connections.
//!
//! [`context`] holds what is offered to clients and takes changed files up, [`store`] reads keys and certificates,
//! [`subject`] names a certificate's holder as Java does, [`session`] is one encrypted connection, in which [`frames`]
//! tells a record of TLS where to end.

pub(crate) mod any_name;
pub mod client;
pub(crate) mod context;
pub(crate) mod ends;
mod frames;
pub(crate) mod session;
pub(crate) mod store;
pub(crate) mod subject;
