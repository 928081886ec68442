//! Any bytes from a client: the connection answers, waits or closes, and never reads past what came.
#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use front::{Front, FrontConfig, Now, Peer};
use libfuzzer_sys::fuzz_target;
use tree::Tree;

fuzz_target!(|bytes: &[u8]| {
    let tree = Tree::new();
    let now = Now { mono_us: 1_000_000, wall_ms: 1 };
    let mut front = Front::new(FrontConfig::default(), 0);
    let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let conn = front.accept(Peer { ip, port: 1, secure: false, certificate_subject: None }, now);
    let mut input = Vec::new();
    for part in bytes.chunks(37) {
        input.extend_from_slice(part);
        let used = front.receive(conn, &input, &tree, now);
        assert!(used <= input.len());
        input.drain(..used);
        front.to_core().clear();
        if front.events().any(|event| matches!(event, front::FrontEvent::Close { .. })) {
            return;
        }
    }
});
