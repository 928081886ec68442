//! A seeded hash of paths for the tables of this crate.
//!
//! The standard maps draw their seed at random, which a pure crate may not; an unseeded hash would let a client
//! choose paths that all collide. So the seed comes in with the configuration. Knows nothing of what it hashes.

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hashes byte strings under one seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathHasher {
    seed: u64,
}

impl PathHasher {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed: seed ^ MULTIPLIER }
    }

    /// Eight bytes a step, each step a folded 64 x 64 -> 128 bit product: every input bit reaches every output bit.
    #[inline]
    pub(crate) fn hash(self, text: &str) -> u64 {
        let mut state = self.start();
        let (words, tail) = text.as_bytes().as_chunks::<8>();
        for word in words {
            state = self.step(state, u64::from_le_bytes(*word));
        }
        self.finish(state, tail, text.len())
    }

    /// The end and the hash of every path above `path`, the topmost first: `/`, `/a` and `/a/b` for `/a/b/c`. One run
    /// through the path, however many levels it has.
    pub(crate) fn ancestors(self, path: &str) -> impl Iterator<Item = (usize, u64)> + '_ {
        let root = (path.len() > 1 && path.starts_with('/')).then(|| (1, self.hash("/")));
        let (words, tail) = path.as_bytes().as_chunks::<8>();
        let pieces = words.iter().map(|word| &word[..]).chain([tail]);
        let mut state = self.start();
        let below = pieces.enumerate().flat_map(move |(number, piece)| {
            let before = state;
            if let Some(word) = piece.first_chunk() {
                state = self.step(state, u64::from_le_bytes(*word));
            }
            let slashes = piece.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            slashes.filter_map(move |(at, _)| {
                let end = number * 8 + at;
                (end > 0).then(|| (end, self.finish(before, piece.get(..at).unwrap_or_default(), end)))
            })
        });
        root.into_iter().chain(below)
    }

    const fn start(self) -> u64 {
        fold(self.seed, MULTIPLIER)
    }

    #[inline]
    const fn step(self, state: u64, word: u64) -> u64 {
        fold(state ^ word, MULTIPLIER ^ self.seed.rotate_left(23))
    }

    /// Ends a text of `length` bytes with the last ones, fewer than eight.
    #[inline]
    fn finish(self, state: u64, tail: &[u8], length: usize) -> u64 {
        let mut last = [0; 8];
        for (to, from) in last.iter_mut().zip(tail) {
            *to = *from;
        }
        fold(fold(state ^ u64::from_le_bytes(last), self.seed | 1), length as u64 ^ MULTIPLIER)
    }
}

#[inline]
const fn fold(a: u64, b: u64) -> u64 {
    let product = (a as u128).wrapping_mul(b as u128);
    (product as u64) ^ ((product >> 64) as u64) ^ a.rotate_left(32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ancestors_hash_like_texts_of_their_own() {
        let hasher = PathHasher::new(7);
        let deep = "/a/bc/def/0123456/01234567/012345678/é/x".repeat(5);
        for path in ["", "/", "a", "/a", "/a/b", "/a/b/", "/1234567/", "/1234567/8", deep.as_str()] {
            let above: Vec<_> =
                path.match_indices('/').map(|(at, _)| path.get(..at.max(1)).unwrap_or_default()).collect();
            let above = above.into_iter().filter(|above| above.len() < path.len());
            let expected: Vec<_> = above.map(|above| (above.len(), hasher.hash(above))).collect();
            assert_eq!(hasher.ancestors(path).collect::<Vec<_>>(), expected, "{path}");
        }
    }

    #[test]
    fn seeds_and_every_byte_matter() {
        let hasher = PathHasher::new(7);
        let base = "/a/path/of/some/length";
        let mut seen = vec![hasher.hash(base), PathHasher::new(8).hash(base), hasher.hash("")];
        for at in 0..base.len() {
            let mut other = base.as_bytes().to_vec();
            other[at] ^= 1;
            seen.push(hasher.hash(std::str::from_utf8(&other).unwrap()));
        }
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }
}
