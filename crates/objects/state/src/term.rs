//! What a record adds to the digest of the state: the sum of all records' terms.

use twox_hash::XxHash3_64;

pub(crate) fn term(key: &[u8], value: &[u8]) -> u64 {
    term_under(XxHash3_64::oneshot(key), value)
}

/// The term of a record whose key has that hash.
pub(crate) fn term_under(key_hash: u64, value: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(key_hash, value)
}
