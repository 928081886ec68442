//! What the libraries of C, Rust and Go need of `wasi_snapshot_preview1`: a clock that shows the stamp, random bytes of the
//! entry, no arguments, no environment, no files. What they print goes to the log.

use objects_state::guest::Failure;
use wasmtime::{Caller, FuncType, Linker, Val, ValType};

use super::guest_memory::{bytes, pay, put_u32, put_u64};
use super::{Cell, Stopped, diwan};
use crate::limits::LOG_LINE_BYTES_MAX;
use crate::module::{Answer, WASI};

const MODULE: &str = "wasi_snapshot_preview1";
const NANOSECONDS_PER_MS: i64 = 1_000_000;
/// `errno`: success.
const SUCCESS: u32 = 0;
/// `errno`: bad file descriptor.
const NO_FILE: u32 = 8;
/// `errno`: invalid argument.
const INVALID: u32 = 28;
/// `errno`: no such function.
const NO_FUNCTION: u32 = 52;
/// Parts that one write may have, as in POSIX.
const PARTS_MAX: u32 = 1_024;

pub(super) fn link(linker: &mut Linker<Cell>) -> wasmtime::Result<()> {
    for (name, parameters, answer) in WASI {
        let parameters =
            parameters.bytes().map(|letter| if letter == b'i' { ValType::I32 } else { ValType::I64 });
        let results = (*answer != Answer::Exit).then_some(ValType::I32);
        let ty = FuncType::new(linker.engine(), parameters, results);
        linker.func_new(MODULE, name, ty, |caller, arguments, results| {
            let errno = answered(caller, *answer, arguments)?;
            if let Some(result) = results.first_mut() {
                *result = Val::I32(errno.cast_signed());
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn answered(mut caller: Caller<'_, Cell>, answer: Answer, arguments: &[Val]) -> wasmtime::Result<u32> {
    pay(&mut caller, 0)?;
    let number = |index: usize| arguments.get(index).and_then(Val::i32).unwrap_or(0).cast_unsigned();
    match answer {
        Answer::Nothing => {}
        Answer::NoSizes => {
            put_u32(&mut caller, number(0), 0)?;
            put_u32(&mut caller, number(1), 0)?;
        }
        Answer::Resolution => put_u64(&mut caller, number(1), NANOSECONDS_PER_MS.cast_unsigned())?,
        Answer::Time => {
            // Go's runtime takes 0 for a broken clock; while an image is made the stamp is 0.
            let now = caller.data().facts.now_ms.wrapping_mul(NANOSECONDS_PER_MS).max(1);
            put_u64(&mut caller, number(2), now.cast_unsigned())?;
        }
        Answer::Write => return write(caller, [number(0), number(1), number(2), number(3)]),
        Answer::Random => diwan::random(caller, number(0), number(1))?,
        Answer::Exit => {
            let detail = format!("the program ended itself with code {}", number(0));
            return Err(wasmtime::Error::new(Stopped(Failure::Trapped { detail })));
        }
        Answer::NoFile => return Ok(NO_FILE),
        Answer::NoFunction => return Ok(NO_FUNCTION),
    }
    Ok(SUCCESS)
}

/// `fd_write(file, parts, count, written)`.
fn write(mut caller: Caller<'_, Cell>, [file, parts, count, written]: [u32; 4]) -> wasmtime::Result<u32> {
    if file != 1 && file != 2 {
        return Ok(NO_FILE);
    }
    if count > PARTS_MAX {
        return Ok(INVALID);
    }
    let mut line = Vec::new();
    let mut total = 0_u32;
    for part in 0..count {
        let place = bytes(&caller, parts.wrapping_add(part * 8), 8)?;
        let number = |at: usize| u32::from_le_bytes([place[at], place[at + 1], place[at + 2], place[at + 3]]);
        let (pointer, length) = (number(0), number(4));
        pay(&mut caller, length as usize)?;
        let text = bytes(&caller, pointer, length)?;
        line.extend_from_slice(&text[..text.len().min(LOG_LINE_BYTES_MAX - line.len())]);
        total = total.wrapping_add(length);
    }
    caller.data_mut().log(&line);
    put_u32(&mut caller, written, total)?;
    Ok(SUCCESS)
}
