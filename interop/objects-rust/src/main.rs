//! The suite of the Rust library of live objects.

mod deaths;
mod harness;
mod methods;
mod sessions;
mod waits;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, name] = words.as_slice()
        && verb == "hold"
    {
        return sessions::hold(name);
    }
    harness::main(&[methods::TESTS, waits::TESTS, sessions::TESTS, deaths::TESTS])
}
