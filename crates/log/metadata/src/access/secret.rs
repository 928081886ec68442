//! What all brokers of a cluster know and nobody else: 32 random bytes, in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A cluster's secret. See the module.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ClusterSecret(pub [u8; 32]);

impl ClusterSecret {
    /// The data of its node.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        STANDARD.encode(self.0).into_bytes()
    }

    /// Reads the data of its node; nothing if it is no secret.
    #[must_use]
    pub fn read(data: &[u8]) -> Option<Self> {
        STANDARD.decode(data).ok().and_then(|secret| secret.try_into().ok()).map(Self)
    }
}

impl core::fmt::Debug for ClusterSecret {
    /// Nothing of it.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("ClusterSecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_read_back_and_nothing_else_is_one() {
        let secret = ClusterSecret([7; 32]);
        assert_eq!(ClusterSecret::read(&secret.bytes()), Some(secret));
        for other in [&b""[..], b"?", b"BwcH", &secret.bytes()[..40]] {
            assert_eq!(ClusterSecret::read(other), None);
        }
    }
}
