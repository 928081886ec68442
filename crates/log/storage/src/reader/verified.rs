//! Which parts of a segment were verified since it was opened.

use std::ops::Range;

use log_partition::{LocateError, Located, Offset, SegmentRead, follows};
use log_wire::Batch;

/// How many parts are remembered that do not touch each other. Who reads on makes one of them longer.
const PARTS_MAX: usize = 16;

/// See the module. In order, and none touches another.
#[derive(Debug, Default)]
pub(super) struct Verified(Vec<Range<u64>>);

impl Verified {
    /// Whether what was found has to be verified.
    pub(super) fn is_lacking(&self, read: &SegmentRead, located: &Located) -> bool {
        let (begin, end) = (located.begin.position, located.end.position);
        let holds = |part: &Range<u64>| part.start <= begin && end <= part.end;
        begin < read.unverified && !self.0.iter().any(holds)
    }

    /// Verifies the batches that were found, unless that was done.
    pub(super) fn check<E>(
        &mut self,
        read: &SegmentRead,
        located: &Located,
        batches: &[u8],
    ) -> Result<(), LocateError<E>> {
        if !self.is_lacking(read, located) {
            return Ok(());
        }
        let (mut rest, mut end) = (batches, located.begin.offset);
        while !rest.is_empty() {
            let position = located.begin.position + (batches.len() - rest.len()) as u64;
            let good = |batch: &Batch<'_>| {
                follows(read.may_have_holes, end, batch.base_offset()) && batch.verify().is_ok()
            };
            let batch = Batch::read(rest).ok().filter(|(batch, _)| good(batch));
            let (batch, behind) = batch.ok_or(LocateError::Damaged { segment: read.segment, position })?;
            (rest, end) = (behind, Offset(batch.last_offset()).next());
        }
        self.add(located.begin.position..located.end.position);
        Ok(())
    }

    fn add(&mut self, part: Range<u64>) {
        let first = self.0.partition_point(|known| known.end < part.start);
        let behind = self.0.partition_point(|known| known.start <= part.end);
        let touched = self.0.get(first..behind).unwrap_or_default();
        let whole =
            touched.iter().fold(part, |whole, known| whole.start.min(known.start)..whole.end.max(known.end));
        self.0.splice(first..behind, [whole]);
        if self.0.len() > PARTS_MAX {
            self.0.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_touch_become_one_and_few_are_remembered() {
        let mut verified = Verified::default();
        for part in [10..20, 30..40, 50..60, 20..25, 38..52] {
            verified.add(part);
        }
        assert_eq!(verified.0, [10..25, 30..60]);
        verified.add(0..100);
        assert_eq!(verified.0, std::iter::once(0..100).collect::<Vec<_>>());
        for at in 1..100 {
            verified.add(at * 200..at * 200 + 1);
        }
        assert_eq!(verified.0.len(), PARTS_MAX);
        assert!(verified.0.is_sorted_by(|a, b| a.end < b.start));
    }
}
