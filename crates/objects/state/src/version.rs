//! The name of a version of a type.

use sha2::{Digest as _, Sha256};

use crate::codec::{Cursor, Field, Malformed};

/// Names a version of a type: a SHA-256 over those of its module, its source and its description.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionHash(pub [u8; 32]);

impl VersionHash {
    /// The name of the version that is made of a module of that hash, a source and a description.
    #[must_use]
    pub fn of(module: [u8; 32], source: Option<&[u8]>, description: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"diwan version 1");
        hash.update(module);
        match source {
            Some(source) => {
                hash.update([1]);
                hash.update(Sha256::digest(source));
            }
            None => hash.update([0]),
        }
        hash.update(Sha256::digest(description));
        Self(hash.finalize().into())
    }
}

impl core::fmt::Display for VersionHash {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Field for VersionHash {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok(Self(cursor.array()?))
    }
}
