//! What all calls between brokers have in common: a byte for what is asked, and how a message is written behind it.

use log_wire::messages::Field;
use log_wire::{ErrorCode, Malformed, Reader, Writer};

pub(super) const VERIFY: u8 = 1;
pub(super) const MARKER: u8 = 2;
pub(super) const PROBE: u8 = 3;
pub(super) const SHARE_STATE: u8 = 4;
pub(super) const SHARE_GROUPS: u8 = 5;
pub(super) const APPEND: u8 = 6;
pub(super) const LOADS: u8 = 7;
pub(super) const MOVES: u8 = 8;
pub(super) const ENDS: u8 = 9;
/// The only version.
const VERSION: i16 = 0;

pub(super) fn error_of(code: i16) -> ErrorCode {
    ErrorCode::of(code).unwrap_or(ErrorCode::UnknownServerError)
}

pub(super) fn read<T: Field>(bytes: &[u8]) -> Result<T, Malformed> {
    let mut reader = Reader::new(bytes, true);
    let message = T::read(&mut reader, VERSION)?;
    reader.end()?;
    Ok(message)
}

pub(super) fn written_behind(head: &[u8], message: &impl Field) -> Vec<u8> {
    let mut out = head.to_vec();
    message.write(&mut Writer::new(&mut out, true), VERSION);
    out
}
