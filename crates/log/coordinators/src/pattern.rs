//! Regular expressions over names of topics and transactional ids, in the syntax of RE2 as Kafka reads it. They are matched in time that is linear in the
//! name, by the crate `regex`, whose syntax is nearly the same. Where the two differ, an expression is rewritten, or refused as
//! RE2 refuses it.
//!
//! Not taken over: octal escapes of two or three digits, which are refused here.

use regex::bytes::{Regex, RegexBuilder};

/// How often one thing may be repeated, as RE2 has it.
const REPEAT_MAX: u32 = 1_000;

/// A regular expression that a whole name matches or does not.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

/// It is none, or too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidPattern;

impl Pattern {
    /// Compiles an expression into at most about `compiled_bytes_max`.
    ///
    /// # Errors
    /// [`InvalidPattern`]: the client's fault.
    pub fn new(text: &str, compiled_bytes_max: usize) -> Result<Self, InvalidPattern> {
        let rewritten = Rewriter::new(text).rewrite()?;
        let mut builder = RegexBuilder::new(&format!(r"\A(?:{rewritten})\z"));
        builder.size_limit(compiled_bytes_max).dfa_size_limit(compiled_bytes_max);
        builder.build().map(Self).map_err(|_| InvalidPattern)
    }

    /// Whether the whole name matches.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.0.is_match(name.as_bytes())
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for Pattern {}

/// Rewrites an expression from RE2's syntax to that of the crate.
struct Rewriter<'t> {
    rest: &'t str,
    out: String,
    /// How many groups are open. One that is closed but was not opened would leave the frame that an expression is put into.
    depth: usize,
    /// The last thing was a repetition: another one must not follow.
    repeated: bool,
}

impl<'t> Rewriter<'t> {
    fn new(text: &'t str) -> Self {
        Self { rest: text, out: String::with_capacity(text.len()), depth: 0, repeated: false }
    }

    fn rewrite(mut self) -> Result<String, InvalidPattern> {
        while let Some(next) = self.next() {
            let repeated = std::mem::take(&mut self.repeated);
            match next {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '(' => self.open()?,
                ')' => {
                    self.depth = self.depth.checked_sub(1).ok_or(InvalidPattern)?;
                    self.out.push(')');
                }
                '*' | '+' | '?' => self.repeat(next, repeated)?,
                '{' => self.counted(repeated)?,
                '}' | ']' => self.literal(next),
                _ => self.out.push(next),
            }
        }
        if self.depth == 0 { Ok(self.out) } else { Err(InvalidPattern) }
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = self.rest.get(next.len_utf8()..)?;
        Some(next)
    }

    fn take(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn literal(&mut self, literal: char) {
        self.out.push_str(&regex::escape(literal.encode_utf8(&mut [0; 4])));
    }

    /// One of `*`, `+`, `?`, each of which a `?` may follow. The next must not be another one.
    fn repeat(&mut self, sign: char, repeated: bool) -> Result<(), InvalidPattern> {
        if repeated {
            return Err(InvalidPattern);
        }
        self.out.push(sign);
        self.lazy();
        Ok(())
    }

    fn lazy(&mut self) {
        self.repeated = true;
        if self.take("?") {
            self.out.push('?');
        }
    }

    /// `{2}`, `{2,}`, `{2,5}`. Another brace is a brace.
    fn counted(&mut self, repeated: bool) -> Result<(), InvalidPattern> {
        let inner = self.rest.split_once('}').map(|(inner, _)| inner);
        let Some((inner, (least, most))) = inner.and_then(|inner| Some((inner, bounds(inner)?))) else {
            self.literal('{');
            return Ok(());
        };
        let too_many = |count: &str| !count.is_empty() && count.parse().is_ok_and(|n: u32| n > REPEAT_MAX);
        let overflow = |count: &str| !count.is_empty() && count.parse::<u32>().is_err();
        if repeated || [least, most].into_iter().any(|count| too_many(count) || overflow(count)) {
            return Err(InvalidPattern);
        }
        self.rest = self.rest.get(inner.len() + 1..).unwrap_or_default();
        self.out.push('{');
        self.out.push_str(inner);
        self.out.push('}');
        self.lazy();
        Ok(())
    }

    /// What follows a backslash.
    fn escape(&mut self, in_class: bool) -> Result<(), InvalidPattern> {
        match self.next().ok_or(InvalidPattern)? {
            'Q' => {
                let (quoted, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
                self.rest = rest;
                quoted.chars().for_each(|each| self.literal(each));
            }
            // Escapes of the crate's own.
            'u' | 'U' | 'R' | 'K' | 'X' => return Err(InvalidPattern),
            next if next.is_ascii_punctuation() => self.literal(next),
            next if in_class && matches!(next, 'A' | 'z' | 'b' | 'B') => return Err(InvalidPattern),
            next => {
                self.out.push('\\');
                self.out.push(next);
                // Not the braces of a repetition: those of a code point or of a class of characters.
                if matches!(next, 'x' | 'p' | 'P') && self.rest.starts_with('{') {
                    let (inner, rest) = self.rest.split_once('}').ok_or(InvalidPattern)?;
                    self.rest = rest;
                    self.out.push_str(inner);
                    self.out.push('}');
                }
            }
        }
        Ok(())
    }

    /// A class of characters. The crate has sets within sets, and operations on them; RE2 has not.
    fn class(&mut self) -> Result<(), InvalidPattern> {
        self.out.push('[');
        if self.take("^") {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let next = self.next().ok_or(InvalidPattern)?;
            if next == ']' && !first {
                break;
            }
            let is_single = self.atom(next)?;
            if is_single && self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.take("-");
                self.out.push('-');
                let last = self.next().ok_or(InvalidPattern)?;
                self.atom(last)?;
            }
            first = false;
        }
        self.out.push(']');
        Ok(())
    }

    /// One thing in a class. Says whether it is a single character, with which a range may begin.
    fn atom(&mut self, next: char) -> Result<bool, InvalidPattern> {
        match next {
            '\\' => {
                let is_single = !self.rest.starts_with(['d', 'D', 'w', 'W', 's', 'S', 'p', 'P', 'Q']);
                self.escape(true)?;
                return Ok(is_single);
            }
            '[' if self.rest.starts_with(':') => {
                self.named_class()?;
                return Ok(false);
            }
            next if next.is_ascii_punctuation() => self.literal(next),
            next => self.out.push(next),
        }
        Ok(true)
    }

    /// `[:alpha:]`.
    fn named_class(&mut self) -> Result<(), InvalidPattern> {
        let (name, rest) = self.rest.split_once(":]").ok_or(InvalidPattern)?;
        self.rest = rest;
        for part in ["[", name, ":]"] {
            self.out.push_str(part);
        }
        Ok(())
    }

    /// A group: with a name, with flags, or neither.
    fn open(&mut self) -> Result<(), InvalidPattern> {
        self.out.push('(');
        self.depth += 1;
        if !self.take("?") {
            return Ok(());
        }
        self.out.push('?');
        if self.rest.starts_with("P<") || self.rest.starts_with('<') {
            return Ok(());
        }
        loop {
            let next = self.next().ok_or(InvalidPattern)?;
            self.out.push(next);
            match next {
                ':' => return Ok(()),
                ')' => {
                    self.depth -= 1;
                    return Ok(());
                }
                'i' | 'm' | 's' | 'U' | '-' => {}
                _ => return Err(InvalidPattern),
            }
        }
    }
}

/// The two numbers of a counted repetition.
fn bounds(inner: &str) -> Option<(&str, &str)> {
    let (least, most) = inner.split_once(',').unwrap_or((inner, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (!least.is_empty() && digits(least) && digits(most)).then_some((least, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 1 << 20;

    fn matches(text: &str, name: &str) -> bool {
        Pattern::new(text, BYTES).expect("it is valid").matches(name)
    }

    #[test]
    fn whole_name_has_to_match() {
        for (text, name) in [("a|ab", "ab"), ("a|ab", "a"), ("r[0-9]", "r1"), ("", ""), (".*", "a.b-c_1")] {
            assert!(matches(text, name), "{text}");
        }
        for (text, name) in [("a|ab", "abc"), ("r[0-9]", "xr1"), ("r[0-9]", "r12"), ("", "a"), ("^a$", "ab")]
        {
            assert!(!matches(text, name), "{text}");
        }
    }

    /// As a Kafka 4.3.1 answers.
    const VALID: &[&str] = &[
        "{x}",
        "a{",
        "[[a]",
        r"\Qa.b\E",
        "(?i)R1",
        r"\pN",
        r"\p{Greek}",
        r"\_",
        "(?<n>r)1",
        "x*?",
        r"\x41",
        "[a&&b]",
        "a{2}",
        "a{2,}?",
        "a{2,3}",
        "[]a]",
        "[^]a]",
        "[a-]",
        "(?:a)",
        "(?i:a)b",
        "[[:alpha:]]x",
        r"\x{41}",
        "}",
        "]",
        r"[\]]",
        r"[\Q]\E]",
        r"\d+\.\w",
        "(?P<n>a)",
    ];
    const INVALID: &[&str] = &[
        "r[0-9",
        "(?=r)r1",
        "a**",
        "a{1001}",
        "(?x)a",
        "a)|(b",
        "a*+",
        r"\Z",
        "*a",
        "a{2}{3}",
        "(a",
        "a)",
        "\\",
        "a{3,2}",
        r"\u0041",
        "(?u)a",
        "(?",
        "[",
        "[a",
        r"\p{No",
        "a{99999999999}",
        r"(a{1000}){1000}",
        r"[\b]",
    ];

    #[test]
    fn expressions_are_taken_as_re2_takes_them() {
        for text in VALID {
            assert!(Pattern::new(text, BYTES).is_ok(), "{text}");
        }
        for text in INVALID {
            assert_eq!(Pattern::new(text, BYTES).err(), Some(InvalidPattern), "{text}");
        }
    }

    #[test]
    fn expressions_mean_what_they_mean_in_re2() {
        let cases = [
            ("[[a]", "[", true),
            ("[a&&b]", "&", true),
            ("[a&&b]", "c", false),
            (r"\Qa.b\E", "a.b", true),
            (r"\Qa.b\E", "axb", false),
            ("{x}", "{x}", true),
            ("a{", "a{", true),
            ("(?i)R1", "r1", true),
            ("[a--c]", "b", false),
            ("[+--]", ",", true),
            ("[a~~b]", "~", true),
            ("[x-]", "-", true),
            ("[--a]", "A", true),
            (r"[\d-x]", "-", true),
            ("[a-]", "b", false),
            (r"[\]-a]", "^", true),
            (r"a\<b", "a<b", true),
            (r"\x41", "A", true),
            ("a.c", "abc", true),
            ("[^a]", "b", true),
        ];
        for (text, name, expected) in cases {
            match Pattern::new(text, BYTES) {
                Ok(pattern) => assert_eq!(pattern.matches(name), expected, "{text} on {name}"),
                Err(InvalidPattern) => assert!(!expected, "{text}"),
            }
        }
    }

    #[test]
    fn any_text_is_an_expression_or_refused() {
        let mut random = base::Random::new(3);
        let parts = [
            "a", "\\", "[", "]", "(", ")", "?", "*", "{", "}", "1", ",", ":", "Q", "E", "^", "-", "é", "P<",
            "&", "|",
        ];
        for _ in 0..20_000 {
            let text: String =
                (0..random.below(9)).map(|_| parts[random.below(parts.len() as u64) as usize]).collect();
            if let Ok(pattern) = Pattern::new(&text, BYTES) {
                let _ = pattern.matches("a1");
            }
        }
    }
}
