//! Random choices from a seed: a small generator (SplitMix64), the same on every machine and release.

/// A source of choices.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The source for one seed.
    #[must_use]
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// The next 64 bits.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit` (0 if `limit` is 0).
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.roll() % (limit.max(1) as u64)).unwrap_or(0)
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of the choices; there must be at least one.
    pub fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    /// The index of one of the weights, chosen by weight.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let total: u32 = weights.iter().sum();
        let mut left = self.below(total as usize) as u32;
        for (index, weight) in weights.iter().enumerate() {
            match left.checked_sub(*weight) {
                None => return index,
                Some(rest) => left = rest,
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::Dice;

    #[test]
    fn a_seed_decides_everything() {
        let rolls = |seed| {
            std::iter::repeat_with({
                let mut dice = Dice::new(seed);
                move || dice.roll()
            })
            .take(3)
            .collect::<Vec<_>>()
        };
        assert_eq!(rolls(1), rolls(1));
        assert_ne!(rolls(1), rolls(2));
        assert_eq!(rolls(0)[0], 0xe220_a839_7b1d_cdaf, "the published first output of SplitMix64 for seed 0");
    }

    #[test]
    fn weights_of_zero_are_never_chosen() {
        let mut dice = Dice::new(9);
        assert!((0..100).all(|_| dice.weighted(&[0, 3, 0, 1]) % 2 == 1));
    }
}
