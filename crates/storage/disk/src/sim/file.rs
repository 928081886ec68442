//! One file behind a page cache: what programs see, and what a crash may leave of it.

use super::Loss;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use base::Random;

/// What the medium writes as a whole or not at all.
pub const SECTOR_BYTES: usize = 512;

type Sector = [u8; SECTOR_BYTES];

/// A file: its content as programs see it, its content on the medium, and what lies between the two.
#[derive(Clone, Debug, Default)]
pub(super) struct CachedFile {
    seen: Vec<u8>,
    durable: Vec<u8>,
    /// Every state that a sector had since the last flush. The cache may have written any of them meanwhile.
    dirty: BTreeMap<usize, Vec<Sector>>,
    /// Every length since the last flush.
    lengths: Vec<usize>,
    /// The medium differs from what is seen also where nothing is dirty.
    is_astray: bool,
}

impl CachedFile {
    pub(super) fn with_content(content: Vec<u8>) -> Self {
        CachedFile { durable: content.clone(), seen: content, ..CachedFile::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.seen.len()
    }

    pub(super) fn content(&self) -> &[u8] {
        &self.seen
    }

    pub(super) fn read_at(&self, offset: usize, buffer: &mut [u8]) -> usize {
        let rest = self.seen.get(offset..).unwrap_or_default();
        let read = rest.len().min(buffer.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        read
    }

    pub(super) fn write_at(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        if end > self.seen.len() {
            self.seen.resize(end, 0);
            self.lengths.push(end);
        }
        self.seen[offset..end].copy_from_slice(bytes);
        for sector in offset / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES) {
            let content = self.sector(sector);
            self.dirty.entry(sector).or_default().push(content);
        }
    }

    pub(super) fn truncate(&mut self) {
        self.seen.clear();
        self.lengths.push(0);
        self.dirty.clear();
        self.is_astray = true;
    }

    fn sector(&self, sector: usize) -> Sector {
        let mut content = [0; SECTOR_BYTES];
        self.read_at(sector * SECTOR_BYTES, &mut content);
        content
    }

    /// Everything that is seen is on the medium. Long files are flushed often: only what is dirty is copied.
    pub(super) fn sync(&mut self) {
        if core::mem::take(&mut self.is_astray) {
            self.durable.clone_from(&self.seen);
        } else {
            self.durable.resize(self.seen.len(), 0);
            for sector in self.dirty.keys() {
                let start = sector * SECTOR_BYTES;
                let end = self.seen.len().min(start + SECTOR_BYTES);
                self.durable[start..end].copy_from_slice(&self.seen[start..end]);
            }
        }
        self.dirty.clear();
        self.lengths.clear();
    }

    /// A flush that fails: some of the dirty sectors reached the medium, and all are taken for clean afterwards, so
    /// that a second flush would not write the others either.
    pub(super) fn fail_sync(&mut self, random: &mut Random) {
        let mut medium = self.clone();
        medium.crash(Loss::Some, random);
        self.durable = medium.durable;
        self.dirty.clear();
        self.lengths.clear();
        self.is_astray = true;
    }

    /// The power fails: what was not flushed may be on the medium, or not.
    pub(super) fn crash(&mut self, loss: Loss, random: &mut Random) {
        let length = match loss {
            Loss::All => self.durable.len(),
            Loss::Nothing => self.seen.len(),
            Loss::Some => {
                let choice = random.below(self.lengths.len() as u64 + 1) as usize;
                choice.checked_sub(1).map_or(self.durable.len(), |at| self.lengths[at])
            }
        };
        let mut medium = core::mem::take(&mut self.durable);
        medium.resize(length, 0);
        // Half of the time a beginning survives, as if written in order; else any sectors.
        let in_order = random.chance(50);
        let cut = random.below(self.dirty.len() as u64 + 1) as usize;
        for (order, (sector, versions)) in core::mem::take(&mut self.dirty).into_iter().enumerate() {
            let version = match loss {
                Loss::All => None,
                Loss::Nothing => versions.last(),
                Loss::Some if in_order => versions.last().filter(|_| order < cut),
                Loss::Some => {
                    let choice = random.below(versions.len() as u64 + 1) as usize;
                    choice.checked_sub(1).and_then(|at| versions.get(at))
                }
            };
            let start = sector * SECTOR_BYTES;
            if let (Some(version), Some(place)) = (version, medium.get_mut(start..)) {
                let kept = place.len().min(SECTOR_BYTES);
                place[..kept].copy_from_slice(&version[..kept]);
            }
        }
        *self = CachedFile::with_content(medium);
    }

    /// Overwrites bytes on the medium, within the file's present size.
    pub(super) fn overwrite(&mut self, offset: usize, bytes: &[u8]) {
        self.is_astray = true;
        for content in [&mut self.seen, &mut self.durable] {
            if let Some(place) = content.get_mut(offset..) {
                let length = place.len().min(bytes.len());
                place[..length].copy_from_slice(&bytes[..length]);
            }
        }
    }

    /// A bit rots on the medium.
    pub(super) fn flip(&mut self, bit: u64) {
        self.is_astray = true;
        let (byte, mask) = ((bit / 8) as usize, 1 << (bit % 8));
        for content in [&mut self.seen, &mut self.durable] {
            if let Some(byte) = content.get_mut(byte) {
                *byte ^= mask;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_crash_keeps_what_was_flushed_and_may_tear_the_rest_at_sectors() {
        let mut outcomes = [0; 3];
        for seed in 0..200 {
            let mut file = CachedFile::default();
            file.write_at(0, &[1; 1024]);
            file.sync();
            file.write_at(256, &[2; 512]);
            file.crash(Loss::Some, &mut Random::new(seed));
            let halves = [file.content()[256..512] == [2; 256], file.content()[512..768] == [2; 256]];
            assert_eq!(file.content()[..256], [1; 256]);
            assert_eq!(file.content()[768..], [1; 256]);
            outcomes[usize::from(halves[0]) + usize::from(halves[1])] += 1;
        }
        assert!(outcomes.iter().all(|count| *count > 10), "{outcomes:?}");
    }

    #[test]
    fn flush_makes_durable_what_is_seen_whatever_happened_before() {
        for seed in 0..200 {
            let (mut random, mut file) = (Random::new(seed), CachedFile::default());
            for step in 0..40 {
                match random.below(20) {
                    0 => file.truncate(),
                    1 => file.fail_sync(&mut Random::new(seed)),
                    2 => file.overwrite(random.below(4_000) as usize, &[random.number() as u8; 9]),
                    3 => file.flip(random.below(30_000)),
                    4 => file.crash(Loss::Some, &mut Random::new(seed)),
                    5..10 => file.sync(),
                    _ => file
                        .write_at(random.below(4_000) as usize, &vec![step; 1 + random.below(900) as usize]),
                }
            }
            file.sync();
            assert_eq!(file.seen, file.durable, "seed {seed}");
        }
    }

    #[test]
    fn a_failed_flush_is_not_made_good_by_the_next() {
        let lost = (0..50).filter(|seed| {
            let mut file = CachedFile::with_content(vec![0; 512]);
            file.write_at(0, &[1; 512]);
            file.fail_sync(&mut Random::new(*seed));
            assert_eq!(file.content(), [1; 512]);
            file.crash(Loss::Nothing, &mut Random::new(0));
            file.content() == [0; 512]
        });
        assert!((10..40).contains(&lost.count()));
    }
}
