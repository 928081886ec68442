//! Our own server: the `diwan` binary beside this program in the build folder, or one given by path.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::PeerError;

/// The folder Cargo builds into (`target`), from where this program lies (`target/PROFILE/...`).
///
/// # Errors
/// This program does not know where it is.
pub fn build_folder() -> Result<PathBuf, PeerError> {
    let program = env::current_exe().map_err(PeerError::io("this program"))?;
    let of_profile = |folder: &Path| folder.join(".cargo-lock").is_file();
    program
        .ancestors()
        .find(|folder| of_profile(folder))
        .and_then(|folder| folder.parent())
        .map(PathBuf::from)
        .ok_or_else(|| {
            PeerError::Missing("this program does not lie in a build folder: name the files it needs".into())
        })
}

/// The binary beside this program: built with the same profile.
///
/// # Errors
/// `Missing` if it has not been built.
pub fn find() -> Result<PathBuf, PeerError> {
    let program = env::current_exe().map_err(PeerError::io("this program"))?;
    program.ancestors().map(|folder| folder.join("diwan")).find(|candidate| candidate.is_file()).ok_or_else(
        || PeerError::Missing("the `diwan` binary is not built: run `cargo build --release -p diwan`".into()),
    )
}

/// `diwan serve --config FILE`.
#[must_use]
pub fn command(binary: &Path, config: &Path) -> Command {
    let mut command = Command::new(binary);
    command.arg("serve").arg("--config").arg(config);
    command
}
