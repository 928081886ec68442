//! How connections and the server end.

mod support;

use std::net::Shutdown;
use std::time::Duration;

use net_http_server::Bytes;
use support::{Client, Mail, Seen, site};

fn waiting(site: &support::Site) -> (Client, net_http_server::RequestId) {
    let mut client = site.client();
    client.send("GET /later HTTP/1.1\r\nhost: x\r\n\r\n");
    let Seen::Later(id) = site.next() else { panic!("not the request") };
    (client, id)
}

#[test]
fn handler_is_told_that_a_client_closed_its_connection() {
    let site = site();
    let (client, id) = waiting(&site);
    drop(client);
    assert_eq!(site.next(), Seen::Gone(id));
    // Too late: nobody is there.
    site.mail.put(Mail::Respond(id, "late"));
    assert_eq!(site.client().get("/next").body, b"GET /next");
}

/// What `/proc/net/tcp` says of the server's end of a connection: which timer runs, and for how long still.
fn timer_of(client: &Client) -> (u8, Duration) {
    let port =
        |address: std::io::Result<std::net::SocketAddr>| format!(":{:04X}", address.expect("one").port());
    let (own, other) = (port(client.stream.peer_addr()), port(client.stream.local_addr()));
    let table = std::fs::read_to_string("/proc/net/tcp").expect("the table of connections");
    let line = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut ends = line.filter(|line| line[1].ends_with(&own) && line[2].ends_with(&other));
    let line = ends.next().expect("the connection");
    let (kind, left) = line[5].split_once(':').expect("a timer");
    let ticks = u64::from_str_radix(left, 16).expect("a number");
    (kind.parse().expect("a number"), Duration::from_millis(ticks * 10))
}

#[test]
fn host_that_says_nothing_is_asked_whether_it_is_there() {
    let site = site();
    let (client, _) = waiting(&site);
    let (timer, left) = timer_of(&client);
    assert_eq!(timer, 2, "the one that keeps connections alive");
    assert!(left <= Duration::from_secs(5), "{left:?}");
}

#[test]
fn client_that_closes_its_side_is_gone() {
    let site = site();
    let (mut client, id) = waiting(&site);
    client.stream.shutdown(Shutdown::Write).expect("shut down");
    assert_eq!(site.next(), Seen::Gone(id));
    assert_eq!(client.rest(), "");
}

#[test]
fn client_that_closes_its_side_behind_a_request_that_is_answered_at_once_gets_the_answer() {
    let site = site();
    let mut client = site.client();
    client.send("GET /a HTTP/1.1\r\nhost: x\r\n\r\n");
    client.stream.shutdown(Shutdown::Write).expect("shut down");
    assert!(client.rest().ends_with("GET /a"));
}

#[test]
fn reset_connection_is_gone() {
    let site = site();
    let (client, id) = waiting(&site);
    // A linger time of nothing resets the connection.
    let socket = socket2::Socket::from(client.stream);
    socket.set_linger(Some(Duration::ZERO)).expect("a socket");
    drop(socket);
    assert_eq!(site.next(), Seen::Gone(id));
}

#[test]
fn request_sent_ahead_hides_no_end() {
    let site = site();
    let (mut client, id) = waiting(&site);
    client.send("GET /second HTTP/1.1\r\nhost: x\r\n\r\n");
    drop(client);
    assert_eq!(site.next(), Seen::Gone(id));
}

#[test]
fn handler_is_told_that_a_stream_has_no_reader() {
    let site = site();
    let mut client = site.client();
    client.send("GET /stream HTTP/1.1\r\nhost: x\r\n\r\n");
    let Seen::Stream(id) = site.next() else { panic!("not the request") };
    client.until(b"\r\n\r\n");
    drop(client);
    assert_eq!(site.next(), Seen::Gone(id));
}

#[test]
fn aborted_body_is_shown_to_nobody() {
    let site = site();
    let mut client = site.client();
    client.send("POST /later HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf");
    drop(client);
    assert_eq!(site.client().get("/next").status, 200);
    assert!(site.seen.try_recv().is_err());
}

#[test]
fn server_that_stops_answers_what_it_has_read_and_closes() {
    let mut site = site();
    let (mut waiting, _) = waiting(&site);
    let mut idle = site.client();
    assert_eq!(idle.get("/a").status, 200);
    let address = site.server.address();
    site.server.stop();
    let got = waiting.response();
    assert_eq!((got.status, got.body), (503, b"stopping".to_vec()));
    assert_eq!((waiting.rest(), idle.rest()), (String::new(), String::new()));
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn body_that_is_given_up_has_no_end() {
    let site = site();
    let mut client = site.client();
    client.send("GET /stream HTTP/1.1\r\nhost: x\r\n\r\n");
    let Seen::Stream(id) = site.next() else { panic!("not the request") };
    site.mail.put(Mail::Push(id, Bytes::from_static(b"some")));
    client.until(b"some\r\n");
    site.mail.put(Mail::Push(id, Bytes::from_static(b"more")));
    site.mail.put(Mail::Abort(id));
    assert!(!client.rest().contains("0\r\n\r\n"), "nobody takes it for whole");
    assert_eq!(site.client().get("/next").status, 200);
    assert!(site.seen.try_recv().is_err(), "the handler knows it");
}
