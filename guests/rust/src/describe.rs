//! The description of a type, put together while it is compiled: the custom section `diwan.type` is a constant.

/// Bytes of [`joined`].
#[must_use]
pub const fn length(parts: &[&str]) -> usize {
    let (mut length, mut last) = (0, 0);
    let mut part = 0;
    while part < parts.len() {
        let bytes = parts[part].as_bytes();
        let mut index = 0;
        while index < bytes.len() {
            length += if bytes[index] == b'}' && last == b',' { 0 } else { 1 };
            last = bytes[index];
            index += 1;
        }
        part += 1;
    }
    length
}

/// The parts, one behind the other, without the comma that may stand before a closing brace.
#[must_use]
pub const fn joined<const LENGTH: usize>(parts: &[&str]) -> [u8; LENGTH] {
    let mut text = [0; LENGTH];
    let mut at = 0;
    let mut part = 0;
    while part < parts.len() {
        let bytes = parts[part].as_bytes();
        let mut index = 0;
        while index < bytes.len() {
            if bytes[index] == b'}' && at > 0 && text[at - 1] == b',' {
                at -= 1;
            }
            text[at] = bytes[index];
            at += 1;
            index += 1;
        }
        part += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{joined, length};

    #[test]
    fn a_comma_before_a_brace_is_left_out() {
        const PARTS: &[&str] = &["{\"a\":{", "\"b\":{},", "\"c\":1,", "}}"];
        const TEXT: [u8; length(PARTS)] = joined(PARTS);
        assert_eq!(std::str::from_utf8(&TEXT), Ok("{\"a\":{\"b\":{},\"c\":1}}"));
    }
}
