//! Clients' connections: what the shards do with them.

pub(crate) mod shard;
