//! Ids of scheme `digest`, for tools that make configurations: what the server compares passwords with.

use crate::config::DigestAlgorithm;

/// The id of a user with this password, as `user:<hash>`.
#[must_use]
pub fn id(used: DigestAlgorithm, user: &str, password: &str) -> String {
    front::auth::digest_id(algorithm(used), format!("{user}:{password}").as_bytes())
}

/// Whether the text has the form of an [`id`] by this algorithm.
#[must_use]
pub fn is_id(used: DigestAlgorithm, text: &str) -> bool {
    front::auth::is_digest_id(algorithm(used), text)
}

pub(crate) const fn algorithm(used: DigestAlgorithm) -> front::auth::DigestAlgorithm {
    match used {
        DigestAlgorithm::Sha1 => front::auth::DigestAlgorithm::Sha1,
        DigestAlgorithm::Sha256 => front::auth::DigestAlgorithm::Sha256,
        DigestAlgorithm::Sha512 => front::auth::DigestAlgorithm::Sha512,
        DigestAlgorithm::Sha3_256 => front::auth::DigestAlgorithm::Sha3_256,
    }
}
