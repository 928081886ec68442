//! The blocks of producer ids that this coordinator was given. An id that was taken is never put back, even if the append
//! that was to give it away is refused: a producer id is given away at most once (L22).

use std::collections::VecDeque;
use std::ops::Range;

use log_partition::ProducerId;

#[derive(Clone, Debug, Default)]
pub(crate) struct ProducerIds {
    blocks: VecDeque<Range<i64>>,
    asked: bool,
}

impl ProducerIds {
    pub(crate) fn take(&mut self) -> Option<ProducerId> {
        loop {
            if let Some(id) = self.blocks.front_mut()?.next() {
                return Some(ProducerId(id));
            }
            self.blocks.pop_front();
        }
    }

    /// Whether to ask for a block now. At most one request is on its way.
    pub(crate) fn ask(&mut self, low: u64) -> bool {
        let left: u64 = self.blocks.iter().map(|block| block.end.abs_diff(block.start)).sum();
        let ask = !self.asked && left < low;
        self.asked |= ask;
        ask
    }

    /// The answer: a block, or nothing.
    pub(crate) fn answered(&mut self, block: Option<Range<i64>>) {
        self.asked = false;
        self.blocks.extend(block.filter(|block| !block.is_empty() && block.start >= 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn producer_ids_are_taken_once_and_asked_for_in_time() {
        let mut ids = ProducerIds::default();
        assert_eq!(ids.take(), None);
        assert!(ids.ask(2));
        assert!(!ids.ask(2), "it is on its way");
        ids.answered(None);
        assert!(ids.ask(2));
        ids.answered(Some(5..8));
        assert!(!ids.ask(2));
        assert_eq!(ids.take(), Some(ProducerId(5)));
        assert_eq!(ids.take(), Some(ProducerId(6)));
        assert!(ids.ask(2));
        ids.answered(Some(20..21));
        assert_eq!([ids.take(), ids.take(), ids.take()], [Some(ProducerId(7)), Some(ProducerId(20)), None]);
    }
}
