//! The sockets of the pages: accepts, reads one request, answers, closes.
//!
//! A connection has a thread of its own for the few milliseconds that it is open. `places` bounds their number. Each of
//! its parts (the request, the answer, the end) has one deadline, however slowly its client sends.

use node_threads::{Descriptors, RateLimit};
use std::io::{self, Read};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::body::RequestBody;
use crate::paced::Paced;
use crate::places::{ConnectionPermit, Kind, Places};
use crate::response::{Request, Response};

/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 16 * 1024;
const HEADERS_MAX: usize = 64;
/// From accepting a connection to its request being there.
const DEADLINE: Duration = Duration::from_secs(5);
/// For its content to be sent and its answer to be taken, besides the time that their bytes earn.
const ANSWER_DEADLINE: Duration = Duration::from_secs(30);
/// Bytes of a body that are read and thrown away, and how long all of them are waited for.
const BODY_BYTES_MAX: u64 = 1 << 20;
const LINGER: Duration = Duration::from_secs(1);
/// How long accepting pauses when the system has no descriptor to give.
const OUT_OF_DESCRIPTORS_PAUSE: Duration = Duration::from_millis(100);
/// How often the log says that connections are refused.
const REFUSALS_TOLD: Duration = Duration::from_secs(10);

/// What is served at one address.
pub trait Site: Send + Sync {
    /// What a request for this path asks for: how many are answered at a time depends on it.
    fn kind(&self, path: &str) -> Kind;

    /// The answer to a request.
    fn answer(&self, request: &Request, body: &mut dyn Read) -> Response;
}

/// A running listener; it stops on request.
pub struct HttpListener {
    address: SocketAddr,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl HttpListener {
    /// Serves a site at `address`; port 0 takes a free one.
    ///
    /// # Errors
    /// The address cannot be had, or the system refuses a thread.
    pub fn start(
        address: SocketAddr,
        name: &str,
        site: Arc<dyn Site>,
        descriptors: Descriptors,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let stopping = Arc::new(AtomicBool::new(false));
        let thread = {
            let stopping = Arc::clone(&stopping);
            thread::Builder::new()
                .name(String::from(name))
                .spawn(move || accept_all(&listener, &site, descriptors, &stopping))?
        };
        Ok(Self { address, stopping, thread: Some(thread) })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting. Connections under way end by themselves.
    pub fn stop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        // The thread sleeps in `accept`: a connection wakes it.
        let mut wake = self.address;
        if wake.ip().is_unspecified() {
            wake.set_ip(if wake.is_ipv4() {
                std::net::Ipv4Addr::LOCALHOST.into()
            } else {
                std::net::Ipv6Addr::LOCALHOST.into()
            });
        }
        if TcpStream::connect_timeout(&wake, DEADLINE).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

fn accept_all(listener: &TcpListener, site: &Arc<dyn Site>, descriptors: Descriptors, stopping: &AtomicBool) {
    let places = Arc::new(Places::default());
    let refusals = RateLimit::default();
    loop {
        let accepted = listener.accept();
        if stopping.load(Ordering::SeqCst) {
            return;
        }
        match accepted {
            Ok((stream, _)) if !descriptors.admit_page(stream.as_fd()) => {
                if refusals.allow(Instant::now(), REFUSALS_TOLD) {
                    tracing::warn!(
                        limit = descriptors.limit,
                        "an HTTP connection is refused: the limit of open files is nearly reached; hint: raise it \
                         (`ulimit -n`, `LimitNOFILE`)"
                    );
                }
            }
            Ok((stream, peer)) => serve_apart(stream, peer.ip().to_canonical(), site, &places),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                if refusals.allow(Instant::now(), REFUSALS_TOLD) {
                    tracing::warn!(%error, "an HTTP connection could not be accepted");
                }
                thread::sleep(OUT_OF_DESCRIPTORS_PAUSE);
            }
        }
    }
}

fn serve_apart(stream: TcpStream, ip: IpAddr, site: &Arc<dyn Site>, places: &Arc<Places>) {
    let stream = Arc::new(stream);
    let Some(place) = places.admit(&stream, ip) else { return };
    let site = Arc::clone(site);
    let spawned = thread::Builder::new().name(String::from("http-page")).spawn(move || {
        // A client that went away needs no report.
        let _ = serve(&stream, &place, site.as_ref());
    });
    if let Err(error) = spawned {
        tracing::warn!(%error, "no thread for an HTTP connection");
    }
}

fn serve(stream: &TcpStream, place: &ConnectionPermit, site: &dyn Site) -> io::Result<()> {
    let asked = read_request(stream)?;
    let paced = Paced::new(stream, ANSWER_DEADLINE);
    match asked {
        Ok((request, begin)) if place.begin(site.kind(&request.path)) => {
            let bytes = request.content_length.unwrap_or(0);
            let mut body = RequestBody::new(begin, &paced, bytes, request.expects_continue);
            let response = site.answer(&request, &mut body);
            response.send(&mut &paced, request.method != "HEAD")?;
            place.end();
        }
        Ok(_) => Response::text(503, "too many requests are being answered: try again\n")
            .send(&mut &paced, true)?,
        Err(refusal) => refusal.send(&mut &paced, true)?,
    }
    stream.shutdown(Shutdown::Write)?;
    // To close over unread input (a POST's body) would reset the connection, and the answer might be lost with it.
    drain(stream)
}

/// Throws away what the client still sends, for a moment.
fn drain(mut stream: &TcpStream) -> io::Result<()> {
    let deadline = Instant::now() + LINGER;
    let (mut left, mut chunk) = (BODY_BYTES_MAX, [0; 2048]);
    loop {
        let patience = deadline.saturating_duration_since(Instant::now());
        if patience.is_zero() || left == 0 {
            return Ok(());
        }
        stream.set_read_timeout(Some(patience))?;
        match stream.read(&mut chunk)? {
            0 => return Ok(()),
            length => left = left.saturating_sub(length as u64),
        }
    }
}

/// Reads up to the end of the request's head: the outer error is the socket's, the inner one the client's. Gives what
/// has come of the content, too.
fn read_request(mut stream: &TcpStream) -> io::Result<Result<(Request, Vec<u8>), Response>> {
    let (peer, deadline) = (stream.peer_addr()?.ip().to_canonical(), Instant::now() + DEADLINE);
    let (mut head, mut chunk) = (Vec::new(), [0; 2048]);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Err(Response::text(408, "the request took too long\n")));
        }
        stream.set_read_timeout(Some(left))?;
        let length = match stream.read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        };
        head.extend_from_slice(chunk.get(..length).unwrap_or_default());
        if let Some(parsed) = parse(&head, peer) {
            return Ok(parsed.map(|(request, length)| (request, head.split_off(length))));
        }
    }
}

/// The request and the length of its head, or its refusal, or `None` while it is incomplete.
fn parse(head: &[u8], peer: IpAddr) -> Option<Result<(Request, usize), Response>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Complete(length)) => {
            let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
            let header = |name: &str| {
                let found = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
                found.map(|header| String::from_utf8_lossy(header.value).into_owned())
            };
            let content_length = match header("content-length").map(|text| text.trim().parse()) {
                Some(Err(_)) => return Some(Err(Response::text(400, "the Content-Length is no number\n"))),
                other => other.and_then(Result::ok),
            };
            let expects = header("expect").unwrap_or_default();
            let request = Request {
                authorization: header("authorization"),
                host: header("host"),
                content_length,
                expects_continue: expects.eq_ignore_ascii_case("100-continue"),
                ..Request::new(method, target, peer)
            };
            Some(Ok((request, length)))
        }
        Ok(httparse::Status::Partial) if head.len() < HEAD_BYTES_MAX => None,
        Ok(httparse::Status::Partial) => Some(Err(Response::text(431, "the request's head is too long\n"))),
        Err(_) => Some(Err(Response::text(400, "this is not HTTP\n"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_told_from_nonsense_at_every_cut() {
        let parse = |head: &[u8]| super::parse(head, IpAddr::from([127, 0, 0, 1]));
        let head = b"GET /commands/ruok?x=1 HTTP/1.1\r\nHost: a\r\nauthorization: digest a:b\r\n\r\n";
        for cut in 0..head.len() {
            assert!(parse(&head[..cut]).is_none(), "{cut}");
        }
        let (request, length) = parse(head).expect("whole").expect("a request");
        assert_eq!(length, head.len());
        assert_eq!((request.path.as_str(), request.value("x")), ("/commands/ruok", Some("1")));
        assert_eq!(request.authorization.as_deref(), Some("digest a:b"));
        assert_eq!(parse(b"\x00\x00\x00\x2c\x00").expect("an answer").expect_err("refused").status, 400);
        let long = [b"GET / HTTP/1.1\r\nA: ".as_slice(), &[b'x'; HEAD_BYTES_MAX]].concat();
        assert_eq!(parse(&long).expect("an answer").expect_err("refused").status, 431);
    }
}
