//! A disk that counts: what was written since the last look, and whether it was flushed. It keeps what a journal reads
//! again when it is opened, and forgets the log: whole gigabytes of it are written and never read.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use journal::{Disk, DiskError};

use super::profile::DiskCosts;
use crate::random::Random;

/// What of each file's beginning is kept.
const KEPT_BYTES: usize = 64 << 10;

/// What was asked of a disk since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) bytes: usize,
    /// Of zeros, written past the system's cache: they take the disk's time, and hardly a processor's.
    pub(super) zeros: usize,
    pub(super) flushes: u32,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<u64, (u64, Vec<u8>)>,
    names: BTreeMap<String, u64>,
    directories: BTreeSet<String>,
    asked: Asked,
}

/// Clones are handles on the same disk.
#[derive(Clone, Debug, Default)]
pub(super) struct CountingDisk(Rc<RefCell<State>>);

impl CountingDisk {
    /// What was asked of it since the last look.
    pub(super) fn asked(&self) -> Asked {
        std::mem::take(&mut self.0.borrow_mut().asked)
    }
}

impl Disk for CountingDisk {
    type File = u64;

    fn list(&mut self, directory: &str) -> Result<Vec<String>, DiskError> {
        let state = self.0.borrow();
        let inside = |path: &String| match path.rsplit_once('/') {
            Some((parent, name)) => (parent == directory).then(|| name.to_owned()),
            None => directory.is_empty().then(|| path.clone()),
        };
        Ok(state.names.keys().chain(&state.directories).filter_map(inside).collect())
    }

    fn create_directory(&mut self, directory: &str) -> Result<(), DiskError> {
        self.0.borrow_mut().directories.insert(directory.to_owned());
        Ok(())
    }

    fn create(&mut self, path: &str) -> Result<u64, DiskError> {
        let mut state = self.0.borrow_mut();
        let number = state.files.len() as u64;
        state.files.insert(number, (0, Vec::new()));
        state.names.insert(path.to_owned(), number);
        Ok(number)
    }

    fn open(&mut self, path: &str) -> Result<u64, DiskError> {
        self.0.borrow().names.get(path).copied().ok_or(DiskError::NotFound)
    }

    fn len(&mut self, file: &u64) -> Result<u64, DiskError> {
        self.0.borrow().files.get(file).map(|(length, _)| *length).ok_or(DiskError::NotFound)
    }

    fn read_at(&mut self, file: &u64, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        let state = self.0.borrow();
        let (length, kept) = state.files.get(file).ok_or(DiskError::NotFound)?;
        let there = usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX).min(buffer.len());
        let kept = kept.get(offset as usize..).unwrap_or_default();
        for (place, byte) in buffer.iter_mut().take(there).enumerate() {
            *byte = kept.get(place).copied().unwrap_or_default();
        }
        Ok(there)
    }

    fn write_at(&mut self, file: &u64, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let state = &mut *self.0.borrow_mut();
        let (length, kept) = state.files.get_mut(file).ok_or(DiskError::NotFound)?;
        *length = (*length).max(offset + bytes.len() as u64);
        state.asked.bytes += bytes.len();
        if (offset as usize) < KEPT_BYTES {
            let offset = offset as usize;
            let end = (offset + bytes.len()).min(KEPT_BYTES);
            kept.resize(kept.len().max(end), 0);
            kept[offset..end].copy_from_slice(&bytes[..end - offset]);
        }
        Ok(())
    }

    fn write_zeros(&mut self, file: &u64, from: u64, until: u64) -> Result<bool, DiskError> {
        let state = &mut *self.0.borrow_mut();
        let (length, kept) = state.files.get_mut(file).ok_or(DiskError::NotFound)?;
        *length = (*length).max(until);
        let end = kept.len().min(until as usize);
        if let Some(overwritten) = kept.get_mut(from as usize..end) {
            overwritten.fill(0);
        }
        state.asked.zeros += (until - from) as usize;
        Ok(false)
    }

    fn sync_data(&mut self, _: &u64) -> Result<(), DiskError> {
        self.0.borrow_mut().asked.flushes += 1;
        Ok(())
    }

    fn sync_directory(&mut self, _: &str) -> Result<(), DiskError> {
        self.0.borrow_mut().asked.flushes += 1;
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        let mut state = self.0.borrow_mut();
        let file = state.names.remove(from).ok_or(DiskError::NotFound)?;
        state.names.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&mut self, path: &str) -> Result<(), DiskError> {
        self.0.borrow_mut().names.remove(path).map(drop).ok_or(DiskError::NotFound)
    }
}

/// How long a host's disk takes for flushes.
#[derive(Debug)]
pub(super) struct Pace {
    costs: DiskCosts,
    random: Random,
    /// Until when flushes that were begun last.
    until_ns: Vec<u64>,
}

impl Pace {
    pub(super) fn new(costs: DiskCosts, random: Random) -> Self {
        Self { costs, random, until_ns: Vec::new() }
    }

    /// How long that takes if it is begun then, nanoseconds.
    pub(super) fn takes(&mut self, asked: Asked, now_ns: u64) -> u64 {
        if asked.flushes == 0 && asked.zeros == 0 {
            return 0;
        }
        self.until_ns.retain(|until| *until > now_ns);
        let crowd = 1.0 + self.costs.contention * self.until_ns.len() as f64;
        let flushes: f64 = (0..asked.flushes).map(|_| self.flush_us()).sum();
        let written_us = (asked.bytes + asked.zeros) as f64 / (self.costs.mib_per_second * 1.048_576);
        let takes = ((flushes + written_us) * crowd * 1000.0) as u64;
        self.until_ns.push(now_ns + takes);
        takes
    }

    /// Between two quantiles the time is as likely to be one as another.
    fn flush_us(&mut self) -> f64 {
        let quantiles = &self.costs.flush_us;
        let place = self.random.below(1 << 20) as f64 / f64::from(1 << 20) * (quantiles.len() - 1) as f64;
        let (low, part) = (place as usize, place.fract());
        let high = quantiles.get(low + 1).unwrap_or(&quantiles[low]);
        quantiles[low] * (1.0 - part) + high * part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_takes_its_time_its_bytes_and_its_neighbours() {
        let costs = DiskCosts { flush_us: vec![100.0], mib_per_second: 1.0, contention: 0.5 };
        let mut pace = Pace::new(costs, Random::new(1));
        assert_eq!(pace.takes(Asked { bytes: 5, zeros: 0, flushes: 0 }, 0), 0);
        assert_eq!(pace.takes(Asked { bytes: 0, zeros: 0, flushes: 1 }, 0), 100_000);
        assert_eq!(
            pace.takes(Asked { bytes: 0, zeros: 0, flushes: 1 }, 50_000),
            150_000,
            "half as much again"
        );
        let million = pace.takes(Asked { bytes: 1 << 20, zeros: 0, flushes: 1 }, 1_000_000);
        assert!(million.abs_diff(1_000_100_000) < 1000, "{million}");
        let zeros = pace.takes(Asked { bytes: 0, zeros: 1 << 20, flushes: 0 }, 2_000_000_000);
        assert!(zeros.abs_diff(1_000_000_000) < 1000, "{zeros}");
    }

    #[test]
    fn flushes_are_drawn_between_the_quantiles() {
        let costs = DiskCosts { flush_us: vec![100.0, 200.0, 1000.0], mib_per_second: 1e9, contention: 0.0 };
        let mut pace = Pace::new(costs, Random::new(1));
        let mut drawn: Vec<_> = (0..10_000).map(|_| pace.flush_us()).collect();
        drawn.sort_by(f64::total_cmp);
        assert!(drawn[0] >= 100.0 && drawn[9_999] <= 1000.0);
        assert!((drawn[5_000] - 200.0).abs() < 10.0, "{}", drawn[5_000]);
    }

    #[test]
    fn a_journal_lives_on_it() {
        let disk = CountingDisk::default();
        let config = journal::JournalConfig::default();
        let (mut journal, _) = journal::Journal::open(disk.clone(), config).expect("opened");
        let batch = member::start::founding(vec![1, 2, 3], vec![4]);
        journal.append(&batch).expect("room");
        journal.flush().expect("flushed");
        assert!(disk.asked().flushes > 0);
        assert_eq!(disk.asked(), Asked::default());
        assert_eq!(journal.membership().voters, [1, 2, 3]);
    }
}
