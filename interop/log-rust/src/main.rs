//! The interop suite of the crate `rdkafka`. Arguments are parts of the names of tests to run.

mod deaths;
mod harness;
mod records;

use std::process::ExitCode;

#[tokio::main(flavor = "multi_thread", worker_threads = 4)]
async fn main() -> ExitCode {
    let only: Vec<String> = std::env::args().skip(1).collect();
    let mut runner = harness::Runner::new(only);
    deaths::run(&mut runner).await;
    records::run(&mut runner).await;
    runner.status()
}
