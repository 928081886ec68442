//! A file that gets its name only when it is whole: until then it has another one, and is removed if it never becomes whole.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use crate::config::Problem;

/// See the module.
pub(crate) struct Partial {
    /// What it is called until it is whole.
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    published: bool,
}

impl Partial {
    /// Makes an empty one beside the file that it will be. Nobody else may read it.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn create(target: &Path, suffix: &str) -> Result<Self, Problem> {
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(suffix);
        let path = target.with_file_name(name);
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => Ok(Self { path, file, published: false }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let what = format!(
                    "`{}` is there: another command writes it, or one was interrupted",
                    path.display()
                );
                Err(Problem::new(what).hint("remove it if no such command is running"))
            }
            Err(error) => Err(unwritable(&path, &error)),
        }
    }

    /// Gives it its name, durably. A file that is there is replaced if `force` says so.
    ///
    /// # Errors
    /// There is one, or the system refuses.
    pub(crate) fn publish(mut self, target: &Path, force: bool, option: &str) -> Result<(), Problem> {
        let cannot = |error: io::Error| Problem::new(format!("cannot name `{}`: {error}", target.display()));
        self.file.sync_all().map_err(|error| unwritable(&self.path, &error))?;
        let renamed = match force {
            true => fs::rename(&self.path, target),
            false => match rustix::fs::renameat_with(CWD, &self.path, CWD, target, RenameFlags::NOREPLACE) {
                // A file system that cannot do it at once.
                Err(Errno::INVAL | Errno::NOSYS) => {
                    refuse_existing(target, option)?;
                    fs::rename(&self.path, target)
                }
                other => other.map_err(io::Error::from),
            },
        };
        match renamed {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(exists(target, option)),
            other => other.map_err(cannot)?,
        }
        self.published = true;
        let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = File::open(directory.unwrap_or(Path::new(".")));
        directory.and_then(|directory| directory.sync_all()).map_err(cannot)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.published {
            // Its name shows that it is not whole.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Refuses to go on if the file is there. Another one is named with that option.
///
/// # Errors
/// It is.
pub(crate) fn refuse_existing(target: &Path, option: &str) -> Result<(), Problem> {
    match target.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Problem::new(format!("cannot look at `{}`: {error}", target.display()))),
        Ok(_) => Err(exists(target, option)),
    }
}

/// What is said of a file that cannot be written.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(format!("cannot write `{}`: {error}", path.display()))
}

fn exists(target: &Path, option: &str) -> Problem {
    Problem::new(format!("`{}` exists", target.display()))
        .hint(format!("name another file with `{option}`, or replace this one with `--force`"))
}
