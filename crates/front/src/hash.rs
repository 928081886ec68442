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
        let mut state = fold(self.seed ^ text.len() as u64, MULTIPLIER);
        let (words, tail) = text.as_bytes().as_chunks::<8>();
        for word in words {
            state = fold(state ^ u64::from_le_bytes(*word), MULTIPLIER ^ self.seed.rotate_left(23));
        }
        let mut last = [0; 8];
        for (to, from) in last.iter_mut().zip(tail) {
            *to = *from;
        }
        fold(state ^ u64::from_le_bytes(last), self.seed | 1)
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
