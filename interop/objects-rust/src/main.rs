//! The suite of the Rust library of live objects.

mod deaths;
mod encryption;
mod harness;
mod leader;
mod methods;
mod sessions;
mod tokens;
mod waits;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, name] = words.as_slice() {
        match verb.as_str() {
            "hold" => return sessions::hold(name),
            "count" => return tokens::count(name),
            _ => {}
        }
    }
    let of_tls = if std::env::var_os("OBJECTS_KEYS").is_some() { encryption::TESTS } else { &[] };
    harness::main(&[methods::TESTS, of_tls, tokens::TESTS, waits::TESTS, leader::TESTS, sessions::TESTS, deaths::TESTS])
}
