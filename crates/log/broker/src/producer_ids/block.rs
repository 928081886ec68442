//! Producer ids: from blocks of the council, each of which is given to one broker (L22).

use core::ops::Range;

use log_partition::ProducerId;

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

    /// An id that nobody has; nothing until the council has given some.
    pub(crate) fn next(&mut self) -> Option<ProducerId> {
        if self.present.is_empty() {
            self.present = core::mem::take(&mut self.next);
        }
        self.present.next().map(ProducerId)
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
        assert_eq!(ids.next(), None);
        assert!(ids.wants_more() && !ids.wants_more(), "a block is asked for once");
        ids.given(1_000..1_300);
        let first: Vec<i64> = (0..150).filter_map(|_| ids.next()).map(|id| id.0).collect();
        assert_eq!(first, (1_000..1_150).collect::<Vec<_>>());
        assert!(ids.wants_more());
        ids.given(5_000..5_300);
        let second: Vec<i64> = (0..200).filter_map(|_| ids.next()).map(|id| id.0).collect();
        assert_eq!(second, (1_150..1_300).chain(5_000..5_050).collect::<Vec<_>>());
    }
}
