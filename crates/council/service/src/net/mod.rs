//! Sockets of clients: accepting them, reading and writing them, encryption.

pub(crate) mod listener;
pub(crate) mod shard;
