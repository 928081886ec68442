//! The HTTP pages.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use server::Server;

use crate::fixture::{Client, Directory, get, read_all};

fn start(directory: &Directory, shared: bool) -> Server {
    let mut config = directory.config();
    let free = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    config.admin.address = free;
    config.metrics.address = if shared { free } else { Some(SocketAddr::from(([127, 0, 0, 2], 0))) };
    Server::start(config).unwrap()
}

#[test]
fn metrics_have_zookeepers_names_and_move_with_the_load() {
    let directory = Directory::new();
    let server = start(&directory, false);
    let mut client = Client::connect(&server);
    for number in 0..10 {
        assert_eq!(client.create(&format!("/m{number}"), b"", 0), 0);
    }
    let (status, text) = get(server.http_addr().unwrap(), "/metrics");
    assert_eq!(status, 200);
    for line in ["znode_count 15", "num_alive_connections 1", "outstanding_requests 0", "diwan_serving 1"] {
        assert!(text.lines().any(|other| other == line), "{line} is missing in {text}");
    }
    let mut families: Vec<_> = text.lines().filter(|line| line.starts_with("# TYPE ")).collect();
    families.sort_unstable();
    assert!(families.windows(2).all(|pair| pair[0] != pair[1]), "a family is there twice");
    assert!(text.contains("updatelatency_count 10\n"), "{text}");
    assert!(text.contains("diwan_requests{operation=\"create\"} 10\n"), "{text}");
    assert!(text.contains("diwan_request_seconds_count{operation=\"create\"} 10\n"), "{text}");
    assert!(text.contains("# TYPE diwan_fsync_seconds histogram\n"), "{text}");
    assert!(!text.contains("diwan_fsync_seconds_count 0\n"), "{text}");
    assert_eq!(get(server.http_addr().unwrap(), "/livez"), (200, String::from("ok\n")));
    assert_eq!(get(server.http_addr().unwrap(), "/readyz"), (200, String::from("ok\n")));
    assert_eq!(get(server.http_addr().unwrap(), "/commands/ruok").0, 404, "the commands are elsewhere");
}

#[test]
fn commands_answer_in_json() {
    let directory = Directory::new();
    let server = start(&directory, true);
    let admin = server.admin_addr().unwrap();
    assert_eq!(server.http_addr(), server.admin_addr(), "one listener for both");
    let client = Client::connect(&server);
    let ruok = "{\n  \"command\" : \"ruok\",\n  \"error\" : null\n}\n";
    assert_eq!(get(admin, "/commands/ruok"), (200, String::from(ruok)));
    let (_, cons) = get(admin, "/commands/cons");
    assert!(cons.contains(&format!("\"session_id\" : {}", client.session.id)), "{cons}");
    let (_, unknown) = get(admin, "/commands/nosuch");
    assert!(unknown.contains("\"error\" : \"Unknown command: nosuch\""), "{unknown}");
    let (_, links) = get(admin, "/commands");
    assert_eq!(links.matches("<a href=\"/commands/").count(), 29);
    for link in links.lines().filter_map(|line| line.strip_prefix("<a href=\"")?.split('"').next()) {
        let (_, body) = get(admin, link);
        assert!(body.contains("\"command\" : ") && !body.contains("Unknown command"), "{link}: {body}");
    }
    let (_, mask) = get(admin, "/commands/set_trace_mask?traceMask=7");
    assert!(mask.contains("\"tracemask\" : 7"), "{mask}");
    assert_eq!(get(admin, "/nosuch").0, 404);
}

/// Asks as nobody would who is not told to: the status, the headers and the body.
fn ask(address: SocketAddr, request: &str) -> (u16, String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let bytes = read_all(&mut stream);
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head, bytes[end + 4..].to_vec())
}

fn authorized(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: here\r\nAuthorization: digest a:b\r\n\r\n")
}

#[test]
fn a_snapshot_is_taken_sent_and_not_taken_again_too_soon() {
    let directory = Directory::new();
    let server = start(&directory, true);
    let admin = server.admin_addr().unwrap();
    let mut client = Client::connect(&server);
    assert_eq!(client.create("/a", b"a value to be found again", 0), 0);
    let (status, unknown) = get(admin, "/commands/snapshot");
    assert!(status == 401 && unknown.contains("Auth info is missing"), "{unknown}");
    let (status, head, body) = ask(admin, &authorized("/commands/snap"));
    assert_eq!(status, 200, "{head}");
    assert!(head.contains("\r\nContent-Type: application/octet-stream\r\n"), "{head}");
    assert!(head.contains(&format!("\r\nsnapshot_size: {}\r\n", body.len())), "{head}");
    // The session and the node are the first two transactions of the first epoch.
    assert!(head.contains("\r\nlast_zxid: 0x100000002\r\n"), "{head}");
    let name = head.split('"').nth(1).unwrap();
    let file = directory.0.join("data/snapshot").join(name);
    assert_eq!(std::fs::read(file).unwrap(), body);
    let value = b"a value to be found again";
    assert!(body.windows(value.len()).any(|window| window == value));
    let (_, last) = get(admin, "/commands/last_snapshot");
    assert!(last.contains("\"zxid\" : \"100000002\""), "{last}");

    let (status, _, body) = ask(admin, &authorized("/commands/snapshot"));
    assert_eq!(
        (status, body.as_slice()),
        (429, &b"{\n  \"command\" : \"snapshot\",\n  \"error\" : null\n}\n"[..])
    );
    let (_, monitor) = get(admin, "/commands/monitor");
    assert!(monitor.contains("\"snapshot_rate_limited_count\" : 1,"), "{monitor}");
}

#[test]
fn a_snapshot_need_not_be_sent_and_may_be_asked_for_by_post() {
    let directory = Directory::new();
    let server = start(&directory, true);
    let body = "nobody reads this";
    let request = format!(
        "POST /commands/snapshot?streaming=false HTTP/1.1\r\nHost: here\r\nAuthorization: ip\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let (status, head, body) = ask(server.admin_addr().unwrap(), &request);
    assert!(status == 200 && head.contains("\r\nlast_zxid: 0x100000000\r\n"), "{head}");
    assert!(String::from_utf8(body).unwrap().contains("\"error\" : null"));
}

#[test]
fn where_nothing_has_changed_the_snapshot_that_is_there_is_given_again() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.admin.address = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    config.admin.rate_limit_interval_ms = 0;
    let ask_all = |server: &Server| -> Vec<_> {
        let admin = server.admin_addr().unwrap();
        (0..3)
            .map(|_| ask(admin, &authorized("/commands/snapshot")))
            .map(|(status, _, body)| (status, body))
            .collect()
    };
    let server = Server::start(config.clone()).unwrap();
    // What a server does of itself when it begins is in the log before the first session is.
    let client = Client::connect(&server);
    let answers = ask_all(&server);
    assert!(answers.iter().all(|answer| *answer == answers[0] && answer.0 == 200));
    let (_, monitor) = get(server.admin_addr().unwrap(), "/commands/monitor");
    assert!(monitor.contains("\"snapshot_error_count\" : 0,"), "{monitor}");
    drop(client);
    server.stop();
    // A start is a transaction of its own.
    let server = Server::start(config).unwrap();
    let answers = ask_all(&server);
    assert!(answers.iter().all(|answer| *answer == answers[0] && answer.0 == 200));
}

#[test]
fn a_snapshot_by_command_can_be_switched_off() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.admin.address = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    config.admin.snapshot_enabled = false;
    let server = Server::start(config).unwrap();
    let admin = server.admin_addr().unwrap();
    assert_eq!(ask(admin, &authorized("/commands/snapshot")).0, 503);
    assert_eq!(ask(admin, "PUT /commands/ruok HTTP/1.1\r\nHost: here\r\n\r\n").0, 405);
}

#[test]
fn every_128th_transaction_has_its_digest_shown() {
    let directory = Directory::new();
    let server = start(&directory, true);
    let mut client = Client::connect(&server);
    // The session is the first transaction.
    for number in 1..128 {
        assert_eq!(client.create(&format!("/d{number}"), b"", 0), 0);
    }
    let (_, hash) = get(server.admin_addr().unwrap(), "/commands/hash");
    for zxid in [0x1_0000_0000_i64, 0x1_0000_0080] {
        assert!(hash.contains(&format!("\"zxid\" : {zxid}")), "{hash}");
    }
    assert_eq!(hash.matches("\"digestVersion\" : 101").count(), 2, "{hash}");
}

#[test]
fn settings_are_shown_among_the_system_properties() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.admin.address = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    config.settings = vec![(String::from("zookeeper.skipACL"), String::from("no"))];
    let server = Server::start(config).unwrap();
    let (_, shown) = get(server.admin_addr().unwrap(), "/commands/system_properties");
    assert!(shown.contains("\"zookeeper.skipACL\" : \"no\"") && shown.contains("\"os.name\" : "), "{shown}");
}

#[test]
fn what_is_not_http_is_told_so() {
    let directory = Directory::new();
    let server = start(&directory, true);
    let mut stream = TcpStream::connect(server.admin_addr().unwrap()).unwrap();
    stream.write_all(b"\0\0\0\x2c\0\0\0\0").unwrap();
    assert!(read_all(&mut stream).starts_with(b"HTTP/1.1 400 "));
}
