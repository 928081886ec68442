//! A small disk that can be filled.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Failure;

/// A file system in memory, unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// One of so many MiB, at that folder.
    ///
    /// # Errors
    /// `Missing` where this user cannot mount.
    pub fn mount(at: &Path, mb: usize) -> Result<Self, Failure> {
        fs::create_dir_all(at).map_err(Failure::io("a folder"))?;
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={mb}m"), "diwan-faults"]).arg(at);
        let output = command.stdin(Stdio::null()).output();
        match output {
            Ok(output) if output.status.success() => Ok(Self(at.to_owned())),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
                Err(Failure::Missing(format!("a small disk cannot be mounted: {said}")))
            }
            Err(error) => Err(Failure::Missing(format!("a small disk cannot be mounted: {error}"))),
        }
    }

    /// Somebody else takes all that is left.
    ///
    /// # Errors
    /// Nothing can be written.
    pub fn fill(&self) -> Result<(), Failure> {
        let mut file = File::create(self.0.join("filler")).map_err(Failure::io("a file"))?;
        let block = vec![0; 1 << 16];
        while file.write(&block).is_ok_and(|written| written > 0) {}
        Ok(())
    }

    /// Gives back what [`Self::fill`] has taken.
    ///
    /// # Errors
    /// It was not filled.
    pub fn empty(&self) -> Result<(), Failure> {
        fs::remove_file(self.0.join("filler")).map_err(Failure::io("a file"))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a server that is about to be killed may still hold it.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
