//! A client over one encrypted connection, with the little HTTP that it takes.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// How long an answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// See the module.
pub(crate) struct Wire {
    stream: StreamOwned<ClientConnection, TcpStream>,
    host: String,
    read: Vec<u8>,
}

impl Wire {
    /// A connection whose handshake has ended. It trusts an authority, and shows a certificate, if there is one.
    pub(crate) fn encrypted(address: &str, authority: &str, own: Option<&str>) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
        let config = match own {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let chain = CertificateDer::pem_file_iter(file).unwrap().map(Result::unwrap).collect();
                builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_file(file).unwrap()).unwrap()
            }
        };
        let host = address.rsplit_once(':').unwrap().0.to_owned();
        let name = ServerName::try_from(host.clone()).unwrap();
        let mut connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(ANSWER_MAX))?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        Ok(Self { stream: StreamOwned::new(connection, socket), host, read: Vec::new() })
    }

    /// The certificate that the server has shown.
    pub(crate) fn certificate(&self) -> Vec<u8> {
        self.stream.conn.peer_certificates().unwrap()[0].to_vec()
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) -> io::Result<()> {
        self.send_with(method, path, "", body)
    }

    fn send_with(&mut self, method: &str, path: &str, fields: &str, body: &str) -> io::Result<()> {
        let (host, length) = (&self.host, body.len());
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{fields}Content-Length: {length}\r\n\r\n");
        self.stream.write_all(head.as_bytes())?;
        self.stream.write_all(body.as_bytes())?;
        self.stream.flush()
    }

    /// The status and the body of a response.
    pub(crate) fn call(&mut self, method: &str, path: &str, body: &str) -> io::Result<(u16, String)> {
        self.send(method, path, body)?;
        self.read()
    }

    /// Posts a call under a key.
    pub(crate) fn call_under(&mut self, path: &str, key: &str) -> io::Result<(u16, String)> {
        self.send_with("POST", path, &format!("Idempotency-Key: \"{key}\"\r\n"), "")?;
        self.read()
    }

    /// The next response.
    pub(crate) fn read(&mut self) -> io::Result<(u16, String)> {
        let end = self.until("\r\n\r\n")?;
        let head = String::from_utf8(self.read.drain(..end).collect()).unwrap().to_lowercase();
        let status = head[9..12].parse().unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        while self.read.len() < length {
            self.more()?;
        }
        Ok((status, String::from_utf8(self.read.drain(..length).collect()).unwrap()))
    }

    /// Reads until these words have come; where they end.
    pub(crate) fn until(&mut self, words: &str) -> io::Result<usize> {
        loop {
            let found = self.read.windows(words.len()).position(|window| window == words.as_bytes());
            if let Some(at) = found {
                return Ok(at + words.len());
            }
            self.more()?;
        }
    }

    fn more(&mut self) -> io::Result<()> {
        let mut buffer = [0; 64 << 10];
        let count = self.stream.read(&mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read.extend_from_slice(&buffer[..count]);
        Ok(())
    }
}
