//! How an error of the engine is told.

use objects_state::guest::Failure;
use wasmtime::{Error, Trap, WasmBacktrace};

use crate::imports::Stopped;
use crate::limits::FRAMES_MAX;
use crate::module::shortened;

/// What a run failed with. An error that is neither a trap nor ours is the host's trouble.
pub(super) fn of(error: &Error, is_memory_refused: bool, last_logged: &str) -> Failure {
    if let Some(Stopped(failure)) = error.downcast_ref() {
        return match failure {
            Failure::Trapped { detail } => Failure::Trapped { detail: placed(detail, error, last_logged) },
            other => other.clone(),
        };
    }
    match error.downcast_ref() {
        Some(Trap::StackOverflow) => Failure::StackExhausted,
        Some(_) if is_memory_refused => Failure::OutOfMemory,
        Some(trap) => Failure::Trapped { detail: placed(words(*trap), error, last_logged) },
        None => panic!("the engine failed: {error:?}"),
    }
}

/// In our own words, for they are part of replies.
fn words(trap: Trap) -> &'static str {
    match trap {
        Trap::MemoryOutOfBounds | Trap::HeapMisaligned => "memory outside of what there is",
        Trap::TableOutOfBounds => "a table's element outside of what there is",
        Trap::IndirectCallToNull => "a call of nothing",
        Trap::BadSignature => "a call with another signature",
        Trap::IntegerOverflow => "integer overflow",
        Trap::IntegerDivisionByZero => "division by zero",
        Trap::BadConversionToInteger => "a number that is no integer",
        Trap::UnreachableCodeReached => "unreachable code",
        _ => "a trap",
    }
}

/// With the functions that it happened in, innermost first, and what was logged last: a library tells there why it panics.
fn placed(what: &str, error: &Error, last_logged: &str) -> String {
    let frames = error.downcast_ref::<WasmBacktrace>().map_or(&[][..], WasmBacktrace::frames);
    let names = frames.iter().take(FRAMES_MAX).map(|frame| match frame.func_name() {
        Some(name) => shortened(name),
        None => format!("function {}", frame.func_index()),
    });
    let names: Vec<String> = names.collect();
    let mut detail = what.to_owned();
    if !names.is_empty() {
        detail += &format!(", in {}", names.join(" < "));
    }
    if !last_logged.is_empty() {
        detail += &format!("; last logged: {last_logged}");
    }
    detail
}
