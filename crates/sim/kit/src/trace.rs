//! A running hash of everything that happens: two runs of one seed are the same if their hashes are.

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    hash: u64,
    steps: u64,
}

impl Default for Trace {
    fn default() -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, steps: 0 }
    }
}

impl Trace {
    /// A step, and what it was about.
    pub fn step(&mut self, kind: &str, numbers: &[u64]) {
        self.steps += 1;
        self.bytes(kind.as_bytes());
        numbers.iter().for_each(|number| self.mix(*number));
    }

    /// Bytes that went somewhere.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.mix(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.mix(u64::from_le_bytes(*word)));
        rest.iter().for_each(|byte| self.mix(u64::from(*byte)));
    }

    const fn mix(&mut self, word: u64) {
        self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// The hash of everything so far.
    #[must_use]
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// How many steps there were.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_content_count() {
        let trace = |steps: &[(&str, &[u8])]| {
            let mut trace = Trace::default();
            for (kind, bytes) in steps {
                trace.step(kind, &[1]);
                trace.bytes(bytes);
            }
            trace.hash()
        };
        let one = trace(&[("a", b"123456789"), ("b", b"")]);
        assert_eq!(one, trace(&[("a", b"123456789"), ("b", b"")]));
        assert_ne!(one, trace(&[("b", b""), ("a", b"123456789")]));
        assert_ne!(one, trace(&[("a", b"123456780"), ("b", b"")]));
    }
}
