//! The codecs that are streams: gzip, lz4 frames, zstd.

use std::io::{Read, Write};

use crate::DecompressError;

/// Kafka's default levels.
const ZSTD_LEVEL: i32 = 3;
/// How much memory a decoder of zstd may be asked for: two to the power of this. Kafka's clients write no more, at any level.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// Appends all that a decoder gives, at most `bytes_max`.
pub(crate) fn read(
    mut decoder: impl Read,
    bytes_max: usize,
    out: &mut Vec<u8>,
) -> Result<(), DecompressError> {
    let begin = out.len();
    let mut piece = [0; 16 << 10];
    loop {
        let read = decoder.read(&mut piece).map_err(|_| DecompressError::Malformed)?;
        if read == 0 {
            return Ok(());
        }
        if out.len() - begin + read > bytes_max {
            return Err(DecompressError::TooLarge(bytes_max));
        }
        out.extend_from_slice(piece.get(..read).unwrap_or_default());
    }
}

pub(crate) fn read_zstd(bytes: &[u8], bytes_max: usize, out: &mut Vec<u8>) -> Result<(), DecompressError> {
    let malformed = |_| DecompressError::Malformed;
    let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes).map_err(malformed)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(malformed)?;
    read(decoder, bytes_max, out)
}

pub(crate) fn write_gzip(bytes: &[u8], level: Option<i32>, out: &mut Vec<u8>) {
    let level = match level {
        None | Some(-1) => flate2::Compression::default(),
        Some(level) => flate2::Compression::new(level.clamp(1, 9).unsigned_abs()),
    };
    let mut encoder = flate2::write::GzEncoder::new(out, level);
    // A vector takes everything.
    let _ = encoder.write_all(bytes).and_then(|()| encoder.try_finish());
}

/// Blocks that do not refer to each other, as Kafka's clients insist on.
pub(crate) fn write_lz4(bytes: &[u8], out: &mut Vec<u8>) {
    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    let info = FrameInfo::new().block_mode(BlockMode::Independent).block_size(BlockSize::Max64KB);
    let mut encoder = FrameEncoder::with_frame_info(info, out);
    // A vector takes everything.
    let _ = encoder.write_all(bytes);
    let _ = encoder.finish();
}

pub(crate) fn write_zstd(bytes: &[u8], level: Option<i32>, out: &mut Vec<u8>) {
    let range = zstd::compression_level_range();
    let level = level.unwrap_or(ZSTD_LEVEL).clamp(*range.start(), *range.end());
    // It fails only where memory does: a vector takes everything.
    let _ = zstd::stream::copy_encode(bytes, out, level);
}
