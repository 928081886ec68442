//! Asks an AdminServer for one page, or sends it a file. Knows as much of HTTP as that takes: a request, a status, a few
//! headers, a body that ends with the connection.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

/// Bytes of an answer.
const ANSWER_BYTES_MAX: u64 = 4 << 20;

/// TLS with which pages are asked for, if they are encrypted.
pub(crate) type Tls = Option<Arc<ClientConfig>>;

/// The body of a page that is there.
pub(crate) fn get(address: &str, path: &str, timeout: Duration, tls: &Tls) -> io::Result<Vec<u8>> {
    let stream = connect(address, timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    let answer = match tls {
        None => converse(stream, address, path)?,
        Some(config) => converse(encrypted(stream, address, config)?, address, path)?,
    };
    body(answer)
}

type Encrypted = StreamOwned<ClientConnection, TcpStream>;

/// Begins TLS, and ends its handshake: what fails here has sent nothing of a request.
fn encrypted(mut stream: TcpStream, address: &str, config: &Arc<ClientConfig>) -> io::Result<Encrypted> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned()).map_err(io::Error::other)?;
    let mut connection = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    Ok(StreamOwned::new(connection, stream))
}

/// Asks, and reads until the other side ends the connection.
fn converse(mut stream: impl Read + Write, address: &str, path: &str) -> io::Result<Vec<u8>> {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    stream.flush()?;
    let mut answer = Vec::new();
    match stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer) {
        // Some proxies end TLS without saying so. Half a page is no JSON.
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(answer),
    }
}

/// Bytes of an answer's head.
const HEAD_BYTES_MAX: u64 = 16 << 10;
/// How long a connection may take.
const CONNECTING_MAX: Duration = Duration::from_secs(10);

/// What is sent with a request.
pub(crate) struct Body {
    pub(crate) file: File,
    pub(crate) bytes: u64,
}

/// A connection, encrypted or not.
pub(crate) enum Wire {
    Plain(TcpStream),
    Encrypted(Box<Encrypted>),
}

impl Wire {
    const fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Encrypted(stream) => &stream.sock,
        }
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Encrypted(stream) => stream.read(buffer),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Encrypted(stream) => stream.flush(),
        }
    }
}

/// An answer whose body is still to be read.
pub(crate) struct Page {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: BufReader<Wire>,
}

impl Page {
    /// The body, whole.
    pub(crate) fn read(mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.body.by_ref().take(ANSWER_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The body without its transfer coding, piece by piece. One that ends before its end is an error.
    pub(crate) fn into_body(self) -> Box<dyn Read> {
        match self.header("transfer-encoding") {
            Some(coding) if coding.eq_ignore_ascii_case("chunked") => {
                Box::new(Chunked { body: self.body, left: 0, is_first: true, is_over: false })
            }
            _ => Box::new(self.body),
        }
    }

    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let named = |(own, _): &&(String, String)| own.eq_ignore_ascii_case(name);
        self.headers.iter().find(named).map(|(_, value)| value.as_str())
    }
}

/// A body in chunks, each of which says how long it is.
struct Chunked<R> {
    body: R,
    /// Bytes of the present chunk that are still to come.
    left: u64,
    is_first: bool,
    is_over: bool,
}

impl<R: io::BufRead> Chunked<R> {
    /// Reads how long the next chunk is; that of the last one is nothing.
    fn begin_chunk(&mut self) -> io::Result<()> {
        let malformed = || io::Error::new(io::ErrorKind::InvalidData, "the server's answer is malformed");
        if !std::mem::take(&mut self.is_first) && !self.line()?.is_empty() {
            return Err(malformed());
        }
        let line = self.line()?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        self.left = u64::from_str_radix(digits, 16).map_err(|_| malformed())?;
        self.is_over = self.left == 0;
        Ok(())
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        (&mut self.body).take(HEAD_BYTES_MAX).read_until(b'\n', &mut line)?;
        match line.strip_suffix(b"\n") {
            Some(line) => Ok(String::from_utf8_lossy(line).trim_end_matches('\r').to_owned()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl<R: io::BufRead> Read for Chunked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !self.is_over {
            self.begin_chunk()?;
        }
        if self.is_over || buffer.is_empty() {
            return Ok(0);
        }
        let count = (&mut self.body).take(self.left).read(buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= count as u64;
        Ok(count)
    }
}

/// Asks with an identity. The server may be silent for `patience`.
pub(crate) fn ask(
    address: &str,
    method: &str,
    path: &str,
    authorization: &str,
    body: Option<Body>,
    patience: Duration,
) -> io::Result<Page> {
    let mut stream = connect(address, CONNECTING_MAX)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    let length = body.as_ref().map_or(0, |body| body.bytes);
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: {authorization}\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    let sent = match body {
        Some(Body { file, bytes }) => io::copy(&mut file.take(bytes), &mut stream).map(|_| ()),
        None => Ok(()),
    };
    // A server that refuses reads no further, and says why.
    match read_head(BufReader::new(Wire::Plain(stream))) {
        Ok(page) => Ok(page),
        Err(unheard) => Err(sent.err().unwrap_or(unheard)),
    }
}

/// Sends a request with these headers and a body that is in memory. The server may be silent for `patience`.
pub(crate) fn send(
    (address, tls): (&str, &Tls),
    (method, path): (&str, &str),
    headers: &[(&str, String)],
    body: &[u8],
    patience: Duration,
) -> io::Result<Page> {
    let connecting_max = CONNECTING_MAX.min(patience);
    let stream = connect(address, connecting_max)?;
    stream.set_read_timeout(Some(connecting_max))?;
    stream.set_write_timeout(Some(patience))?;
    let mut stream = match tls {
        None => Wire::Plain(stream),
        Some(config) => Wire::Encrypted(Box::new(encrypted(stream, address, config)?)),
    };
    stream.socket().set_read_timeout(Some(patience))?;
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    // A server that refuses reads no further, and says why.
    let sent =
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).and_then(|()| stream.flush());
    read_head(BufReader::new(stream)).map_err(|unheard| match sent {
        // With TLS 1.3 a client learns only now that its certificate is refused.
        Err(unsent) if !is_of_tls(&unheard) => unsent,
        _ => unheard,
    })
}

/// Whether an error is the TLS library's.
fn is_of_tls(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|source| source.is::<rustls::Error>())
}

fn read_head(mut body: BufReader<Wire>) -> io::Result<Page> {
    let mut head = Vec::new();
    let mut left = HEAD_BYTES_MAX;
    while !head.ends_with(b"\r\n\r\n") {
        let read = (&mut body).take(left).read_until(b'\n', &mut head)? as u64;
        left -= read;
        if read == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "what answers does not speak HTTP"));
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.lines();
    let first = lines.next().unwrap_or_default();
    let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
    let Some(status) = status.filter(|_| first.starts_with("HTTP/1.")) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "what answers does not speak HTTP"));
    };
    let header = |line: &str| {
        line.split_once(':').map(|(name, value)| (String::from(name), String::from(value.trim())))
    };
    Ok(Page { status, headers: lines.filter_map(header).collect(), body })
}

fn connect(address: &str, timeout: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn body(mut answer: Vec<u8>) -> io::Result<Vec<u8>> {
    let odd = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.ok_or_else(|| odd(String::from("what answers does not speak HTTP")))?;
    let body = answer.split_off(end + 4);
    let head = String::from_utf8_lossy(&answer);
    let status = head.split(' ').nth(1).unwrap_or_default();
    if !head.starts_with("HTTP/1.") || status != "200" {
        return Err(odd(format!("the answer is `{}`", head.lines().next().unwrap_or_default())));
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_page_that_is_there_has_a_body() {
        assert_eq!(body(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n{ }".to_vec()).unwrap(), b"{ }");
        for (answer, what) in [
            ("HTTP/1.1 404 Not Found\r\n\r\nx", "404"),
            ("ok\r\n\r\n", "`ok`"),
            ("imok", "does not speak HTTP"),
        ] {
            let error = body(answer.as_bytes().to_vec()).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn body_in_chunks_is_whole_or_an_error() {
        let read = |text: &'static str| {
            let mut body = Chunked { body: text.as_bytes(), left: 0, is_first: true, is_over: false };
            let mut all = Vec::new();
            body.read_to_end(&mut all).map(|_| String::from_utf8(all).expect("text"))
        };
        assert_eq!(read("3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n").unwrap(), "abc0123456789");
        assert_eq!(read("0\r\n\r\n").unwrap(), "");
        for cut in
            ["", "3", "3\r\n", "3\r\nab", "3\r\nabc", "3\r\nabc\r\n", "3\r\nabcd\r\n0\r\n\r\n", "x\r\n"]
        {
            assert!(read(cut).is_err(), "{cut:?}");
        }
    }
}
