//! Who asks: a token, or a file with one that may be replaced while it is used.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::{Effect, Problem, Result};

const FILE_BYTES_MAX: u64 = 4_096;

/// See the module. The token is shown nowhere.
pub(crate) struct Credentials {
    file: Option<PathBuf>,
    token: Mutex<Option<String>>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Credentials {
    /// A token by name, from a file, or from `DIWAN_TOKEN` or the file that `DIWAN_TOKEN_FILE` names.
    ///
    /// # Errors
    /// It is no token, the file cannot be read, or both are given.
    pub(crate) fn new(token: Option<&str>, file: Option<&Path>) -> Result<Self> {
        let variable = |name| std::env::var(name).ok().filter(|text| !text.trim().is_empty());
        let (token, file) = match (token, file) {
            (Some(_), Some(_)) => return Err(bad("a token or a file with one, not both")),
            (None, None) => match variable("DIWAN_TOKEN") {
                Some(token) => (Some(token.trim().to_owned()), None),
                None => (None, variable("DIWAN_TOKEN_FILE").map(PathBuf::from)),
            },
            (token, file) => (token.map(str::to_owned), file.map(Path::to_owned)),
        };
        let token = match &file {
            Some(file) => {
                let unreadable =
                    |error| bad(&format!("cannot read the token in `{}`: {error}", file.display()));
                Some(read(file).map_err(unreadable)?)
            }
            None => token,
        };
        if token.as_deref().is_some_and(|token| !is_token(token)) {
            let what = "a token is `diwan_` and 64 hexadecimal digits: `diwan object token create` makes one";
            return Err(bad(what));
        }
        Ok(Self { file, token: Mutex::new(token) })
    }

    /// Nothing for nobody in particular.
    pub(crate) fn token(&self) -> Option<String> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the file has another token by now than the one that was refused. What it has is used from then on.
    pub(crate) fn is_replaced(&self, refused: Option<&str>) -> bool {
        let Some(Ok(found)) = self.file.as_deref().map(read) else { return false };
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if is_token(&found) {
            *token = Some(found);
        }
        // Another request may have found it already.
        token.as_deref() != refused
    }
}

fn bad(what: &str) -> crate::error::Error {
    Problem::new("bad-argument", what, Effect::None, "no").into()
}

fn is_token(text: &str) -> bool {
    let digits = text.strip_prefix("diwan_").unwrap_or_default();
    digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_read_again_and_what_is_no_token_there_changes_nothing() {
        let name = std::env::temp_dir().join(format!("diwan-token-{}", std::process::id()));
        let (first, second) = (format!("diwan_{}", "1".repeat(64)), format!("diwan_{}", "2".repeat(64)));
        std::fs::write(&name, format!("{first}\n")).unwrap();
        let credentials = Credentials::new(None, Some(&name)).unwrap();
        assert_eq!(credentials.token().as_deref(), Some(&*first));
        assert!(!credentials.is_replaced(Some(&first)));
        std::fs::write(&name, "half of").unwrap();
        assert!(!credentials.is_replaced(Some(&first)));
        std::fs::write(&name, &second).unwrap();
        assert!(credentials.is_replaced(Some(&first)) && !credentials.is_replaced(Some(&second)));
        assert_eq!(credentials.token().as_deref(), Some(&*second));
        std::fs::remove_file(&name).unwrap();
        assert!(Credentials::new(None, Some(&name)).is_err());
        assert!(Credentials::new(Some("diwan_1"), None).is_err());
        assert!(Credentials::new(Some(&first), Some(&name)).is_err());
        assert!(!format!("{credentials:?}").contains(&second));
    }
}
