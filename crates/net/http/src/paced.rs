//! A connection whose client must keep a pace: one deadline for all that is read and written, put off only by bytes.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How many bytes put the deadline off by a second.
const BYTES_PER_SECOND: u64 = 64 << 10;

/// See the module.
pub(crate) struct Paced<'a> {
    stream: &'a TcpStream,
    deadline: Cell<Instant>,
}

impl<'a> Paced<'a> {
    pub(crate) fn new(stream: &'a TcpStream, patience: Duration) -> Self {
        Self { stream, deadline: Cell::new(Instant::now() + patience) }
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.get().saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }

    fn moved(&self, bytes: usize) {
        let earned = Duration::from_micros((bytes as u64).saturating_mul(1_000_000) / BYTES_PER_SECOND);
        self.deadline.set(self.deadline.get() + earned);
    }
}

impl Read for &Paced<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        let mut stream = self.stream;
        let length = stream.read(buffer)?;
        self.moved(length);
        Ok(length)
    }
}

impl Write for &Paced<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        let mut stream = self.stream;
        let length = stream.write(bytes)?;
        self.moved(length);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_drip_does_not_put_the_deadline_off() {
        const BYTES: u32 = 1_000;
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let (stream, _) = listener.accept().expect("accepted");
        client.write_all(&[b'x'; BYTES as usize + 1]).expect("sent");
        let paced = Paced::new(&stream, Duration::from_secs(60));
        let before = paced.deadline.get();
        for _ in 0..BYTES {
            assert_eq!((&paced).read(&mut [0]).expect("read"), 1);
        }
        let each = (paced.deadline.get() - before) / BYTES;
        assert!(each < Duration::from_micros(16), "{each:?} for a byte that may take a millisecond to come");
        let late = Paced::new(&stream, Duration::ZERO);
        let error = (&late).read(&mut [0]).expect_err("a byte that is there comes too late");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn whoever_sends_fast_may_go_on() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let (stream, _) = listener.accept().expect("accepted");
        let paced = Paced::new(&stream, Duration::from_secs(5));
        let before = paced.deadline.get();
        client.write_all(&[0; 32 << 10]).expect("sent");
        let mut bytes = vec![0; 32 << 10];
        (&paced).read_exact(&mut bytes).expect("read");
        assert_eq!(paced.deadline.get() - before, Duration::from_millis(500));
    }
}
