//! Programs from Debian's packages: fetched once by apt and unpacked into a folder, so that nothing is installed and no root is
//! needed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::maven::program;
use crate::PeerError;

/// Fetches packages into `folder`, and unpacks them below `root`. `name` is the program's, in texts.
pub(super) fn unpack(name: &str, packages: &[&str], folder: &Path, root: &Path) -> Result<(), PeerError> {
    for tool in ["apt-get", "dpkg-deb"] {
        if program(tool).is_none() {
            let what = format!(
                "`{tool}` is not on the path: {name} is taken from Debian's packages; elsewhere leave it out (`--systems`)"
            );
            return Err(PeerError::Missing(what));
        }
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(PeerError::io(folder))?;
    }
    fs::create_dir_all(root).map_err(PeerError::io(root))?;
    let mut fetch = Command::new("apt-get");
    run(name, fetch.arg("download").args(packages).current_dir(folder))?;
    for entry in fs::read_dir(folder).map_err(PeerError::io(folder))?.flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "deb") {
            run(name, Command::new("dpkg-deb").arg("-x").arg(entry.path()).arg(root))?;
            fs::remove_file(entry.path()).map_err(PeerError::io(entry.path()))?;
        }
    }
    Ok(())
}

fn run(of: &str, command: &mut Command) -> Result<(), PeerError> {
    let name = command.get_program().to_owned();
    let output = command.stdin(Stdio::null()).output().map_err(PeerError::io(&name))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.trim().lines().next_back().unwrap_or("no output").to_owned();
    Err(PeerError::Missing(format!("{of} cannot be had: `{}`: {last}", name.to_string_lossy())))
}
