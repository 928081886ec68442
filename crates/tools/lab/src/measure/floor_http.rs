//! The floor under queries of live objects: the HTTP server that they are served by, which answers every request at once with
//! the same few bytes, and opens no session though it says so. What it costs is what reading a request and writing a response cost.

use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::sync::Arc;

use base::{MonoTime, Now};
use net_http_server::{
    Body, Bytes, Handler, HttpConfig, HttpLimits, PreparedServer, Refusal, Replies, Request, RequestId,
    Response, StatusCode,
};
use net_reactor::{LimitNames, TlsHints};
use node_threads::{Clock, Descriptors, Supervisor};

/// What a counter answers that is at 7, and what the loads look for.
const ANSWER: &[u8] = br#"{"value":7}"#;

/// What a load is told that opens a session.
const SESSION: &[u8] =
    br#"{"session":"00000000000000000000000000000007","secret":"00000000000000000000000000000007"}"#;

/// Answers all requests alike, but those for a session.
struct Alike;

fn answer(status: StatusCode, body: &'static [u8]) -> Response {
    let body = Body::Whole(Bytes::from_static(body));
    Response::new(status, "application/json", body).with("diwan-position", "7")
}

impl Handler for Alike {
    type Mail = ();

    fn request(&mut self, id: RequestId, request: Request, replies: &mut Replies, _: Now) {
        let body = if request.uri.path() == "/v1/sessions" { SESSION } else { ANSWER };
        replies.respond(id, answer(StatusCode::OK, body));
    }

    fn refusal(&mut self, _: Refusal) -> Response {
        answer(StatusCode::BAD_REQUEST, ANSWER)
    }

    fn mail(&mut self, (): (), _: &mut Replies, _: Now) {}

    fn gone(&mut self, _: RequestId) {}

    fn deadline(&self) -> Option<MonoTime> {
        None
    }

    fn tick(&mut self, _: &mut Replies, _: Now) {}

    fn stop(&mut self, _: &mut Replies, _: Now) {}

    fn flush(&mut self) {}
}

/// Serves until standard input ends; gives its address to `listening` first. It has as many threads as live objects have.
///
/// # Errors
/// The address is taken, or the system refuses a thread.
pub fn serve_http_floor(address: SocketAddr, listening: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let config = HttpConfig {
        address,
        threads: u16::try_from(cores.saturating_sub(1).clamp(1, 16)).unwrap_or(1),
        limits: HttpLimits::default(),
        connections_max: 0,
        per_address_max: 0,
        names: LimitNames { connections_max: "connections", per_ip_max: "connections of an address" },
        descriptors: Descriptors::of_process(0),
        tls: None,
        hints: TlsHints { plain_at_tls: "", tls_at_plain: "", client_auth: "", trust_store: "" },
        thread_names: ("floor edge", "floor accept"),
    };
    let server = PreparedServer::new(config)?;
    let address = server.address();
    let supervisor = Arc::<Supervisor>::default();
    let mut server = server.start(Clock::start(), &supervisor, |_| Alike)?;
    listening(address);
    io::stdin().read_to_end(&mut Vec::new())?;
    server.stop();
    Ok(())
}
