//! Java's properties syntax, as `java.util.Properties` reads a file: it knows lines and escapes, and no meaning of a
//! property.

/// One `key=value` of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The line that it begins on, from 1.
    pub line: usize,
    /// The key, unescaped.
    pub key: String,
    /// The value, unescaped; spaces at its end are Java's to keep.
    pub value: String,
}

/// Reads all properties, in the order of the file. Bytes are ISO-8859-1, as Java takes them from a stream.
///
/// # Errors
/// The line of a `\u` that four hexadecimal digits do not follow: the only text that Java refuses.
pub fn parse(bytes: &[u8]) -> Result<Vec<Property>, usize> {
    let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    let mut properties = Vec::new();
    for (line, logical) in logical_lines(&text) {
        let (key, value) = split(&logical);
        let key = unescape(key).ok_or(line)?;
        properties.push(Property { line, key, value: unescape(value).ok_or(line)? });
    }
    Ok(properties)
}

/// Natural lines joined at a backslash, without comments and blank lines, and without spaces at their start.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let unified = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, natural) in unified.split('\n').enumerate() {
        let natural = natural.trim_start_matches(is_space);
        let (number, mut joined) = match open.take() {
            Some(begun) => begun,
            None if natural.is_empty() || natural.starts_with(['#', '!']) => continue,
            None => (index + 1, String::new()),
        };
        let backslashes = natural.len() - natural.trim_end_matches('\\').len();
        if backslashes % 2 == 1 {
            joined.push_str(&natural[..natural.len() - 1]);
            open = Some((number, joined));
        } else {
            joined.push_str(natural);
            lines.push((number, joined));
        }
    }
    lines.extend(open.filter(|(_, joined)| !joined.is_empty()));
    lines
}

/// The key ends at the first `=`, `:` or space that no backslash stands before; spaces around one `=` or `:` are nothing.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.char_indices().find(|(_, character)| {
        let ends = !escaped && (matches!(character, '=' | ':') || is_space(*character));
        escaped = *character == '\\' && !escaped;
        ends
    });
    let Some((end, _)) = end else { return (line, "") };
    let rest = line[end..].trim_start_matches(is_space);
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (&line[..end], rest.trim_start_matches(is_space))
}

fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut units = Vec::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let escaped = if character == '\\' { characters.next() } else { None };
        if escaped == Some('u') {
            let digits: String = characters.by_ref().take(4).collect();
            let all_hex = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            units.push(u16::from_str_radix(&digits, 16).ok().filter(|_| all_hex)?);
            continue;
        }
        out.push_str(&String::from_utf16_lossy(&units));
        units.clear();
        match (character, escaped) {
            ('\\', None) => {}
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('r')) => out.push('\r'),
            ('\\', Some('f')) => out.push('\u{c}'),
            ('\\', Some(other)) | (other, _) => out.push(other),
        }
    }
    out.push_str(&String::from_utf16_lossy(&units));
    Some(out)
}

const fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\u{c}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text.as_bytes()).unwrap().into_iter().map(|property| (property.key, property.value)).collect()
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (String::from(key), String::from(value))
    }

    #[test]
    fn a_key_ends_at_the_first_separator() {
        for text in ["a=b", "a:b", "a b", "a = b", "  a\t:\tb", "a\u{c}b"] {
            assert_eq!(pairs(text), [pair("a", "b")], "{text:?}");
        }
        assert_eq!(pairs("server.1=host:2888:3888;2181"), [pair("server.1", "host:2888:3888;2181")]);
        assert_eq!(pairs("a==b"), [pair("a", "=b")]);
        assert_eq!(pairs("a\\=\\ b=c"), [pair("a= b", "c")]);
        assert_eq!(pairs("lonely"), [pair("lonely", "")]);
        assert_eq!(pairs("=v"), [pair("", "v")]);
    }

    #[test]
    fn comments_and_blank_lines_are_nothing_but_only_at_the_start() {
        assert_eq!(pairs("# one\n ! two\n\n   \na=b # not a comment"), [pair("a", "b # not a comment")]);
    }

    #[test]
    fn spaces_at_the_end_of_a_value_stay() {
        assert_eq!(pairs("a=b  \nc = d\t"), [pair("a", "b  "), pair("c", "d\t")]);
    }

    #[test]
    fn an_odd_number_of_backslashes_continues_a_line() {
        assert_eq!(pairs("a=b,\\\n   c\nd=e"), [pair("a", "b,c"), pair("d", "e")]);
        assert_eq!(pairs("a=b\\\\\nc=d"), [pair("a", "b\\"), pair("c", "d")]);
        assert_eq!(pairs("a=b\\\n# c"), [pair("a", "b# c")]);
        assert_eq!(pairs("a=b\\"), [pair("a", "b")]);
        assert_eq!(pairs("a=b\\\r\nc"), [pair("a", "bc")]);
    }

    #[test]
    fn escapes_are_those_of_java() {
        assert_eq!(pairs(r"a=\t\n\r\f\\\x\:"), [pair("a", "\t\n\r\u{c}\\x:")]);
        assert_eq!(pairs(r"a=\u00e9\uD83D\uDE00"), [pair("a", "é😀")]);
        assert_eq!(parse(b"x=1\na=\\u00g0"), Err(2));
        assert_eq!(parse(b"a=\\u+123"), Err(1));
    }

    #[test]
    fn bytes_are_latin_1() {
        assert_eq!(parse(b"a=\xe9").unwrap()[0].value, "é");
    }

    #[test]
    fn lines_are_counted_from_one() {
        let lines: Vec<usize> =
            parse(b"#\na=1\\\n2\n\nb=3\r\nc=4").unwrap().iter().map(|found| found.line).collect();
        assert_eq!(lines, [2, 5, 6]);
    }
}
