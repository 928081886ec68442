//! Passwords that do not stand on the command line: from a file, the environment, or a prompt.

use std::io::IsTerminal;
use std::path::Path;

use base::Secret;

use crate::{Checked, Problem};

/// Environment variable with identities, one a line, each `SCHEME:CREDENTIALS`.
pub(crate) const AUTH: &str = "DIWAN_AUTH";
/// Environment variable with the password of the SASL user.
pub(crate) const SASL_PASSWORD: &str = "DIWAN_SASL_PASSWORD";
/// Environment variable with the password of the key store.
pub(crate) const KEY_PASSWORD: &str = "DIWAN_KEY_PASSWORD";

/// A variable of the environment that is set, and not empty.
pub(crate) fn from_environment(name: &str) -> Option<Secret> {
    std::env::var(name).ok().filter(|value| !value.is_empty()).map(Secret)
}

/// A file's first line.
pub(crate) fn from_file(path: &Path) -> Checked<Secret> {
    let text = read(path)?;
    Ok(Secret(String::from(text.lines().next().unwrap_or_default())))
}

/// All lines of a file that are neither empty nor comments.
pub(crate) fn lines(path: &Path) -> Checked<Vec<String>> {
    let lines = read(path)?;
    let wanted = |line: &&str| !line.is_empty() && !line.starts_with('#');
    Ok(lines.lines().map(str::trim).filter(wanted).map(String::from).collect())
}

fn read(path: &Path) -> Checked<String> {
    std::fs::read_to_string(path)
        .map_err(|error| Problem::new(format!("cannot read `{}`: {error}", path.display())))
}

/// Asks at the terminal, without showing what is typed. `otherwise` says how else to give it.
pub(crate) fn ask(what: &str, otherwise: &str) -> Checked<Secret> {
    let missing = || Problem::new(format!("no {what}")).hint(String::from(otherwise));
    if !std::io::stdin().is_terminal() {
        return Err(missing());
    }
    crate::prompted(&format!("{what}: ")).map(Secret).map_err(|_| missing())
}
