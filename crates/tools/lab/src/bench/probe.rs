//! The floor under a durable write: append 1 KiB and flush it, nothing else.
//!
//! Paced like an open load: appends are due at fixed moments, each one's latency counts from then, and what is due
//! when a flush begins goes out in it together. The file was filled with zeros before, as a preallocated log is, so
//! that a flush writes data and no file size.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::measure::milliseconds;

/// Bytes of one append.
const APPEND: usize = 1024;
/// Bytes of the file; the probe begins again at its end.
const FILE: usize = 64 << 20;

/// A disk is calm when no flush of a second takes longer.
const CALM: Duration = Duration::from_millis(10);
/// How long a disk is waited for to become calm.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a disk did.
pub(super) struct Probed {
    /// Microseconds from the moment an append was due until it was flushed.
    pub(super) latency: Histogram<u64>,
}

impl Probed {
    pub(super) fn latency_ms(&self, percentile: f64) -> f64 {
        milliseconds(&self.latency, percentile)
    }

    pub(super) fn longest_ms(&self) -> f64 {
        self.latency.max() as f64 / 1000.0
    }
}

/// Probes the disk that holds `folder` for `duration`.
pub(super) fn probe(folder: &Path, per_second: f64, duration: Duration) -> io::Result<Probed> {
    let file = prepared(folder)?;
    let end = Instant::now() + duration;
    let probed = paced(&file.0, per_second, || Instant::now() < end);
    fs::remove_file(file.1)?;
    probed
}

/// Waits until what others left to be written to the disk that holds `folder`, or freed on it, is done with. Whether the
/// disk became calm: there are disks that never are.
pub(super) fn settle(folder: &Path) -> io::Result<bool> {
    let path = folder.join("calm-probe");
    let file = File::create(&path)?;
    rustix::fs::syncfs(&file)?;
    let began = Instant::now();
    let mut calm_since = began;
    while began.elapsed() < PATIENCE && calm_since.elapsed() < Duration::from_secs(1) {
        let asked = Instant::now();
        file.write_all_at(&[b'p'; APPEND], 0)?;
        file.sync_data()?;
        if asked.elapsed() > CALM {
            calm_since = Instant::now();
        }
        // The pace of the probe: a hundred flushes a second.
        thread::sleep(Duration::from_millis(10));
    }
    fs::remove_file(path)?;
    Ok(began.elapsed() < PATIENCE)
}

/// Records a second that three files take, side by side on the disk that holds `folder`: so many are appended to each
/// and flushed, and when all three are done, so many more.
pub(super) fn three_files(folder: &Path, records: usize, duration: Duration) -> io::Result<f64> {
    let files = [0, 1, 2].map(|number| prepared(&folder.join(format!("flush-{number}"))));
    let batch = vec![b'p'; APPEND * records];
    let end = Instant::now() + duration;
    let (mut rounds, mut at) = (0, 0);
    let began = Instant::now();
    while Instant::now() < end {
        thread::scope(|scope| {
            let flush = |file: &File| file.write_all_at(&batch, at).and_then(|()| file.sync_data());
            let flushes: Vec<_> = files
                .iter()
                .filter_map(|file| file.as_ref().ok())
                .map(|(file, _)| scope.spawn(move || flush(file)))
                .collect();
            flushes
                .into_iter()
                .try_for_each(|flush| flush.join().map_err(|_| io::Error::other("a flush panicked"))?)
        })?;
        rounds += 1;
        at = if at as usize + 2 * batch.len() > FILE { 0 } else { at + batch.len() as u64 };
    }
    let took = began.elapsed();
    for file in files {
        fs::remove_file(file?.1)?;
    }
    Ok((rounds * records) as f64 / took.as_secs_f64())
}

/// A probe that goes on beside something else until it is asked.
pub(super) struct Beside {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<Probed>>,
}

impl Beside {
    pub(super) fn start(folder: &Path, per_second: f64) -> io::Result<Self> {
        let (file, path) = prepared(folder)?;
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let probed = paced(&file, per_second, || !asked.load(Ordering::Relaxed));
            fs::remove_file(path)?;
            probed
        });
        Ok(Self { stop, thread })
    }

    pub(super) fn finish(self) -> io::Result<Probed> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| io::Error::other("the flush probe panicked"))?
    }
}

fn prepared(folder: &Path) -> io::Result<(File, PathBuf)> {
    fs::create_dir_all(folder)?;
    let path = folder.join("flush-probe");
    let file = File::create(&path)?;
    let zeros = vec![0; 1 << 20];
    for place in 0..FILE / zeros.len() {
        file.write_all_at(&zeros, (place * zeros.len()) as u64)?;
    }
    file.sync_all()?;
    Ok((file, path))
}

fn paced(file: &File, per_second: f64, mut goes_on: impl FnMut() -> bool) -> io::Result<Probed> {
    let mut latency = Histogram::new_with_bounds(1, 600_000_000, 3).map_err(io::Error::other)?;
    let record = [b'p'; APPEND];
    let began = Instant::now();
    let due = |number: u64| began + Duration::from_secs_f64(number as f64 / per_second);
    let (mut written, mut flushed) = (0u64, 0u64);
    let mut more = true;
    while more {
        // The pace itself: the next append is due at a fixed moment in any case.
        thread::sleep(due(written).saturating_duration_since(Instant::now()));
        // What was due before the end is written after it: a stall at the end counts as any other.
        more = goes_on();
        while due(written) <= Instant::now() {
            file.write_all_at(&record, (written % (FILE / APPEND) as u64) * APPEND as u64)?;
            written += 1;
        }
        file.sync_data()?;
        let now = Instant::now();
        for number in flushed..written {
            latency.saturating_record(now.duration_since(due(number)).as_micros() as u64);
        }
        flushed = written;
    }
    Ok(Probed { latency })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_append_that_was_due_counts() {
        let folder = std::env::temp_dir().join(format!("flush-probe-{}", std::process::id()));
        let probed = probe(&folder, 200.0, Duration::from_millis(100)).unwrap();
        fs::remove_dir_all(folder).unwrap();
        assert!(probed.latency.len() >= 20, "{}", probed.latency.len());
        assert!(probed.longest_ms() >= probed.latency_ms(50.0));
    }
}
