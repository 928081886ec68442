//! The names of a ZooKeeper server in SASL's tokens; they do not depend on its host.

/// The protocol that carries the tokens.
pub const SERVICE: &str = "zookeeper";
/// The host, and the realm of the users.
pub const HOST: &str = "zk-sasl-md5";
