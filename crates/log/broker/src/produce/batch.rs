//! What of a client's batch is judged before its partition is asked.

use log_partition::BatchRefused;
use log_wire::{Batch, BatchError, ErrorCode};

/// Bytes up to the length of a batch and the length itself, which the length does not count.
const LENGTH_END: usize = 12;
/// Bytes up to the number of the format and the number itself.
const FORMAT_END: usize = 17;
/// The least length of a batch of any format.
const LENGTH_MIN: i32 = 14;
/// The newest format.
const FORMAT_MAX: u8 = 2;

/// The batch of a client for one partition: exactly one, whole and undamaged. As with Kafka, bytes behind it that are too few
/// for another one are passed over. Whether a client [may send it](Batch::check_from_client) is still to be judged.
///
/// # Errors
/// `CORRUPT_MESSAGE` or `INVALID_RECORD`.
pub(super) fn only_batch(records: Option<&[u8]>) -> Result<Batch<'_>, BatchRefused> {
    let records = records.unwrap_or_default();
    if whole_bytes(records)?.is_none() {
        return Err(ErrorCode::InvalidRecord.into());
    }
    let (batch, rest) = Batch::read(records).map_err(error_of)?;
    if whole_bytes(rest)?.is_some() {
        return Err(ErrorCode::InvalidRecord.into());
    }
    batch.verify().map_err(error_of)?;
    Ok(batch)
}

/// How many bytes the first batch has, of whichever format; nothing if it is not whole.
fn whole_bytes(bytes: &[u8]) -> Result<Option<usize>, BatchRefused> {
    let length = bytes.get(LENGTH_END - 4..LENGTH_END).and_then(|length| length.first_chunk());
    let Some(length) = length.map(|length| i32::from_be_bytes(*length)) else { return Ok(None) };
    if length < LENGTH_MIN {
        let message = Some("a batch is shorter than any can be");
        return Err(BatchRefused { message, ..ErrorCode::CorruptMessage.into() });
    }
    let Some(format) = bytes.get(FORMAT_END - 1) else { return Ok(None) };
    if *format > FORMAT_MAX {
        let message = Some("a batch is of a format that is not known");
        return Err(BatchRefused { message, ..ErrorCode::CorruptMessage.into() });
    }
    let whole = usize::try_from(length).ok().and_then(|length| length.checked_add(LENGTH_END));
    Ok(whole.filter(|whole| *whole <= bytes.len()))
}

pub(super) const fn error_of(error: BatchError) -> ErrorCode {
    match error {
        BatchError::Length | BatchError::Checksum => ErrorCode::CorruptMessage,
        BatchError::Format(_) | BatchError::Invalid(_) => ErrorCode::InvalidRecord,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use log_wire::{Attributes, BatchBuilder, Producer};

    fn batch() -> Vec<u8> {
        let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
        builder.push(1_000, None, Some(b"value"), &[]);
        builder.finish()
    }

    fn error(bytes: &[u8]) -> Option<ErrorCode> {
        only_batch(Some(bytes)).err().map(|refused| refused.error)
    }

    #[test]
    fn batch_that_is_cut_is_no_batch() {
        let whole = batch();
        assert_eq!(only_batch(None).err().map(|refused| refused.error), Some(ErrorCode::InvalidRecord));
        for cut in 0..whole.len() {
            assert_eq!(error(&whole[..cut]), Some(ErrorCode::InvalidRecord), "{cut}");
        }
        assert_eq!(error(&whole), None);
    }

    #[test]
    fn batch_with_an_impossible_length_or_of_an_unknown_format_is_corrupt() {
        let with = |at: usize, byte: u8| {
            let mut bytes = batch();
            bytes[at] = byte;
            error(&bytes)
        };
        assert_eq!(with(8, 0xff), Some(ErrorCode::CorruptMessage), "a negative length");
        assert_eq!(with(11, 13), Some(ErrorCode::CorruptMessage));
        assert_eq!(with(11, 14), Some(ErrorCode::CorruptMessage), "shorter than its header");
        let short = only_batch(Some(&[0; 12])).expect_err("a length of 0");
        assert!(short.error == ErrorCode::CorruptMessage && short.message.is_some());
        assert_eq!(with(16, 3), Some(ErrorCode::CorruptMessage));
        assert_eq!(with(16, 0xff), Some(ErrorCode::CorruptMessage));
        assert_eq!(with(16, 1), Some(ErrorCode::InvalidRecord), "an old format");
        assert_eq!(with(30, 7), Some(ErrorCode::CorruptMessage), "its checksum is wrong");
    }

    #[test]
    fn second_batch_is_refused_and_a_piece_of_one_is_passed_over() {
        let whole = batch();
        assert_eq!(error(&[whole.clone(), whole.clone()].concat()), Some(ErrorCode::InvalidRecord));
        for cut in 0..whole.len() {
            let bytes = [&whole[..], &whole[..cut]].concat();
            assert_eq!(only_batch(Some(&bytes)).map(|batch| batch.bytes().len()), Ok(whole.len()), "{cut}");
        }
    }
}
