//! Snappy, in two forms: blocks behind a header, as Java's library writes them, and one bare block, as some clients do.
//!
//! ```text
//! 0x82 "SNAPPY" 0 | version i32 | least version i32 | (length i32 | block)*
//! ```
//! Streams that follow each other are read as one.

use crate::DecompressError;

const MAGIC: &[u8; 8] = b"\x82SNAPPY\0";
/// The magic, and two versions.
const HEADER_BYTES: usize = 16;
const VERSION: i32 = 1;
/// How many bytes become one block: as many as Java's library takes.
const BLOCK_BYTES: usize = 32 << 10;

pub(crate) fn decompress(bytes: &[u8], bytes_max: usize, out: &mut Vec<u8>) -> Result<(), DecompressError> {
    let begin = out.len();
    if !bytes.starts_with(MAGIC) {
        return block(bytes, bytes_max, out);
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        if rest.starts_with(MAGIC) {
            rest = rest.get(HEADER_BYTES..).ok_or(DecompressError::Malformed)?;
            continue;
        }
        let (length, behind) = rest.split_first_chunk().ok_or(DecompressError::Malformed)?;
        let length = usize::try_from(i32::from_be_bytes(*length)).map_err(|_| DecompressError::Malformed)?;
        let (compressed, behind) = behind.split_at_checked(length).ok_or(DecompressError::Malformed)?;
        let left = bytes_max.saturating_sub(out.len() - begin);
        block(compressed, left, out).map_err(|error| match error {
            DecompressError::TooLarge(_) => DecompressError::TooLarge(bytes_max),
            DecompressError::Malformed => error,
        })?;
        rest = behind;
    }
    Ok(())
}

/// The most that a byte of a block can become. A block that says more lies.
const RATIO_MAX: usize = 64;

fn block(bytes: &[u8], bytes_max: usize, out: &mut Vec<u8>) -> Result<(), DecompressError> {
    let length = snap::raw::decompress_len(bytes).map_err(|_| DecompressError::Malformed)?;
    if length > bytes_max {
        return Err(DecompressError::TooLarge(bytes_max));
    }
    if length > bytes.len().saturating_mul(RATIO_MAX) {
        return Err(DecompressError::Malformed);
    }
    let begin = out.len();
    out.resize(begin + length, 0);
    let place = out.get_mut(begin..).unwrap_or_default();
    let written = snap::raw::Decoder::new().decompress(bytes, place);
    if written.is_ok_and(|written| written == length) { Ok(()) } else { Err(DecompressError::Malformed) }
}

pub(crate) fn compress(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_be_bytes());
    out.extend_from_slice(&VERSION.to_be_bytes());
    let mut encoder = snap::raw::Encoder::new();
    for piece in bytes.chunks(BLOCK_BYTES) {
        let start = out.len();
        out.resize(start + 4 + snap::raw::max_compress_len(piece.len()), 0);
        let place = out.get_mut(start + 4..).unwrap_or_default();
        // The place is as large as a block can become.
        let length = encoder.compress(piece, place).unwrap_or(0);
        out.truncate(start + 4 + length);
        if let Some(place) = out.get_mut(start..start + 4) {
            place.copy_from_slice(&(length as i32).to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_block_and_streams_that_follow_each_other_are_read() {
        let bare = snap::raw::Encoder::new().compress_vec(b"records").expect("it is small");
        let mut out = Vec::new();
        assert_eq!((decompress(&bare, 100, &mut out), &out[..]), (Ok(()), &b"records"[..]));
        let mut twice = Vec::new();
        compress(b"rec", &mut twice);
        compress(b"ords", &mut twice);
        out.clear();
        assert_eq!((decompress(&twice, 100, &mut out), &out[..]), (Ok(()), &b"records"[..]));
    }

    #[test]
    fn block_that_says_that_it_is_large_takes_no_memory() {
        // A length of 2^30 before nothing.
        let lying = [0x80, 0x80, 0x80, 0x80, 4, 0];
        let mut out = Vec::new();
        assert_eq!(decompress(&lying, usize::MAX, &mut out), Err(DecompressError::Malformed));
        assert_eq!(out.capacity(), 0);
    }
}
