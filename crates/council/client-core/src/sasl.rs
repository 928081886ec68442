//! SASL DIGEST-MD5 as ZooKeeper's servers expect it of a client. The exchange itself is `net-auth`'s.

pub use net_auth::sasl::digest_md5::ClientExchange;
pub use net_auth::sasl::{ClientStep, SaslUser};

/// One exchange on one connection. `entropy` must not be guessable, and new for each.
#[must_use]
pub fn exchange(user: SaslUser, entropy: [u8; 16]) -> ClientExchange {
    ClientExchange::new(user, council_wire::sasl::SERVICE, council_wire::sasl::HOST, entropy)
}
