//! What this machine's disk and threads take, measured alone. Knows no server.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Instant;

use sim::cost::DiskCosts;

/// Of little and of much, and how often.
const LITTLE: usize = 4 << 10;
const MUCH: usize = 1 << 20;
const FLUSHES: usize = 400;
const LARGE_FLUSHES: usize = 400;
const FILE: usize = 64 << 20;
/// Quantiles that a profile keeps.
const QUANTILES: usize = 20;
const WAKES: u32 = 3000;

/// How long the disk under `folder` takes for flushes.
///
/// # Errors
/// The disk failed.
pub fn disk(folder: &Path) -> io::Result<DiskCosts> {
    let mut little = flushes(folder, "flush-0", LITTLE, FLUSHES)?;
    let large = flushes(folder, "flush-0", MUCH, LARGE_FLUSHES)?;
    let much = large.iter().sum::<f64>() / large.len() as f64;
    let median_us = median(&mut little);
    let beside = thread::scope(|scope| {
        let names = ["flush-0", "flush-1", "flush-2"];
        let all = names.map(|name| scope.spawn(move || flushes(folder, name, LITTLE, FLUSHES)));
        let all = all.map(|one| one.join().unwrap_or_else(|_| Err(io::Error::other("a flush panicked"))));
        all.into_iter().collect::<io::Result<Vec<_>>>()
    })?;
    let beside_us = median(&mut beside.into_iter().flatten().collect::<Vec<_>>());
    // The middle of each of so many parts: the one longest flush of all would stand for too many.
    let place = |part: usize| (2 * part + 1) * little.len() / (2 * QUANTILES);
    Ok(DiskCosts {
        flush_us: (0..QUANTILES).map(|part| little[place(part)]).collect(),
        mib_per_second: (MUCH - LITTLE) as f64 / 1_048_576.0 / (much - median_us).max(1.0) * 1e6,
        contention: ((beside_us / median_us - 1.0) / 2.0).max(0.0),
    })
}

/// The middle one; they are sorted then.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Microseconds of each flush of so many bytes, in a file that was filled before, as a log's segments are.
fn flushes(folder: &Path, name: &str, bytes: usize, times: usize) -> io::Result<Vec<f64>> {
    let path = folder.join(name);
    let file = File::create(&path)?;
    let (zeros, piece) = (vec![0; 1 << 20], vec![b'p'; bytes]);
    (0..FILE / zeros.len()).try_for_each(|place| file.write_all_at(&zeros, (place * zeros.len()) as u64))?;
    file.sync_all()?;
    let mut took = Vec::with_capacity(times);
    for time in 0..times {
        file.write_all_at(&piece, (time * bytes % FILE) as u64)?;
        let began = Instant::now();
        file.sync_data()?;
        took.push(began.elapsed().as_secs_f64() * 1e6);
    }
    fs::remove_file(path)?;
    Ok(took)
}

/// Microseconds from when a sleeping thread is woken until it runs: half the way there and back between two that write to
/// each other's sockets.
///
/// # Errors
/// The system has no sockets.
pub fn wake_latency_us() -> io::Result<f64> {
    let (mut here, mut there) = UnixStream::pair()?;
    let other = thread::spawn(move || {
        let mut byte = [0];
        while there.read_exact(&mut byte).is_ok() && there.write_all(&byte).is_ok() {}
    });
    let (mut took, mut byte) = (Vec::new(), [0]);
    for _ in 0..WAKES {
        let began = Instant::now();
        here.write_all(&byte)?;
        here.read_exact(&mut byte)?;
        took.push(began.elapsed().as_secs_f64() * 1e6 / 2.0);
    }
    drop(here);
    // Whatever it says, it has ended.
    let _ = other.join();
    Ok(median(&mut took))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_and_a_thread_take_some_time() {
        let folder = std::env::temp_dir().join(format!("cost-machine-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let took = flushes(&folder, "flush", 4096, 3).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert!(took.len() == 3 && took.iter().all(|took| *took > 0.0));
        assert!(wake_latency_us().unwrap() > 0.0);
    }
}
