//! The runner of types that are written in Python: an interpreter (RustPython) as a module, with the author's file loaded into it.
//! The engine enters it as it enters any module; `init_source` makes it a runner.
//!
//! The interpreter has no files, no network, no environment, and the same hashes everywhere: what it computes follows from the
//! author's file and the calls.
//!
//! # Not done, and what that costs
//! Python's standard library is not in it: `import json` or `import dataclasses` fails. What is there is in `guests/README.md`.

mod cluster;
mod interpreter;
mod json;

use diwan_object::expanded::{enter, hand_over, output, read_text};
use diwan_object::{Arguments, Refused};
use rustpython_vm::VirtualMachine;
use serde_json::Value;

use crate::interpreter::{Stop, with};

/// The engine takes 4 KiB.
const TRACEBACK_BYTES_MAX: usize = 3 << 10;

/// What the engine grants an interpreter, which takes more of everything than other modules: a member of the description. The
/// rest of it is the author's, see `describe`.
const LIMITS: &[u8] = br#"{"limits":{"memory_bytes":134217728,"fuel":2000000000}}"#;

#[expect(dead_code, reason = "the engine reads the section")]
#[unsafe(link_section = "diwan.type")]
static DESCRIPTION: [u8; LIMITS.len()] = *LIMITS.first_chunk().expect("its own length");

/// Loads the author's file. The engine calls it once, when a version is prepared.
#[unsafe(no_mangle)]
extern "C" fn init_source(start: *const u8, length: usize) {
    // SAFETY: the engine's contract.
    let source = unsafe { read_text(start, length) };
    run(|vm| interpreter::load(vm, &source));
}

/// The description of what was loaded, as other modules have it in their section `diwan.type`.
#[unsafe(no_mangle)]
extern "C" fn describe() -> u64 {
    told(&run(interpreter::describe))
}

#[unsafe(no_mangle)]
extern "C" fn init(start: *const u8, length: usize) {
    // SAFETY: the engine's contract.
    let json = unsafe { read_text(start, length) };
    run(|vm| interpreter::create(vm, arguments(&json)?));
}

#[unsafe(no_mangle)]
extern "C" fn call(method: *const u8, method_length: usize, start: *const u8, length: usize) -> u64 {
    // SAFETY: the engine's contract.
    let (method, json) = unsafe { (read_text(method, method_length), read_text(start, length)) };
    told(&run(|vm| interpreter::call(vm, &method, Arguments::parse(json.as_bytes())?.into_members())))
}

#[unsafe(no_mangle)]
extern "C" fn timer(id: u64) {
    run(|vm| interpreter::event(vm, "timer", id.into()));
}

#[unsafe(no_mangle)]
extern "C" fn ticket_ended(ticket: u64) {
    run(|vm| interpreter::event(vm, "ticket_ended", ticket.into()));
}

#[unsafe(no_mangle)]
extern "C" fn session_expired(start: *const u8, length: usize) {
    // SAFETY: the engine's contract.
    let session = unsafe { read_text(start, length) };
    run(|vm| interpreter::event(vm, "session_expired", session.into()));
}

/// What the next version begins with.
#[unsafe(no_mangle)]
extern "C" fn save() -> u64 {
    told(&run(interpreter::save))
}

#[unsafe(no_mangle)]
extern "C" fn migrate(start: *const u8, length: usize) {
    // SAFETY: the engine's contract.
    let json = unsafe { read_text(start, length) };
    run(|vm| {
        let mut told = Arguments::parse(json.as_bytes())?;
        Ok(interpreter::migrate(vm, told.take("description")?, told.take("state")?)?)
    });
}

fn arguments(json: &str) -> Result<Value, Refused> {
    Arguments::parse(json.as_bytes()).map(|arguments| Value::Object(arguments.into_members()))
}

fn told(result: &Value) -> u64 {
    hand_over(output(result))
}

/// An exception that nobody caught is told to the caller with the end of its traceback, where the cause stands.
fn failed(traceback: &str) -> Refused {
    let mut start = traceback.len().saturating_sub(TRACEBACK_BYTES_MAX);
    while !traceback.is_char_boundary(start) {
        start += 1;
    }
    Refused::new("exception", &traceback[start..])
}

fn run<R>(entry: impl FnOnce(&VirtualMachine) -> Result<R, Stop>) -> R {
    enter(|| match with(entry) {
        Ok(result) => Ok(result),
        Err(Stop::Refused(refused)) => Err(refused),
        Err(Stop::Failed(traceback)) => Err(failed(traceback.trim_end())),
    })
}
