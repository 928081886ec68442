//! Where a token comes from: a file, the environment, or the command line.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::log::failure::{Done, Failure};

/// Bytes of a file with a token.
const FILE_BYTES_MAX: u64 = 4_096;

/// Who asks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CredentialArguments {
    /// A token. All users of this machine can see it here: a file, or `DIWAN_TOKEN`, keeps it.
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    pub(crate) token: Option<String>,

    /// A file with a token [default: `DIWAN_TOKEN`, or the file that `DIWAN_TOKEN_FILE` names, if they are set].
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

impl CredentialArguments {
    /// The header field that says who asks, if anything does.
    ///
    /// # Errors
    /// The file cannot be read, or there is no token.
    pub(crate) fn header(&self) -> Done<Option<(&'static str, String)>> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let token = match (&self.token, &self.token_file) {
            (Some(token), _) => token.trim().to_owned(),
            (None, Some(file)) => of_file(file)?,
            (None, None) => match (variable("DIWAN_TOKEN"), variable("DIWAN_TOKEN_FILE")) {
                (Some(token), _) => token.to_string_lossy().trim().to_owned(),
                (None, Some(file)) => of_file(Path::new(&file))?,
                (None, None) => return Ok(None),
            },
        };
        if objects_service::hash_of_token(&token).is_none() {
            let what = "that is no token: tokens are `diwan_` and 64 hexadecimal digits";
            return Err(Failure::hinted(what, "`diwan object token create` makes one, and shows it once"));
        }
        Ok(Some(("Authorization", format!("Bearer {token}"))))
    }
}

fn of_file(file: &Path) -> Done<String> {
    use std::io::Read as _;
    let mut text = String::new();
    let read =
        std::fs::File::open(file).and_then(|opened| opened.take(FILE_BYTES_MAX).read_to_string(&mut text));
    read.map_err(|error| Failure::new(format!("cannot read the token in `{}`: {error}", file.display())))?;
    Ok(text.trim().to_owned())
}
