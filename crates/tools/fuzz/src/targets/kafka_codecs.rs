//! Compressed records of any bytes: what they become is bounded, whatever they say of themselves.

use log_compression::{DecompressError, compress, decompress};
use log_wire::Compression;

/// As much as a consumer or a compaction would take.
const BYTES_MAX: usize = 1 << 20;
const ALL: [Compression; 4] = [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

/// The first byte chooses the codec.
pub(crate) fn run(bytes: &[u8]) {
    let Some((codec, rest)) = bytes.split_first() else { return };
    let codec = ALL[usize::from(*codec) % ALL.len()];
    let mut out = b"before".to_vec();
    let done = decompress(codec, rest, BYTES_MAX, &mut out);
    assert!(out.len() <= BYTES_MAX + 6, "{codec:?} gave {} bytes", out.len());
    if done != Ok(()) {
        return;
    }
    let content = &out[6..];
    let (mut again, mut back) = (Vec::new(), Vec::new());
    compress(codec, None, content, &mut again);
    assert_eq!(decompress(codec, &again, BYTES_MAX, &mut back), Ok(()));
    assert!(back == content, "what was compressed again became something else");
    if let Some(less) = content.len().checked_sub(1) {
        let refused = decompress(codec, rest, less, &mut Vec::new());
        assert_eq!(refused, Err(DecompressError::TooLarge(less)), "{codec:?} goes over its limit");
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let contents = [Vec::new(), b"records of a batch".repeat(20), vec![0; BYTES_MAX], vec![7; 8 * BYTES_MAX]];
    let mut seeds = Vec::new();
    for (number, codec) in (0u8..).zip(ALL) {
        for content in &contents {
            let mut seed = vec![number];
            compress(codec, None, content, &mut seed);
            seeds.push(seed);
        }
    }
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bombs_among_the_seeds_are_refused() {
        let is_bomb = |seed: &Vec<u8>| {
            let codec = ALL[usize::from(seed[0])];
            decompress(codec, &seed[1..], BYTES_MAX, &mut Vec::new())
                == Err(DecompressError::TooLarge(BYTES_MAX))
        };
        assert_eq!(seeds().iter().filter(|seed| is_bomb(seed)).count(), ALL.len());
    }
}
