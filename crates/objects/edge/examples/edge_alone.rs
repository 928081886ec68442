//! The HTTP edge of live objects over a core that keeps nothing, and a client that measures it.
//!
//! `edge_alone serve 7180` serves until its input ends. `edge_alone load 127.0.0.1:7180 CONNECTIONS SECONDS` calls
//! `counter/visits/increment` from as many connections that stay open, one call at a time on each.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const REQUEST: &[u8] =
    b"POST /v1/objects/counter/visits/increment HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("serve") => serve(argument(&arguments, 2)),
        Some("load") => load(argument(&arguments, 2), argument(&arguments, 3), argument(&arguments, 4)),
        _ => panic!("serve PORT, or load ADDRESS CONNECTIONS SECONDS"),
    }
}

fn argument<T: std::str::FromStr>(arguments: &[String], place: usize) -> T {
    let parsed = arguments.get(place).and_then(|argument| argument.parse().ok());
    parsed.unwrap_or_else(|| panic!("argument {place} is missing or wrong"))
}

fn serve(port: u16) {
    let mut config = support::config();
    config.address.set_port(port);
    let site = support::serve(config);
    println!("{}", site.server.address());
    let _ = std::io::stdin().read(&mut [0]);
}

fn load(address: SocketAddr, connections: usize, seconds: u64) {
    let (stopping, calls) = (AtomicBool::new(false), AtomicU64::new(0));
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..connections {
            scope.spawn(|| calls.fetch_add(call_until(address, &stopping), Ordering::Relaxed));
        }
        thread::sleep(Duration::from_secs(seconds));
        stopping.store(true, Ordering::Relaxed);
    });
    let calls = calls.load(Ordering::Relaxed);
    println!("{calls} calls, {:.0} a second", calls as f64 / begun.elapsed().as_secs_f64());
}

fn call_until(address: SocketAddr, stopping: &AtomicBool) -> u64 {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_nodelay(true).expect("a socket");
    let (mut calls, mut buffer) = (0, [0; 4_096]);
    while !stopping.load(Ordering::Relaxed) {
        stream.write_all(REQUEST).expect("sent");
        let count = stream.read(&mut buffer).expect("a response");
        assert!(
            buffer[..count].starts_with(b"HTTP/1.1 200 ") && buffer[..count].ends_with(b"}"),
            "half a response"
        );
        calls += 1;
    }
    calls
}
