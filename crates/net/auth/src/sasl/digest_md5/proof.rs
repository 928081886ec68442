//! What both sides compute of the password (RFC 2831, section 2.1.2.1). Knows no token.

use core::fmt;

use md5::{Digest, Md5};

/// The count of authentications under a nonce: each nonce is used once.
pub(super) const NONCE_COUNT: &str = "00000001";

/// The sum over user, realm and password: all that a server needs of a password. It is enough to log in to that realm,
/// so it is as secret as the password.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Verifier([u8; 16]);

impl Verifier {
    /// What no password gives but by chance: takes the place of an unknown user's.
    pub(super) const OF_NOBODY: Self = Self([0; 16]);

    pub(super) fn new(user: &str, realm: &str, password: &str) -> Self {
        let mut sum = Md5::new();
        sum.update(hashed(user));
        sum.update(b":");
        sum.update(hashed(realm));
        sum.update(b":");
        sum.update(hashed(password));
        Self(sum.finalize().into())
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(..)")
    }
}

/// The side that proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prover {
    Client,
    Server,
}

/// What the proofs of one exchange depend on.
pub(super) struct Transcript<'a> {
    pub(super) verifier: Verifier,
    pub(super) nonce: &'a str,
    pub(super) client_nonce: &'a str,
    /// The user that the client wants to act as, if it says so.
    pub(super) authorized_as: Option<&'a str>,
    pub(super) digest_uri: &'a str,
}

impl Transcript<'_> {
    /// The proof of one side, in hex.
    pub(super) fn proof(&self, prover: Prover) -> String {
        let Self { nonce, client_nonce, digest_uri, .. } = self;
        let mut a1 = Md5::new();
        a1.update(self.verifier.0);
        a1.update(format!(":{nonce}:{client_nonce}"));
        if let Some(name) = self.authorized_as {
            a1.update(format!(":{name}"));
        }
        let a1 = hex(&a1.finalize());
        let method = match prover {
            Prover::Client => "AUTHENTICATE",
            Prover::Server => "",
        };
        let a2 = hex(&Md5::digest(format!("{method}:{digest_uri}")));
        hex(&Md5::digest(format!("{a1}:{nonce}:{NONCE_COUNT}:{client_nonce}:auth:{a2}")))
    }
}

/// The bytes of a name or a password that are hashed: ISO 8859-1 if it has all of its characters, and UTF-8 otherwise. So
/// says the RFC, so that HTTP can share the sums, and so do Java's clients and servers.
fn hashed(text: &str) -> Vec<u8> {
    let one_byte_each: Option<Vec<u8>> = text.chars().map(|character| u8::try_from(character).ok()).collect();
    one_byte_each.unwrap_or_else(|| text.as_bytes().to_vec())
}

fn hex(bytes: &[u8]) -> String {
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.filter_map(|half| char::from_digit(half.into(), 16)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_are_those_of_the_example_in_rfc_2831_section_4() {
        let transcript = Transcript {
            verifier: Verifier::new("chris", "elwood.innosoft.com", "secret"),
            nonce: "OA6MG9tEQGm2hh",
            client_nonce: "OA6MHXh6VqTrRk",
            authorized_as: None,
            digest_uri: "imap/elwood.innosoft.com",
        };
        assert_eq!(transcript.proof(Prover::Client), "d388dad90d4bbd760a152321f2143af7");
        assert_eq!(transcript.proof(Prover::Server), "ea40f60335c427b5527b84dbabcdfffd");
    }

    #[test]
    fn verifier_is_not_shown() {
        assert_eq!(format!("{:?}", Verifier::new("bob", "realm", "hush")), "Verifier(..)");
    }
}
