//! Reading and writing an instance's memory for a function that it called. Each pays for the bytes.

use objects_state::guest::Failure;
use wasmtime::Caller;

use super::{Cell, Stopped, broken};

/// Units of fuel of each function of ours.
const CALL_FUEL: i64 = 100;
/// Bytes that are moved for a unit.
const BYTES_PER_UNIT: i64 = 4;

/// Takes the fuel of a call that moves so many bytes.
pub(super) fn pay(caller: &mut Caller<'_, Cell>, bytes: usize) -> wasmtime::Result<()> {
    let price = CALL_FUEL + bytes as i64 / BYTES_PER_UNIT;
    let meter = caller.data().meter.expect("an instance that runs has one");
    let rest = meter.fuel(&mut *caller) - price;
    meter.set_fuel(caller, rest);
    if rest < 0 { Err(wasmtime::Error::new(Stopped(Failure::OutOfFuel))) } else { Ok(()) }
}

fn outside() -> wasmtime::Error {
    wasmtime::Trap::MemoryOutOfBounds.into()
}

fn range(pointer: u32, length: u32) -> std::ops::Range<usize> {
    pointer as usize..pointer as usize + length as usize
}

/// A part of the memory.
pub(super) fn bytes<'a>(
    caller: &'a Caller<'_, Cell>,
    pointer: u32,
    length: u32,
) -> wasmtime::Result<&'a [u8]> {
    let memory = caller.data().memory.ok_or_else(outside)?;
    memory.data(caller).get(range(pointer, length)).ok_or_else(outside)
}

/// A part of the memory, to be written, and what belongs to the run.
pub(super) fn bytes_mut<'a>(
    caller: &'a mut Caller<'_, Cell>,
    pointer: u32,
    length: u32,
) -> wasmtime::Result<(&'a mut [u8], &'a mut Cell)> {
    let memory = caller.data().memory.ok_or_else(outside)?;
    let range = range(pointer, length);
    if range.end > memory.data_size(&*caller) {
        return Err(outside());
    }
    let dirty = caller.data().dirty.expect("an instance that runs has them");
    dirty.note(&mut *caller, range.start, range.len());
    let (all, cell) = memory.data_and_store_mut(caller);
    Ok((&mut all[range], cell))
}

/// A number in the memory.
pub(super) fn put_u32(caller: &mut Caller<'_, Cell>, pointer: u32, value: u32) -> wasmtime::Result<()> {
    bytes_mut(caller, pointer, 4)?.0.copy_from_slice(&value.to_le_bytes());
    Ok(())
}

/// A number in the memory.
pub(super) fn put_u64(caller: &mut Caller<'_, Cell>, pointer: u32, value: u64) -> wasmtime::Result<()> {
    bytes_mut(caller, pointer, 8)?.0.copy_from_slice(&value.to_le_bytes());
    Ok(())
}

/// A copy of a part that is not too long.
pub(super) fn copied(
    caller: &mut Caller<'_, Cell>,
    what: &str,
    (pointer, length): (u32, u32),
    most: usize,
) -> wasmtime::Result<Vec<u8>> {
    if length as usize > most {
        return Err(broken(format!("gave a {what} of more than {most} bytes")));
    }
    pay(caller, length as usize)?;
    Ok(bytes(caller, pointer, length)?.to_vec())
}

/// A copy of a part that is text.
pub(super) fn text(
    caller: &mut Caller<'_, Cell>,
    what: &str,
    part: (u32, u32),
    most: usize,
) -> wasmtime::Result<String> {
    let bytes = copied(caller, what, part, most)?;
    String::from_utf8(bytes).map_err(|_| broken(format!("gave a {what} that is no text")))
}
