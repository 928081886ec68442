//! Scheme `digest`: a client shows `user:password`, the server keeps `user:base64(hash(user:password))`.
//!
//! Never fails: a wrong password makes an identity that matches nothing, as in ZooKeeper.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use net_auth::constant_time_eq;
use sha1::Digest;

/// The hash functions that `DigestAuthenticationProvider.digestAlg` may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DigestAlgorithm {
    /// `MD5`.
    Md5,
    /// `SHA1`, ZooKeeper's default.
    #[default]
    Sha1,
    /// `SHA-224`.
    Sha224,
    /// `SHA-256`.
    Sha256,
    /// `SHA-384`.
    Sha384,
    /// `SHA-512`.
    Sha512,
    /// `SHA3-256`.
    Sha3_256,
}

impl DigestAlgorithm {
    /// The function that Java knows under this name, if it is one of ours.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_uppercase().as_str() {
            "MD5" => Self::Md5,
            "SHA" | "SHA1" | "SHA-1" => Self::Sha1,
            "SHA-224" | "SHA224" => Self::Sha224,
            "SHA-256" | "SHA256" => Self::Sha256,
            "SHA-384" | "SHA384" => Self::Sha384,
            "SHA-512" | "SHA512" => Self::Sha512,
            "SHA3-256" => Self::Sha3_256,
            _ => return None,
        })
    }

    const fn hash_bytes(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha224 => 28,
            Self::Sha256 | Self::Sha3_256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    fn hash_base64(self, bytes: &[u8]) -> String {
        match self {
            Self::Md5 => STANDARD.encode(md5::Md5::digest(bytes)),
            Self::Sha1 => STANDARD.encode(sha1::Sha1::digest(bytes)),
            Self::Sha224 => STANDARD.encode(sha2::Sha224::digest(bytes)),
            Self::Sha256 => STANDARD.encode(sha2::Sha256::digest(bytes)),
            Self::Sha384 => STANDARD.encode(sha2::Sha384::digest(bytes)),
            Self::Sha512 => STANDARD.encode(sha2::Sha512::digest(bytes)),
            Self::Sha3_256 => STANDARD.encode(sha3::Sha3_256::digest(bytes)),
        }
    }
}

/// The id that `user:password` stands for. Without a colon the whole is both.
#[must_use]
pub fn digest_id(algorithm: DigestAlgorithm, credentials: &[u8]) -> String {
    let text = String::from_utf8_lossy(credentials);
    let user = text.split_once(':').map_or(&*text, |(user, _)| user);
    format!("{user}:{}", algorithm.hash_base64(text.as_bytes()))
}

/// Whether two ids of [`digest_id`] are the same, in a time that does not show how far they agree.
#[must_use]
pub fn same_digest(one: &str, other: &str) -> bool {
    constant_time_eq(one.as_bytes(), other.as_bytes())
}

/// Whether the text has the form of an id of [`digest_id`]: a user, a colon, and a hash of this algorithm's length in
/// base64.
#[must_use]
pub fn is_digest_id(algorithm: DigestAlgorithm, text: &str) -> bool {
    let hash_bytes = |hash: &str| STANDARD.decode(hash).map(|bytes| bytes.len());
    text.split_once(':').is_some_and(|(_, hash)| hash_bytes(hash) == Ok(algorithm.hash_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_the_one_that_zookeeper_documents() {
        assert_eq!(digest_id(DigestAlgorithm::Sha1, b"super:test"), "super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
        assert_eq!(digest_id(DigestAlgorithm::Sha1, b""), ":2jmj7l5rSw0yVb/vlWAYkK/YBwk=");
        assert_eq!(digest_id(DigestAlgorithm::Md5, b"a"), "a:DMF1ucDxtqgxw5niaXcmYQ==");
    }

    #[test]
    fn the_password_may_hold_colons_and_bad_text() {
        assert!(digest_id(DigestAlgorithm::Sha256, b"u:p:q").starts_with("u:"));
        assert!(digest_id(DigestAlgorithm::Sha512, &[0xff, b':', 1]).starts_with('\u{fffd}'));
        assert_eq!(
            digest_id(DigestAlgorithm::Sha3_256, b""),
            ":p//G+L8e12ZRwUdWoGHWYvWA/03kO0n6gtgKS4D4Q0o="
        );
    }

    #[test]
    fn digest_id_is_told_from_a_plain_password() {
        use DigestAlgorithm::{Md5, Sha1, Sha3_256, Sha224, Sha256, Sha384, Sha512};
        let all = [Md5, Sha1, Sha224, Sha256, Sha384, Sha512, Sha3_256];
        for algorithm in all {
            let id = digest_id(algorithm, b"super:secret");
            assert!(is_digest_id(algorithm, &id) && same_digest(&id, &id), "{id}");
            let same_length = |other: &DigestAlgorithm| other.hash_bytes() == algorithm.hash_bytes();
            assert!(all.iter().all(|other| same_length(other) == is_digest_id(*other, &id)), "{id}");
        }
        for wrong in ["super:secret", "super:", "super", "super:D/InIHSb7yEEbrWz8b9l71RjZJU"] {
            assert!(!is_digest_id(Sha1, wrong), "{wrong}");
        }
        assert!(!same_digest("super:a", "super:b") && !same_digest("super:a", "super:a "));
    }
}
