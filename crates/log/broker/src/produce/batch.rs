//! What of a client's batch is judged before its partition is asked.

use log_wire::{Batch, BatchError, ErrorCode};

/// The batch of a client for one partition: exactly one, whole and undamaged.
///
/// # Errors
/// `CORRUPT_MESSAGE` or `INVALID_RECORD`.
pub(super) fn only_batch(records: Option<&[u8]>) -> Result<Batch<'_>, ErrorCode> {
    let records = records.filter(|records| !records.is_empty()).ok_or(ErrorCode::InvalidRecord)?;
    let (batch, rest) = Batch::read(records).map_err(error_of)?;
    if !rest.is_empty() {
        return Err(ErrorCode::InvalidRecord);
    }
    batch.verify().map_err(error_of)?;
    batch.check_from_client().map_err(error_of)?;
    Ok(batch)
}

const fn error_of(error: BatchError) -> ErrorCode {
    match error {
        BatchError::Length | BatchError::Checksum => ErrorCode::CorruptMessage,
        BatchError::Format(_) | BatchError::Invalid(_) => ErrorCode::InvalidRecord,
    }
}
