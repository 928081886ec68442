//! The newest offset of each key, in a bounded amount of memory.
//!
//! A key is known by the first 128 bits of its SHA-256: two keys that are taken for one would cost a record, and nobody can
//! find two such keys. An entry takes 24 bytes, however long its key is.

use sha2::{Digest, Sha256};

use crate::Offset;

/// Bytes of an entry.
const ENTRY_BYTES: usize = 24;
/// Of a hundred places, so many are used at most: beyond that keys are far from where they belong.
const LOAD_PERCENT: usize = 90;
/// Fewer places are never made.
const PLACES_MIN: usize = 64;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    hash: [u64; 2],
    /// The offset and one; 0 for no entry.
    next: i64,
}

/// See the module.
#[derive(Debug)]
pub struct OffsetMap {
    places: Vec<Entry>,
    used: usize,
    used_max: usize,
}

impl OffsetMap {
    /// For at most so many keys, in at most so many bytes.
    #[must_use]
    pub fn new(keys: usize, bytes_max: usize) -> Self {
        let wanted = keys.saturating_mul(100) / LOAD_PERCENT + 1;
        let places = wanted.min(bytes_max / ENTRY_BYTES).max(PLACES_MIN);
        Self { places: vec![Entry::default(); places], used: 0, used_max: places * LOAD_PERCENT / 100 }
    }

    /// A record of this key has that offset. Whether there was room for it.
    #[must_use]
    pub fn put(&mut self, key: &[u8], offset: Offset) -> bool {
        let hash = hash(key);
        let at = self.find(hash);
        let is_full = self.used >= self.used_max;
        let Some(place) = self.places.get_mut(at) else { return false };
        if place.next == 0 {
            if is_full {
                return false;
            }
            self.used += 1;
        }
        *place = Entry { hash, next: place.next.max(offset.next().0) };
        true
    }

    /// The newest offset of a key, if it is known.
    #[must_use]
    pub fn newest(&self, key: &[u8]) -> Option<Offset> {
        let place = self.places.get(self.find(hash(key)))?;
        (place.next > 0).then(|| Offset(place.next - 1))
    }

    /// How many keys are known.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.used
    }

    /// Whether no key is known.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Where a key is, or would be. There is always a place that is free.
    fn find(&self, hash: [u64; 2]) -> usize {
        let count = self.places.len();
        let mut at = ((u128::from(hash[0]) * count as u128) >> 64) as usize;
        while let Some(place) = self.places.get(at).filter(|place| place.next > 0) {
            if place.hash == hash {
                break;
            }
            at = if at + 1 == count { 0 } else { at + 1 };
        }
        at
    }
}

fn hash(key: &[u8]) -> [u64; 2] {
    let digest = Sha256::digest(key);
    let (words, _) = digest.as_chunks::<8>();
    let word = |at: usize| words.get(at).map_or(0, |word| u64::from_le_bytes(*word));
    [word(0), word(1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_offset_of_each_key_is_kept_until_the_map_is_full() {
        let mut map = OffsetMap::new(1_000, usize::MAX);
        assert!(map.is_empty());
        for offset in 0..10_000i64 {
            assert!(map.put(&(offset % 1_000).to_be_bytes(), Offset(offset)));
        }
        assert_eq!(map.len(), 1_000);
        for key in 0..1_000i64 {
            assert_eq!(map.newest(&key.to_be_bytes()), Some(Offset(9_000 + key)));
        }
        assert_eq!((map.newest(b"another"), map.newest(b"")), (None, None));
        let room = (1_000..).take_while(|key: &i64| map.put(&key.to_be_bytes(), Offset(1))).count();
        assert!(room < 200, "a map of a thousand keys takes {room} more");
        assert!(map.put(&7i64.to_be_bytes(), Offset(20_000)), "a key that is known needs no room");
        assert_eq!(map.newest(&7i64.to_be_bytes()), Some(Offset(20_000)));
    }

    #[test]
    fn memory_is_bounded_whatever_is_asked_for() {
        let map = OffsetMap::new(usize::MAX, 24_000);
        assert_eq!((map.places.len(), map.used_max), (1_000, 900));
        assert_eq!(OffsetMap::new(0, 0).places.len(), PLACES_MIN);
    }

    #[test]
    fn offset_never_goes_back() {
        let mut map = OffsetMap::new(10, usize::MAX);
        assert!(map.put(b"k", Offset(9)) && map.put(b"k", Offset(3)));
        assert_eq!(map.newest(b"k"), Some(Offset(9)));
    }
}
