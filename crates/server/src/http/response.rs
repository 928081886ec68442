//! What is asked and what is answered, without a socket.

use serde_json::Value;

/// A request's line: all that the pages here look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Decoded names and values behind the question mark.
    pub(crate) query: Vec<(String, String)>,
}

impl Request {
    /// A request's parts.
    pub(crate) fn new(method: &str, target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        });
        Self { method: String::from(method), path: decode(path), query: pairs.collect() }
    }

    /// The first value of this name.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// Undoes percent encoding; what does not decode stays as it is.
fn decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digit = |at: usize| behind.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                rest = behind.get(2..).unwrap_or_default();
            }
            (b'+', ..) => {
                out.push(b' ');
                rest = behind;
            }
            (byte, ..) => {
                out.push(*byte);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

impl Response {
    /// Plain text.
    pub(crate) fn text(status: u16, body: impl Into<String>) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", body: body.into() }
    }

    /// A page.
    pub(crate) fn html(body: String) -> Self {
        Self { status: 200, content_type: "text/html; charset=utf-8", body }
    }

    /// JSON as Jackson prints it for the real AdminServer.
    pub(crate) fn json(status: u16, value: &Value) -> Self {
        let mut body = String::new();
        pretty(value, 0, &mut body);
        body.push('\n');
        Self { status, content_type: "application/json", body }
    }

    /// The bytes that go out.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            431 => "Request Header Fields Too Large",
            501 => "Not Implemented",
            503 => "Service Unavailable",
            _ => "",
        };
        let head = format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\
             X-Content-Type-Options: nosniff\r\n\r\n",
            self.status,
            self.content_type,
            self.body.len()
        );
        [head.as_bytes(), self.body.as_bytes()].concat()
    }
}

/// Two spaces an object's level, ` : ` between name and value, arrays on the line they begin on.
fn pretty(value: &Value, level: usize, out: &mut String) {
    match value {
        Value::Object(fields) if fields.is_empty() => out.push_str("{ }"),
        Value::Object(fields) => {
            out.push('{');
            for (index, (name, field)) in fields.iter().enumerate() {
                out.push_str(if index == 0 { "\n" } else { ",\n" });
                out.push_str(&"  ".repeat(level + 1));
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push_str(" : ");
                pretty(field, level + 1, out);
            }
            out.push('\n');
            out.push_str(&"  ".repeat(level));
            out.push('}');
        }
        Value::Array(items) if items.is_empty() => out.push_str("[ ]"),
        Value::Array(items) => {
            out.push_str("[ ");
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                pretty(item, level, out);
            }
            out.push_str(" ]");
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_looks_as_jacksons() {
        let value = json!({"a": [{"b": 1.0, "c": "x\"y"}, {}], "empty": [], "none": null});
        assert_eq!(
            Response::json(200, &value).body,
            "{\n  \"a\" : [ {\n    \"b\" : 1.0,\n    \"c\" : \"x\\\"y\"\n  }, { } ],\n  \"empty\" : [ ],\n  \
             \"none\" : null\n}\n"
        );
    }

    #[test]
    fn a_query_is_taken_apart_and_decoded() {
        let request = Request::new("GET", "/commands/x%2Fy?traceMask=12&b=a+b%20c&d");
        assert_eq!(request.path, "/commands/x/y");
        assert_eq!(request.value("traceMask"), Some("12"));
        assert_eq!(request.value("b"), Some("a b c"));
        assert_eq!(request.value("d"), Some(""));
        assert_eq!(Request::new("GET", "/%zz%4").path, "/%zz%4");
    }

    #[test]
    fn bytes_carry_their_length() {
        let bytes = Response::text(200, "hello").to_bytes();
        let text = String::from_utf8(bytes).expect("text");
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        assert!(text.contains("Content-Length: 5\r\n") && text.ends_with("\r\n\r\nhello"), "{text}");
    }
}
