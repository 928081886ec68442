//! Results: JSON objects whose fields have a fixed order, written once.

use base::Decimal;

use crate::json::write_text;

/// Integers beyond this are written as text too: JavaScript's numbers end here.
const EXACT_MAX: i64 = 1 << 53;
/// Bytes that most results have at the most.
const SHORT_BYTES: usize = 64;

/// A result while it is written.
#[derive(Clone, Debug)]
pub struct Reply {
    text: String,
}

impl Default for Reply {
    fn default() -> Self {
        Self::new()
    }
}

impl Reply {
    /// A result without fields.
    #[must_use]
    pub fn new() -> Self {
        let mut text = String::with_capacity(SHORT_BYTES);
        text.push('{');
        Self { text }
    }

    fn key(mut self, name: &str) -> Self {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        write_text(&mut self.text, name);
        self.text.push(':');
        self
    }

    fn digits(mut self, value: u64) -> Self {
        self.text.push_str(Decimal::of(value).as_str());
        self
    }

    /// A value that is JSON already.
    #[must_use]
    pub fn raw(self, name: &str, json: &str) -> Self {
        let mut reply = self.key(name);
        reply.text.push_str(json);
        reply
    }

    /// A truth value.
    #[must_use]
    pub fn flag(self, name: &str, value: bool) -> Self {
        self.raw(name, if value { "true" } else { "false" })
    }

    /// A text.
    #[must_use]
    pub fn text(self, name: &str, value: &str) -> Self {
        let mut reply = self.key(name);
        write_text(&mut reply.text, value);
        reply
    }

    /// An integer; one beyond 2^53 also as text, under the name with `_text` behind it.
    #[must_use]
    pub fn int(self, name: &str, value: i64) -> Self {
        let mut reply = self.key(name);
        if value < 0 {
            reply.text.push('-');
        }
        let reply = reply.digits(value.unsigned_abs());
        if value.unsigned_abs() > EXACT_MAX.unsigned_abs() {
            return reply.text(&format!("{name}_text"), &value.to_string());
        }
        reply
    }

    /// A count, a position or a fence: below 2^53.
    #[must_use]
    pub fn number(self, name: &str, value: u64) -> Self {
        self.key(name).digits(value)
    }

    /// A number that may be missing.
    #[must_use]
    pub fn optional(self, name: &str, value: Option<u64>) -> Self {
        match value {
            Some(value) => self.number(name, value),
            None => self.raw(name, "null"),
        }
    }

    /// A text that may be missing.
    #[must_use]
    pub fn optional_text(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self.raw(name, "null"),
        }
    }

    /// JSON that may be missing.
    #[must_use]
    pub fn optional_raw(self, name: &str, json: Option<&str>) -> Self {
        self.raw(name, json.unwrap_or("null"))
    }

    /// A list of values that are JSON already.
    #[must_use]
    pub fn list<T: AsRef<str>>(self, name: &str, items: impl IntoIterator<Item = T>) -> Self {
        let mut reply = self.key(name);
        reply.text.push('[');
        for (index, item) in items.into_iter().enumerate() {
            reply.text.push_str(if index == 0 { "" } else { "," });
            reply.text.push_str(item.as_ref());
        }
        reply.text.push(']');
        reply
    }

    /// The text of the whole.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }
}

/// A text in quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_text(&mut out, text);
    out
}

/// A finished result with more fields behind its own.
pub(crate) fn extended(result: &str, more: Reply) -> String {
    let more = more.finish();
    match (result.strip_suffix('}'), more.strip_prefix('{')) {
        (Some("{"), _) => more,
        (Some(first), Some(rest)) if rest.len() > 1 => format!("{first},{rest}"),
        _ => String::from(result),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_integers_travel_as_text_too() {
        let reply = Reply::new().int("value", i64::MAX).int("small", EXACT_MAX);
        assert_eq!(
            reply.finish(),
            "{\"value\":9223372036854775807,\"value_text\":\"9223372036854775807\",\"small\":9007199254740992}"
        );
    }

    #[test]
    fn fields_are_appended() {
        assert_eq!(extended("{\"a\":1}", Reply::new().int("b", 2)), "{\"a\":1,\"b\":2}");
        assert_eq!(extended("{}", Reply::new().int("b", 2)), "{\"b\":2}");
        assert_eq!(extended("{\"a\":1}", Reply::new()), "{\"a\":1}");
    }
}
