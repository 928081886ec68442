//! A connection of the load: what is to be sent, and the frames that come.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr};

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

const READ_BYTES: usize = 256 << 10;

/// See the module.
pub(super) struct Socket {
    stream: TcpStream,
    output: Vec<u8>,
    sent: usize,
    input: Vec<u8>,
    taken: usize,
}

impl Socket {
    /// Connects, and waits for that.
    pub(super) fn connect(address: SocketAddr, registry: &Registry, token: usize) -> io::Result<Self> {
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        registry.register(&mut stream, Token(token), Interest::READABLE | Interest::WRITABLE)?;
        Ok(Self { stream, output: Vec::new(), sent: 0, input: Vec::new(), taken: 0 })
    }

    /// Closes it: nothing more is heard of it.
    pub(super) fn close(&mut self, registry: &Registry) -> io::Result<()> {
        registry.deregister(&mut self.stream)?;
        match self.stream.shutdown(Shutdown::Both) {
            // The broker was faster.
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(()),
            other => other,
        }
    }

    /// Where requests are appended.
    pub(super) const fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Sends as much as the system takes.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while self.sent < self.output.len() {
            match self.stream.write(self.output.get(self.sent..).unwrap_or_default()) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.output.clear();
        self.sent = 0;
        Ok(())
    }

    /// Reads what there is. The frames are taken by [`Self::next_frame`].
    pub(super) fn receive(&mut self) -> io::Result<()> {
        self.input.drain(..self.taken);
        self.taken = 0;
        loop {
            let held = self.input.len();
            self.input.resize(held + READ_BYTES, 0);
            let read = self.stream.read(self.input.get_mut(held..).unwrap_or_default());
            self.input.truncate(held + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => {
                    return Err(io::Error::new(
                        ErrorKind::UnexpectedEof,
                        "the broker has closed a connection",
                    ));
                }
                Ok(count) if count < READ_BYTES => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether a whole frame is there.
    pub(super) fn has_frame(&self) -> bool {
        let rest = self.input.get(self.taken..).unwrap_or_default();
        rest.split_first_chunk::<4>().is_some_and(|(length, content)| {
            usize::try_from(i32::from_be_bytes(*length)).is_ok_and(|length| content.len() >= length)
        })
    }

    /// The next whole frame, without its length.
    pub(super) fn next_frame(&mut self) -> Option<&[u8]> {
        let rest = self.input.get(self.taken..)?;
        let (length, content) = rest.split_first_chunk::<4>()?;
        let content = content.get(..usize::try_from(i32::from_be_bytes(*length)).ok()?)?;
        self.taken += 4 + content.len();
        Some(content)
    }
}
