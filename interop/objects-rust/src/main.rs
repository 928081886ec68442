//! The suite of the Rust library of live objects.

mod deaths;
mod encryption;
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
    let of_tls = if std::env::var_os("OBJECTS_KEYS").is_some() { encryption::TESTS } else { &[] };
    harness::main(&[methods::TESTS, of_tls, waits::TESTS, sessions::TESTS, deaths::TESTS])
}
