//! The text of tokens: directives `name=value` or `name="value"`, with commas between them. Knows no meaning of a directive.

use crate::sasl::{Failure, TOKEN_BYTES_MAX};

/// Directives that a token may have, known ones and others. The RFC defines 13.
const DIRECTIVES_MAX: usize = 32;

/// The directives of a token.
pub(super) struct Directives(Vec<(String, String)>);

impl Directives {
    /// Reads all of them.
    pub(super) fn parse(token: &[u8]) -> Result<Self, Failure> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(Failure::TooLong { bytes: token.len() });
        }
        let text = core::str::from_utf8(token).map_err(|_| Failure::Malformed("it is not UTF-8"))?;
        let mut found = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            if found.len() == DIRECTIVES_MAX {
                return Err(Failure::Malformed("it has too many directives"));
            }
            let (name, value, behind) =
                directive(rest).ok_or(Failure::Malformed("it is no list of directives"))?;
            found.push((name.trim().to_ascii_lowercase(), value));
            rest = behind;
        }
        Ok(Self(found))
    }

    /// A directive that may be there once, or not at all.
    pub(super) fn optional(&self, name: &'static str) -> Result<Option<&str>, Failure> {
        let mut values = self.values(name);
        let value = values.next();
        if values.next().is_some() { Err(Failure::Repeated(name)) } else { Ok(value) }
    }

    /// A directive that must be there once.
    pub(super) fn required(&self, name: &'static str) -> Result<&str, Failure> {
        self.optional(name)?.ok_or(Failure::Missing(name))
    }

    /// The first directive of this name, of which there may be several.
    pub(super) fn first(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// A text as a quoted value.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The first directive: its name, its value, and what follows the comma behind it.
fn directive(text: &str) -> Option<(&str, String, &str)> {
    let (name, behind) = text.split_once('=')?;
    let (value, behind) = match behind.strip_prefix('"') {
        Some(behind) => unquoted(behind)?,
        None => {
            let (value, behind) = behind.split_at(behind.find(',').unwrap_or(behind.len()));
            (String::from(value.trim()), behind)
        }
    };
    let behind = behind.trim_start();
    match behind.strip_prefix(',') {
        Some(next) => Some((name, value, next.trim_start())),
        None => behind.is_empty().then_some((name, value, behind)),
    }
}

/// A quoted value, in which a backslash makes the next character an ordinary one, and what is behind its closing quote.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Directives, Failure> {
        Directives::parse(text.as_bytes())
    }

    #[test]
    fn directives_are_quoted_or_plain_and_have_names_in_any_case() {
        let directives = parse(" a=1 , B = 2,c=\"x, \\\"y\\\\\" ,d=\"\",e=").unwrap();
        for (name, value) in [("a", "1"), ("b", "2"), ("c", "x, \"y\\"), ("d", ""), ("e", "")] {
            assert_eq!(directives.required(name), Ok(value));
        }
        assert_eq!(directives.required("f"), Err(Failure::Missing("f")));
        assert_eq!(directives.optional("f"), Ok(None));
        let round = parse(&format!("a={}", quoted("\"\\,=x\\"))).unwrap();
        assert_eq!(round.required("a"), Ok("\"\\,=x\\"));
    }

    #[test]
    fn repeated_directive_is_never_taken_for_one_nor_for_none() {
        let directives = parse("a=1,A=1").unwrap();
        assert_eq!(directives.required("a"), Err(Failure::Repeated("a")));
        assert_eq!(directives.optional("a"), Err(Failure::Repeated("a")));
        assert_eq!(directives.first("a"), Some("1"));
    }

    #[test]
    fn text_that_is_no_list_of_directives_is_malformed() {
        for text in ["a", "a=\"", "a=\"x\\", "a=\"x\"y", "a=1,b", ",", "a=\"x\" b=1"] {
            assert!(matches!(parse(text), Err(Failure::Malformed(_))), "{text}");
        }
        assert!(matches!(Directives::parse(&[b'a', b'=', 0xff]), Err(Failure::Malformed(_))));
    }

    #[test]
    fn length_and_number_of_directives_are_bounded() {
        let long = |bytes: usize| format!("a={}", "x".repeat(bytes - 2));
        assert!(parse(&long(TOKEN_BYTES_MAX)).is_ok());
        assert_eq!(
            parse(&long(TOKEN_BYTES_MAX + 1)).err(),
            Some(Failure::TooLong { bytes: TOKEN_BYTES_MAX + 1 })
        );
        assert!(parse(&"a=,".repeat(DIRECTIVES_MAX)).is_ok());
        assert!(parse(&"a=,".repeat(DIRECTIVES_MAX + 1)).is_err());
    }
}
