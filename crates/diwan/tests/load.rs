//! The load generator of the client library, on a server that is a process of its own.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod server;

use std::time::Duration;

use client::load::{Load, Mix, Nodes, Pace, prepare, run};
use rustix::process::{Resource, getrlimit};
use server::{Folder, Server};

/// Ten thousand, or as many as this process may have sockets.
fn crowd() -> usize {
    let most = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX).min(1 << 20);
    usize::try_from(most).unwrap().saturating_sub(200).min(10_000)
}

#[test]
fn ten_thousand_sessions_are_held_by_one_thread_and_all_are_answered() {
    let folder = Folder::new();
    let server = Server::start_in(&folder.path().join("data"), &["-D", "maxClientCnxns=0"]);
    let address: std::net::SocketAddr = server.address().parse().unwrap();
    let nodes = Nodes { count: 100, value_bytes: 100 };
    prepare(address, nodes).unwrap();
    let load = Load {
        servers: address.into(),
        connections: crowd(),
        pace: Pace::Closed { outstanding: 1 },
        mix: Mix { writes_per_mille: 100 },
        nodes,
        seed: 1,
        checks: true,
    };
    let measured = run(&load, Duration::ZERO, Duration::from_millis(500), || {}).unwrap();
    assert_eq!((measured.errors, measured.verdict), (0, Ok(())));
    // Each has asked at least once, and the last answers were waited for.
    assert!(measured.operations + measured.drained >= load.connections as u64);
}
