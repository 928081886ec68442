//! Ways in which a client authenticates: digests, addresses, SASL. Knows no connection.

mod digest;
mod ip;
mod sasl;

pub use digest::{DigestAlgorithm, digest_id, is_digest_id, same_digest};
pub use ip::host_address;
pub use sasl::SaslConfig;
