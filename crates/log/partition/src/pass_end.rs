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
}

impl PassEnd {
    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.i64(self.cleaned_to.0).i64(self.horizon_ms.unwrap_or(-1));
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let (cleaned_to, horizon_ms) = (Offset(reader.i64()?), reader.i64()?);
        check(cleaned_to >= Offset::ZERO, "a log that is compacted to below its beginning")?;
        Ok(Self { cleaned_to, horizon_ms: Some(horizon_ms).filter(|horizon| *horizon >= 0) })
    }
}
