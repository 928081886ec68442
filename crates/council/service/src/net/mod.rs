//! Sockets of clients: accepting them, reading and writing them, encryption.

pub(crate) mod listener;
pub(crate) mod shard;
pub(crate) mod tls;
pub(crate) mod transport;
