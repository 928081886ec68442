//! The secret that the members of one ensemble share, and the file that it comes from.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What only the members of one ensemble know: they prove it to each other and never send it.
#[derive(Clone, PartialEq, Eq)]
pub struct EnsembleSecret(Vec<u8>);

/// Bytes of a secret at the least: what is shorter can be guessed from one recorded proof.
const SECRET_BYTES_MIN: usize = 32;
/// Bytes of a secret's file at the most: a larger one is not what was meant.
const SECRET_BYTES_MAX: u64 = 4096;

/// What is wrong with the file of a secret and, behind `hint:`, what to do.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// It cannot be read.
    #[error("cannot read the ensemble's secret `{}`: {source}; hint: `diwan certificates` writes one", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others than its owner may read it.
    #[error(
        "the ensemble's secret `{file}` is open to other users (mode {mode:03o}); hint: `chmod 600 {file}`",
        file = .path.display()
    )]
    OpenToOthers {
        /// The file.
        path: PathBuf,
        /// Who may do what with it.
        mode: u32,
    },
    /// It is larger than a secret is.
    #[error(
        "the ensemble's secret `{}` is longer than {} bytes; hint: name the right file",
        .0.display(),
        SECRET_BYTES_MAX
    )]
    TooLong(PathBuf),
    /// It can be guessed.
    #[error(
        "the ensemble's secret `{}` has less than {} bytes; hint: `openssl rand -hex 32` makes one",
        .0.display(),
        SECRET_BYTES_MIN
    )]
    TooShort(PathBuf),
}

impl EnsembleSecret {
    /// Reads a secret from its file, without the white space around it.
    ///
    /// # Errors
    /// The file cannot be read, others may read it, or the secret is too long or too short.
    pub fn read(path: &Path) -> Result<Self, SecretError> {
        let own = || path.to_path_buf();
        let failed = |source: io::Error| SecretError::Unreadable { path: own(), source };
        let file = File::open(path).map_err(failed)?;
        let mode = file.metadata().map_err(failed)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(SecretError::OpenToOthers { path: own(), mode: mode & 0o777 });
        }
        let mut bytes = Vec::new();
        file.take(SECRET_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > SECRET_BYTES_MAX {
            return Err(SecretError::TooLong(own()));
        }
        Self::new(bytes.trim_ascii()).ok_or_else(|| SecretError::TooShort(own()))
    }

    /// A secret of these bytes; nothing when they are less than 32.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (bytes.len() >= SECRET_BYTES_MIN).then(|| Self(bytes.to_vec()))
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for EnsembleSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EnsembleSecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ensemble_secret_is_refused_when_others_may_read_it_or_it_is_short() {
        let directory = crate::testing::Directory::new();
        let path = directory.write("secret", format!("{}\n", "5".repeat(32)));
        let allow = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("changed");
            EnsembleSecret::read(&path)
        };
        let secret = allow(0o600).expect("a secret");
        assert_eq!(secret.bytes(), "5".repeat(32).as_bytes());
        assert!(!format!("{secret:?}").contains("55"));
        for mode in [0o640, 0o604, 0o620, 0o601] {
            let refused = allow(mode).expect_err("others may read it");
            assert!(refused.to_string().contains("hint: `chmod 600"), "{refused}");
        }
        assert!(allow(0o400).is_ok());
        allow(0o600).expect("writable again");
        std::fs::write(&path, format!("  {}\n", "5".repeat(31))).expect("written");
        let short = EnsembleSecret::read(&path).expect_err("short");
        assert!(short.to_string().contains("less than 32 bytes"), "{short}");
        std::fs::write(&path, [b'x'; 5000]).expect("written");
        let long = EnsembleSecret::read(&path).expect_err("long");
        assert!(long.to_string().contains("longer than 4096"), "{long}");
        let missing = EnsembleSecret::read(&directory.0.path().join("none")).expect_err("missing");
        assert!(matches!(&missing, SecretError::Unreadable { path, .. } if path.ends_with("none")));
        let missing = missing.to_string();
        assert!(missing.contains("cannot read") && missing.contains("hint: "), "{missing}");
    }
}
