//! How large the file system is that the data lies on, and how much of it is free: for clients that ask.

use std::path::{Path, PathBuf};

use base::{MonoTime, Now};
use log_broker::Volume;

/// How often it is looked at, milliseconds.
const LOOK_MS: u64 = 5_000;

/// See the module.
pub(crate) struct VolumeWatch {
    directory: PathBuf,
    due: MonoTime,
    known: Option<Volume>,
}

impl VolumeWatch {
    pub(crate) fn new(directory: &Path) -> Self {
        Self { directory: directory.into(), due: MonoTime::ZERO, known: None }
    }

    /// What it is, if it was time to look and that has changed.
    pub(crate) fn look(&mut self, now: Now) -> Option<Volume> {
        if now.mono() < self.due {
            return None;
        }
        self.due = now.mono().plus_ms(LOOK_MS);
        let stat = rustix::fs::statvfs(&self.directory).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        let volume = Volume { total_bytes: bytes(stat.f_blocks), usable_bytes: bytes(stat.f_bavail) };
        let has_changed = self.known.replace(volume) != Some(volume);
        has_changed.then_some(volume)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volume_is_looked_at_from_time_to_time() {
        let mut watch = VolumeWatch::new(&std::env::temp_dir());
        let first = watch.look(Now::of_ms(1_000, 1_000)).expect("it is there");
        assert!(first.total_bytes >= first.usable_bytes && first.total_bytes > 0);
        assert_eq!(watch.look(Now::of_ms(1_000 + LOOK_MS - 1, 1_000)), None);
        let gone = VolumeWatch::new(Path::new("/no/such/directory")).look(Now::of_ms(1_000, 1_000));
        assert_eq!(gone, None);
    }
}
