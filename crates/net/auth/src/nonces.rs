//! Bytes that cannot be guessed, from the random seed that a driver gave at the start. The seed determines all of them:
//! a simulator repeats a run with it, and a server draws a new one at each start.

use sha2::{Digest, Sha256};

/// One sequence of them. Sequences of the same seed with different numbers have no nonce in common.
pub struct Nonces {
    seed: [u8; 32],
    sequence: u16,
    count: u64,
}

impl Nonces {
    /// Sequence number `sequence` of this seed, from its beginning.
    #[must_use]
    pub const fn new(seed: [u8; 32], sequence: u16) -> Self {
        Self { seed, sequence, count: 0 }
    }

    /// The next one: different each time, and in each sequence.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> [u8; 32] {
        self.count += 1;
        let mut hash = Sha256::new();
        hash.update(self.seed);
        hash.update(self.sequence.to_le_bytes());
        hash.update(self.count.to_le_bytes());
        hash.finalize().into()
    }
}

impl core::fmt::Debug for Nonces {
    /// Without the seed.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Nonces")
            .field("sequence", &self.sequence)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonces_differ_by_count_sequence_and_seed_and_repeat_by_seed() {
        let draw = |seed, sequence| {
            let mut nonces = Nonces::new([seed; 32], sequence);
            (0..100).map(|_| nonces.next()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1, 1), draw(1, 1));
        let mut all: Vec<_> = [draw(1, 1), draw(1, 2), draw(2, 1)].concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 300);
    }

    #[test]
    fn nonces_do_not_show_their_seed() {
        let shown = format!("{:?}", Nonces::new([77; 32], 3));
        assert!(shown.contains('3') && !shown.contains("77"), "{shown}");
    }
}
