//! The functions of `diwan_1`.

use objects_state::guest::{Act, Failure};
use wasmtime::{Caller, Linker};

use super::guest_memory::{bytes, bytes_mut, copied, pay, text};
use super::{Cell, Phase, Stopped, broken};
use crate::description::Codec;
use crate::limits::{
    ACT_BYTES_MAX, DETAIL_BYTES_MAX, LOG_LINE_BYTES_MAX, RESULT_BYTES_MAX, TARGET_BYTES_MAX, WORD_BYTES_MAX,
};

type In<'a> = Caller<'a, Cell>;

const MODULE: &str = "diwan_1";

pub(super) fn link(linker: &mut Linker<Cell>) -> wasmtime::Result<()> {
    linker.func_wrap(MODULE, "now_ms", |caller: In<'_>| caller.data().facts.now_ms)?;
    linker.func_wrap(MODULE, "position", |caller: In<'_>| caller.data().facts.position)?;
    linker.func_wrap(MODULE, "random", random)?;
    linker.func_wrap(MODULE, "caller", caller)?;
    linker.func_wrap(MODULE, "log", log)?;
    linker.func_wrap(MODULE, "park", park)?;
    linker.func_wrap(MODULE, "wake", wake)?;
    linker.func_wrap(MODULE, "fail", fail)?;
    linker.func_wrap(MODULE, "timer_set", timer_set)?;
    linker.func_wrap(MODULE, "timer_clear", |mut caller: In<'_>, id: u64| {
        act(&mut caller, "timer_clear", Act::ClearTimer(id))
    })?;
    linker.func_wrap(MODULE, "emit", emit)?;
    linker.func_wrap(MODULE, "send", send)?;
    Ok(())
}

pub(super) fn random(mut caller: In<'_>, pointer: u32, length: u32) -> wasmtime::Result<()> {
    pay(&mut caller, length as usize)?;
    let (bytes, cell) = bytes_mut(&mut caller, pointer, length)?;
    cell.facts.random.fill(bytes);
    Ok(())
}

/// As much of who calls as there is room for; how long it is.
fn caller(mut caller: In<'_>, pointer: u32, length: u32) -> wasmtime::Result<u32> {
    pay(&mut caller, length as usize)?;
    let (bytes, cell) = bytes_mut(&mut caller, pointer, length)?;
    let host = &cell.host;
    let told = cell.caller.get_or_insert_with(|| host.ask(|host| host.caller()).unwrap_or_default());
    let told = told.as_bytes();
    let fits = told.len().min(bytes.len());
    bytes[..fits].copy_from_slice(&told[..fits]);
    Ok(u32::try_from(told.len()).unwrap_or(u32::MAX))
}

fn log(mut caller: In<'_>, pointer: u32, length: u32) -> wasmtime::Result<()> {
    pay(&mut caller, length as usize)?;
    bytes(&caller, pointer, length)?;
    let kept = bytes(&caller, pointer, length.min(LOG_LINE_BYTES_MAX as u32))?.to_vec();
    caller.data_mut().log(&kept);
    Ok(())
}

/// Takes an act, if this run may have any.
fn act(caller: &mut In<'_>, function: &str, act: Act) -> wasmtime::Result<()> {
    pay(caller, 0)?;
    may_act(caller, function)?;
    caller.data_mut().acts.push(act)
}

fn may_act(caller: &In<'_>, function: &str) -> wasmtime::Result<()> {
    match caller.data().facts.phase {
        Phase::Call | Phase::Event => Ok(()),
        Phase::Query => Err(broken(format!("called `{function}` in a query, which changes nothing"))),
        Phase::Image => Err(broken(format!("called `{function}` before there is an object"))),
    }
}

fn park(mut caller: In<'_>, tag: u64, wait_ms: i64) -> wasmtime::Result<u64> {
    may_act(&caller, "park")?;
    if caller.data().facts.phase != Phase::Call {
        return Err(broken("called `park` where no call is under way that could wait"));
    }
    if caller.data().acts.has_parked() {
        return Err(broken("called `park` twice in one call"));
    }
    act(&mut caller, "park", Act::Park { tag, wait_ms })?;
    Ok(caller.data().facts.position)
}

fn wake(mut caller: In<'_>, ticket: u64, pointer: u32, length: u32) -> wasmtime::Result<u32> {
    may_act(&caller, "wake")?;
    let result = copied(&mut caller, "result", (pointer, length), RESULT_BYTES_MAX)?;
    if caller.data().facts.codec == Codec::Json && std::str::from_utf8(&result).is_err() {
        return Err(broken("gave a result that is no text"));
    }
    if !is_waiting(&caller, ticket) {
        return Ok(0);
    }
    act(&mut caller, "wake", Act::Wake { ticket, result })?;
    Ok(1)
}

fn is_waiting(caller: &In<'_>, ticket: u64) -> bool {
    let cell = caller.data();
    !cell.acts.has_ended(ticket) && cell.host.ask(|host| host.is_waiting(ticket)).unwrap_or(false)
}

/// Refuses a waiting call, or for ticket 0 the running one: that does not return.
fn fail(
    mut caller: In<'_>,
    ticket: u64,
    code_pointer: u32,
    code_length: u32,
    detail_pointer: u32,
    detail_length: u32,
) -> wasmtime::Result<u32> {
    let code = text(&mut caller, "code", (code_pointer, code_length), WORD_BYTES_MAX)?;
    let detail = text(&mut caller, "detail", (detail_pointer, detail_length), DETAIL_BYTES_MAX)?;
    if ticket == 0 {
        return Err(wasmtime::Error::new(Stopped(Failure::Refused { code, detail })));
    }
    may_act(&caller, "fail")?;
    if !is_waiting(&caller, ticket) {
        return Ok(0);
    }
    act(&mut caller, "fail", Act::Fail { ticket, code, detail })?;
    Ok(1)
}

fn timer_set(mut caller: In<'_>, id: u64, after_ms: i64) -> wasmtime::Result<()> {
    act(&mut caller, "timer_set", Act::SetTimer { id, after_ms })
}

fn send(
    mut caller: In<'_>,
    target_pointer: u32,
    target_length: u32,
    method_pointer: u32,
    method_length: u32,
    args_pointer: u32,
    args_length: u32,
) -> wasmtime::Result<()> {
    may_act(&caller, "send")?;
    let target = text(&mut caller, "target", (target_pointer, target_length), TARGET_BYTES_MAX)?;
    let method = text(&mut caller, "method", (method_pointer, method_length), WORD_BYTES_MAX)?;
    let part = (args_pointer, args_length);
    let args = match caller.data().facts.codec {
        Codec::Json => text(&mut caller, "message", part, RESULT_BYTES_MAX)?.into_bytes(),
        Codec::Raw => copied(&mut caller, "message", part, RESULT_BYTES_MAX)?,
    };
    act(&mut caller, "send", Act::Send { target, method, args })
}

fn emit(
    mut caller: In<'_>,
    topic_pointer: u32,
    topic_length: u32,
    body_pointer: u32,
    body_length: u32,
) -> wasmtime::Result<()> {
    may_act(&caller, "emit")?;
    let topic = text(&mut caller, "topic", (topic_pointer, topic_length), WORD_BYTES_MAX)?;
    let body = text(&mut caller, "body", (body_pointer, body_length), ACT_BYTES_MAX)?;
    act(&mut caller, "emit", Act::Emit { topic, body: body.into_bytes() })
}
