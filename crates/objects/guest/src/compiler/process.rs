//! The compiler's process: it confines itself, reads one question, compiles, and gives one answer.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use super::confined::Confinement;
use super::wire::{self, Kind, QUESTION_HEAD_BYTES};
use super::{code_name, machine};

/// The argument that has the program compile a module, by [`compile_module`].
pub const COMPILE_MODULE: &str = "compile-module";

/// How a process ends that the host hinders: nothing is said of the module then.
pub(super) const HINDERED: u8 = 75;
/// Bytes of the stack that the compiler works on.
const STACK_BYTES: usize = 16 << 20;

/// What a program does that a member has started with [`COMPILE_MODULE`] and these arguments behind it. It must be the first
/// that the process does: no thread of it runs, and nothing was opened or read.
#[must_use]
pub fn compile_module(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let numbers: Option<Vec<u64>> = arguments.map(|argument| argument.to_str()?.parse().ok()).collect();
    let Some(&[parent, memory_bytes, cpu_seconds]) = numbers.as_deref() else {
        eprintln!("error: `{COMPILE_MODULE}` is started by members, to compile modules of users");
        return ExitCode::from(2);
    };
    let parent = u32::try_from(parent).unwrap_or(0);
    let confined = Confinement { parent, memory_bytes, cpu_seconds }.enter();
    match confined.and_then(|()| on_a_large_stack()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(HINDERED)
        }
    }
}

fn on_a_large_stack() -> Result<(), String> {
    let builder = std::thread::Builder::new().name(COMPILE_MODULE.into()).stack_size(STACK_BYTES);
    let thread = builder.spawn(|| Confinement::enter_thread().and_then(|()| serve()));
    let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
    thread.join().unwrap_or_else(|_| Err("the compiler's process cannot go on".into()))
}

fn serve() -> Result<(), String> {
    let mut input = io::stdin().lock();
    let cannot_read = |error: io::Error| format!("cannot read the module: {error}");
    let mut head = [0; QUESTION_HEAD_BYTES];
    input.read_exact(&mut head).map_err(cannot_read)?;
    let (name, length) = wire::read_question_head(&head).ok_or("the question is of another build")?;
    let mut module = Vec::new();
    let room = usize::try_from(length).map(|length| module.try_reserve_exact(length));
    room.map_err(|_| "the module is too long")?
        .map_err(|error| format!("no room for the module: {error}"))?;
    input.take(length).read_to_end(&mut module).map_err(cannot_read)?;
    let engine = machine::engine();
    if module.len() as u64 != length || code_name(&engine, &module) != name {
        return Err("the module is not whole, or its member is of another build".into());
    }
    // Drops of a compiler that has panicked are not trusted: its answer is the last that this process does.
    let compiled = catch_unwind(AssertUnwindSafe(|| machine::compile(&engine, &module)));
    let (kind, body) = match compiled.unwrap_or_else(|_| Err("the compiler panics over it".into())) {
        Ok(code) => (Kind::Code, code),
        Err(refusal) => (Kind::Refusal, refusal.into_bytes()),
    };
    let mut output = io::stdout().lock();
    let written = output.write_all(&wire::answer_head(kind, &name, &body));
    let written = written.and_then(|()| output.write_all(&body)).and_then(|()| output.flush());
    written.map_err(|error| format!("cannot write the answer: {error}"))
}
