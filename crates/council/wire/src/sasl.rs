//! The names by which SASL's tokens call a ZooKeeper server, whatever its host and its users are called.

/// The protocol that carries the tokens.
pub const SERVICE: &str = "zookeeper";
/// The host, and the realm of the users.
pub const HOST: &str = "zk-sasl-md5";
