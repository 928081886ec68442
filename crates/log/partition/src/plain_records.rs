//! The records of a batch as they are, without their compression.

use log_compression::{DecompressError, decompress};
use log_wire::{Batch, Compression, Malformed, Record, Records};

/// How many bytes the records of a batch may become. What a client compresses is about as long as a batch may be
/// (`max.message.bytes`, 1 MiB) and rarely becomes a hundred times as long.
pub const RECORDS_BYTES_MAX: usize = 128 << 20;

/// Why records cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// They cannot be decompressed.
    #[error(transparent)]
    Decompress(#[from] DecompressError),
    /// They are none.
    #[error("malformed records: {0}")]
    Records(&'static str),
}

impl From<Malformed> for Unreadable {
    fn from(malformed: Malformed) -> Self {
        Self::Records(malformed.0)
    }
}

/// The bytes of a batch's records. `buffer` holds them if they were compressed.
///
/// # Errors
/// [`Unreadable::Decompress`].
pub(crate) fn plain_records<'b>(batch: &Batch<'b>, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], Unreadable> {
    let compression = batch.attributes().compression().ok_or(DecompressError::Malformed)?;
    if compression == Compression::None {
        return Ok(batch.records());
    }
    buffer.clear();
    decompress(compression, batch.records(), RECORDS_BYTES_MAX, buffer)?;
    Ok(buffer)
}

/// Every record, in order, whose number must be that of the batch.
///
/// # Errors
/// One is malformed, or there are fewer, or bytes are left.
#[inline]
pub(crate) fn each_record<'b>(
    batch: &Batch<'_>,
    plain: &'b [u8],
    mut each: impl FnMut(&Record<'b>) -> Result<(), Unreadable>,
) -> Result<(), Unreadable> {
    let mut records = Records::new(plain, batch.count());
    let mut count = 0;
    for record in records.by_ref() {
        each(&record?)?;
        count += 1;
    }
    if count != batch.count() || !records.rest().is_empty() {
        return Err(Unreadable::Records("other records than the batch counts"));
    }
    Ok(())
}

/// Gives every record of a batch, in order, and then how many bytes they are without their compression: at most `bytes_max`.
///
/// # Errors
/// They cannot be decompressed, become more bytes, or are malformed. Records before that were given.
pub fn read_records(
    batch: &Batch<'_>,
    bytes_max: usize,
    mut each: impl FnMut(&Record<'_>),
) -> Result<usize, Unreadable> {
    let compression = batch.attributes().compression().ok_or(DecompressError::Malformed)?;
    let mut buffer = Vec::new();
    let plain = if compression == Compression::None {
        batch.records()
    } else {
        decompress(compression, batch.records(), bytes_max, &mut buffer)?;
        &buffer
    };
    each_record(batch, plain, |record| {
        each(record);
        Ok(())
    })?;
    Ok(plain.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assigned, compressed, plain};

    #[test]
    fn records_of_a_compressed_batch_are_those_that_were_put_in() {
        let bytes = plain(7, 500, 3, 40);
        for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
            let bytes = compressed(&bytes, compression);
            let (batch, mut buffer) = (assigned(&bytes), Vec::new());
            let records = plain_records(&batch, &mut buffer).expect("they can be read");
            let mut deltas = Vec::new();
            let read = each_record(&batch, records, |record| {
                deltas.push(record.offset_delta);
                Ok(())
            });
            assert_eq!((read, deltas), (Ok(()), vec![0, 1, 2]));
        }
    }

    #[test]
    fn records_are_given_from_compressed_batches_unless_they_become_too_long() {
        let bytes = plain(7, 500, 3, 40);
        for compression in [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4] {
            let bytes = compressed(&bytes, compression);
            let mut values = Vec::new();
            let read = read_records(&assigned(&bytes), 10_000, |record| {
                values.push(record.value.map(<[u8]>::len));
            });
            assert!(read.is_ok_and(|length| length > 120), "{compression:?}");
            assert_eq!(values, [Some(40); 3]);
            if compression != Compression::None {
                assert!(read_records(&assigned(&bytes), 100, |_| ()).is_err(), "{compression:?}");
            }
        }
    }

    #[test]
    fn records_that_are_fewer_or_more_than_counted_are_refused() {
        let bytes = plain(7, 500, 3, 40);
        let batch = assigned(&bytes);
        let short = &batch.records()[..batch.records().len() / 3];
        assert!(each_record(&batch, short, |_| Ok(())).is_err());
        let long = [batch.records(), &[0]].concat();
        assert!(each_record(&batch, &long, |_| Ok(())).is_err());
    }
}
