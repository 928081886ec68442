//! The bytes of calls that append records where another broker leads their partition.

use log_wire::messages::Blob;
use log_wire::messages::peers::{AppendAnswer, AppendCall};
use log_wire::{ErrorCode, Malformed};

use super::form::{APPEND, error_of, read, written_behind};

/// A batch that is to be appended to a partition, and committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Append {
    pub(crate) topic: [u8; 16],
    pub(crate) index: i32,
    pub(crate) batch: Vec<u8>,
}

/// The bytes of a batch for another broker's partition.
pub(crate) fn append(append: Append) -> Vec<u8> {
    let call = AppendCall { topic_id: append.topic, index: append.index, batch: Blob(append.batch) };
    written_behind(&[APPEND], &call)
}

pub(super) fn read_append(body: &[u8]) -> Result<Append, Malformed> {
    let AppendCall { topic_id, index, batch } = read(body)?;
    Ok(Append { topic: topic_id, index, batch: batch.0 })
}

/// The bytes of what became of such a batch.
pub(crate) fn appended(error: ErrorCode) -> Vec<u8> {
    written_behind(&[], &AppendAnswer { error_code: error.code() })
}

/// What became of such a batch.
///
/// # Errors
/// No broker answers that.
pub(crate) fn read_appended(bytes: &[u8]) -> Result<ErrorCode, Malformed> {
    let AppendAnswer { error_code } = read(bytes)?;
    Ok(error_of(error_code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_come_back_and_no_part_of_them_is_one() {
        let sent = Append { topic: [7; 16], index: 3, batch: vec![1, 2, 3] };
        let bytes = append(sent.clone());
        assert_eq!(read_append(&bytes[1..]), Ok(sent));
        assert!((1..bytes.len()).all(|cut| read_append(&bytes[1..cut]).is_err()));
        assert_eq!(read_appended(&appended(ErrorCode::MessageTooLarge)), Ok(ErrorCode::MessageTooLarge));
    }
}
