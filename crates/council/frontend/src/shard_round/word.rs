//! The first bytes of a connection, as far as they are kept from the front: the word `stmk` is followed by a number,
//! and to the front a word is its four letters.

/// The word that a number of eight bytes follows.
const STMK: &[u8] = b"stmk";
const STMK_BYTES: usize = 12;

/// How a connection begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstWord {
    /// Nothing has been consumed yet.
    pub(super) is_fresh: bool,
    /// What followed the word `stmk`.
    pub(super) argument: Option<i64>,
}

impl Default for FirstWord {
    fn default() -> Self {
        Self { is_fresh: true, argument: None }
    }
}

impl FirstWord {
    /// Whether a connection's bytes may be looked at: not the first ones, while the number behind `stmk` is missing.
    pub(super) fn admits(&mut self, bytes: &[u8]) -> bool {
        if !self.is_fresh || !bytes.starts_with(STMK) {
            return true;
        }
        let number = bytes.get(STMK.len()..STMK_BYTES).and_then(|number| number.try_into().ok());
        self.argument = number.map(i64::from_be_bytes);
        self.argument.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stmk_waits_for_its_number() {
        let mut first = FirstWord::default();
        assert!(first.admits(b"ruok"));
        assert!(!first.admits(b"stmk\0\0\0"));
        assert!(first.admits(b"stmk\0\0\0\0\0\0\0\x05\n"));
        assert_eq!(first.argument, Some(5));
    }
}
