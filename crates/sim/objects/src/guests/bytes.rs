//! Methods that take bytes and give bytes: which there are, what they are given, and what the modules make of it.

use base::Random;

/// The command that turns bytes, and counts them.
pub(crate) const XOR: &str = "xor";
/// The query that turns them.
pub(crate) const VIEW: &str = "view";
/// The call that waits, and is woken with bytes.
pub(crate) const YIELD: &str = "yield";
/// All of them.
pub(crate) const OF_BYTES: [&str; 3] = [XOR, VIEW, YIELD];

/// More than a page of memory has no call.
const LENGTH_MAX: u64 = 1_500;

pub(crate) fn is_of_bytes(method: &str) -> bool {
    OF_BYTES.contains(&method)
}

/// Nothing, a text that would be JSON, a text that begins as results of bytes are kept, or no text at all.
pub(crate) fn draw(random: &mut Random) -> Vec<u8> {
    match random.below(8) {
        0 => Vec::new(),
        1 => b"{ \"number\" : 7 }".to_vec(),
        2 => b"=AAAA".to_vec(),
        3 => vec![0; 1 + random.below(5) as usize],
        _ => {
            let length = if random.chance(80) { random.below(20) } else { random.below(LENGTH_MAX) };
            (0..length).map(|_| random.number() as u8).collect()
        }
    }
}

/// What a version of a module makes of bytes.
pub(crate) fn turned(bytes: &[u8], version: u64) -> Vec<u8> {
    bytes.iter().map(|byte| byte ^ version as u8).collect()
}

/// Bytes as a result has them where results are text.
pub(crate) fn kept(bytes: &[u8]) -> String {
    format!("={}", base64(bytes))
}

/// Bytes in base64.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let letter = |bits: &[u8]| {
        let value = bits.iter().fold(0, |value, bit| 2 * value + usize::from(bit - b'0')) << (6 - bits.len());
        char::from(LETTERS[value])
    };
    let mut text: String = bits.as_bytes().chunks(6).map(letter).collect();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}
