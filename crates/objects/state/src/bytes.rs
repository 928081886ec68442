//! Results that are bytes, where results are text: in base64 behind a sign with which no JSON begins. So replies, tickets and
//! what members tell each other are of one form.

use crate::reply::quoted;

/// What stands before the bytes.
const SIGN: char = '=';
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes as a result.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(1 + bytes.len().div_ceil(3) * 4);
    text.push(SIGN);
    for piece in bytes.chunks(3) {
        let at = |index: usize| u32::from(piece.get(index).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4_usize {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= piece.len() { char::from(letter) } else { SIGN });
        }
    }
    text
}

/// The bytes that a result is; nothing if it is JSON.
#[must_use]
pub fn bytes_of(result: &str) -> Option<Vec<u8>> {
    let text = result.strip_prefix(SIGN)?.as_bytes();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for piece in text.chunks(4) {
        let mut word = 0;
        let letters = piece.iter().take_while(|letter| **letter != SIGN as u8).count();
        for place in 0..4 {
            let letter = piece.get(place).filter(|_| place < letters);
            let value = letter.map(|letter| LETTERS.iter().position(|known| known == letter));
            word = word << 6 | value.unwrap_or(Some(0))? as u32;
        }
        bytes.extend(word.to_be_bytes().into_iter().skip(1).take(letters.saturating_sub(1)));
    }
    Some(bytes)
}

/// A result within JSON: as it is, or its base64 as a text.
pub(crate) fn as_json(result: &str) -> String {
    result.strip_prefix(SIGN).map_or_else(|| String::from(result), quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were_and_json_is_none() {
        for (bytes, text) in [
            (&b""[..], "="),
            (b"f", "=Zg=="),
            (b"fo", "=Zm8="),
            (b"foo", "=Zm9v"),
            (b"\xff\xfe\x00\x80", "=//4AgA=="),
        ] {
            assert_eq!(shown(bytes), text);
            assert_eq!(bytes_of(text).as_deref(), Some(bytes));
        }
        let all: Vec<u8> = (0..=255).cycle().take(1_000).collect();
        assert_eq!(bytes_of(&shown(&all)), Some(all));
        assert_eq!(bytes_of("{}"), None);
        assert_eq!(bytes_of("=!!!!"), None);
        assert_eq!((as_json("{}"), as_json("=Zg==")), ("{}".into(), "\"Zg==\"".into()));
    }
}
