//! The interpreter, and what it is asked.

use std::cell::RefCell;

use diwan_object::Refused;
use rustpython_vm::builtins::PyBaseExceptionRef;
use rustpython_vm::function::IntoFuncArgs;
use rustpython_vm::scope::Scope;
use rustpython_vm::{Interpreter, PyObjectRef, PyResult, Settings, VirtualMachine};
use serde_json::{Map, Value};

use crate::cluster;
use crate::json::{from_python, to_python};

/// The author's side.
const PRELUDE: &str = include_str!("diwan.py");
/// The name of the author's file in tracebacks.
const FILE: &str = "type.py";
/// Calls within calls. The stack of the module ends somewhat later.
const RECURSION_MAX: usize = 200;

/// Why an entry ends without a result.
pub(crate) enum Stop {
    /// The type refuses.
    Refused(Refused),
    /// An exception that nobody caught: the traceback.
    Failed(String),
}

impl From<Refused> for Stop {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

thread_local! {
    static INTERPRETER: Interpreter = started();
    /// What most entries ask for: `_call` of the prelude.
    static CALL: RefCell<Option<PyObjectRef>> = const { RefCell::new(None) };
}

fn started() -> Interpreter {
    let mut settings = Settings::default();
    settings.hash_seed = Some(0);
    settings.import_site = false;
    settings.install_signal_handlers = false;
    settings.write_bytecode = false;
    Interpreter::without_stdlib(settings)
}

/// Runs something in the interpreter.
pub(crate) fn with<R>(entry: impl FnOnce(&VirtualMachine) -> Result<R, Stop>) -> Result<R, Stop> {
    INTERPRETER.with(|interpreter| {
        interpreter.enter(|vm| {
            vm.recursion_limit.set(RECURSION_MAX);
            entry(vm)
        })
    })
}

/// Runs the author's file, and looks for the type in it.
pub(crate) fn load(vm: &VirtualMachine, source: &str) -> Result<(), Stop> {
    let loaded = || {
        let modules = vm.sys_module.get_attr("modules", vm)?;
        modules.set_item("_diwan", cluster::module(vm)?.into(), vm)?;
        let prelude = scope(vm, "diwan")?;
        vm.run_string(prelude.clone(), PRELUDE, "diwan.py".into())?;
        CALL.replace(Some(prelude.globals.get_item("_call", vm)?));
        modules.set_item("diwan", vm.new_module("diwan", prelude.globals, None).into(), vm)?;
        let author = scope(vm, "type")?;
        vm.run_string(author.clone(), source, FILE.into())?;
        ask(vm, "_load", (author.globals,))
    };
    loaded().map(drop).map_err(|exception| stop(vm, &exception))
}

fn scope(vm: &VirtualMachine, name: &str) -> PyResult<Scope> {
    let globals = vm.ctx.new_dict();
    globals.set_item("__builtins__", vm.builtins.clone().into(), vm)?;
    globals.set_item("__name__", vm.ctx.new_str(name).into(), vm)?;
    Ok(Scope::with_builtins(None, globals, vm))
}

pub(crate) fn describe(vm: &VirtualMachine) -> Result<Value, Stop> {
    let described = || from_python(&*ask(vm, "_describe", ())?, vm);
    described().map_err(|exception| stop(vm, &exception))
}

pub(crate) fn save(vm: &VirtualMachine) -> Result<Value, Stop> {
    let saved = || from_python(&*ask(vm, "_save", ())?, vm);
    saved().map_err(|exception| stop(vm, &exception))
}

pub(crate) fn migrate(vm: &VirtualMachine, description: Value, state: Value) -> Result<(), Stop> {
    let migrated = || ask(vm, "_migrate", (to_python(description, vm)?, to_python(state, vm)?));
    migrated().map(drop).map_err(|exception| stop(vm, &exception))
}

pub(crate) fn create(vm: &VirtualMachine, arguments: Value) -> Result<(), Stop> {
    let created = || ask(vm, "_create", (to_python(arguments, vm)?,));
    created().map(drop).map_err(|exception| stop(vm, &exception))
}

/// Null if the call waits: nobody reads it then.
pub(crate) fn call(vm: &VirtualMachine, method: &str, arguments: Map<String, Value>) -> Result<Value, Stop> {
    cluster::take_parked();
    let function = CALL.with_borrow(Clone::clone);
    let function = function.ok_or_else(|| Stop::Failed("no source was loaded".into()))?;
    let called = || {
        let method = vm.ctx.new_str(method);
        // Most calls have no arguments: then there is no dictionary to look through.
        let result = match arguments.is_empty() {
            true => function.call((method,), vm)?,
            false => function.call((method, to_python(Value::Object(arguments), vm)?), vm)?,
        };
        if cluster::take_parked() { Ok(Value::Null) } else { from_python(&result, vm) }
    };
    called().map_err(|exception| stop(vm, &exception))
}

pub(crate) fn event(vm: &VirtualMachine, name: &str, argument: Value) -> Result<(), Stop> {
    let told = || ask(vm, "_event", (vm.ctx.new_str(name), to_python(argument, vm)?));
    told().map(drop).map_err(|exception| stop(vm, &exception))
}

/// Calls a function of the prelude.
fn ask(vm: &VirtualMachine, function: &str, arguments: impl IntoFuncArgs) -> PyResult {
    let modules = vm.sys_module.get_attr("modules", vm)?;
    let prelude = modules.get_item("diwan", vm)?;
    prelude.get_attr(&vm.ctx.new_str(function), vm)?.call(arguments, vm)
}

fn stop(vm: &VirtualMachine, exception: &PyBaseExceptionRef) -> Stop {
    refused(vm, exception).map_or_else(|| Stop::Failed(traceback(vm, exception)), Stop::Refused)
}

/// The refusal that an exception is, if it is one.
fn refused(vm: &VirtualMachine, exception: &PyBaseExceptionRef) -> Option<Refused> {
    let modules = vm.sys_module.get_attr("modules", vm).ok()?;
    let class = modules.get_item("diwan", vm).ok()?.get_attr("Refused", vm).ok()?;
    let object: PyObjectRef = exception.clone().into();
    if !object.is_instance(&class, vm).ok()? {
        return None;
    }
    let member = |name: &'static str| {
        let text = object.get_attr(name, vm).ok()?.str(vm).ok()?;
        Some(text.to_string_lossy().into_owned())
    };
    Some(Refused::new(member("code")?, member("detail")?))
}

fn traceback(vm: &VirtualMachine, exception: &PyBaseExceptionRef) -> String {
    let mut text = String::new();
    // Writing to a text does not fail; and a traceback that is cut off is better than none.
    let _ = vm.write_exception(&mut text, exception);
    text
}
