//! How the records of a batch are compressed: gzip, snappy, lz4 and zstd, in the forms that Kafka's clients write and read.
//!
//! A broker decompresses only where it must: to compact a log, to find a timestamp, to judge a topic's rules. What it
//! decompresses came from a client and may be made to become very large: every call has a limit, and memory grows only as
//! bytes really come out.
//!
//! # Not done, and what that costs
//! - The levels of lz4 are taken and change nothing: its encoder here has one, which is as fast as Kafka's default, and
//!   compresses as well.
//! - Decompressing a batch of zstd that was made for a window of 128 MiB takes that much memory meanwhile, as in Kafka's
//!   clients.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod snappy;
mod stream;

use log_wire::Compression;

/// Why compressed bytes cannot be used. The client that sent them is at fault, or a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecompressError {
    /// They are not what their codec writes.
    #[error("records that cannot be decompressed")]
    Malformed,
    /// They become more bytes than permitted.
    #[error("records that become more than {0} bytes")]
    TooLarge(usize),
}

/// Appends what `bytes` become to `out`, at most `bytes_max`.
///
/// # Errors
/// [`DecompressError`]; what was appended until then means nothing.
pub fn decompress(
    compression: Compression,
    bytes: &[u8],
    bytes_max: usize,
    out: &mut Vec<u8>,
) -> Result<(), DecompressError> {
    match compression {
        Compression::None if bytes.len() > bytes_max => Err(DecompressError::TooLarge(bytes_max)),
        Compression::None => {
            out.extend_from_slice(bytes);
            Ok(())
        }
        Compression::Gzip => stream::read(flate2::read::MultiGzDecoder::new(bytes), bytes_max, out),
        Compression::Snappy => snappy::decompress(bytes, bytes_max, out),
        Compression::Lz4 => stream::read(lz4_flex::frame::FrameDecoder::new(bytes), bytes_max, out),
        Compression::Zstd => stream::read_zstd(bytes, bytes_max, out),
    }
}

/// Appends the compressed form of `bytes` to `out`. Without a level it is Kafka's default; levels beyond those of the codec are
/// the nearest that it has.
pub fn compress(compression: Compression, level: Option<i32>, bytes: &[u8], out: &mut Vec<u8>) {
    match compression {
        Compression::None => out.extend_from_slice(bytes),
        Compression::Gzip => stream::write_gzip(bytes, level, out),
        Compression::Snappy => snappy::compress(bytes, out),
        Compression::Lz4 => stream::write_lz4(bytes, out),
        Compression::Zstd => stream::write_zstd(bytes, level, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Compression; 5] =
        [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

    /// Bytes that are neither all alike nor without any order.
    fn sample(length: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut byte = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 60) as u8
        };
        (0..length).map(|at| if at % 100 < 40 { b'x' } else { byte() }).collect()
    }

    fn there_and_back(compression: Compression, level: Option<i32>, bytes: &[u8]) {
        let (mut compressed, mut back) = (Vec::new(), b"before".to_vec());
        compress(compression, level, bytes, &mut compressed);
        assert_eq!(decompress(compression, &compressed, bytes.len(), &mut back), Ok(()), "{compression:?}");
        assert!(back.strip_prefix(b"before") == Some(bytes), "{compression:?} of {} bytes", bytes.len());
        let is_default = level.is_none() && compression != Compression::None;
        assert!(!is_default || bytes.len() < 1_000 || compressed.len() < bytes.len(), "{compression:?}");
    }

    #[test]
    fn bytes_come_back_from_every_codec() {
        for length in [0, 1, 100, 32 << 10, (32 << 10) + 1, 300_000] {
            for compression in ALL {
                there_and_back(compression, None, &sample(length));
            }
        }
    }

    #[test]
    fn every_level_is_taken() {
        for level in [i32::MIN, -131_072, -1, 0, 1, 9, 17, 22, 100, i32::MAX] {
            for compression in ALL {
                there_and_back(compression, Some(level), &sample(5_000));
            }
        }
        let length = |level| {
            let mut out = Vec::new();
            compress(Compression::Zstd, Some(level), &sample(200_000), &mut out);
            out.len()
        };
        assert!(length(19) < length(-50), "a higher level compresses more");
    }

    #[test]
    fn bytes_that_become_too_many_are_refused_without_the_memory_for_them() {
        for compression in &ALL[1..] {
            let mut bomb = Vec::new();
            compress(*compression, None, &vec![0; 64 << 20], &mut bomb);
            let mut out = Vec::new();
            let refused = decompress(*compression, &bomb, 1 << 20, &mut out);
            assert_eq!(refused, Err(DecompressError::TooLarge(1 << 20)), "{compression:?}");
            assert!(out.capacity() <= 4 << 20, "{compression:?} took {} bytes", out.capacity());
        }
        let refused = decompress(Compression::None, &[0; 5], 4, &mut Vec::new());
        assert_eq!(refused, Err(DecompressError::TooLarge(4)));
    }

    #[test]
    fn bytes_that_are_cut_or_changed_never_panic_and_are_bounded() {
        for compression in &ALL[1..] {
            let mut compressed = Vec::new();
            compress(*compression, None, &sample(2_000), &mut compressed);
            for cut in 0..compressed.len() {
                let mut out = Vec::new();
                let cut_off = decompress(*compression, &compressed[..cut], 4_000, &mut out);
                let is_beginning = sample(2_000).starts_with(&out);
                assert!(cut_off.is_err() || is_beginning, "{compression:?} cut at {cut}");
            }
            for bit in 0..compressed.len() * 8 {
                let mut flipped = compressed.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let mut out = Vec::new();
                let _ = decompress(*compression, &flipped, 4_000, &mut out);
                assert!(out.len() <= 4_000);
            }
        }
    }
}
