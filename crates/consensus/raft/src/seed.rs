//! Numbers drawn from a seed: the SplitMix64 sequence, enough to spread election timeouts.

/// A sequence that its seed decides.
#[derive(Clone, Debug)]
pub(crate) struct Seed(u64);

impl Seed {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number in `low..high`; `low` when the range is empty.
    pub(crate) const fn draw(&mut self, low: usize, high: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        match high.checked_sub(low) {
            None | Some(0) => low,
            Some(width) => low + (z % width as u64) as usize,
        }
    }
}
