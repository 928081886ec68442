//! Loads a broker from the command line:
//!
//! ```sh
//! cargo run --release -p log-client --features load --example log-load -- produce 127.0.0.1:9092 TOPIC key=value..
//! ```
//! Keys: `partitions`, `connections`, `outstanding`, `rate` (requests a second), `batch`, `bytes`, `acks`, `idempotent`,
//! `fetch`, `seconds`, `warm`, `follow` (0: all go to ADDRESS, whoever leads), and `pid` of a broker whose processor time is read from `/proc`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use log_client::load::{Consume, Deliver, Measured, Pace, Produce, consume, deliver, produce};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "log-load produce|consume|deliver ADDRESS TOPIC key=value..";
    let (kind, address, topic) = (
        arguments.next().ok_or(usage)?,
        arguments.next().ok_or(usage)?.parse()?,
        arguments.next().ok_or(usage)?,
    );
    let keys = Keys(
        arguments
            .filter_map(|argument| {
                argument.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()))
            })
            .collect(),
    );
    let seconds = |key, default| Duration::from_secs_f64(keys.number(key, default));
    let (warm_up, duration) = (seconds("warm", 1.0), seconds("seconds", 5.0));
    let pid = keys.number("pid", 0.0) as u32;
    let mut cpu = Vec::new();
    let edge = || cpu.push(cpu_of(pid));
    let measured = match kind.as_str() {
        "produce" => produce(&keys.produce(address, topic), warm_up, duration, edge)?,
        "consume" => consume(&keys.consume(address, topic), warm_up, duration, edge)?,
        "deliver" => deliver(&keys.deliver(address, topic), warm_up, duration, edge)?,
        _ => return Err(usage.into()),
    };
    tell(&measured, &cpu);
    Ok(())
}

struct Keys(BTreeMap<String, String>);

impl Keys {
    fn number(&self, key: &str, default: f64) -> f64 {
        self.0.get(key).and_then(|value| value.parse().ok()).unwrap_or(default)
    }

    fn produce(&self, address: SocketAddr, topic: String) -> Produce {
        let pace = match self.number("rate", 0.0) {
            0.0 => Pace::Closed { outstanding: self.number("outstanding", 1.0) as usize },
            per_second => Pace::Open { per_second },
        };
        Produce {
            address,
            follows_leaders: self.number("follow", 1.0) > 0.0,
            topic,
            partitions: self.number("partitions", 1.0) as i32,
            connections: self.number("connections", 1.0) as usize,
            pace,
            batch: self.number("batch", 1.0) as usize,
            message_bytes: self.number("bytes", 200.0) as usize,
            acks: self.number("acks", 1.0) as i16,
            is_idempotent: self.number("idempotent", 0.0) > 0.0,
        }
    }

    fn consume(&self, address: SocketAddr, topic: String) -> Consume {
        Consume {
            address,
            topic,
            partitions: self.number("partitions", 1.0) as i32,
            connections: self.number("connections", 1.0) as usize,
            fetch_bytes: self.number("fetch", 200_000.0) as i32,
        }
    }

    fn deliver(&self, address: SocketAddr, topic: String) -> Deliver {
        Deliver {
            address,
            topic,
            per_second: self.number("rate", 10_000.0),
            batch: self.number("batch", 1.0) as usize,
            message_bytes: self.number("bytes", 200.0) as usize,
            acks: self.number("acks", 1.0) as i16,
        }
    }
}

fn tell(measured: &Measured, cpu: &[f64]) {
    let server = cpu.last().copied().unwrap_or(0.0) - cpu.first().copied().unwrap_or(0.0);
    println!(
        "{:.0} messages/s, {:.1} MB/s, p50 {:.3} p99 {:.3} p99.9 {:.3} max {:.1} ms, load {:.3} us/message, broker {:.3} us/message",
        measured.per_second(),
        measured.bytes as f64 / measured.elapsed.as_secs_f64() / 1e6,
        measured.latency_ms(50.0),
        measured.latency_ms(99.0),
        measured.latency_ms(99.9),
        measured.latency.max() as f64 / 1000.0,
        measured.cpu_us(),
        server * 1e6 / measured.messages as f64,
    );
}

/// Processor time of a process in seconds; of none, zero.
fn cpu_of(pid: u32) -> f64 {
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / TICKS
}
