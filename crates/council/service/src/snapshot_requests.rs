//! Snapshots by command: how often they may be asked for, and the wait until one is durable.
//!
//! The core takes them and the journal writes them, as always; here somebody only waits for the news.

use base::LogIndex;
use node_group::SnapshotNews;
use node_threads::RateLimit;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use council_wire::Zxid;
use parking_lot::{Condvar, Mutex};

/// How long a snapshot may take before whoever asked for it is told that it failed. A tree of 10 GiB takes three
/// minutes at the configured pace.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// A snapshot that is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Saved {
    /// The last log entry in it.
    pub(crate) index: LogIndex,
    /// The last transaction in it.
    pub(crate) zxid: Zxid,
}

/// A snapshot's open file: it stays whole when the server purges it meanwhile.
#[derive(Debug)]
pub(crate) struct SnapshotFile {
    pub(crate) zxid: Zxid,
    pub(crate) name: String,
    pub(crate) file: File,
    pub(crate) bytes: u64,
}

/// Why there is no snapshot for who asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TakeError {
    /// The core's thread is busy, or ends.
    #[error("the server did not answer")]
    NoAnswer,
    /// The disk refused it.
    #[error("the snapshot could not be written; the log says why")]
    NotWritten,
    /// It takes too long.
    #[error("no snapshot within {} s", PATIENCE.as_secs())]
    TooLong,
    /// It is written and cannot be opened.
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// What the journal has done so far.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    last: Option<Saved>,
    failures: u64,
}

/// Where the journal leaves its news and others wait for them.
#[derive(Debug, Default)]
pub(crate) struct SnapshotRequests {
    news: Mutex<News>,
    changed: Condvar,
    pub(crate) limit: RateLimit,
}

impl SnapshotNews for SnapshotRequests {
    fn saved(&self, index: LogIndex, position: i64) {
        self.news.lock().last = Some(Saved { index, zxid: Zxid(position) });
        self.changed.notify_all();
    }

    fn failed(&self) {
        self.news.lock().failures += 1;
        self.changed.notify_all();
    }
}

impl SnapshotRequests {
    /// Calls `ask`, which has a snapshot taken and gives the index that it must reach, and waits for that snapshot.
    pub(crate) fn take(&self, ask: impl FnOnce() -> Option<LogIndex>) -> Result<Saved, TakeError> {
        let failures = self.news.lock().failures;
        let wanted = ask().ok_or(TakeError::NoAnswer)?;
        let deadline = Instant::now() + PATIENCE;
        let mut news = self.news.lock();
        loop {
            if let Some(saved) = news.last.filter(|saved| saved.index >= wanted) {
                return Ok(saved);
            }
            if news.failures > failures {
                return Err(TakeError::NotWritten);
            }
            if self.changed.wait_until(&mut news, deadline).timed_out() {
                return Err(TakeError::TooLong);
            }
        }
    }
}

/// Opens the file of a snapshot.
pub(crate) fn open(data_dir: &Path, saved: Saved) -> Result<SnapshotFile, TakeError> {
    let name = format!("{:016x}.snap", saved.index.0);
    let path: PathBuf = data_dir.join("snapshot").join(&name);
    let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (bytes, file) = opened.map_err(|source| TakeError::Unreadable { path, source })?;
    Ok(SnapshotFile { zxid: saved.zxid, name, file, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_snapshot_does_not_end_the_wait_and_a_failure_does() {
        let requests = SnapshotRequests::default();
        requests.saved(LogIndex(4), 1);
        requests.failed();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| requests.take(|| Some(LogIndex(5))));
            requests.saved(LogIndex(4), 1);
            requests.saved(LogIndex(6), 3);
            let saved = waiting.join().expect("it ends").expect("it was saved");
            assert_eq!(saved, Saved { index: LogIndex(6), zxid: Zxid(3) });
        });
        let failed = requests.take(|| {
            requests.failed();
            Some(LogIndex(7))
        });
        assert!(matches!(failed, Err(TakeError::NotWritten)), "{failed:?}");
    }
}
