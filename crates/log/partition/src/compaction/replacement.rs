//! One step of a pass that is done: a compacted segment in the place of others.

use crate::partition::Partition;
use crate::pass_end::PassEnd;
use crate::sealed::{Damage, check, open, seal};
use crate::segment::Segment;
use crate::segments::Stale;
use crate::{Offset, SegmentId};

const FORMAT: i16 = 3;
const SEGMENT_ID_BYTES: usize = 12;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// Segments that lie side by side.
    pub removed: Vec<SegmentId>,
    /// What stands in their place; nothing if nothing of them is kept.
    pub added: Option<Segment>,
    /// Markers of aborted transactions that are gone.
    pub removed_aborts: Vec<Offset>,
    /// The offset behind the last record without a value, or end of a transaction, that is gone and that nothing newer replaces;
    /// 0 if there is none.
    pub thinned_to: Offset,
    /// If it is the last step of its pass: what comes of that.
    pub pass: Option<PassEnd>,
}

impl Replacement {
    /// Its form in the write-ahead log.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        seal(FORMAT, |writer| {
            writer.count(self.removed.len());
            for segment in &self.removed {
                writer.i64(segment.base.0).i32(segment.generation.cast_signed());
            }
            writer.bool(self.added.is_some());
            if let Some(added) = &self.added {
                added.write(writer);
            }
            writer.count(self.removed_aborts.len());
            for marker in &self.removed_aborts {
                writer.i64(marker.0);
            }
            writer.i64(self.thinned_to.0).bool(self.pass.is_some());
            if let Some(pass) = &self.pass {
                pass.write(writer);
            }
        })
    }

    /// Reads it back.
    ///
    /// # Errors
    /// It is none, or damaged.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, Damage> {
        open(bytes, FORMAT, |reader| {
            let mut removed = Vec::new();
            for _ in 0..reader.count(SEGMENT_ID_BYTES)? {
                let (base, generation) = (Offset(reader.i64()?), reader.i32()?.cast_unsigned());
                removed.push(SegmentId { base, generation });
            }
            let added = reader.bool()?.then(|| Segment::read(reader)).transpose()?;
            let mut removed_aborts = Vec::new();
            for _ in 0..reader.count(8)? {
                removed_aborts.push(Offset(reader.i64()?));
            }
            let thinned_to = Offset(reader.i64()?);
            check(thinned_to >= Offset::ZERO, "a log that is thinned to below its beginning")?;
            let pass = reader.bool()?.then(|| PassEnd::read(reader)).transpose()?;
            Ok(Self { removed, added, removed_aborts, thinned_to, pass })
        })
    }
}

impl Partition {
    /// Whether the segments that go are those that the pass has read. The log may have begun anew meanwhile: then others have
    /// their names.
    #[must_use]
    pub fn is_of(&self, by: &Replacement, read: &[Segment]) -> bool {
        let mut own = self.segments().filter(|segment| by.removed.contains(&segment.id()));
        own.all(|segment| read.contains(segment))
    }

    /// A step of a pass is done, and what it has made is durable: from now on that is read. The segments that it has replaced
    /// may be removed once this change is durable.
    ///
    /// # Errors
    /// [`Stale`]; nothing was changed. A replica may have begun meanwhile to be sent what would be gone.
    pub fn replaced(&mut self, by: &Replacement) -> Result<(), Stale> {
        if by.thinned_to > self.keeps_from() {
            return Err(Stale);
        }
        self.segments.replace(&by.removed, by.added.clone())?;
        self.replica.thin(by.thinned_to.seq());
        self.tables.transactions.forget_aborted(&by.removed_aborts);
        if let Some(pass) = by.pass {
            self.last_pass = pass;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::WallTime;

    use crate::test_support::{assigned, plain};

    #[test]
    fn replacement_comes_back_from_its_bytes_and_damage_is_refused() {
        let mut added = Segment::new(SegmentId { base: Offset(3), generation: 2 });
        added.push(&assigned(&plain(3, 9, 2, 5)), WallTime::of_ms(4));
        let whole = Replacement {
            removed: vec![SegmentId { base: Offset(3), generation: 1 }, SegmentId::appended(Offset(9))],
            added: Some(added),
            removed_aborts: vec![Offset(4), Offset(8)],
            thinned_to: Offset(9),
            pass: Some(PassEnd { cleaned_to: Offset(12), horizon_ms: Some(99), held_from: Some(Offset(7)) }),
        };
        let empty = Replacement {
            removed: Vec::new(),
            added: None,
            removed_aborts: Vec::new(),
            thinned_to: Offset::ZERO,
            pass: None,
        };
        for replacement in [whole, empty] {
            let bytes = replacement.to_bytes();
            assert_eq!(Replacement::of_bytes(&bytes), Ok(replacement));
            assert!((0..bytes.len()).all(|cut| Replacement::of_bytes(&bytes[..cut]).is_err()));
        }
    }
}
