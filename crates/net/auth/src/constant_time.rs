//! How secrets are compared.

use subtle::ConstantTimeEq as _;

/// Whether two secrets, or proofs of secrets, are the same. The time depends on their lengths, which is no secret of a proof,
/// and not on how far they agree. For a password, whose length is a secret, use [`crate::Passwords::verify`].
#[must_use]
pub fn constant_time_eq(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_means_the_same_bytes() {
        assert!(constant_time_eq(b"", b"") && constant_time_eq(b"ab", b"ab"));
        for other in [&b""[..], b"a", b"abc", b"aB", b"\0ab"] {
            assert!(!constant_time_eq(b"ab", other), "{other:?}");
        }
    }
}
