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

use diwan_object::{Arguments, Refused};
use diwan_object::expanded::{enter, hand_over, read_text};
use rustpython_vm::VirtualMachine;
use serde_json::Value;

use crate::interpreter::{Stop, with};

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
    run(interpreter::describe).map_or(0, |description| told(&description))
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
    run(|vm| interpreter::call(vm, &method, arguments(&json)?)).map_or(0, |result| told(&result))
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
    run(interpreter::save).map_or(0, |state| told(&state))
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
    hand_over(result.to_string().into_bytes())
}

/// An exception of the author's that is no refusal ends the entry as a panic does: what was logged last says where.
fn run<R>(entry: impl FnOnce(&VirtualMachine) -> Result<R, Stop>) -> R {
    enter(|| match with(entry) {
        Ok(result) => Ok(result),
        Err(Stop::Refused(refused)) => Err(refused),
        Err(Stop::Failed(traceback)) => panic!("{traceback}"),
    })
}
