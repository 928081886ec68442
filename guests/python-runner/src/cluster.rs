//! The module `_diwan`: what a type may ask of the cluster, for `diwan.py`.

use std::cell::Cell;

use diwan_object::{Refused, Ticket};
use rustpython_vm::builtins::{PyBytesRef, PyModule, PyStrRef};
use rustpython_vm::{PyObjectRef, PyRef, PyResult, VirtualMachine};
use serde_json::json;

use crate::json::{from_python, to_python};

thread_local! {
    static PARKED: Cell<bool> = const { Cell::new(false) };
}

/// Whether the running call has parked; asking forgets it.
pub(crate) fn take_parked() -> bool {
    PARKED.replace(false)
}

fn park(tag: u64, wait_ms: i64) -> u64 {
    PARKED.set(true);
    diwan_object::park(tag, (wait_ms >= 0).then_some(wait_ms)).0
}

fn wake(ticket: u64, result: PyObjectRef, vm: &VirtualMachine) -> PyResult<bool> {
    Ok(Ticket(ticket).wake(&from_python(&result, vm)?))
}

fn refuse(ticket: u64, code: PyStrRef, detail: PyStrRef) -> bool {
    Ticket(ticket).refuse(&Refused::new(code.to_string_lossy(), detail.to_string_lossy()))
}

fn emit(topic: PyStrRef, body: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
    diwan_object::emit(&topic.to_string_lossy(), &from_python(&body, vm)?);
    Ok(())
}

fn send(target: PyStrRef, method: PyStrRef, arguments: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
    let arguments = from_python(&arguments, vm)?;
    diwan_object::send(&target.to_string_lossy(), &method.to_string_lossy(), &arguments);
    Ok(())
}

fn caller(vm: &VirtualMachine) -> PyResult {
    let diwan_object::Caller { session, principal, request } = diwan_object::caller();
    to_python(json!({"session": session, "principal": principal, "request": request}), vm)
}

fn random_bytes(length: usize, vm: &VirtualMachine) -> PyBytesRef {
    let mut bytes = vec![0; length];
    diwan_object::random_bytes(&mut bytes);
    vm.ctx.new_bytes(bytes)
}

fn log(line: PyStrRef) {
    diwan_object::log(&line.to_string_lossy());
}

pub(crate) fn module(vm: &VirtualMachine) -> PyResult<PyRef<PyModule>> {
    let functions = [
        ("caller", vm.new_function("caller", caller)),
        ("clear_timer", vm.new_function("clear_timer", diwan_object::clear_timer)),
        ("emit", vm.new_function("emit", emit)),
        ("log", vm.new_function("log", log)),
        ("now_ms", vm.new_function("now_ms", diwan_object::now_ms)),
        ("park", vm.new_function("park", park)),
        ("position", vm.new_function("position", diwan_object::position)),
        ("random_bytes", vm.new_function("random_bytes", random_bytes)),
        ("refuse", vm.new_function("refuse", refuse)),
        ("send", vm.new_function("send", send)),
        ("set_timer", vm.new_function("set_timer", diwan_object::set_timer)),
        ("wake", vm.new_function("wake", wake)),
    ];
    let dict = vm.ctx.new_dict();
    for (name, function) in functions {
        dict.set_item(name, function.into(), vm)?;
    }
    Ok(vm.new_module("_diwan", dict, None))
}
