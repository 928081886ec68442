//! The HTTP edge of live objects over a core that keeps nothing, and a client that measures it.
//!
//! `edge_alone serve 7180` serves until its input ends. `edge_alone load 127.0.0.1:7180 CONNECTIONS SECONDS AHEAD` calls
//! `counter/visits/increment` from as many connections that stay open, so many calls at a time on each. `edge_alone stale COUNT`
//! serves, and asks for the counter's value so often from one connection, 16 times at a time: for a tool that counts
//! instructions.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use support::asker::{AHEAD, Asker};

const REQUEST: &[u8] =
    b"POST /v1/objects/counter/visits/increment HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("serve") => serve(argument(&arguments, 2)),
        Some("load") => {
            let ahead = argument(&arguments, 5);
            load(argument(&arguments, 2), argument(&arguments, 3), argument(&arguments, 4), ahead);
        }
        Some("stale") => stale(argument(&arguments, 2)),
        _ => panic!("serve PORT, or load ADDRESS CONNECTIONS SECONDS AHEAD, or stale COUNT"),
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

fn stale(count: usize) {
    let site = support::serve(support::config());
    let mut asker = Asker::new(site.server.address());
    (0..count.div_ceil(AHEAD)).for_each(|_| asker.ask());
}

fn load(address: SocketAddr, connections: usize, seconds: u64, ahead: usize) {
    let (stopping, calls) = (AtomicBool::new(false), AtomicU64::new(0));
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..connections {
            scope.spawn(|| calls.fetch_add(call_until(address, &stopping, ahead), Ordering::Relaxed));
        }
        thread::sleep(Duration::from_secs(seconds));
        stopping.store(true, Ordering::Relaxed);
    });
    let calls = calls.load(Ordering::Relaxed);
    println!("{calls} calls, {:.0} a second", calls as f64 / begun.elapsed().as_secs_f64());
}

fn call_until(address: SocketAddr, stopping: &AtomicBool, ahead: usize) -> u64 {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_nodelay(true).expect("a socket");
    let (requests, mut calls, mut buffer) = (REQUEST.repeat(ahead), 0, vec![0; 64 << 10]);
    while !stopping.load(Ordering::Relaxed) {
        stream.write_all(&requests).expect("sent");
        let mut answered = 0;
        while answered < ahead {
            let count = stream.read(&mut buffer).expect("responses");
            assert!(count > 0, "the end");
            // Each body is one object without others in it.
            answered += buffer[..count].iter().filter(|byte| **byte == b'}').count();
        }
        calls += ahead as u64;
    }
    calls
}
