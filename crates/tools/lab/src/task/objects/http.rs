//! One connection by HTTP/1.1 to a member that serves live objects: requests go out one behind the other, and are answered in
//! that order. Its session makes each command take effect once, however often it is sent.

use std::io::{self, Read, Write};

/// What is read at once.
const READ_BYTES: usize = 64 << 10;

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// The number behind that name in its JSON object; names within texts that objects hold are not like these.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let quoted = format!("\"{name}\":");
        let at = find(&self.body, quoted.as_bytes())? + quoted.len();
        let digits = self.body[at..].iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(None, |number: Option<u64>, digit| {
            number.unwrap_or_default().checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        })
    }

    /// The text behind that name; texts of the lab have nothing that JSON would write in another way.
    pub(super) fn text(&self, name: &str) -> Option<&[u8]> {
        let quoted = format!("\"{name}\":\"");
        let text = &self.body[find(&self.body, quoted.as_bytes())? + quoted.len()..];
        text.split(|byte| *byte == b'"').next()
    }

    /// Whether that is what it has under a name, as JSON writes it.
    pub(super) fn says(&self, name: &str, value: &str) -> bool {
        find(&self.body, format!("\"{name}\":{value}").as_bytes()).is_some()
    }

    /// The body, for a reader.
    pub(super) fn in_words(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// What was received and is no whole answer yet, and what is to be sent.
#[derive(Default)]
pub(super) struct Wire {
    input: Vec<u8>,
    output: Vec<u8>,
    /// What is read into.
    buffer: Vec<u8>,
}

/// How a command is known again.
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    credential: String,
    /// The number of the latest command.
    pub(super) latest: u64,
    /// Answers up to this one have come.
    pub(super) answered: u64,
}

impl Session {
    /// The session that a member has opened.
    pub(super) fn of(opened: &Answer) -> io::Result<Self> {
        let text = |name| opened.text(name).map(|text| String::from_utf8_lossy(text).into_owned());
        match (opened.status, text("session"), text("secret")) {
            (200 | 201, Some(session), Some(secret)) => {
                Ok(Self { credential: format!("{session}.{secret}"), ..Self::default() })
            }
            _ => Err(unexpected("a session", opened)),
        }
    }
}

/// An answer that nobody asked for.
pub(super) fn unexpected(what: &str, answer: &Answer) -> io::Error {
    let body = String::from_utf8_lossy(&answer.body);
    io::Error::other(format!("{what} was answered with {}: {body}", answer.status))
}

impl Wire {
    /// A query, or whatever needs no session.
    pub(super) fn get(&mut self, path: &str) {
        self.put_head("GET", path);
        self.output.extend_from_slice(b"\r\n");
    }

    /// A command without a session.
    pub(super) fn post(&mut self, path: &str, body: &str) {
        self.put_head("POST", path);
        self.put_body(body);
    }

    /// What makes an object.
    pub(super) fn put(&mut self, path: &str, body: &str) {
        self.put_head("PUT", path);
        self.put_body(body);
    }

    /// A command under the number of a session.
    pub(super) fn command(&mut self, path: &str, body: &str, session: &Session, number: u64) {
        self.put_head("POST", path);
        let Session { credential, answered, .. } = session;
        // A vector takes all.
        let _ = write!(
            self.output,
            "Diwan-Session: {credential}\r\nDiwan-Request: {number}\r\nDiwan-Acknowledged: {answered}\r\n"
        );
        self.put_body(body);
    }

    fn put_head(&mut self, method: &str, path: &str) {
        let _ = write!(self.output, "{method} /v1/{path} HTTP/1.1\r\nHost: localhost\r\n");
    }

    fn put_body(&mut self, body: &str) {
        let _ = write!(self.output, "Content-Length: {}\r\n\r\n{body}", body.len());
    }

    /// Sends as much as goes.
    pub(super) fn send(&mut self, stream: &mut impl Write) -> io::Result<()> {
        while !self.output.is_empty() {
            match stream.write(&self.output) {
                Ok(sent) => drop(self.output.drain(..sent)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads once: false if there is nothing.
    pub(super) fn receive(&mut self, stream: &mut impl Read) -> io::Result<bool> {
        self.buffer.resize(READ_BYTES, 0);
        match stream.read(&mut self.buffer) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                self.input.extend_from_slice(&self.buffer[..read]);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The next whole answer.
    pub(super) fn answer(&mut self) -> io::Result<Option<Answer>> {
        let Some(head) = find(&self.input, b"\r\n\r\n") else { return Ok(None) };
        let no_answer = || io::Error::new(io::ErrorKind::InvalidData, "no answer of HTTP/1.1");
        let text = std::str::from_utf8(&self.input[..head]).map_err(|_| no_answer())?;
        let status = text.get(9..12).and_then(|status| status.parse().ok()).ok_or_else(no_answer)?;
        let length = text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
        });
        let begin = head + 4;
        let end = begin + length.unwrap_or_default();
        if self.input.len() < end {
            return Ok(None);
        }
        let body = self.input[begin..end].to_vec();
        self.input.drain(..end);
        Ok(Some(Answer { status, body }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_taken_in_order_and_whole() {
        let mut wire = Wire::default();
        let bytes: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n{\"version\":7}HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\n{";
        assert!(wire.receive(&mut &bytes[..]).expect("read"));
        let first = wire.answer().expect("HTTP").expect("whole");
        assert_eq!((first.status, first.number("version"), first.number("position")), (200, Some(7), None));
        assert_eq!(wire.answer().expect("HTTP"), None);
        assert!(wire.receive(&mut &b"}"[..]).expect("read"));
        assert_eq!(wire.answer().expect("HTTP"), Some(Answer { status: 503, body: b"{}".to_vec() }));
    }

    #[test]
    fn command_is_sent_under_its_number() {
        let body = br#"{"session":"ab","secret":"cd"}"#.to_vec();
        let mut session = Session::of(&Answer { status: 201, body }).expect("opened");
        session.answered = 2;
        let mut wire = Wire::default();
        wire.command("objects/counter/c/increment", "{}", &session, 3);
        let mut sent = Vec::new();
        wire.send(&mut sent).expect("a vector takes all");
        let text = String::from_utf8(sent).expect("text");
        assert!(text.starts_with("POST /v1/objects/counter/c/increment HTTP/1.1\r\n"), "{text}");
        assert!(
            text.contains("Diwan-Session: ab.cd\r\nDiwan-Request: 3\r\nDiwan-Acknowledged: 2\r\n"),
            "{text}"
        );
        assert!(text.ends_with("Content-Length: 2\r\n\r\n{}"), "{text}");
        assert!(Session::of(&Answer { status: 503, body: Vec::new() }).is_err());
    }
}
