//! What the journal adds to a bare write and flush, on a real disk.
//!
//! `cargo run --release -p council-service --example flush_probe -- [directory] [rounds]`
//!
//! Each round writes about as many bytes at the end of a file filled ahead and flushes them, once bare and once
//! through the journal, turn by turn, so that a noisy disk is as noisy for both. Then it shows what appending costs
//! without a flush, how many bytes an entry takes, and how fast a log is recovered.

use council_service::disk::DirDisk;
use std::error::Error;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use storage_raft_log::{Batch, Entry, EntryKind, HardState, Journal, JournalConfig, LogIndex, Term};

type Outcome<T> = Result<T, Box<dyn Error>>;

const ENTRY_BYTES: usize = 1024;
const PROBE_FILE_BYTES: usize = 32 << 20;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let directory =
        arguments.next().map_or_else(|| std::env::temp_dir().join("diwan-flush-probe"), PathBuf::from);
    let rounds: usize = arguments.next().map_or(Ok(2000), |rounds| rounds.parse())?;
    std::fs::create_dir_all(&directory)?;
    println!("{rounds} rounds in {}", directory.display());
    println!("{:>8} {:>22} {:>22}", "entries", "bare p50 / p99 (us)", "journal p50 / p99 (us)");
    for entries in [1, 8, 64] {
        compare(&directory, rounds, entries)?;
    }
    append_only(&directory)?;
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

/// A directory for one journal, empty.
fn empty(directory: &Path) -> Outcome<PathBuf> {
    let path = directory.join("data");
    if path.exists() {
        std::fs::remove_dir_all(&path)?;
    }
    Ok(path)
}

fn batch(first: LogIndex, count: u64) -> Batch {
    let data = bytes_of_an_entry();
    let entry = |index| Entry { index, term: Term(3), kind: EntryKind::Normal, data: data.clone().into() };
    let hard_state =
        Some(HardState { term: Term(3), vote: Some(base::MemberId(1)), commit: first.previous() });
    Batch { hard_state, membership: None, entries: first.onward().take(count as usize).map(entry).collect() }
}

fn bytes_of_an_entry() -> Vec<u8> {
    vec![0x5a; ENTRY_BYTES]
}

fn compare(directory: &Path, rounds: usize, entries: u64) -> Outcome<()> {
    let probe = File::create(directory.join("probe"))?;
    probe.write_all_at(&vec![0; PROBE_FILE_BYTES], 0)?;
    probe.sync_all()?;
    let bytes = vec![0x5a; entries as usize * (ENTRY_BYTES + 32)];
    let (mut journal, _) = Journal::open(DirDisk::open(&empty(directory)?)?, JournalConfig::default())?;
    let (mut bare, mut through) = (Vec::new(), Vec::new());
    let mut offset = 0;
    for round in 0..rounds as u64 {
        let began = Instant::now();
        probe.write_all_at(&bytes, offset)?;
        probe.sync_data()?;
        bare.push(began.elapsed());
        offset = (offset + bytes.len() as u64) % (PROBE_FILE_BYTES - bytes.len()) as u64;

        let batch = batch(LogIndex::FIRST.plus(round * entries), entries);
        let began = Instant::now();
        journal.append(&batch)?;
        journal.flush()?;
        through.push(began.elapsed());
        journal.keep_ahead()?;
    }
    let written = journal.stats().log_bytes_written as f64 / (rounds as u64 * entries) as f64;
    println!("{entries:>8} {:>22} {:>22}   {written:.0} bytes an entry", spread(bare), spread(through));
    Ok(())
}

fn spread(mut samples: Vec<Duration>) -> String {
    samples.sort_unstable();
    let at = |part: f64| samples[((samples.len() - 1) as f64 * part) as usize].as_micros();
    format!("{} / {}", at(0.5), at(0.99))
}

/// The cost of appending alone, and of recovering what was appended.
fn append_only(directory: &Path) -> Outcome<()> {
    const ENTRIES: u64 = 200_000;
    let path = empty(directory)?;
    let (mut journal, _) = Journal::open(DirDisk::open(&path)?, JournalConfig::default())?;
    let mut appending = Duration::ZERO;
    for index in 1..=ENTRIES {
        let batch = batch(LogIndex(index), 1);
        let began = Instant::now();
        journal.append(&batch)?;
        appending += began.elapsed();
        if index % 1000 == 0 {
            journal.flush()?;
            journal.keep_ahead()?;
        }
    }
    let megabytes = journal.stats().log_bytes_written >> 20;
    journal.close()?;
    println!("append alone: {:.2} us an entry", appending.as_secs_f64() * 1e6 / ENTRIES as f64);
    let began = Instant::now();
    let (_, recovered) = Journal::open(DirDisk::open(&path)?, JournalConfig::default())?;
    let took = began.elapsed().as_millis();
    println!("recovery: {} entries, {megabytes} MiB of log, in {took} ms", recovered.last_index);
    Ok(())
}
