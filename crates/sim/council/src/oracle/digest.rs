//! The id that `user:password` stands for under ZooKeeper's scheme `digest`, computed apart from `front`: SHA-1
//! (FIPS 180-4) in Base64 (RFC 4648).

/// See the module.
#[must_use]
pub fn id_of(credentials: &str) -> String {
    let user = credentials.split(':').next().unwrap_or_default();
    format!("{user}:{}", base64(&sha1(credentials.as_bytes())))
}

fn sha1(message: &[u8]) -> [u8; 20] {
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend_from_slice(&(message.len() as u64 * 8).to_be_bytes());
    for block in padded.as_chunks::<64>().0 {
        let mut words: Vec<u32> =
            block.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
        for at in 16..80 {
            let mixed: u32 = words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16];
            words.push(mixed.rotate_left(1));
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (at, word) in words.into_iter().enumerate() {
            let (chosen, constant) = match at / 20 {
                0 => ((b & c) | (!b & d), 0x5a82_7999),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let next = [chosen, e, constant, word].into_iter().fold(a.rotate_left(5), u32::wrapping_add);
            (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
        }
        for (kept, added) in state.iter_mut().zip([a, b, c, d, e]) {
            *kept = kept.wrapping_add(added);
        }
    }
    let mut digest = [0; 20];
    digest.iter_mut().zip(state.iter().flat_map(|word| word.to_be_bytes())).for_each(|(to, from)| *to = from);
    digest
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, at| bits << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at)) as usize % 64];
            text.push(if at <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_the_one_that_zookeeper_documents() {
        assert_eq!(id_of("super:test"), "super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
        assert_eq!(id_of(""), ":2jmj7l5rSw0yVb/vlWAYkK/YBwk=");
    }

    #[test]
    fn sha1_pads_messages_of_every_length() {
        let hex = |bytes: &[u8]| sha1(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        let long = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(hex(long), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    }
}
