//! What a type may ask of the cluster, for `diwan.js`.

use std::cell::Cell;

use diwan_object::{Refused, Ticket};
use rquickjs::{Ctx, Function, Object, Result, Value as Js};
use serde_json::json;

use crate::json::{from_js, to_js};

thread_local! {
    static PARKED: Cell<bool> = const { Cell::new(false) };
}

/// Whether the running call has parked; asking forgets it.
pub(crate) fn take_parked() -> bool {
    PARKED.replace(false)
}

fn park(tag: f64, wait_ms: f64) -> f64 {
    PARKED.set(true);
    diwan_object::park(tag as u64, (wait_ms >= 0.0).then_some(wait_ms as i64)).0 as f64
}

fn wake(ticket: f64, result: Js<'_>) -> Result<bool> {
    Ok(Ticket(ticket as u64).wake(&from_js(&result)?))
}

fn refuse(ticket: f64, code: String, detail: String) -> bool {
    Ticket(ticket as u64).refuse(&Refused::new(code, detail))
}

fn emit(topic: String, body: Js<'_>) -> Result<()> {
    diwan_object::emit(&topic, &from_js(&body)?);
    Ok(())
}

fn send(target: String, method: String, arguments: Js<'_>) -> Result<()> {
    diwan_object::send(&target, &method, &from_js(&arguments)?);
    Ok(())
}

fn caller(ctx: Ctx<'_>) -> Result<Js<'_>> {
    let diwan_object::Caller { session, principal, request } = diwan_object::caller();
    to_js(json!({ "session": session, "principal": principal, "request": request }), &ctx)
}

/// The most random bytes that one call is given.
const RANDOM_MAX: f64 = 65_536.0;

fn random_bytes(ctx: Ctx<'_>, length: f64) -> Result<Vec<u8>> {
    if !(0.0..=RANDOM_MAX).contains(&length) {
        return Err(rquickjs::Exception::throw_range(&ctx, "from 0 to 65536 bytes"));
    }
    let mut bytes = vec![0; length as usize];
    if !bytes.is_empty() {
        diwan_object::random_bytes(&mut bytes);
    }
    Ok(bytes)
}

/// The functions, as members of an object. Positions and tickets are below 2^53.
pub(crate) fn functions<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("caller", Function::new(ctx.clone(), caller)?)?;
    object.set("clearTimer", Function::new(ctx.clone(), |id: f64| diwan_object::clear_timer(id as u64))?)?;
    object.set("emit", Function::new(ctx.clone(), emit)?)?;
    object.set("log", Function::new(ctx.clone(), |line: String| diwan_object::log(&line))?)?;
    object.set("nowMs", Function::new(ctx.clone(), || diwan_object::now_ms() as f64)?)?;
    object.set("park", Function::new(ctx.clone(), park)?)?;
    object.set("position", Function::new(ctx.clone(), || diwan_object::position() as f64)?)?;
    object.set("randomBytes", Function::new(ctx.clone(), random_bytes)?)?;
    object.set("refuse", Function::new(ctx.clone(), refuse)?)?;
    object.set("send", Function::new(ctx.clone(), send)?)?;
    let set_timer = |id: f64, after_ms: f64| diwan_object::set_timer(id as u64, after_ms as i64);
    object.set("setTimer", Function::new(ctx.clone(), set_timer)?)?;
    object.set("wake", Function::new(ctx.clone(), wake)?)?;
    Ok(object)
}
