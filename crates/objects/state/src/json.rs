//! JSON as this crate reads and writes it: numbers stay text, objects are ordered by key.
//!
//! A parser of our own, and on purpose: results are part of the replicated state, so no feature that another crate
//! switches on (the order of keys, how floats are read) may change a byte of them. `tests/json.rs` compares it with
//! `serde_json`.

use core::fmt::Write as _;
use core::marker::PhantomData;
use std::borrow::Cow;

use smallvec::SmallVec;

/// Deeper values are refused: reading them would take that much of the stack.
const DEPTH_MAX: usize = 64;

/// A JSON value. The fields of an object are ordered by key, and no key is there twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// As it was written. Only integers are ever evaluated.
    Number(String),
    /// A text, without its escapes.
    Text(String),
    /// Values in their order.
    List(Vec<Self>),
    /// Fields, ordered by their keys.
    Object(Vec<(String, Self)>),
}

/// What is wrong with a text that is not JSON, and after how many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotJson {
    /// After how many bytes.
    pub at: usize,
    /// What is wrong there.
    pub why: &'static str,
}

impl Json {
    /// Reads a whole text.
    ///
    /// # Errors
    /// It is not JSON, too deep, or has a key twice.
    pub fn parse(text: &[u8]) -> Result<Self, NotJson> {
        Parser::new(text).whole()
    }

    /// Whether [`Json::parse`] would read it.
    ///
    /// # Errors
    /// As those of it.
    pub fn check(text: &[u8]) -> Result<(), NotJson> {
        Parser::<()>::new(text).whole()
    }

    /// The one text of equal values: no space, keys in order, the shortest escapes.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Self::Number(number) => out.push_str(number),
            Self::Text(text) => write_text(out, text),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(fields) => {
                out.push('{');
                for (index, (key, value)) in fields.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    write_text(out, key);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// The number as an integer, if it is one of 64 bits.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Number(number) => number.parse().ok(),
            _ => None,
        }
    }
}

/// Appends a text in quotes.
pub(crate) fn write_text(out: &mut String, text: &str) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut rest = text;
    // What is escaped is one byte: a character that is longer has no byte like it.
    while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | ..=0x1f)) {
        out.push_str(&rest[..at]);
        write_escape(out, rest.as_bytes()[at]);
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

fn write_escape(out: &mut String, byte: u8) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        0x8 => out.push_str("\\b"),
        0xc => out.push_str("\\f"),
        control => write!(out, "\\u{control:04x}").expect("a string takes all that is written"),
    }
}

/// Fields of which there is room without an allocation: most objects have fewer.
const FIELDS: usize = 4;

type Fields<'a, V> = SmallVec<[(Cow<'a, str>, V); FIELDS]>;

/// What becomes of a value that is read.
trait Read: Sized {
    fn one(value: impl FnOnce() -> Json) -> Self;
    fn list(items: Vec<Self>) -> Self;
    fn object(fields: Fields<'_, Self>) -> Self;
}

impl Read for Json {
    fn one(value: impl FnOnce() -> Json) -> Self {
        value()
    }
    fn list(items: Vec<Self>) -> Self {
        Self::List(items)
    }
    fn object(fields: Fields<'_, Self>) -> Self {
        Self::Object(fields.into_iter().map(|(key, value)| (key.into_owned(), value)).collect())
    }
}

/// Nothing: that it can be read is all.
impl Read for () {
    fn one(_: impl FnOnce() -> Json) {}
    fn list(_: Vec<Self>) {}
    fn object(_: Fields<'_, Self>) {}
}

struct Parser<'a, V> {
    text: &'a [u8],
    at: usize,
    values: PhantomData<V>,
}

impl<'a, V: Read> Parser<'a, V> {
    const fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, values: PhantomData }
    }

    const fn wrong(&self, why: &'static str) -> NotJson {
        NotJson { at: self.at, why }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn accept(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8, why: &'static str) -> Result<(), NotJson> {
        if self.accept(byte) { Ok(()) } else { Err(self.wrong(why)) }
    }

    fn whole(mut self) -> Result<V, NotJson> {
        let value = self.value(0)?;
        self.space();
        if self.at == self.text.len() { Ok(value) } else { Err(self.wrong("there is more behind the value")) }
    }

    fn value(&mut self, depth: usize) -> Result<V, NotJson> {
        if depth > DEPTH_MAX {
            return Err(self.wrong("nested too deep"));
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => {
                let text = self.string()?;
                Ok(V::one(|| Json::Text(text.into_owned())))
            }
            Some(b't') => self.word(b"true", Json::Bool(true)),
            Some(b'f') => self.word(b"false", Json::Bool(false)),
            Some(b'n') => self.word(b"null", Json::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err(self.wrong("no value begins like this")),
            None => Err(self.wrong("a value is missing")),
        }
    }

    fn word(&mut self, word: &[u8], value: Json) -> Result<V, NotJson> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.wrong("no value begins like this"));
        }
        self.at += word.len();
        Ok(V::one(|| value))
    }

    fn digits(&mut self) -> Result<(), NotJson> {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > from { Ok(()) } else { Err(self.wrong("a digit is missing")) }
    }

    fn number(&mut self) -> Result<V, NotJson> {
        let from = self.at;
        self.accept(b'-');
        if !self.accept(b'0') {
            self.digits()?;
        }
        if self.accept(b'.') {
            self.digits()?;
        }
        if self.accept(b'e') || self.accept(b'E') {
            let _ = self.accept(b'+') || self.accept(b'-');
            self.digits()?;
        }
        let digits = &self.text[from..self.at];
        Ok(V::one(|| Json::Number(digits.iter().copied().map(char::from).collect())))
    }

    /// The text from there to here.
    fn slice(&self, from: usize) -> Result<&'a str, NotJson> {
        core::str::from_utf8(&self.text[from..self.at]).map_err(|_| self.wrong("not UTF-8"))
    }

    fn list(&mut self, depth: usize) -> Result<V, NotJson> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.accept(b']') {
            return Ok(V::list(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            if self.accept(b']') {
                return Ok(V::list(items));
            }
            self.expect(b',', "`,` or `]` is missing")?;
        }
    }

    fn object(&mut self, depth: usize) -> Result<V, NotJson> {
        self.at += 1;
        let mut fields = Fields::new();
        self.space();
        if self.accept(b'}') {
            return Ok(V::object(fields));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.wrong("a key is missing"));
            }
            let key = self.string()?;
            self.space();
            self.expect(b':', "`:` is missing")?;
            fields.push((key, self.value(depth + 1)?));
            self.space();
            if self.accept(b'}') {
                break;
            }
            self.expect(b',', "`,` or `}` is missing")?;
        }
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        if fields.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(self.wrong("a key is there twice"));
        }
        Ok(V::object(fields))
    }

    fn string(&mut self) -> Result<Cow<'a, str>, NotJson> {
        self.at += 1;
        let mut text = Cow::Borrowed("");
        loop {
            let from = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | ..=0x1f)) {
                self.at += 1;
            }
            text += self.slice(from)?;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.to_mut().push(self.escape()?),
                Some(_) => return Err(self.wrong("a control character within a text")),
                None => return Err(self.wrong("a text without an end")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, NotJson> {
        self.at += 1;
        let escape = self.peek().ok_or_else(|| self.wrong("a text without an end"))?;
        self.at += 1;
        Ok(match escape {
            b'"' | b'\\' | b'/' => escape as char,
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => return self.unicode(),
            _ => return Err(self.wrong("an unknown escape")),
        })
    }

    fn unicode(&mut self) -> Result<char, NotJson> {
        let mut code = self.hex4()?;
        if (0xd800..0xdc00).contains(&code) && self.text[self.at..].starts_with(b"\\u") {
            self.at += 2;
            let low = self.hex4()?;
            if !(0xdc00..0xe000).contains(&low) {
                return Err(self.wrong("half a character"));
            }
            code = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        char::from_u32(code).ok_or_else(|| self.wrong("half a character"))
    }

    fn hex4(&mut self) -> Result<u32, NotJson> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| (byte as char).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.wrong("four hexadecimal digits are missing"))?;
            self.at += 1;
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> Option<String> {
        Json::parse(text.as_bytes()).ok().map(|value| value.canonical())
    }

    #[test]
    fn equal_values_have_one_text() {
        let text = " { \"b\" : [ 1 , -0.50e+3 , null ] , \"a\" : \"\\u00e9\\ud83d\\ude00\\n\\u0001\\/\" } ";
        let expected = "{\"a\":\"é😀\\n\\u0001/\",\"b\":[1,-0.50e+3,null]}";
        assert_eq!(canonical(text).as_deref(), Some(expected));
        assert_eq!(canonical(expected).as_deref(), Some(expected));
    }

    #[test]
    fn texts_that_are_not_json_are_refused() {
        let wrong = [
            "",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "1.",
            "-",
            "1e",
            "+1",
            "nul",
            "\"",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\n\"",
            "1 2",
            "{\"a\":1,\"a\":2}",
            "{a:1}",
            "[1 2]",
            "\"\\u12g4\"",
        ];
        for text in wrong {
            assert_eq!(canonical(text), None, "{text}");
        }
        assert!(Json::parse(&[b'"', 0xff, b'"']).is_err());
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert!(Json::parse(&nested(DEPTH_MAX)).is_ok());
        assert!(Json::parse(&nested(DEPTH_MAX + 2)).is_err());
        assert!(Json::parse(&vec![b'['; 1 << 20]).is_err());
    }

    #[test]
    fn integers_are_those_of_64_bits() {
        let integer = |text: &str| Json::parse(text.as_bytes()).unwrap().integer();
        assert_eq!(integer("-9223372036854775808"), Some(i64::MIN));
        assert_eq!((integer("9223372036854775808"), integer("1.0"), integer("1e3")), (None, None, None));
    }
}
