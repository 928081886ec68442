//! Ids of scheme `digest`, for tools that make configurations: what the server compares passwords with.

use crate::config::DigestAlgorithm;

/// The id of a user with this password, as `user:<hash>`.
#[must_use]
pub fn id(used: DigestAlgorithm, user: &str, password: &str) -> String {
    council_frontend::auth::digest_id(algorithm(used), format!("{user}:{password}").as_bytes())
}

/// Whether the text has the form of an [`id`] by this algorithm.
#[must_use]
pub fn is_id(used: DigestAlgorithm, text: &str) -> bool {
    council_frontend::auth::is_digest_id(algorithm(used), text)
}

pub(crate) const fn algorithm(used: DigestAlgorithm) -> council_frontend::auth::DigestAlgorithm {
    match used {
        DigestAlgorithm::Sha1 => council_frontend::auth::DigestAlgorithm::Sha1,
        DigestAlgorithm::Sha256 => council_frontend::auth::DigestAlgorithm::Sha256,
        DigestAlgorithm::Sha512 => council_frontend::auth::DigestAlgorithm::Sha512,
        DigestAlgorithm::Sha3_256 => council_frontend::auth::DigestAlgorithm::Sha3_256,
    }
}
