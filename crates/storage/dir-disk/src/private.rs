//! Files and directories that this user alone may read: they hold secrets and what access rules protect.
//!
//! The modes are given when a file is made, whatever the umask is. Directories that an older build made wider are
//! narrowed once.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Read and write for the owner alone.
pub const FILE_MODE: u32 = 0o600;
/// The same, and entering.
const DIRECTORY_MODE: u32 = 0o700;
/// The permission bits of all other users.
const OTHERS: u32 = 0o077;
/// A directory in which several users make files, such as `/tmp`.
const STICKY: u32 = 0o1000;
/// How deep files lie in a data directory: `put-aside/1/log/0000000000000001.seg`.
const DEPTH: usize = 4;

/// Makes a file to be written; fails if it exists.
pub fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)
}

/// Makes a directory; fails if it exists.
pub fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIRECTORY_MODE).create(path)
}

/// Makes a directory with those above it that are missing.
pub fn create_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path)
}

/// Takes the rights of others away from a data directory and from what lies in it, if it has any, and says so once.
pub fn narrow(root: &Path) {
    let Ok(metadata) = fs::metadata(root) else { return };
    let mode = metadata.mode() & 0o7777;
    if mode & OTHERS == 0 {
        return;
    }
    let directory = root.display();
    if mode & STICKY != 0 {
        tracing::warn!(
            %directory,
            "the data directory is shared with other users and stays so; hint: give it a directory of its own"
        );
        return;
    }
    match narrow_below(root, DEPTH) {
        Ok(()) => tracing::info!(
            %directory,
            from = format_args!("{mode:04o}"),
            to = format_args!("{:04o}", mode & !OTHERS),
            "the data directory was open to other users and is narrowed"
        ),
        Err(error) => tracing::warn!(
            %directory,
            %error,
            "the data directory is open to other users and cannot be narrowed; hint: `chmod -R go= {directory}`"
        ),
    }
}

/// The content comes first: after a failure the directory's mode still shows that there is something to do.
fn narrow_below(path: &Path, depth: usize) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_dir() && depth > 0 {
        for entry in fs::read_dir(path)? {
            narrow_below(&entry?.path(), depth - 1)?;
        }
    }
    let mode = metadata.mode() & 0o7777;
    if metadata.is_symlink() || mode & OTHERS == 0 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS))
}

/// Warns if others may read a file that holds a secret.
pub fn warn_if_readable(path: &Path, what: &str) {
    let readable = fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o044 != 0);
    if readable {
        let file = path.display();
        tracing::warn!(%file, "{what} can be read by other users; hint: `chmod 600 {file}`");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Directory;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").mode() & 0o777
    }

    #[test]
    fn an_older_builds_directory_is_narrowed_with_all_that_is_in_it() {
        let directory = Directory::new("narrow");
        let (root, log) = (directory.0.clone(), directory.0.join("log"));
        fs::create_dir(&log).expect("made");
        let segment = directory.write("log/1.seg", b"secret");
        for (path, wide) in [(&root, 0o755), (&log, 0o755), (&segment, 0o644)] {
            fs::set_permissions(path, Permissions::from_mode(wide)).expect("set");
        }
        narrow(&root);
        assert_eq!((mode(&root), mode(&log), mode(&segment)), (0o700, 0o700, 0o600));
    }

    #[test]
    fn a_directory_shared_by_users_stays_as_it_is() {
        let directory = Directory::new("sticky");
        fs::set_permissions(&directory.0, Permissions::from_mode(0o1777)).expect("set");
        narrow(&directory.0);
        assert_eq!(mode(&directory.0), 0o777);
    }
}
