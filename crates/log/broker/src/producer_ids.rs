//! Producer ids: from blocks of the council, each of which is given to one broker (L22).

use core::ops::Range;

use log_metadata::{Decision, Ended, Found};

/// How many ids a broker takes at once.
const BLOCK: i64 = 1_000;
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

    /// The council has given a block to this broker, whose end is the data of the node; or it has refused.
    pub(crate) fn ended(&mut self, ended: &Ended) {
        match ended {
            Ended::Done(data) => {
                let end = next_of(data.as_deref());
                self.given(end - BLOCK..end);
            }
            Ended::Refused(..) => self.given(0..0),
        }
    }

    /// Whether another block is to be asked for. Says so once for each.
    pub(crate) fn wants_more(&mut self) -> bool {
        let left = (self.present.end - self.present.start) + (self.next.end - self.next.start);
        let wants = left < LOW && !self.asked;
        self.asked |= wants;
        wants
    }
}

/// The next block of ids: whoever raises the number in the council has those below it. A block whose end nobody knows is lost.
pub(crate) fn take_block(found: Found<'_>) -> Decision {
    Decision::Write((next_of(found.data) + BLOCK).to_string().into_bytes())
}

fn next_of(data: Option<&[u8]>) -> i64 {
    data.and_then(|data| std::str::from_utf8(data).ok()?.trim().parse().ok()).unwrap_or(0)
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
