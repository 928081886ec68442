//! Names of nodes from any text: of a group, of a user. A node of the council may not have every character in its name, so all
//! but letters, digits, `.`, `_` and `-` are written as `%` and two hexadecimal digits for each byte.

use core::fmt::Write as _;

/// The name of the node of that text. It is at most three times as long; an empty text has the name `%`.
#[must_use]
pub fn write(text: &str) -> String {
    // These three are no names of nodes.
    let is_whole = matches!(text, "" | "." | "..");
    let mut name = String::with_capacity(text.len());
    if text.is_empty() {
        name.push('%');
    }
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || (matches!(byte, b'.' | b'_' | b'-') && !is_whole) {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02X}");
        }
    }
    name
}

/// The text of the node of that name; nothing if it is none that [`write()`] gives.
#[must_use]
pub fn read(name: &str) -> Option<String> {
    if name == "%" {
        return Some(String::new());
    }
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, behind) = rest.split_first_chunk::<2>()?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = behind;
    }
    let text = String::from_utf8(bytes).ok()?;
    (write(&text) == name).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_has_a_name_that_a_node_may_have() {
        let texts = ["", ".", "..", "...", "a", "A-b_c.9", "a/b", "%41", "ü", "\u{0}", "\u{ffff}", " "];
        for text in texts {
            let name = write(text);
            assert_eq!(read(&name).as_deref(), Some(text), "{text:?}");
            assert!(name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/'), "{name}");
            assert!(!matches!(name.as_str(), "" | "." | ".."));
        }
        assert_eq!(write("a b"), "a%20b");
    }

    #[test]
    fn name_that_stands_for_no_text_is_none() {
        for name in ["%4", "%zz", "%ff", "a b", "%41", "ü", "%2e", "%+1"] {
            assert_eq!(read(name), None, "{name}");
        }
    }
}
