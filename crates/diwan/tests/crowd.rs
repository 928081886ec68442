//! Very many connections, on a server that is a process of its own.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod server;

use std::io::Read;
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use council_client::{Client, CreateMode};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use server::{Folder, Server, serve};

/// Ten thousand, or as many as this process may have sockets.
fn crowd() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX).min(1 << 20);
    setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: limit.maximum }).unwrap();
    usize::try_from(most).unwrap().saturating_sub(200).min(10_000)
}

/// Resident memory of a process, KiB.
fn resident_kib(id: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn ten_thousand_silent_connections_cost_little_and_hold_up_nobody() {
    let folder = Folder::new();
    let more = ["-D", "maxClientCnxns=0", "-D", "nio.sessionlessCnxnTimeout=600000"];
    let server = Server::start_in(&folder.path().join("data"), &more);
    let client = Client::connect(&server.address()).unwrap();
    client.create("/n", b"x", CreateMode::Persistent).wait().unwrap();
    let before = resident_kib(server.id());
    let mut silent: Vec<TcpStream> =
        (0..crowd()).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    for round in 0..100 {
        client.set_data("/n", format!("{round}"), round).wait().unwrap();
        client.data("/n").wait().unwrap();
    }
    let one_more = Client::connect(&server.address()).unwrap();
    assert_eq!(one_more.data("/n").wait().unwrap().0, Some(b"99".to_vec()));
    let each = resident_kib(server.id()).saturating_sub(before) * 1024 / silent.len();
    assert!(each < 4096, "a connection that says nothing takes {each} bytes");
    // None of them was closed to make room.
    for stream in silent.iter_mut().step_by(500) {
        stream.set_nonblocking(true).unwrap();
        let read = stream.read(&mut [0]);
        assert!(read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock));
    }
}

#[test]
fn without_descriptors_open_connections_go_on_and_new_ones_are_refused() {
    let folder = Folder::new();
    let plain = serve(&folder.path().join("data"));
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 80; exec \"$@\"", "sh"]).arg(plain.get_program()).args(plain.get_args());
    limited.args(["-D", "maxClientCnxns=0", "-D", "node.shards=1"]);
    limited.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    let server = Server::started_by(limited);
    let client = Client::connect(&server.address()).unwrap();
    client.create("/n", b"x", CreateMode::Persistent).wait().unwrap();
    let crowd: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    for _ in 0..100 {
        client.data("/n").wait().unwrap();
    }
    // There is no descriptor for this one: it is closed, and the log keeps its reserve.
    let mut refused = TcpStream::connect(server.address()).unwrap();
    refused.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let ended = match refused.read(&mut [0]) {
        Ok(length) => length == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    };
    assert!(ended, "a connection beyond the limit is neither served nor closed");
    for round in 0..100 {
        client.set_data("/n", "x", round).wait().unwrap();
    }
    drop((crowd, refused));
    // The server has to see first that they are gone.
    let served = || Client::connect(&server.address()).unwrap().data("/n").wait().ok();
    let until = Instant::now() + Duration::from_secs(10);
    let found = std::iter::repeat_with(served).find(|found| found.is_some() || Instant::now() > until);
    assert_eq!(found.flatten().unwrap().0, Some(b"x".to_vec()));
}
