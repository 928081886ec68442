//! The format of `server.properties`: that of Java's `Properties`. It knows no key.
//!
//! ```text
//! # a comment, as is a line that begins with !
//! key = value, to the end of the line, space at its end included
//! key : value
//! key value
//! key = a value that \
//!       goes on in the next line
//! k\ e\=y = a\tb\u00e4
//! ```
//! Bytes are read as ISO 8859-1, as Kafka reads them; `\uXXXX` writes any other character.

/// A file is at most this long, in bytes.
pub const PROPERTIES_BYTES_MAX: usize = 1 << 20;

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The key.
    pub key: String,
    /// The value; empty if there is none.
    pub value: String,
    /// The line in which the key begins, counted from 1.
    pub line: usize,
}

/// Why a text is not of this format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadProperties {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: &'static str,
}

/// Reads a file: its keys in their order. A key may be there twice; then the last one counts.
///
/// # Errors
/// The file is too long, or an escape of a character is none.
pub fn read(bytes: &[u8]) -> Result<Vec<Property>, BadProperties> {
    if bytes.len() > PROPERTIES_BYTES_MAX {
        return Err(BadProperties { line: 1, what: "the file is longer than 1 MiB" });
    }
    let mut properties = Vec::new();
    let mut lines = Lines { rest: bytes, number: 0 };
    while let Some((line, number)) = lines.next_logical() {
        let (key, value) = split(&line);
        let text = |part: &[u8]| unescape(part).map_err(|what| BadProperties { line: number, what });
        properties.push(Property { key: text(key)?, value: text(value)?, line: number });
    }
    Ok(properties)
}

/// Natural lines, which end with `\n`, `\r`, or both.
struct Lines<'b> {
    rest: &'b [u8],
    number: usize,
}

impl<'b> Lines<'b> {
    /// The next line without the space before it.
    fn next_natural(&mut self) -> Option<&'b [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let end = self.rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let (line, ended) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = match ended {
            [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
            [] => ended,
        };
        Some(trim_start(line))
    }

    /// The next key and value, with all lines that it goes on in, and the number of its first line.
    fn next_logical(&mut self) -> Option<(Vec<u8>, usize)> {
        loop {
            let first = self.next_natural()?;
            let number = self.number;
            if matches!(first, [] | [b'#' | b'!', ..]) {
                continue;
            }
            let mut line = first.to_vec();
            while goes_on(&line) {
                line.pop();
                // For Java, a line of nothing but a backslash is an empty line: a comment may follow.
                let next = if line.is_empty() { None } else { self.next_natural() };
                let Some(next) = next else { break };
                line.extend_from_slice(next);
            }
            if !line.is_empty() {
                return Some((line, number));
            }
        }
    }
}

/// Whether the line ends with a backslash that is not escaped itself.
fn goes_on(line: &[u8]) -> bool {
    line.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\x0c')
}

fn trim_start(line: &[u8]) -> &[u8] {
    let start = line.iter().position(|byte| !is_space(*byte)).unwrap_or(line.len());
    line.get(start..).unwrap_or_default()
}

/// The key and the value, both as they are written: the key ends before space, `=` or `:`.
fn split(line: &[u8]) -> (&[u8], &[u8]) {
    let mut is_escaped = false;
    let end = line.iter().position(|byte| {
        let ends = !is_escaped && (is_space(*byte) || matches!(byte, b'=' | b':'));
        is_escaped = !is_escaped && *byte == b'\\';
        ends
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    let value = match trim_start(rest) {
        [b'=' | b':', value @ ..] => trim_start(value),
        value => value,
    };
    (key, value)
}

fn unescape(text: &[u8]) -> Result<String, &'static str> {
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'\\' {
            units.push(u16::from(*first));
            continue;
        }
        let [escaped, behind @ ..] = rest else { break };
        rest = behind;
        let unit = match escaped {
            b't' => 0x09,
            b'n' => 0x0a,
            b'f' => 0x0c,
            b'r' => 0x0d,
            b'u' => {
                let (unit, behind) = hexadecimal(rest)?;
                rest = behind;
                unit
            }
            other => u16::from(*other),
        };
        units.push(unit);
    }
    String::from_utf16(&units).map_err(|_| "a `\\u` escape is one half of a character")
}

/// Four hexadecimal digits.
fn hexadecimal(text: &[u8]) -> Result<(u16, &[u8]), &'static str> {
    const WRONG: &str = "four hexadecimal digits have to follow `\\u`";
    let (digits, rest) = text.split_first_chunk::<4>().ok_or(WRONG)?;
    let digit = |digit: &u8| char::from(*digit).to_digit(16);
    let unit = digits.iter().try_fold(0, |unit, next| Some(unit * 16 + digit(next)?)).ok_or(WRONG)?;
    Ok((u16::try_from(unit).map_err(|_| WRONG)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        let read = read(text.as_bytes()).expect("it is of the format");
        read.into_iter().map(|property| (property.key, property.value)).collect()
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.into(), value.into())
    }

    #[test]
    fn keys_end_at_space_equals_sign_or_colon() {
        for text in ["a=b", "a:b", "a b", "  a = b", "a\t:\tb", "a   b", "a\x0c=b"] {
            assert_eq!(pairs(text), [pair("a", "b")], "{text:?}");
        }
        assert_eq!(pairs("a==b"), [pair("a", "=b")]);
        assert_eq!(pairs("a = : b "), [pair("a", ": b ")]);
        assert_eq!(pairs("a"), [pair("a", "")]);
        assert_eq!(pairs("=b"), [pair("", "b")]);
        assert_eq!(pairs("listeners=PLAINTEXT://:9092"), [pair("listeners", "PLAINTEXT://:9092")]);
    }

    #[test]
    fn comments_and_empty_lines_are_passed_over() {
        assert_eq!(
            pairs("# a=b\n\n  ! c=d\\\ne=f # not a comment\r\n\r\n"),
            [pair("e", "f # not a comment")]
        );
    }

    #[test]
    fn lines_go_on_behind_a_backslash() {
        assert_eq!(pairs("a=b,\\\n   c,\\\r\n\td"), [pair("a", "b,c,d")]);
        assert_eq!(pairs("a=b\\\\\nc=d"), [pair("a", "b\\"), pair("c", "d")]);
        assert_eq!(pairs("a=b\\"), [pair("a", "b")]);
        assert_eq!(pairs("a=b\\\n# c"), [pair("a", "b# c")]);
        assert_eq!(pairs("a\\\n  b=c"), [pair("ab", "c")]);
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(pairs(r"k\ e\=y\:=a\tb\n\\\x"), [pair("k e=y:", "a\tb\n\\x")]);
        assert_eq!(pairs(r"a=\u00e4\uD83E\udd80"), [pair("a", "\u{e4}\u{1f980}")]);
        for text in [r"a=\u12", r"a=\uzzzz", r"a=\ud83e", r"\u=1"] {
            let bad = read(format!("x=y\n{text}").as_bytes()).expect_err(text);
            assert_eq!(bad.line, 2, "{text}");
        }
    }

    #[test]
    fn bytes_are_iso_8859_1_as_for_kafka() {
        let read = read(b"a=\xe4\xff").expect("it is of the format");
        assert_eq!(read, [Property { key: "a".into(), value: "\u{e4}\u{ff}".into(), line: 1 }]);
    }

    #[test]
    fn line_is_that_of_the_key() {
        let read = read(b"# one\na=b\\\n c\n\nd=e").expect("it is of the format");
        assert_eq!(read.iter().map(|property| property.line).collect::<Vec<_>>(), [2, 5]);
    }

    #[test]
    fn file_that_is_too_long_is_refused() {
        let long = vec![b'#'; PROPERTIES_BYTES_MAX + 1];
        assert!(super::read(&long).is_err() && super::read(&long[1..]).is_ok());
    }
}
