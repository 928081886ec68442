//! The work that one connection, and all together, may use in a turn before other connections come first.

use crate::cost::{ROUND_WORK, TURN_WORK};

/// Bytes of replies after which a connection waits for its next turn: a few small requests may ask for megabytes.
const TURN_BYTES: usize = 256 << 10;
/// Bytes of all replies after which the driver gets to send them before more are made.
const ROUND_BYTES: usize = 4 << 20;

/// What was done in this turn of a connection, and in this round of all.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    bytes: usize,
    work: usize,
    round_bytes: usize,
    round_work: usize,
}

impl Turn {
    /// The turn of the next connection begins.
    pub(crate) const fn begin(&mut self) {
        (self.bytes, self.work) = (0, 0);
    }

    /// The driver has sent what was made: the next round begins.
    pub(crate) const fn begin_round(&mut self) {
        (self.round_bytes, self.round_work) = (0, 0);
    }

    /// So many bytes of output were made.
    pub(crate) const fn wrote(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.round_bytes = self.round_bytes.saturating_add(bytes);
    }

    /// So much work was done.
    pub(crate) const fn charge(&mut self, work: usize) {
        self.work = self.work.saturating_add(work);
        self.round_work = self.round_work.saturating_add(work);
    }

    /// The work that is left in this turn.
    pub(crate) const fn work_left(&self) -> usize {
        TURN_WORK.saturating_sub(self.work)
    }

    /// Whether nothing was done in it yet.
    pub(crate) const fn is_unused(&self) -> bool {
        self.bytes == 0 && self.work == 0
    }

    /// Whether others come before this connection is answered more.
    pub(crate) const fn is_over(&self) -> bool {
        self.bytes >= TURN_BYTES || self.work >= TURN_WORK || self.is_round_over()
    }

    /// Whether the tree is to be let go before more is done.
    pub(crate) const fn is_round_over(&self) -> bool {
        self.round_bytes >= ROUND_BYTES || self.round_work >= ROUND_WORK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_ends_by_bytes_or_by_work_and_the_round_outlives_it() {
        let mut turn = Turn::default();
        assert!(turn.is_unused() && !turn.is_over());
        turn.wrote(TURN_BYTES);
        assert!(turn.is_over() && !turn.is_round_over());
        turn.begin();
        assert!(turn.is_unused() && !turn.is_over());
        turn.charge(TURN_WORK - 1);
        assert_eq!((turn.is_over(), turn.work_left()), (false, 1));
        turn.charge(ROUND_WORK);
        turn.begin();
        assert!(turn.is_over() && turn.is_round_over(), "the round is over for all");
        turn.begin_round();
        assert!(!turn.is_over());
    }
}
