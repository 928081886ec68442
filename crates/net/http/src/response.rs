//! Requests and responses, without a socket.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::IpAddr;

use serde_json::Value;

/// All that the pages here look at: a request's line, a few headers, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Such as `GET`.
    pub method: String,
    /// Decoded, without the query.
    pub path: String,
    /// Decoded names and values behind the question mark.
    pub query: Vec<(String, String)>,
    /// The header of this name.
    pub authorization: Option<String>,
    /// The header of this name: which machine is meant.
    pub host: Option<String>,
    /// How many bytes follow the head, if it says so.
    pub content_length: Option<u64>,
    /// Whether the client waits for the answer that it may send them.
    pub expects_continue: bool,
    /// Where it comes from.
    pub peer: IpAddr,
}

impl Request {
    /// A request's parts.
    pub fn new(method: &str, target: &str, peer: IpAddr) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        });
        let (method, query) = (String::from(method), pairs.collect());
        Self {
            method,
            path: decode(path),
            query,
            authorization: None,
            host: None,
            content_length: None,
            expects_continue: false,
            peer,
        }
    }

    /// The first value of this name.
    pub fn value(&self, name: &str) -> Option<&str> {
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
#[derive(Debug)]
pub struct Response {
    /// HTTP's number for what came of it.
    pub status: u16,
    /// The type of its body.
    pub content_type: &'static str,
    /// Headers besides those that every answer has.
    pub headers: Vec<(&'static str, String)>,
    /// What it says.
    pub body: Body,
}

/// What an answer says.
#[derive(Debug)]
pub enum Body {
    /// Text.
    Text(String),
    /// So many bytes of a file.
    File(File, u64),
}

impl Response {
    /// Plain text.
    pub fn text(status: u16, body: impl Into<String>) -> Self {
        Self::of_text(status, "text/plain; charset=utf-8", body.into())
    }

    /// A page.
    pub fn html(body: String) -> Self {
        Self::of_text(200, "text/html; charset=utf-8", body)
    }

    /// JSON in the shape in which Java's library Jackson prints it for people.
    pub fn json(status: u16, value: &Value) -> Self {
        let mut body = String::new();
        pretty(value, 0, &mut body);
        body.push('\n');
        Self::of_text(status, "application/json", body)
    }

    /// Text of some type.
    pub const fn of_text(status: u16, content_type: &'static str, body: String) -> Self {
        Self { status, content_type, headers: Vec::new(), body: Body::Text(body) }
    }

    /// Sends it, without its body if that was not asked for.
    pub fn send(self, out: &mut impl Write, with_body: bool) -> io::Result<()> {
        out.write_all(self.head().as_bytes())?;
        match self.body {
            _ if !with_body => Ok(()),
            Body::Text(text) => out.write_all(text.as_bytes()),
            Body::File(file, bytes) => io::copy(&mut file.take(bytes), out).map(|_| ()),
        }
    }

    fn head(&self) -> String {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            404 => "Not Found",
            405 => "Method Not Allowed",
            401 => "Unauthorized",
            403 => "Forbidden",
            408 => "Request Timeout",
            429 => "Too Many Requests",
            431 => "Request Header Fields Too Large",
            500 => "Server Error",
            501 => "Not Implemented",
            503 => "Service Unavailable",
            _ => "",
        };
        let length = match &self.body {
            Body::Text(text) => text.len() as u64,
            Body::File(_, bytes) => *bytes,
        };
        let headers: String =
            self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!(
            "HTTP/1.1 {} {reason}\r\n{headers}Content-Type: {}\r\nContent-Length: {length}\r\n\
             Connection: close\r\nX-Content-Type-Options: nosniff\r\n\r\n",
            self.status, self.content_type,
        )
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
        let Body::Text(text) = Response::json(200, &value).body else { panic!("no text") };
        assert_eq!(
            text,
            "{\n  \"a\" : [ {\n    \"b\" : 1.0,\n    \"c\" : \"x\\\"y\"\n  }, { } ],\n  \"empty\" : [ ],\n  \
             \"none\" : null\n}\n"
        );
    }

    #[test]
    fn a_query_is_taken_apart_and_decoded() {
        let request = |target| Request::new("GET", target, IpAddr::from([127, 0, 0, 1]));
        assert_eq!(request("/%zz%4").path, "/%zz%4");
        let request = request("/commands/x%2Fy?traceMask=12&b=a+b%20c&d");
        assert_eq!(request.path, "/commands/x/y");
        assert_eq!(request.value("traceMask"), Some("12"));
        assert_eq!(request.value("b"), Some("a b c"));
        assert_eq!(request.value("d"), Some(""));
    }

    #[test]
    fn bytes_carry_their_length() {
        let sent = |with_body| {
            let mut bytes = Vec::new();
            Response::text(200, "hello").send(&mut bytes, with_body).expect("sent");
            String::from_utf8(bytes).expect("text")
        };
        assert!(sent(true).starts_with("HTTP/1.1 200 OK\r\n"), "{}", sent(true));
        assert!(sent(true).contains("Content-Length: 5\r\n") && sent(true).ends_with("\r\n\r\nhello"));
        assert_eq!(sent(false) + "hello", sent(true));
    }
}
