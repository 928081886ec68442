//! The socket of one connection, plain or encrypted. It never waits: what the socket does not take or give yet comes as
//! [`io::ErrorKind::WouldBlock`].

use std::io::{self, Read, Write};
use std::sync::Arc;

use mio::net::TcpStream;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

/// See the module.
pub(crate) struct Stream {
    socket: TcpStream,
    tls: Option<Box<ClientConnection>>,
}

impl Stream {
    /// Encrypts with `tls`, if there is one; the server's certificate must then name `host`.
    pub(crate) fn new(socket: TcpStream, host: &str, tls: Option<&Arc<ClientConfig>>) -> io::Result<Self> {
        let tls = tls.map(|config| encrypted(config, host)).transpose()?;
        Ok(Self { socket, tls })
    }

    /// To be registered with a poll.
    pub(crate) const fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// Reads what has arrived; 0 when the server will send no more.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.socket.read(buffer) };
        loop {
            match tls.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            if tls.read_tls(&mut self.socket)? == 0 {
                return Ok(0);
            }
            if let Err(error) = tls.process_new_packets() {
                // The alert tells the server why.
                let _ = tls.write_tls(&mut self.socket);
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
            send(tls, &mut self.socket)?;
        }
    }

    /// Hands bytes over; how many were taken.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.write(bytes),
            Some(tls) if tls.is_handshaking() => Err(io::ErrorKind::WouldBlock.into()),
            Some(tls) => {
                let taken = tls.writer().write(bytes)?;
                send(tls, &mut self.socket)?;
                if taken == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(taken) }
            }
        }
    }

    /// Sends encrypted bytes that wait. What the socket does not take now is sent at the next event.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.tls.as_mut().map_or(Ok(()), |tls| send(tls, &mut self.socket))
    }

    /// Whether TLS is not agreed upon yet.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// Whether it is not encrypted.
    #[cfg(feature = "load")]
    pub(crate) const fn is_plain(&self) -> bool {
        self.tls.is_none()
    }
}

fn send(tls: &mut ClientConnection, stream: &mut TcpStream) -> io::Result<()> {
    while tls.wants_write() {
        match tls.write_tls(stream) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn encrypted(config: &Arc<ClientConfig>, host: &str) -> io::Result<Box<ClientConnection>> {
    let name = ServerName::try_from(String::from(host)).map_err(io::Error::other)?;
    let connection = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
    Ok(Box::new(connection))
}
