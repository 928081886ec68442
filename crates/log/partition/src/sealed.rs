//! The frame of everything that is kept beside the log: a format number, the content, and a CRC-32C over both.
//!
//! Bytes from a disk may be wrong in any way. A frame that does not verify is refused whole, and a number inside a frame that
//! verifies is still checked by the module that reads it.

use log_wire::{Malformed, Reader, Writer};

use crate::Offset;

const CRC_BYTES: usize = 4;

/// Why kept bytes cannot be used. This host is at fault: its disk, or a build that is older than the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The checksum is that of other bytes.
    #[error("kept state does not verify")]
    Checksum,
    /// Another version of the program wrote it.
    #[error("kept state has format {0}, which this build does not know")]
    Format(i16),
    /// It ends early, or contradicts itself.
    #[error("kept state is malformed: {0}")]
    Content(&'static str),
    /// A segment that the state names has no file.
    #[error("the segment that begins at offset {0} is missing")]
    Missing(Offset),
}

impl From<Malformed> for Damage {
    fn from(malformed: Malformed) -> Self {
        Self::Content(malformed.0)
    }
}

/// Frames what `write` appends.
pub(crate) fn seal(format: i16, write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, false);
    writer.i16(format);
    write(&mut writer);
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_be_bytes());
    bytes
}

/// Verifies a frame and reads all of its content.
pub(crate) fn open<'a, T>(
    bytes: &'a [u8],
    format: i16,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, Damage>,
) -> Result<T, Damage> {
    let content = bytes.len().checked_sub(CRC_BYTES).ok_or(Damage::Content("it ends early"))?;
    let (content, crc) = bytes.split_at(content);
    if crc != crc32c::crc32c(content).to_be_bytes() {
        return Err(Damage::Checksum);
    }
    let mut reader = Reader::new(content, false);
    let found = reader.i16()?;
    if found != format {
        return Err(Damage::Format(found));
    }
    let value = read(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// `Ok` if `holds`.
pub(crate) fn check(holds: bool, what: &'static str) -> Result<(), Damage> {
    if holds { Ok(()) } else { Err(Damage::Content(what)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<i64, Damage> {
        open(bytes, 3, |reader| Ok(reader.i64()?))
    }

    #[test]
    fn sealed_bytes_come_back_and_every_flipped_bit_is_refused() {
        let sealed = seal(3, |writer| {
            writer.i64(77);
        });
        assert_eq!(read(&sealed), Ok(77));
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&flipped).is_err(), "bit {bit}");
        }
        assert!((0..sealed.len()).all(|cut| read(&sealed[..cut]).is_err()));
    }

    #[test]
    fn sealed_bytes_of_another_format_or_length_are_refused() {
        let other = seal(4, |writer| {
            writer.i64(77);
        });
        assert_eq!(read(&other), Err(Damage::Format(4)));
        let longer = seal(3, |writer| {
            writer.i64(77).i8(0);
        });
        assert!(matches!(read(&longer), Err(Damage::Content(_))));
    }
}
