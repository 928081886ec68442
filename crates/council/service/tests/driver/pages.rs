//! The HTTP pages.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use council_service::Server;
use council_wire::{Acl, OpCode};

use crate::fixture::{Client, Directory, SUPER, get, read_all};

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
    for line in
        ["znode_count 15", "num_alive_connections 1", "outstanding_requests 0", "diwan_council_serving 1"]
    {
        assert!(text.lines().any(|other| other == line), "{line} is missing in {text}");
    }
    let mut families: Vec<_> = text.lines().filter(|line| line.starts_with("# TYPE ")).collect();
    families.sort_unstable();
    assert!(families.windows(2).all(|pair| pair[0] != pair[1]), "a family is there twice");
    assert!(text.contains("\ndiwan_build_info{version=\""), "{text}");
    assert!(text.contains("updatelatency_count 10\n"), "{text}");
    assert!(text.contains("diwan_council_requests{operation=\"create\"} 10\n"), "{text}");
    assert!(text.contains("diwan_council_request_seconds_count{operation=\"create\"} 10\n"), "{text}");
    assert!(text.contains("# TYPE diwan_council_fsync_seconds histogram\n"), "{text}");
    assert!(!text.contains("diwan_council_fsync_seconds_count 0\n"), "{text}");
    assert_eq!(get(server.http_addr().unwrap(), "/livez"), (200, String::from("ok\n")));
    assert_eq!(get(server.http_addr().unwrap(), "/readyz"), (200, String::from("ok\n")));
    assert_eq!(get(server.http_addr().unwrap(), "/commands/ruok").0, 404, "the commands are elsewhere");
}

/// Each takes its answer and then sends a byte now and then.
#[test]
fn dripping_connections_close_no_probe() {
    let directory = Directory::new();
    let server = start(&directory, false);
    let page = server.http_addr().unwrap();
    let mut drips: Vec<_> = (0..100).map(|_| TcpStream::connect(page).unwrap()).collect();
    for _ in 0..20 {
        for drip in &mut drips {
            // Those that were closed for others fail.
            let _ = drip.write_all(b"G");
        }
        assert_eq!(get(page, "/livez"), (200, String::from("ok\n")));
        assert_eq!(get(page, "/metrics").0, 200);
    }
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
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{SUPER}\r\n")
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

    let (status, head, body) = ask(admin, &authorized("/commands/snapshot"));
    let body = String::from_utf8(body).unwrap();
    assert_eq!(status, 429);
    assert!(body.contains("a snapshot was taken") && body.contains("\"hint\" : \"try again in"), "{body}");
    let seconds = head.split("\r\nRetry-After: ").nth(1).unwrap().split('\r').next().unwrap();
    assert!((1..=300).contains(&seconds.parse::<u32>().unwrap()), "{head}");
    let (_, monitor) = get(admin, "/commands/monitor");
    assert!(monitor.contains("\"snapshot_rate_limited_count\" : 1,"), "{monitor}");
}

#[test]
fn snapshot_is_for_the_proven_super_user_alone() {
    let directory = Directory::new();
    let server = start(&directory, true);
    let admin = server.admin_addr().unwrap();
    let shown = |authorization: &str, command: &str| {
        let header = format!("Authorization: {authorization}\r\n");
        ask(admin, &format!("GET /commands/{command} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n"))
    };
    for invented in ["digest nobody:madeup", "ip x", "digest super:nope"] {
        let (status, _, body) = shown(invented, "snapshot");
        let body = String::from_utf8(body).unwrap();
        assert!(status == 403 && body.contains("\"error\" : \"Not authorized\""), "{status} {body}");
        assert!(body.contains("superDigest"), "{body}");
    }
    assert_eq!(shown("world anyone", "snapshot").0, 401);
    assert_eq!(shown("digest super:test", "snapshot").0, 200, "a refusal leaves the interval unused");
}

#[test]
fn passwords_cannot_be_guessed_without_end() {
    let directory = Directory::new();
    let server = start(&directory, true);
    let admin = server.admin_addr().unwrap();
    let guess = |password: usize| {
        let header = format!("Authorization: digest super:{password}\r\n");
        ask(admin, &format!("GET /commands/snapshot HTTP/1.1\r\nHost: localhost\r\n{header}\r\n"))
    };
    let refused = (0..100).find_map(|password| {
        let (status, head, _) = guess(password);
        (status == 429).then_some(head)
    });
    assert!(refused.unwrap().contains("\r\nRetry-After: "));
    // Nor does the right password tell itself then.
    assert_eq!(ask(admin, &authorized("/commands/snapshot")).0, 429);
    assert_eq!(get(admin, "/commands/ruok").0, 200);
}

#[test]
fn zookeepers_weaker_rule_can_be_asked_for() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.admin.address = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    config.admin.require_super = false;
    let server = Server::start(config).unwrap();
    let request = "GET /commands/snapshot HTTP/1.1\r\nHost: localhost\r\nAuthorization: ip\r\n\r\n";
    assert_eq!(ask(server.admin_addr().unwrap(), request).0, 200);
}

#[test]
fn commands_at_a_loopback_address_are_not_for_other_hosts_pages() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.admin.address = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    config.metrics.address = config.admin.address;
    config.admin.hosts = vec![String::from("zk1.example")];
    let server = Server::start(config).unwrap();
    let from = |host: &str, path: &str| {
        ask(server.admin_addr().unwrap(), &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")).0
    };
    assert_eq!(from("evil.example:7000", "/commands/stats"), 403);
    assert_eq!(from("evil.example:7000", "/livez"), 200, "probes tell nothing");
    for own in ["localhost:1", "127.0.0.1", "[::1]:7000", "zk1.example:7000"] {
        assert_eq!(from(own, "/commands/stats"), 200, "{own}");
    }
}

#[test]
fn dump_lists_all_ephemeral_nodes_in_pieces() {
    let directory = Directory::new();
    let server = start(&directory, true);
    let admin = server.admin_addr().unwrap();
    let mut client = Client::connect(&server);
    // More than are listed at once.
    for number in 0..1_203 {
        assert_eq!(client.create(&format!("/e{number}"), b"", 1), 0);
    }
    let (status, dump) = get(admin, "/commands/dump");
    assert_eq!((status, dump.matches("\"/e").count()), (200, 1_203));
    assert!((0..1_203).all(|number| dump.contains(&format!("\"/e{number}\""))));
}

#[test]
fn long_list_is_for_the_super_user_alone() {
    let directory = Directory::new();
    let server = start(&directory, true);
    let admin = server.admin_addr().unwrap();
    let mut client = Client::connect(&server);
    let dump = || {
        let (status, body) = get(admin, "/commands/dump");
        (status, body.matches("\"/e").count())
    };
    for begin in (0..20_000).step_by(500) {
        assert_eq!(dump(), (200, begin), "up to 20,000 entries for everybody");
        for number in begin..begin + 500 {
            client.send(OpCode::Create, |writer| {
                writer.text(&format!("/e{number}")).buffer(None);
                Acl::write_all(&[Acl::open()], writer);
                writer.i32(1);
            });
        }
        assert!((0..500).all(|_| client.reply().unwrap().0.err == 0));
    }
    // The session is an entry, too.
    let (status, body) = get(admin, "/commands/dump");
    assert!(status == 403 && body.contains("the list has 20001 entries") && body.contains("hint"), "{body}");
    let (status, _, body) = ask(admin, &authorized("/commands/dump"));
    let body = String::from_utf8(body).unwrap();
    assert_eq!((status, body.matches("\"/e").count()), (200, 20_000));
    let wrong = "GET /commands/dump HTTP/1.1\r\nHost: localhost\r\nAuthorization: digest super:no\r\n\r\n";
    assert_eq!(ask(admin, wrong).0, 403);
    assert_eq!(get(admin, "/commands/stats").0, 200);
}

#[test]
fn a_snapshot_need_not_be_sent_and_may_be_asked_for_by_post() {
    let directory = Directory::new();
    let server = start(&directory, true);
    let body = "nobody reads this";
    let request = format!(
        "POST /commands/snapshot?streaming=false HTTP/1.1\r\nHost: localhost\r\n{SUPER}\
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
    assert_eq!(ask(admin, "PUT /commands/ruok HTTP/1.1\r\nHost: localhost\r\n\r\n").0, 405);
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
