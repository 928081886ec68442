//! The secret that the members of one ensemble share, and the file that it comes from.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// What only the members of one ensemble know: they prove it to each other and never send it.
#[derive(Clone, PartialEq, Eq)]
pub struct EnsembleSecret(Vec<u8>);

/// Bytes of a secret at the least: what is shorter can be guessed from one recorded proof.
const SECRET_BYTES_MIN: usize = 32;
/// Bytes of a secret's file at the most: a larger one is not what was meant.
const SECRET_BYTES_MAX: u64 = 4096;

impl EnsembleSecret {
    /// Reads a secret from its file, without the white space around it.
    ///
    /// # Errors
    /// What is wrong with the file and, behind `hint:`, what to do: it cannot be read, others may read it, or the
    /// secret is too short.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let failed = |error: std::io::Error| {
            format!(
                "cannot read the ensemble's secret `{shown}`: {error}; hint: `diwan certificates` writes one"
            )
        };
        let file = File::open(path).map_err(failed)?;
        let mode = file.metadata().map_err(failed)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(format!(
                "the ensemble's secret `{shown}` is open to other users (mode {:03o}); hint: `chmod 600 {shown}`",
                mode & 0o777
            ));
        }
        let mut bytes = Vec::new();
        file.take(SECRET_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > SECRET_BYTES_MAX {
            return Err(format!(
                "the ensemble's secret `{shown}` is longer than {SECRET_BYTES_MAX} bytes; hint: name the right file"
            ));
        }
        Self::new(bytes.trim_ascii()).ok_or_else(|| {
            format!(
                "the ensemble's secret `{shown}` has less than {SECRET_BYTES_MIN} bytes; hint: `openssl rand -hex 32` \
                 makes one"
            )
        })
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
            assert!(refused.contains("hint: `chmod 600"), "{refused}");
        }
        assert!(allow(0o400).is_ok());
        allow(0o600).expect("writable again");
        std::fs::write(&path, format!("  {}\n", "5".repeat(31))).expect("written");
        assert!(EnsembleSecret::read(&path).expect_err("short").contains("less than 32 bytes"));
        std::fs::write(&path, [b'x'; 5000]).expect("written");
        assert!(EnsembleSecret::read(&path).expect_err("long").contains("longer than 4096"));
        let missing = EnsembleSecret::read(&directory.0.path().join("none")).expect_err("missing");
        assert!(missing.contains("cannot read") && missing.contains("hint: "), "{missing}");
    }
}
