//! The runner of types that are written in JavaScript: an interpreter (QuickJS-ng) as a module, with the author's file loaded into it.
//! The engine enters it as it enters any module; `init_source` makes it a runner.
//!
//! The interpreter has no files, no network, no environment: what it computes follows from the author's file and the calls. Its clock
//! shows the time of the command, and `Math.random` the command's random numbers.
//!
//! # Not done, and what that costs
//! One file: it imports `diwan` and nothing else. TypeScript is to be compiled to one file first.

mod cluster;
mod interpreter;
mod json;

use diwan_object::expanded::{enter, hand_over, output, read_text};
use diwan_object::{Arguments, Refused};
use rquickjs::Ctx;
use serde_json::Value;

use crate::interpreter::{Stop, with};

/// The engine takes 4 KiB.
const TRACE_BYTES_MAX: usize = 3 << 10;

/// What the engine grants an interpreter, which takes more of everything than other modules: a member of the description. The
/// rest of it is the author's, see `describe`.
const LIMITS: &[u8] = br#"{"limits":{"fuel":2000000000}}"#;

#[expect(dead_code, reason = "the engine reads the section")]
#[unsafe(link_section = "diwan.type")]
static DESCRIPTION: [u8; LIMITS.len()] = *LIMITS.first_chunk().expect("its own length");

/// Loads the author's file. The engine calls it once, when a version is prepared.
#[unsafe(no_mangle)]
extern "C" fn init_source(start: *const u8, length: usize) {
    // SAFETY: the engine's contract.
    let source = unsafe { read_text(start, length) };
    run(|ctx| interpreter::load(ctx, &source));
}

/// The description of what was loaded, as other modules have it in their section `diwan.type`.
#[unsafe(no_mangle)]
extern "C" fn describe() -> u64 {
    told(&run(|ctx| interpreter::describe(ctx)))
}

#[unsafe(no_mangle)]
extern "C" fn init(start: *const u8, length: usize) {
    // SAFETY: the engine's contract.
    let json = unsafe { read_text(start, length) };
    run(|ctx| interpreter::create(ctx, arguments(&json)?));
}

#[unsafe(no_mangle)]
extern "C" fn call(method: *const u8, method_length: usize, start: *const u8, length: usize) -> u64 {
    // SAFETY: the engine's contract.
    let (method, json) = unsafe { (read_text(method, method_length), read_text(start, length)) };
    told(&run(|ctx| interpreter::call(ctx, &method, Arguments::parse(json.as_bytes())?.into_members())))
}

#[unsafe(no_mangle)]
extern "C" fn timer(id: u64) {
    run(|ctx| interpreter::event(ctx, "timer", id.into()));
}

#[unsafe(no_mangle)]
extern "C" fn ticket_ended(ticket: u64) {
    run(|ctx| interpreter::event(ctx, "ticket_ended", ticket.into()));
}

#[unsafe(no_mangle)]
extern "C" fn session_expired(start: *const u8, length: usize) {
    // SAFETY: the engine's contract.
    let session = unsafe { read_text(start, length) };
    run(|ctx| interpreter::event(ctx, "session_expired", session.into()));
}

/// What the next version begins with.
#[unsafe(no_mangle)]
extern "C" fn save() -> u64 {
    told(&run(|ctx| interpreter::save(ctx)))
}

#[unsafe(no_mangle)]
extern "C" fn migrate(start: *const u8, length: usize) {
    // SAFETY: the engine's contract.
    let json = unsafe { read_text(start, length) };
    run(|ctx| {
        let mut told = Arguments::parse(json.as_bytes())?;
        interpreter::migrate(ctx, told.take("description")?, told.take("state")?)
    });
}

fn arguments(json: &str) -> Result<Value, Refused> {
    Arguments::parse(json.as_bytes()).map(|arguments| Value::Object(arguments.into_members()))
}

fn told(result: &Value) -> u64 {
    hand_over(output(result))
}

/// An exception that nobody caught is told to the caller with the beginning of its trace, where the cause stands.
fn failed(trace: &str) -> Refused {
    let mut end = trace.len().min(TRACE_BYTES_MAX);
    while !trace.is_char_boundary(end) {
        end -= 1;
    }
    Refused::new("exception", &trace[..end])
}

fn run<R>(entry: impl for<'js> FnOnce(&Ctx<'js>) -> Result<R, Stop>) -> R {
    enter(|| match with(entry) {
        Ok(result) => Ok(result),
        Err(Stop::Refused(refused)) => Err(refused),
        Err(Stop::Failed(trace)) => Err(failed(trace.trim_end())),
    })
}
