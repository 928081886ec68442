//! The header fields of a response, as they are sent: lines, written once.

use base::Decimal;

/// Bytes that most of them have at the most.
const SHORT_BYTES: usize = 128;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headers(Vec<u8>);

impl Default for Headers {
    fn default() -> Self {
        Self(Vec::with_capacity(SHORT_BYTES))
    }
}

impl Headers {
    /// Puts a field behind the others. The name is in lower case. A value that cannot be one is left out, as are length, date,
    /// connection and coding: how a response is framed is not for a handler to say.
    pub fn push(&mut self, name: &'static str, value: &str) {
        if !frames(name) && value.bytes().all(is_of_value) {
            [name, ": ", value, "\r\n"]
                .into_iter()
                .for_each(|part| self.0.extend_from_slice(part.as_bytes()));
        }
    }

    /// The same of a number.
    pub fn push_number(&mut self, name: &'static str, number: u64) {
        self.push(name, Decimal::of(number).as_str());
    }

    pub(crate) fn lines(&self) -> &[u8] {
        &self.0
    }
}

fn frames(name: &str) -> bool {
    matches!(name, "connection" | "content-length" | "date" | "transfer-encoding")
}

/// What would end the line, or the head, is no part of a value.
const fn is_of_value(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_is_a_line_unless_it_frames_the_response_or_breaks_the_head() {
        let mut headers = Headers::default();
        headers.push("content-type", "text/plain; charset=utf-8");
        for name in ["connection", "content-length", "date", "transfer-encoding"] {
            headers.push(name, "close");
        }
        for value in ["a\r\nb: c", "a\nb", "a\0", "a\x7f"] {
            headers.push("location", value);
        }
        headers.push("location", "/\u{e4}\tb");
        assert_eq!(
            headers.lines(),
            "content-type: text/plain; charset=utf-8\r\nlocation: /\u{e4}\tb\r\n".as_bytes()
        );
    }
}
