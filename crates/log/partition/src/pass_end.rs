//! What a partition keeps of the last pass of compaction over it.

use log_wire::{Reader, Writer};

use crate::Offset;
use crate::sealed::{Damage, check};

/// What a pass comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassEnd {
    /// Everything before is compacted.
    pub cleaned_to: Offset,
    /// When all that the pass has kept for a while may go, milliseconds; nothing if there is nothing of that kind.
    pub horizon_ms: Option<i64>,
    /// The first batch of which something was kept longer, for replicas that lack it; nothing if there is none.
    pub held_from: Option<Offset>,
}

impl PassEnd {
    /// There was no pass.
    pub(crate) const NONE: Self = Self { cleaned_to: Offset::ZERO, horizon_ms: None, held_from: None };

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.i64(self.cleaned_to.0).i64(self.horizon_ms.unwrap_or(-1));
        writer.i64(self.held_from.map_or(-1, |held| held.0));
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let (cleaned_to, horizon_ms) = (Offset(reader.i64()?), reader.i64()?);
        check(cleaned_to >= Offset::ZERO, "a log that is compacted to below its beginning")?;
        let held_from = Some(Offset(reader.i64()?)).filter(|held| *held >= Offset::ZERO);
        Ok(Self { cleaned_to, horizon_ms: Some(horizon_ms).filter(|horizon| *horizon >= 0), held_from })
    }
}
