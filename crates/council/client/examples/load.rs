//! Loads servers that speak ZooKeeper's protocol, and says how fast they were and what the load itself cost:
//!
//! ```sh
//! cargo run --release -p council-client --features load --example load -- 127.0.0.1:2181 --connections 20 --outstanding 50
//! ```
//!
//! It makes a thousand nodes below `/bench` if they are not there yet, and leaves them.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use council_client::load::{Load, Mix, Nodes, Pace, Servers, prepare, run};

const HELP: &str = "\
usage: load HOST:PORT[,HOST:PORT..] [--OPTION NUMBER ...]

  --connections 20   connections, each with a session
  --outstanding 50   requests that each keeps outstanding, or
  --rate 0           requests a second in all, at fixed moments
  --writes 100       of a thousand requests, so many are writes
  --value 1024       bytes of each value
  --nodes 1000       nodes that are read and written
  --seconds 5        how long is measured, after a warm-up of half of that";

fn main() -> ExitCode {
    match load(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn load(words: &[String]) -> Result<(), Box<dyn Error>> {
    let Some(servers) = words.first().filter(|word| !word.starts_with('-')) else { return Err(HELP.into()) };
    let number = |name: &str, otherwise: u64| match words.iter().position(|word| word == name) {
        Some(at) => {
            words.get(at + 1).and_then(|text| text.parse().ok()).ok_or(format!("`{name}` wants a number"))
        }
        None => Ok(otherwise),
    };
    let servers = Servers::resolve(servers)?;
    let nodes =
        Nodes { count: number("--nodes", 1000)? as u32, value_bytes: number("--value", 1024)? as usize };
    let load = Load {
        connections: number("--connections", 20)? as usize,
        pace: match number("--rate", 0)? {
            0 => Pace::Closed { outstanding: number("--outstanding", 50)? as usize },
            rate => Pace::Open { per_second: rate as f64 },
        },
        mix: Mix { writes_per_mille: number("--writes", 100)? as u32 },
        nodes,
        seed: 1,
        checks: true,
        servers: servers.clone(),
    };
    prepare(servers, nodes)?;
    let duration = Duration::from_secs(number("--seconds", 5)?);
    let mut resident = 0;
    let measured = run(&load, duration / 2, duration, || resident = resident_kib())?;
    let [p50, p99] = [50.0, 99.0].map(|percentile| measured.latency_ms(percentile));
    println!("{:.0} requests a second, p50 {p50:.2} ms, p99 {p99:.2} ms", measured.per_second());
    println!("{} errors; {} reads and {} writes compared", measured.errors, measured.reads, measured.writes);
    println!("the load: {:.2} us of processor time a request, {} KiB resident", measured.cpu_us(), resident);
    Ok(measured.verdict?)
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}
