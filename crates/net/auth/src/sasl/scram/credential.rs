//! What a server keeps of a user instead of a password, and how it is made.

use core::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256, Sha512};

/// The hash of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScramHash {
    /// Of SCRAM-SHA-256.
    Sha256,
    /// Of SCRAM-SHA-512.
    Sha512,
}

impl ScramHash {
    /// The name of the mechanism.
    #[must_use]
    pub const fn mechanism(self) -> &'static str {
        match self {
            Self::Sha256 => "SCRAM-SHA-256",
            Self::Sha512 => "SCRAM-SHA-512",
        }
    }

    pub(super) fn hash(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => Sha256::digest(bytes).to_vec(),
            Self::Sha512 => Sha512::digest(bytes).to_vec(),
        }
    }

    pub(super) fn hmac(self, key: &[u8], bytes: &[u8]) -> Vec<u8> {
        const ANY_LENGTH: &str = "a key may have any length";
        match self {
            Self::Sha256 => {
                let mut mac = Hmac::<Sha256>::new_from_slice(key).expect(ANY_LENGTH);
                mac.update(bytes);
                mac.finalize().into_bytes().to_vec()
            }
            Self::Sha512 => {
                let mut mac = Hmac::<Sha512>::new_from_slice(key).expect(ANY_LENGTH);
                mac.update(bytes);
                mac.finalize().into_bytes().to_vec()
            }
        }
    }

    /// A password, salted: PBKDF2 with one block. Takes time in proportion to `iterations`.
    #[must_use]
    pub fn salted(self, password: &str, salt: &[u8], iterations: u32) -> Vec<u8> {
        let mut block = self.hmac(password.as_bytes(), &[salt, &[0, 0, 0, 1]].concat());
        let mut salted = block.clone();
        for _ in 1..iterations {
            block = self.hmac(password.as_bytes(), &block);
            salted = xor(&salted, &block);
        }
        salted
    }

    pub(super) fn client_key(self, salted: &[u8]) -> Vec<u8> {
        self.hmac(salted, b"Client Key")
    }

    pub(super) fn server_key(self, salted: &[u8]) -> Vec<u8> {
        self.hmac(salted, b"Server Key")
    }
}

pub(super) fn xor(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(one, other)| one ^ other).collect()
}

/// See the module.
#[derive(Clone, PartialEq, Eq)]
pub struct ScramCredential {
    /// The salt.
    pub salt: Vec<u8>,
    /// How often the password was hashed.
    pub iterations: u32,
    /// The hash of the client's key.
    pub stored_key: Vec<u8>,
    /// What the server signs with.
    pub server_key: Vec<u8>,
}

impl ScramCredential {
    /// Of a password that was salted already.
    #[must_use]
    pub fn of_salted(hash: ScramHash, salted: &[u8], salt: Vec<u8>, iterations: u32) -> Self {
        let stored_key = hash.hash(&hash.client_key(salted));
        Self { salt, iterations, stored_key, server_key: hash.server_key(salted) }
    }

    /// Of a password.
    #[must_use]
    pub fn of_password(hash: ScramHash, password: &str, salt: Vec<u8>, iterations: u32) -> Self {
        let salted = hash.salted(password, &salt, iterations);
        Self::of_salted(hash, &salted, salt, iterations)
    }
}

impl fmt::Debug for ScramCredential {
    /// Without the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScramCredential").field("iterations", &self.iterations).finish_non_exhaustive()
    }
}
