//! Asks an AdminServer for one page. Knows as much of HTTP as that takes: a request, a status, a body that ends with the
//! connection.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// Bytes of an answer.
const ANSWER_BYTES_MAX: u64 = 4 << 20;

/// The body of a page that is there.
pub(crate) fn get(address: &str, path: &str, timeout: Duration) -> io::Result<Vec<u8>> {
    let mut stream = connect(address, timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    body(answer)
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
    let end = end.ok_or_else(|| odd(String::from("whoever answers speaks no HTTP")))?;
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
        for (answer, what) in
            [("HTTP/1.1 404 Not Found\r\n\r\nx", "404"), ("ok\r\n\r\n", "`ok`"), ("imok", "no HTTP")]
        {
            let error = body(answer.as_bytes().to_vec()).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
