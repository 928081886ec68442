//! One encrypted connection: ciphertext on the socket's side, plain bytes on the other.

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{Connection, ServerConfig, ServerConnection};

use crate::framing::{Frames, Framing};

/// Plain bytes taken in before the socket has taken the ciphertext of earlier ones.
const PLAIN_BYTES_MAX: usize = 64 * 1024;

/// See the module.
pub struct TlsSession {
    connection: Connection,
    /// Where the frames end that are sent, if each gets a record of its own.
    written: Option<Frames>,
}

impl TlsSession {
    /// A connection before its handshake.
    pub fn new(config: Arc<ServerConfig>, framing: Framing) -> io::Result<Self> {
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        let written = (framing == Framing::LengthPrefixed).then(Frames::default);
        Ok(Self { written, ..Self::of(Connection::Server(connection)) })
    }

    /// A connection of which either side may be this one.
    pub fn of(mut connection: Connection) -> Self {
        connection.set_buffer_limit(Some(PLAIN_BYTES_MAX));
        Self { connection, written: None }
    }

    /// Whether the handshake is still under way.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Whether ciphertext waits for the socket.
    pub fn wants_write(&self) -> bool {
        self.connection.wants_write()
    }

    /// Plain bytes that have arrived, as `read` on a socket would give them: 0 is the end. `WouldBlock` says that
    /// the socket is empty; anything shorter than `buffer` says nothing.
    pub fn read(&mut self, socket: &mut (impl Read + Write), buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                Ok(length) => return Ok(length),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The peer closed the socket without a `close_notify`.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) => return Err(error),
            }
            let ended = self.connection.read_tls(socket)? == 0;
            if let Err(error) = self.connection.process_new_packets() {
                // The alert to the peer may still be sent.
                let _ = self.flush(socket);
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
            if ended && self.connection.is_handshaking() {
                return Ok(0);
            }
        }
    }

    /// Takes plain bytes in and sends what the socket takes; returns how many were taken in.
    pub fn write(&mut self, socket: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while self.flush(socket)? && !rest.is_empty() {
            rest = self.encrypt(rest)?;
        }
        Ok(bytes.len() - rest.len())
    }

    /// Encrypts frames, to a client each into records of its own, until they or the room for ciphertext end; gives what is left.
    fn encrypt<'a>(&mut self, bytes: &'a [u8]) -> io::Result<&'a [u8]> {
        let Some(written) = &mut self.written else {
            let taken = self.connection.writer().write(bytes)?;
            return Ok(bytes.get(taken..).unwrap_or_default());
        };
        let mut rest = bytes;
        while let Some(frame) = rest.get(..written.until_end(rest)).filter(|frame| !frame.is_empty()) {
            let taken = self.connection.writer().write(frame)?;
            written.pass(frame.get(..taken).unwrap_or_default());
            rest = rest.get(taken..).unwrap_or_default();
            if taken < frame.len() {
                break;
            }
        }
        Ok(rest)
    }

    /// Sends ciphertext; says whether all of it is gone.
    pub fn flush(&mut self, socket: &mut impl Write) -> io::Result<bool> {
        while self.connection.wants_write() {
            match self.connection.write_tls(socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Sends a `close_notify` to the peer with the next flush.
    pub fn say_goodbye(&mut self) {
        self.connection.send_close_notify();
    }

    /// Whether the peer has shown a certificate.
    pub fn has_certificate(&self) -> bool {
        self.certificate().is_some()
    }

    /// The holder of the certificate that the peer has shown, if it has shown one.
    pub fn subject(&self) -> Option<String> {
        net_auth::certificate_subject(self.certificate()?)
    }

    /// Whether the peer's certificate, if it has shown one, is made out for this address.
    pub fn names(&self, ip: IpAddr) -> bool {
        let Some(certificate) = self.certificate() else { return true };
        webpki::EndEntityCert::try_from(certificate).is_ok_and(|certificate| {
            certificate.verify_is_valid_for_subject_name(&ServerName::from(ip)).is_ok()
        })
    }

    fn certificate(&self) -> Option<&CertificateDer<'static>> {
        self.connection.peer_certificates()?.first()
    }
}
