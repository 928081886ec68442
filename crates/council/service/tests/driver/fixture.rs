//! A server of a test's own, and a client that speaks raw frames.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, process};

use council_service::config::{Secret, WordConfig};
use council_service::{Server, ServerConfig};
use council_wire::{
    Acl, ConnectRequest, ConnectResponse, OpCode, Reader, ReplyHeader, RequestHeader, Writer,
};

/// Long enough for a busy machine; nothing waits for it to pass.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The header that proves the super user of [`Directory::config`], with its end.
pub(crate) const SUPER: &str = "Authorization: digest super:test\r\n";
/// What ZooKeeper's documentation has for `super:test`.
const SUPER_DIGEST: &str = "super:D/InIHSb7yEEbrWz8b9l71RjZJU=";

/// A directory of one test, removed behind it.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let unique = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("diwan-driver-{}-{unique}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, contents).unwrap();
        path
    }

    /// Settings of a server whose data lies here and whose ports are free ones.
    pub(crate) fn config(&self) -> ServerConfig {
        let free = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let mut config = ServerConfig::default();
        config.listen.client = free;
        config.storage.data_dir = self.0.join("data");
        config.storage.segment_bytes = 1 << 20;
        config.metrics.address = None;
        config.admin.address = None;
        config.words = WordConfig::All;
        config.limits.connections_per_ip_max = 0;
        config.auth.super_digest = Some(Secret(String::from(SUPER_DIGEST)));
        config
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a client keeps of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) id: i64,
    pub(crate) password: [u8; 16],
    pub(crate) timeout_ms: i32,
}

/// A connection with a session, over any stream.
pub(crate) struct Client<S> {
    pub(crate) stream: S,
    pub(crate) session: Session,
    xid: i32,
}

pub(crate) fn dial(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.client_addr().unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Reads one frame; `None` when the server has closed instead.
pub(crate) fn read_frame(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if is_end(&error) => return None,
        Err(error) => panic!("reading: {error}"),
    }
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut frame).unwrap();
    Some(frame)
}

pub(crate) fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}

pub(crate) fn frame(body: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    let at = council_wire::start_frame(&mut out);
    body(&mut Writer::new(&mut out));
    council_wire::end_frame(&mut out, at);
    out
}

/// The handshake of a client that wants this session, or a new one.
pub(crate) fn handshake(session: Option<Session>) -> Vec<u8> {
    let (id, password) = session.map_or((0, [0; 16]), |session| (session.id, session.password));
    frame(|writer| {
        ConnectRequest {
            protocol_version: 0,
            last_zxid_seen: 0,
            timeout_ms: 30_000,
            session_id: id,
            password: Some(&password),
            read_only: Some(false),
        }
        .write(writer);
    })
}

impl Client<TcpStream> {
    pub(crate) fn connect(server: &Server) -> Self {
        Self::greet(dial(server), None).unwrap()
    }

    pub(crate) fn resume(server: &Server, session: Session) -> Option<Self> {
        Self::greet(dial(server), Some(session))
    }
}

impl<S: Read + Write> Client<S> {
    /// Opens a session over this stream, or takes one up; `None` when the server refuses it.
    pub(crate) fn greet(mut stream: S, session: Option<Session>) -> Option<Self> {
        stream.write_all(&handshake(session)).unwrap();
        let response = read_frame(&mut stream)?;
        let response = ConnectResponse::read(&mut Reader::new(&response)).unwrap();
        let password = response.password.unwrap().try_into().unwrap();
        let session = Session { id: response.session_id, password, timeout_ms: response.timeout_ms };
        (session.id != 0).then_some(Self { stream, session, xid: 0 })
    }

    pub(crate) fn send(&mut self, opcode: OpCode, body: impl FnOnce(&mut Writer<'_>)) {
        self.xid += 1;
        let xid = self.xid;
        let request = frame(|writer| {
            RequestHeader { xid, operation: opcode.code() }.write(writer);
            body(writer);
        });
        self.stream.write_all(&request).unwrap();
    }

    /// The next reply's header and body; `None` when the server has closed.
    pub(crate) fn reply(&mut self) -> Option<(ReplyHeader, Vec<u8>)> {
        let frame = read_frame(&mut self.stream)?;
        let mut reader = Reader::new(&frame);
        let header = ReplyHeader::read(&mut reader).unwrap();
        Some((header, reader.rest().to_vec()))
    }

    /// Asks and waits for the answer; gives the error code and the body.
    pub(crate) fn ask(&mut self, opcode: OpCode, body: impl FnOnce(&mut Writer<'_>)) -> (i32, Vec<u8>) {
        self.send(opcode, body);
        let (header, body) = self.reply().unwrap();
        assert_eq!(header.xid, self.xid);
        (header.err, body)
    }

    pub(crate) fn create(&mut self, path: &str, data: &[u8], flags: i32) -> i32 {
        self.create_with(path, data, &[Acl::open()], flags)
    }

    pub(crate) fn create_with(&mut self, path: &str, data: &[u8], acl: &[Acl], flags: i32) -> i32 {
        let (error, _) = self.ask(OpCode::Create, |writer| {
            writer.text(path).buffer(Some(data));
            Acl::write_all(acl, writer);
            writer.i32(flags);
        });
        error
    }

    /// A node's data, or the error.
    pub(crate) fn get(&mut self, path: &str) -> Result<Vec<u8>, i32> {
        let (error, body) = self.ask(OpCode::GetData, |writer| {
            writer.text(path).bool(false);
        });
        if error != 0 {
            return Err(error);
        }
        Ok(Reader::new(&body).buffer().unwrap().unwrap_or_default().to_vec())
    }
}

/// Waits for what the server comes to in its own time.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "it never came to this: {what}");
        // Leaves the processor to those who bring it about.
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Everything that comes until the server closes.
pub(crate) fn read_all(stream: &mut impl Read) -> Vec<u8> {
    let mut all = Vec::new();
    match stream.read_to_end(&mut all) {
        Ok(_) => {}
        Err(error) if is_end(&error) => {}
        Err(error) => panic!("reading: {error}"),
    }
    all
}

/// The answer to a four-letter word, asked with a half close right behind it as health checks do.
pub(crate) fn word(server: &Server, word: &[u8]) -> String {
    let mut stream = dial(server);
    stream.write_all(word).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    String::from_utf8(read_all(&mut stream)).unwrap()
}

/// A page: its status and body.
pub(crate) fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let text = String::from_utf8(read_all(&mut stream)).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), String::from(body))
}
