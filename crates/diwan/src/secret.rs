//! Where a password comes from: a file, the environment, or the user at the terminal. Never from the command line,
//! which every user of the machine can read.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use clap::Args;
use council_connect::prompted;

/// The variable that holds a password.
const VARIABLE: &str = "DIWAN_PASSWORD";
/// Bytes of a password.
const BYTES_MAX: u64 = 4096;

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SecretArguments {
    /// A file with the password; `-` is the standard input [default: `DIWAN_PASSWORD`, else a prompt].
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
}

impl SecretArguments {
    /// The password of `whom`; `twice` has it typed twice.
    pub(crate) fn read(&self, whom: &str, twice: bool) -> Result<String, String> {
        let password = match &self.password_file {
            Some(file) => of_file(file).map_err(|error| format!("cannot read `{}`: {error}", file.display())),
            None => match std::env::var(VARIABLE) {
                Ok(password) => Ok(password),
                Err(_) => typed(whom, twice),
            },
        }?;
        match password.is_empty() {
            true => Err(String::from("the password is empty")),
            false => Ok(password),
        }
    }
}

fn of_file(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    if file == Path::new("-") {
        io::stdin().lock().take(BYTES_MAX).read_to_string(&mut text)?;
    } else {
        std::fs::File::open(file)?.take(BYTES_MAX).read_to_string(&mut text)?;
    }
    Ok(String::from(text.trim_end_matches(['\r', '\n'])))
}

fn typed(whom: &str, twice: bool) -> Result<String, String> {
    if !io::stdin().is_terminal() {
        return Err(format!(
            "there is no password for `{whom}`\nhint: set `{VARIABLE}`, or name a file with `--password-file`"
        ));
    }
    let ask = |prompt: &str| prompted(prompt).map_err(|error| format!("cannot read the password: {error}"));
    let password = ask(&format!("password of `{whom}`: "))?;
    if twice && ask("again: ")? != password {
        return Err(String::from("the two passwords differ"));
    }
    Ok(password)
}
