//! Bytes that nobody can guess, from the randomness that the driver gave at the start.

use sha2::{Digest, Sha256};

/// One shard's sequence of them.
#[derive(Debug)]
pub(crate) struct Nonces {
    seed: [u8; 32],
    shard: u16,
    count: u64,
}

impl Nonces {
    pub(crate) const fn new(seed: [u8; 32], shard: u16) -> Self {
        Self { seed, shard, count: 0 }
    }

    /// Different each time, and at each shard.
    pub(crate) fn next(&mut self) -> [u8; 32] {
        self.count += 1;
        let mut hash = Sha256::new();
        hash.update(self.seed);
        hash.update(self.shard.to_le_bytes());
        hash.update(self.count.to_le_bytes());
        hash.finalize().into()
    }
}
