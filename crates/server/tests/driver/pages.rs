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
    let (status, refused) = get(admin, "/commands/snapshot");
    assert!(status == 501 && refused.contains("not supported"), "{refused}");
    let (_, links) = get(admin, "/commands");
    assert_eq!(links.matches("<a href=\"/commands/").count(), 28);
    for link in links.lines().filter_map(|line| line.strip_prefix("<a href=\"")?.split('"').next()) {
        let (_, body) = get(admin, link);
        assert!(body.contains("\"command\" : ") && !body.contains("Unknown command"), "{link}: {body}");
    }
    let (_, mask) = get(admin, "/commands/set_trace_mask?traceMask=7");
    assert!(mask.contains("\"tracemask\" : 7"), "{mask}");
    assert_eq!(get(admin, "/nosuch").0, 404);
}

#[test]
fn what_is_not_http_is_told_so() {
    let directory = Directory::new();
    let server = start(&directory, true);
    let mut stream = TcpStream::connect(server.admin_addr().unwrap()).unwrap();
    stream.write_all(b"\0\0\0\x2c\0\0\0\0").unwrap();
    assert!(read_all(&mut stream).starts_with(b"HTTP/1.1 400 "));
}
