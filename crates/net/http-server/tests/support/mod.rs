//! A server whose handler does what the path says, and clients over plain sockets.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(unreachable_pub, reason = "shared by test files")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use base::{MonoTime, Now};
use net_http_server::{
    Body, Bytes, Handler, HttpConfig, HttpLimits, HttpServer, HttpTls, PreparedServer, Refusal, Replies,
    Request, RequestId, Response, ShardMail, StatusCode,
};
use net_reactor::{LimitNames, TlsHints};
use net_tls::TlsContext;
use node_threads::{Clock, Descriptors, Supervisor};

/// How long a test waits for what must come.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What other threads tell the handler.
pub enum Mail {
    Respond(RequestId, &'static str),
    Push(RequestId, Bytes),
    Finish(RequestId),
    Abort(RequestId),
}

/// What the handler tells the test.
#[derive(Debug, PartialEq, Eq)]
pub enum Seen {
    Later(RequestId),
    Stream(RequestId),
    Gone(RequestId),
    Stopped,
}

struct ByPath {
    seen: Sender<Seen>,
    waiting: Vec<RequestId>,
}

pub fn text(status: StatusCode, text: impl Into<Bytes>) -> Response {
    Response::new(status, "text/plain", Body::Whole(text.into()))
}

impl Handler for ByPath {
    type Mail = Mail;

    fn request(&mut self, id: RequestId, request: Request, replies: &mut Replies, _: Now) {
        match request.uri.path() {
            "/echo" => replies.respond(id, text(StatusCode::OK, request.body)),
            "/later" => {
                self.waiting.push(id);
                let _ = self.seen.send(Seen::Later(id));
            }
            "/stream" => {
                let body = Body::Stream { overflow: Bytes::from_static(b"lost") };
                replies.respond(id, Response::new(StatusCode::OK, "text/event-stream", body));
                let _ = self.seen.send(Seen::Stream(id));
            }
            "/who" => {
                let who = request.certificate.as_deref().unwrap_or("nobody").to_owned();
                replies.respond(id, text(StatusCode::OK, who));
            }
            path => replies.respond(id, text(StatusCode::OK, format!("{} {path}", request.method))),
        }
    }

    fn refusal(&mut self, refusal: Refusal) -> Response {
        text(refusal.status(), format!("{refusal:?}"))
    }

    fn mail(&mut self, mail: Mail, replies: &mut Replies, _: Now) {
        match mail {
            Mail::Respond(id, words) => {
                self.waiting.retain(|waiting| *waiting != id);
                replies.respond(id, text(StatusCode::OK, words));
            }
            Mail::Push(id, piece) => replies.push(id, piece),
            Mail::Finish(id) => replies.finish(id),
            Mail::Abort(id) => replies.abort(id),
        }
    }

    fn gone(&mut self, id: RequestId) {
        let _ = self.seen.send(Seen::Gone(id));
    }

    fn deadline(&self) -> Option<MonoTime> {
        None
    }

    fn tick(&mut self, _: &mut Replies, _: Now) {}

    fn stop(&mut self, replies: &mut Replies, _: Now) {
        for id in self.waiting.drain(..) {
            replies.respond(id, text(StatusCode::SERVICE_UNAVAILABLE, "stopping"));
        }
        let _ = self.seen.send(Seen::Stopped);
    }

    fn flush(&mut self) {}
}

/// What clients in plain text are told where TLS is wanted.
pub const PLAIN_REFUSAL: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 4\r\n\r\nTLS!";

/// A running server.
pub struct Site {
    pub server: HttpServer,
    pub mail: ShardMail<Mail>,
    pub seen: Receiver<Seen>,
}

pub fn config(limits: HttpLimits) -> HttpConfig {
    HttpConfig {
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        threads: 1,
        limits,
        connections_max: 0,
        per_address_max: 0,
        names: LimitNames { connections_max: "test.connections-max", per_ip_max: "test.per-address-max" },
        descriptors: Descriptors::of_process(0),
        tls: None,
        hints: TlsHints {
            plain_at_tls: "test.listen",
            tls_at_plain: "test.tls",
            client_auth: "test.client-auth",
            trust_store: "test.trust",
        },
        thread_names: ("test-http", "test-listener"),
    }
}

pub fn serve(config: HttpConfig) -> Site {
    let prepared = PreparedServer::new(config).expect("a port");
    let mail = prepared.mail()[0].clone();
    let (sender, seen) = channel();
    let handler = |_| ByPath { seen: sender.clone(), waiting: Vec::new() };
    let server = prepared.start(Clock::start(), &Arc::new(Supervisor::default()), handler).expect("threads");
    Site { server, mail, seen }
}

pub fn site() -> Site {
    serve(config(HttpLimits::default()))
}

pub fn encrypted(context: Arc<TlsContext>) -> Site {
    let tls = HttpTls { context, handshakes_max: 16, plain_refusal: PLAIN_REFUSAL };
    serve(HttpConfig { tls: Some(tls), ..config(HttpLimits::default()) })
}

impl Site {
    pub fn client(&self) -> Client {
        Client::connect(self.server.address())
    }

    pub fn next(&self) -> Seen {
        self.seen.recv_timeout(PATIENCE).expect("the handler sees something")
    }
}

/// A client that reads responses with the little HTTP that it takes.
pub struct Client {
    pub stream: TcpStream,
    pub read: Vec<u8>,
}

/// A response as it came.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("a socket");
        Self { stream, read: Vec::new() }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).expect("sent");
    }

    /// Reads more; false at the end.
    pub fn more(&mut self) -> bool {
        let mut buffer = [0; 64 << 10];
        let count = self.stream.read(&mut buffer).expect("bytes, or the end");
        self.read.extend_from_slice(&buffer[..count]);
        count > 0
    }

    pub fn until(&mut self, what: &[u8]) -> usize {
        let mut looked = 0;
        loop {
            let rest = &self.read[looked..];
            if let Some(at) = rest.windows(what.len()).position(|window| window == what) {
                return looked + at + what.len();
            }
            looked = self.read.len().saturating_sub(what.len());
            assert!(self.more(), "the end before {:?}", String::from_utf8_lossy(what));
        }
    }

    /// The next response. `has_body` is false for one to HEAD.
    pub fn response_with(&mut self, has_body: bool) -> Got {
        let end = self.until(b"\r\n\r\n");
        let head = String::from_utf8(self.read.drain(..end).collect()).expect("text").to_lowercase();
        let status = head[9..12].parse().expect("a status");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.parse().expect("a length"));
        let length = if has_body { length } else { 0 };
        while self.read.len() < length {
            assert!(self.more(), "the end within a body");
        }
        Got { status, head, body: self.read.drain(..length).collect() }
    }

    pub fn response(&mut self) -> Got {
        self.response_with(true)
    }

    pub fn get(&mut self, path: &str) -> Got {
        self.send(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n"));
        self.response()
    }

    /// Everything up to the end.
    pub fn rest(&mut self) -> String {
        while self.more() {}
        String::from_utf8(std::mem::take(&mut self.read)).expect("text")
    }
}
