//! A client's socket, plain or encrypted, behind one way to read and one to write.

use net_event_loop::{FilePart, ReadOutcome};
use std::io::{self, Read, Write};
use std::net::Shutdown;

use mio::net::TcpStream;

use crate::context::TlsContext;
use crate::file::{self, SentFile};
use crate::session::TlsSession;

/// What TLS begins with. A plain protocol that shares a port with it must begin otherwise.
const TLS_HANDSHAKE: u8 = 0x16;

/// Whether what a client sends first begins TLS.
#[must_use]
pub fn is_tls(first: &[u8]) -> bool {
    first.first() == Some(&TLS_HANDSHAKE)
}

/// Whether a connection is encrypted.
pub enum Security {
    /// Not encrypted.
    Plain,
    /// Encrypted.
    Tls(Box<TlsSession>),
    /// Its first byte will decide.
    Undecided,
}

/// What the first byte of an undecided connection says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstByte {
    /// None has come.
    Missing,
    /// The connection is encrypted.
    Tls,
    /// It is not.
    Plain,
    /// There will be none.
    End,
}

/// See the module.
pub struct Transport {
    stream: TcpStream,
    speech: Security,
}

impl Transport {
    /// A socket of this kind.
    #[must_use]
    pub fn new(stream: TcpStream, speech: Security) -> Self {
        Self { stream, speech }
    }

    /// The socket, to be registered with a poll.
    pub fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Whether an encrypted connection is not open yet, or it is not known yet what it will be.
    pub fn is_opening(&self) -> bool {
        match &self.speech {
            Security::Plain => false,
            Security::Tls(session) => session.is_handshaking(),
            Security::Undecided => true,
        }
    }

    /// Takes the rest of what comes for bytes of no meaning: no encryption was agreed on.
    pub fn give_up(&mut self) {
        self.speech = Security::Plain;
    }

    /// Whether it is known that it is an encrypted connection.
    pub fn is_encrypted(&self) -> bool {
        matches!(self.speech, Security::Tls(_))
    }

    /// The encrypted connection, if it is one.
    pub fn session(&self) -> Option<&TlsSession> {
        match &self.speech {
            Security::Tls(session) => Some(session),
            Security::Plain | Security::Undecided => None,
        }
    }

    /// Looks at the first byte of a connection that may be either.
    pub fn decide(&mut self, context: &TlsContext) -> io::Result<FirstByte> {
        match self.speech {
            Security::Undecided => {}
            Security::Plain => return Ok(FirstByte::Plain),
            Security::Tls(_) => return Ok(FirstByte::Tls),
        }
        let mut first = [0];
        let said = match self.stream.peek(&mut first) {
            Ok(0) => FirstByte::End,
            Ok(_) if is_tls(&first) => FirstByte::Tls,
            Ok(_) => FirstByte::Plain,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(FirstByte::Missing),
            Err(error) => return Err(error),
        };
        self.speech = match said {
            FirstByte::Tls => Security::Tls(Box::new(context.session()?)),
            _ => Security::Plain,
        };
        Ok(said)
    }

    /// Reads what has arrived. A plain read shorter than the buffer has emptied the socket: the poll announces the next
    /// byte to arrive.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<ReadOutcome> {
        loop {
            let read = match &mut self.speech {
                Security::Tls(session) => session.read(&mut self.stream, buffer),
                Security::Plain | Security::Undecided => self.stream.read(buffer),
            };
            match read {
                Ok(0) => return Ok(ReadOutcome::End),
                Ok(length) => {
                    let drained = length < buffer.len() && matches!(self.speech, Security::Plain);
                    return Ok(ReadOutcome::Bytes { length, drained });
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(ReadOutcome::Nothing),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Hands bytes over; says how many were taken.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.speech {
            Security::Tls(session) => session.write(&mut self.stream, bytes),
            Security::Plain | Security::Undecided => loop {
                match self.stream.write(bytes) {
                    Ok(length) => return Ok(length),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            },
        }
    }

    /// Hands bytes over, and behind them a part of a file, until all is taken or the socket takes no more; says how many bytes
    /// were taken in all.
    ///
    /// # Errors
    /// The connection broke, or the file cannot be read or is shorter than that.
    pub fn write_with_file(&mut self, bytes: &[u8], part: FilePart<'_, SentFile>) -> io::Result<usize> {
        if self.is_encrypted() {
            return self.encrypt_with_file(bytes, part);
        }
        let taken = if bytes.is_empty() { 0 } else { file::send_head(&self.stream, bytes)? };
        if taken < bytes.len() {
            return Ok(taken);
        }
        Ok(taken + file::send_part(&self.stream, part)?)
    }

    fn encrypt_with_file(&mut self, bytes: &[u8], part: FilePart<'_, SentFile>) -> io::Result<usize> {
        let mut taken = self.write(bytes)?;
        while taken >= bytes.len() && taken - bytes.len() < part.length && !self.wants_write() {
            let done = taken - bytes.len();
            let rest = FilePart { from: part.from + done as u64, length: part.length - done, ..part };
            let written = self.write(&file::read_part(&rest)?)?;
            if written == 0 {
                break;
            }
            taken += written;
        }
        Ok(taken)
    }

    /// Whether bytes that were taken have yet to reach the socket.
    pub fn wants_write(&self) -> bool {
        self.session().is_some_and(TlsSession::wants_write)
    }

    /// Tells the peer that nothing more will come.
    pub fn say_goodbye(&mut self) {
        if let Security::Tls(session) = &mut self.speech {
            session.say_goodbye();
            let _ = session.flush(&mut self.stream);
        }
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}
