//! How much may be under way to the journal, so that a full disk refuses it rather than holds it.
//!
//! What was proposed cannot be taken back: with no room for it on the disk it waits, and everything behind it. So the
//! journal says how much it can take without a further segment, and no more than that is proposed at a time. What waits
//! longer is refused when the disk turns out to be full.
//!
//! A refusal takes a few bytes of the log, too: one for all that a session has under way (`refused_writes`), or, below feature
//! level 2, one for each command, which may be so many that even they find no room, and wait.
//!
//! It binds the leader while its own disk has room. A follower takes what its leader sends, and a leader whose disk is
//! full hands the lead over (`disk_watch`).

use std::collections::VecDeque;

/// See the module.
#[derive(Debug)]
pub struct Room {
    /// What the journal said last; without a word of it there is no limit.
    told: u64,
    /// What was handed over and is not part of that: by number, in bytes.
    under_way: VecDeque<(u64, u64)>,
    under_way_bytes: u64,
    /// Whether the journal was asked for more and has not answered.
    asked: bool,
}

impl Default for Room {
    fn default() -> Self {
        Self { told: u64::MAX, under_way: VecDeque::new(), under_way_bytes: 0, asked: false }
    }
}

impl Room {
    /// The journal has taken everything up to that number and has room for so many bytes more.
    pub fn told(&mut self, after: u64, bytes: u64) {
        while let Some((_, taken)) = self.under_way.pop_front_if(|(number, _)| *number <= after) {
            self.under_way_bytes -= taken;
        }
        (self.told, self.asked) = (bytes, false);
    }

    /// The journal knows whether the disk is full.
    pub fn answered(&mut self) {
        self.asked = false;
    }

    /// So much is handed over under that number.
    pub fn hand_over(&mut self, number: u64, bytes: u64) {
        if self.told != u64::MAX {
            self.under_way.push_back((number, bytes));
            self.under_way_bytes += bytes;
        }
    }

    /// What may still be handed over.
    pub fn left(&self) -> u64 {
        if self.told == u64::MAX { u64::MAX } else { self.told.saturating_sub(self.under_way_bytes) }
    }

    /// Whether the journal must be asked for more, for nothing is under way that would bring news. True once.
    pub fn asks(&mut self) -> bool {
        self.under_way.is_empty() && !std::mem::replace(&mut self.asked, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_what_was_told_less_what_the_journal_had_not_seen_then() {
        let mut room = Room::default();
        room.hand_over(1, 500);
        assert_eq!(room.left(), u64::MAX, "a journal that says nothing sets no limit");
        room.told(1, 1000);
        room.hand_over(2, 300);
        room.hand_over(3, 400);
        assert_eq!((room.left(), room.asks()), (300, false));
        room.told(2, 900);
        assert_eq!(room.left(), 500);
        room.hand_over(4, 600);
        assert_eq!(room.left(), 0);
        room.told(4, 50);
        assert_eq!((room.left(), room.asks(), room.asks()), (50, true, false));
        room.answered();
        assert!(room.asks());
    }
}
