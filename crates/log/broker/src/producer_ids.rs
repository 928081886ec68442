//! Producer ids: from blocks of the council, each of which is given to one broker (L22).

use core::ops::Range;

/// With so few ids left another block is asked for.
const LOW: i64 = 200;

/// The ids that this broker may still give.
#[derive(Debug, Default)]
pub(crate) struct ProducerIds {
    present: Range<i64>,
    next: Range<i64>,
    asked: bool,
}

impl ProducerIds {
    /// The council has given a block of ids to this broker, and gives it to nobody else.
    pub(crate) fn given(&mut self, block: Range<i64>) {
        (self.next, self.asked) = (block, false);
    }

    /// At most so many ids that nobody has; none until the council has given some.
    pub(crate) fn take(&mut self, count: i64) -> Range<i64> {
        if self.present.is_empty() {
            self.present = core::mem::take(&mut self.next);
        }
        let end = self.present.end.min(self.present.start.saturating_add(count));
        let taken = self.present.start..end;
        self.present.start = end;
        taken
    }

    /// Whether another block is to be asked for. Says so once for each.
    pub(crate) fn wants_more(&mut self) -> bool {
        let left = (self.present.end - self.present.start) + (self.next.end - self.next.start);
        let wants = left < LOW && !self.asked;
        self.asked |= wants;
        wants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_blocks_and_each_is_given_once() {
        let mut ids = ProducerIds::default();
        assert!(ids.take(1).is_empty());
        assert!(ids.wants_more() && !ids.wants_more(), "a block is asked for once");
        ids.given(1_000..1_300);
        assert_eq!((ids.take(1), ids.take(149)), (1_000..1_001, 1_001..1_150));
        assert!(ids.wants_more());
        ids.given(5_000..5_300);
        assert_eq!(ids.take(200), 1_150..1_300, "what is left of the block");
        assert_eq!(ids.take(50), 5_000..5_050);
    }
}
