//! The header of a batch alone: where it stands and how long it is, to pass over batches without reading their records.

use crate::batch::{Batch, BatchError};

/// What the header of a batch says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHead {
    /// The offset of its first record, also if that is gone by compaction.
    pub base_offset: i64,
    /// The offset of its last record, also if that is gone by compaction.
    pub last_offset: i64,
    /// Its length, the header included.
    pub bytes: u64,
    /// The highest timestamp, as its producer says, milliseconds.
    pub max_timestamp: i64,
}

impl BatchHead {
    /// Reads the header that `bytes` begin with; the records need not be there.
    ///
    /// # Errors
    /// [`BatchError::Length`]: there are fewer bytes than a header has, or the length is impossible.
    /// [`BatchError::Format`], [`BatchError::Invalid`]: this is no batch of format 2.
    pub fn read(bytes: &[u8]) -> Result<Self, BatchError> {
        let (batch, length) = Batch::read_head(bytes)?;
        if batch.base_offset() < 0 || batch.last_offset_delta() < 0 {
            return Err(BatchError::Invalid("has offsets below 0"));
        }
        Ok(Self {
            base_offset: batch.base_offset(),
            last_offset: batch.last_offset(),
            bytes: length as u64,
            max_timestamp: batch.max_timestamp(),
        })
    }

    /// The same of a whole batch.
    #[must_use]
    pub fn of(batch: &Batch<'_>) -> Self {
        Self {
            base_offset: batch.base_offset(),
            last_offset: batch.last_offset(),
            bytes: batch.bytes().len() as u64,
            max_timestamp: batch.max_timestamp(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::BATCH_HEADER_BYTES;
    use crate::{Attributes, BatchBuilder, Producer};
    use alloc::vec::Vec;

    fn batch() -> Vec<u8> {
        let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
        builder.push(70, None, Some(b"value"), &[]);
        builder.push(90, None, Some(b"value"), &[]);
        let mut bytes = builder.finish();
        Batch::assign(&mut bytes, 40, 0);
        bytes
    }

    #[test]
    fn header_is_read_without_the_records() {
        let bytes = batch();
        let head = BatchHead::read(&bytes[..BATCH_HEADER_BYTES]).expect("a header");
        let expected =
            BatchHead { base_offset: 40, last_offset: 41, bytes: bytes.len() as u64, max_timestamp: 90 };
        assert_eq!(head, expected);
        assert_eq!(BatchHead::of(&Batch::read(&bytes).expect("a batch").0), expected);
    }

    #[test]
    fn header_that_is_cut_or_impossible_is_refused() {
        let bytes = batch();
        for cut in 0..BATCH_HEADER_BYTES {
            assert_eq!(BatchHead::read(&bytes[..cut]), Err(BatchError::Length), "{cut}");
        }
        let changed = |at: usize, value: &[u8]| {
            let mut bytes = batch();
            bytes[at..at + value.len()].copy_from_slice(value);
            BatchHead::read(&bytes)
        };
        assert_eq!(changed(8, &40i32.to_be_bytes()), Err(BatchError::Length), "shorter than its header");
        assert_eq!(changed(8, &(-1i32).to_be_bytes()), Err(BatchError::Length));
        assert!(matches!(changed(0, &(-1i64).to_be_bytes()), Err(BatchError::Invalid(_))));
        assert!(matches!(changed(23, &(-1i32).to_be_bytes()), Err(BatchError::Invalid(_))));
    }
}
