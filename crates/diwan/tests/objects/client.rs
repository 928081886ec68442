//! A client with nothing but HTTP: each call has a key, so it is repeated at another member until it is answered.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::PATIENCE;

/// See the module.
pub(crate) struct Caller {
    addresses: Vec<String>,
    /// Which of them is asked next, and the connection with it.
    place: usize,
    connection: Option<BufReader<TcpStream>>,
}

impl Caller {
    pub(crate) fn new(addresses: Vec<String>) -> Self {
        Self { addresses, place: 0, connection: None }
    }

    /// Calls a method, and waits until the call has ended.
    pub(crate) fn call(&mut self, object: &str, method: &str, arguments: &Value) -> Value {
        let headers = key();
        self.until_answered(
            "POST",
            &format!("/v1/objects/{object}/{method}"),
            &headers,
            &arguments.to_string(),
        )
    }

    /// Calls a method once, under a key that was not used before; the status and the body of the response.
    pub(crate) fn try_once(&mut self, object: &str, method: &str, arguments: &Value) -> (u16, String) {
        let headers = key();
        self.exchange("POST", &format!("/v1/objects/{object}/{method}"), &headers, &arguments.to_string())
            .unwrap()
    }

    /// Asks.
    pub(crate) fn query(&mut self, object: &str, method: &str, query: &str) -> Value {
        self.get(&format!("/v1/objects/{object}/{method}?{query}"))
    }

    /// Gets what is at a path.
    pub(crate) fn get(&mut self, path: &str) -> Value {
        self.until_answered("GET", path, "", "")
    }

    fn until_answered(&mut self, method: &str, path: &str, headers: &str, body: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        let mut last = String::new();
        while Instant::now() < deadline {
            match self.exchange(method, path, headers, body) {
                Ok((200 | 201, reply)) => return serde_json::from_str(&reply).unwrap(),
                // It waits: the same key joins its ticket.
                Ok((202, reply)) => last = reply,
                Ok((status @ (503 | 504), reply)) => last = format!("{status} {reply}"),
                Ok((status, reply)) => panic!("{method} {path}: {status} {reply}"),
                Err(error) => last = error.to_string(),
            }
            (self.connection, self.place) = (None, self.place + 1);
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{method} {path} was never answered: {last}");
    }

    fn exchange(&mut self, method: &str, path: &str, headers: &str, body: &str) -> io::Result<(u16, String)> {
        let address = self.addresses[self.place % self.addresses.len()].clone();
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => self.connection.insert(BufReader::new(connect(&address)?)),
        };
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n{headers}\
             Content-Length: {length}\r\n\r\n{body}"
        );
        connection.get_mut().write_all(request.as_bytes())?;
        read(connection)
    }
}

/// A header field with a key that was not used before.
fn key() -> String {
    static KEYS: AtomicU64 = AtomicU64::new(1);
    format!("Idempotency-Key: \"test-{}\"\r\n", KEYS.fetch_add(1, Ordering::Relaxed))
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(40)))?;
    Ok(stream)
}

fn read(connection: &mut BufReader<TcpStream>) -> io::Result<(u16, String)> {
    let (mut status, mut length) = (0, 0);
    loop {
        let mut line = String::new();
        if connection.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
            status = rest.get(..3).and_then(|status| status.parse().ok()).unwrap_or(0);
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body)?;
    String::from_utf8(body).map(|body| (status, body)).map_err(io::Error::other)
}
