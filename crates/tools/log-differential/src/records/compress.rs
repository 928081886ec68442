//! The compressed forms of bytes that are kept as they are: each valid for its format, none smaller. A broker decompresses
//! them as any other; no compressor is needed to make them.

/// Bits 0 to 2 of a batch's attributes, and the compressed records.
pub(super) fn compress(name: &str, plain: &[u8]) -> Result<(i16, Vec<u8>), String> {
    Ok(match name {
        "none" => (0, plain.to_vec()),
        "gzip" => (1, gzip(plain)),
        "snappy" => (2, snappy(plain)),
        "lz4" => (3, lz4(plain)),
        "zstd" => (4, zstd(plain)),
        _ => return Err(format!("no compression `{name}`")),
    })
}

/// RFC 1952, with stored blocks of RFC 1951.
fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut blocks = plain.chunks(usize::from(u16::MAX)).peekable();
    if plain.is_empty() {
        out.extend([1, 0, 0, 255, 255]);
    }
    while let Some(block) = blocks.next() {
        out.push(u8::from(blocks.peek().is_none()));
        let length = block.len() as u16;
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    out.extend(crc32(plain).to_le_bytes());
    out.extend((plain.len() as u32).to_le_bytes());
    out
}

/// The framing of `snappy-java`, which Java producers use: a header, then blocks with their lengths.
fn snappy(plain: &[u8]) -> Vec<u8> {
    let mut out = b"\x82SNAPPY\0".to_vec();
    out.extend(1u32.to_be_bytes());
    out.extend(1u32.to_be_bytes());
    for chunk in plain.chunks(32 << 10) {
        let mut block = varint(chunk.len());
        // Literals of at most 60 bytes: their length lies in the tag.
        for literal in chunk.chunks(60) {
            block.push((literal.len() as u8 - 1) << 2);
            block.extend(literal);
        }
        out.extend((block.len() as u32).to_be_bytes());
        out.extend(block);
    }
    out
}

/// The LZ4 frame format: independent blocks of at most 64 KiB, none compressed, without checksums but the header's.
fn lz4(plain: &[u8]) -> Vec<u8> {
    const DESCRIPTOR: [u8; 2] = [0b0110_0000, 4 << 4];
    let mut out = vec![0x04, 0x22, 0x4d, 0x18];
    out.extend(DESCRIPTOR);
    out.push((xxh32_of_two(DESCRIPTOR) >> 8) as u8);
    for block in plain.chunks(64 << 10) {
        out.extend((block.len() as u32 | 1 << 31).to_le_bytes());
        out.extend(block);
    }
    out.extend(0u32.to_le_bytes());
    out
}

/// RFC 8878: one frame of raw blocks, with a window instead of the content's size.
fn zstd(plain: &[u8]) -> Vec<u8> {
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
    let mut blocks = plain.chunks(64 << 10).peekable();
    if plain.is_empty() {
        out.extend([1, 0, 0]);
    }
    while let Some(block) = blocks.next() {
        let header = (block.len() as u32) << 3 | u32::from(blocks.peek().is_none());
        out.extend(&header.to_le_bytes()[..3]);
        out.extend(block);
    }
    out
}

fn varint(mut value: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// The CRC of gzip: polynomial 0xedb88320, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    })
}

/// The hash that LZ4 uses (XXH32 with seed 0) of two bytes: so short an input only meets its last steps.
fn xxh32_of_two(bytes: [u8; 2]) -> u32 {
    const PRIMES: [u32; 5] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1];
    let mut hash = PRIMES[4].wrapping_add(bytes.len() as u32);
    for byte in bytes {
        hash = hash.wrapping_add(u32::from(byte).wrapping_mul(PRIMES[4]));
        hash = hash.rotate_left(11).wrapping_mul(PRIMES[0]);
    }
    hash = (hash ^ (hash >> 15)).wrapping_mul(PRIMES[1]);
    hash = (hash ^ (hash >> 13)).wrapping_mul(PRIMES[2]);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_formats() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926, "the check value of CRC-32");
        // The header of every frame that `lz4 -B4 --no-frame-crc` writes begins so.
        assert_eq!((xxh32_of_two([0x60, 0x40]) >> 8) as u8, 0x82);
    }

    #[test]
    fn every_form_holds_the_bytes_and_ends_a_long_input_in_blocks() {
        let long = vec![7; 200_000];
        for name in ["none", "gzip", "snappy", "lz4", "zstd"] {
            let (_, out) = compress(name, &long).expect("it is known");
            assert!(out.len() >= long.len(), "{name}");
            assert!(compress(name, &[]).is_ok());
        }
        assert!(compress("lzma", &[]).is_err());
    }
}
