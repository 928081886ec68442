//! A raw connection to one server: bytes out, frames in with a deadline. Knows framing and nothing else.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// No honest answer to a test is larger: a longer length is nonsense, not a reason to allocate.
const FRAME_MAX: usize = 64 << 20;

/// What came next on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// A whole frame, without its length.
    Frame(Vec<u8>),
    /// The server closed or reset the connection; no byte of an unfinished frame was left.
    Closed,
    /// The connection ended within a frame, or its length is nonsense.
    Broken,
    /// Nothing (more) came before the deadline.
    Silence,
}

/// One socket with what has been read from it.
#[derive(Debug)]
pub struct Wire {
    socket: TcpStream,
    buffer: Vec<u8>,
    start: usize,
}

impl Wire {
    /// Connects.
    ///
    /// # Errors
    /// No server listens there.
    pub fn connect(address: SocketAddr, deadline: Duration) -> io::Result<Wire> {
        let socket = TcpStream::connect_timeout(&address, deadline)?;
        socket.set_nodelay(true)?;
        Ok(Wire { socket, buffer: Vec::new(), start: 0 })
    }

    /// Sends bytes as they are, in one piece.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)
    }

    /// The next frame.
    pub fn receive(&mut self, deadline: Duration) -> Received {
        let end = Instant::now() + deadline;
        loop {
            match self.buffered_frame() {
                Ok(Some(frame)) => return Received::Frame(frame),
                Ok(None) => {}
                Err(Nonsense) => return Received::Broken,
            }
            match self.fill(end) {
                Fill::Some => {}
                Fill::End if self.start == self.buffer.len() => return Received::Closed,
                Fill::End => return Received::Broken,
                Fill::Late => return Received::Silence,
            }
        }
    }

    /// Tells the server that nothing more will be sent.
    pub fn half_close(&self) {
        // Refused only if the connection is gone already.
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Bytes that came without framing (the answer to a four-letter word), until the server closes.
    pub fn receive_all(&mut self, deadline: Duration) -> (Vec<u8>, Received) {
        let end = Instant::now() + deadline;
        loop {
            let outcome = match self.fill(end) {
                Fill::Some => continue,
                Fill::End => Received::Closed,
                Fill::Late => Received::Silence,
            };
            return (self.buffer.split_off(self.start), outcome);
        }
    }

    fn buffered_frame(&mut self) -> Result<Option<Vec<u8>>, Nonsense> {
        let unread = &self.buffer[self.start..];
        let Some((head, rest)) = unread.split_first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(i32::from_be_bytes(*head)).map_err(|_| Nonsense)?;
        if length > FRAME_MAX {
            return Err(Nonsense);
        }
        let Some(frame) = rest.get(..length) else { return Ok(None) };
        let frame = frame.to_vec();
        self.start += 4 + length;
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        }
        Ok(Some(frame))
    }

    fn fill(&mut self, end: Instant) -> Fill {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || self.socket.set_read_timeout(Some(left)).is_err() {
            return Fill::Late;
        }
        let mut chunk = [0; 16 * 1024];
        match self.socket.read(&mut chunk) {
            Ok(0) => Fill::End,
            Ok(count) => {
                self.buffer.extend_from_slice(&chunk[..count]);
                Fill::Some
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Fill::Late,
                io::ErrorKind::Interrupted => Fill::Some,
                _ => Fill::End,
            },
        }
    }
}

enum Fill {
    Some,
    End,
    Late,
}

struct Nonsense;

/// Puts the length before a body.
#[must_use]
pub fn framed(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    let mut frame = length.to_be_bytes().to_vec();
    frame.extend_from_slice(body);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    fn played(bytes: &'static [u8]) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || listener.accept().unwrap().0.write_all(bytes).unwrap());
        Wire::connect(address, Duration::from_secs(5)).unwrap()
    }

    #[test]
    fn frames_come_one_by_one_then_the_end() {
        let mut wire = played(&[0, 0, 0, 1, 7, 0, 0, 0, 0]);
        let second = Duration::from_secs(5);
        assert_eq!(wire.receive(second), Received::Frame(vec![7]));
        assert_eq!(wire.receive(second), Received::Frame(vec![]));
        assert_eq!(wire.receive(second), Received::Closed);
    }

    #[test]
    fn half_a_frame_and_a_negative_length_are_broken() {
        let second = Duration::from_secs(5);
        assert_eq!(played(&[0, 0, 0, 9, 7]).receive(second), Received::Broken);
        assert_eq!(played(&[255, 0, 0, 0, 7]).receive(second), Received::Broken);
    }
}
