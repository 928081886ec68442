//! The interpreter, and what it is asked.

use std::cell::RefCell;

use diwan_object::Refused;
use rquickjs::function::{Args, IntoArgs};
use rquickjs::{
    CatchResultExt, CaughtError, Context, Ctx, Function, Module, Object, Persistent, Runtime, Value as Js,
};
use serde_json::{Map, Value};

use crate::cluster;
use crate::json::{from_js, to_js};

/// The author's side.
const PRELUDE: &str = include_str!("diwan.js");
/// The name of the author's file in traces.
const FILE: &str = "type.js";
/// Calls within calls. The stack of the module ends somewhat later.
const STACK_BYTES_MAX: usize = 200 << 10;

/// Why an entry ends without a result.
pub(crate) enum Stop {
    /// The type refuses.
    Refused(Refused),
    /// An exception that nobody caught: what it was, and where.
    Failed(String),
}

impl From<Refused> for Stop {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// What is kept from entry to entry.
struct Interpreter {
    context: Context,
    prelude: RefCell<Option<Prelude>>,
}

/// What `diwan.js` exports.
#[derive(Clone)]
struct Prelude {
    all: Persistent<Object<'static>>,
    /// What most entries ask for.
    call: Persistent<Function<'static>>,
}

thread_local! {
    static INTERPRETER: Interpreter = started();
}

fn started() -> Interpreter {
    let runtime = Runtime::new().expect("there is memory for an interpreter");
    runtime.set_max_stack_size(STACK_BYTES_MAX);
    let context = Context::full(&runtime).expect("there is memory for an interpreter");
    Interpreter { context, prelude: RefCell::new(None) }
}

/// Runs something in the interpreter.
pub(crate) fn with<R>(entry: impl for<'js> FnOnce(&Ctx<'js>) -> Result<R, Stop>) -> Result<R, Stop> {
    INTERPRETER.with(|interpreter| interpreter.context.with(|ctx| entry(&ctx)))
}

/// Runs the author's file, and looks for the type in it.
pub(crate) fn load(ctx: &Ctx<'_>, source: &str) -> Result<(), Stop> {
    let prelude = (|| {
        ctx.globals().set("__diwan", cluster::functions(ctx)?)?;
        let (prelude, done) = Module::declare(ctx.clone(), "diwan", PRELUDE)?.eval()?;
        done.finish::<()>()?;
        prelude.namespace()
    })();
    let prelude = prelude.catch(ctx).map_err(|error| stop(None, &error))?;
    let call = prelude.get::<_, Function<'_>>("_call").catch(ctx).map_err(|error| stop(None, &error))?;
    let kept = Prelude { all: Persistent::save(ctx, prelude.clone()), call: Persistent::save(ctx, call) };
    INTERPRETER.with(|interpreter| *interpreter.prelude.borrow_mut() = Some(kept));
    let namespace = (|| {
        let (module, done) = Module::declare(ctx.clone(), FILE, source)?.eval()?;
        done.finish::<()>()?;
        module.namespace()
    })();
    let namespace = namespace.catch(ctx).map_err(|error| stop(Some(&prelude), &error))?;
    ask(ctx, "_load", (namespace,)).map(drop)
}

pub(crate) fn describe(ctx: &Ctx<'_>) -> Result<Value, Stop> {
    ask(ctx, "_describe", ())
}

pub(crate) fn save(ctx: &Ctx<'_>) -> Result<Value, Stop> {
    ask(ctx, "_save", ())
}

pub(crate) fn migrate(ctx: &Ctx<'_>, description: Value, state: Value) -> Result<(), Stop> {
    ask(ctx, "_migrate", (Told(description), Told(state))).map(drop)
}

pub(crate) fn create(ctx: &Ctx<'_>, arguments: Value) -> Result<(), Stop> {
    ask(ctx, "_create", (Told(arguments),)).map(drop)
}

/// Null if the call waits: nobody reads it then.
pub(crate) fn call(ctx: &Ctx<'_>, method: &str, arguments: Map<String, Value>) -> Result<Value, Stop> {
    cluster::take_parked();
    let function = function_call(ctx)?;
    // Most calls have none: then there is no object to look through.
    let given = if arguments.is_empty() { Value::Null } else { Value::Object(arguments) };
    asked(ctx, || Ok(function), (method, Told(given)))
}

pub(crate) fn event(ctx: &Ctx<'_>, name: &str, argument: Value) -> Result<(), Stop> {
    ask(ctx, "_event", (name, Told(argument))).map(drop)
}

/// JSON as an argument.
struct Told(Value);

impl<'js> rquickjs::IntoJs<'js> for Told {
    fn into_js(self, ctx: &Ctx<'js>) -> rquickjs::Result<Js<'js>> {
        to_js(self.0, ctx)
    }
}

fn prelude<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>, Stop> {
    let kept = INTERPRETER.with(|interpreter| Some(interpreter.prelude.borrow().as_ref()?.all.clone()));
    kept.and_then(|kept| kept.restore(ctx).ok()).ok_or_else(not_loaded)
}

fn function_call<'js>(ctx: &Ctx<'js>) -> Result<Function<'js>, Stop> {
    let kept = INTERPRETER.with(|interpreter| Some(interpreter.prelude.borrow().as_ref()?.call.clone()));
    kept.and_then(|kept| kept.restore(ctx).ok()).ok_or_else(not_loaded)
}

fn not_loaded() -> Stop {
    Stop::Failed("no source was loaded".into())
}

/// Calls a function of the prelude.
fn ask<'js>(ctx: &Ctx<'js>, function: &str, arguments: impl IntoArgs<'js>) -> Result<Value, Stop> {
    let prelude = prelude(ctx)?;
    asked(ctx, || prelude.get(function), arguments)
}

/// Calls a function, and does all that it leaves to be done later.
fn asked<'js>(
    ctx: &Ctx<'js>,
    function: impl FnOnce() -> rquickjs::Result<Function<'js>>,
    arguments: impl IntoArgs<'js>,
) -> Result<Value, Stop> {
    let asked = || {
        let function = function()?;
        let mut given = Args::new(ctx.clone(), arguments.num_args());
        arguments.into_args(&mut given)?;
        let mut result: Js<'js> = given.apply(&function)?;
        if let Some(promise) = result.as_promise() {
            result = promise.finish()?;
        }
        while ctx.execute_pending_job() {}
        if cluster::take_parked() { Ok(Value::Null) } else { from_js(&result) }
    };
    asked().catch(ctx).map_err(|error| stop(prelude(ctx).ok().as_ref(), &error))
}

fn stop<'js>(prelude: Option<&Object<'js>>, error: &CaughtError<'js>) -> Stop {
    refused(prelude, error).map_or_else(|| Stop::Failed(trace(error)), Stop::Refused)
}

/// The refusal that an exception is, if it is one.
fn refused<'js>(prelude: Option<&Object<'js>>, error: &CaughtError<'js>) -> Option<Refused> {
    let CaughtError::Exception(exception) = error else { return None };
    let class: Object<'js> = prelude?.get("Refused").ok()?;
    let object = exception.as_object();
    if !object.is_instance_of(&class) {
        return None;
    }
    Some(Refused::new(object.get::<_, String>("code").ok()?, object.get::<_, String>("message").ok()?))
}

fn trace(error: &CaughtError<'_>) -> String {
    match error {
        CaughtError::Exception(exception) => {
            let name: String = exception.as_object().get("name").unwrap_or_else(|_| "Error".into());
            let message = exception.message().unwrap_or_default();
            let stack = exception.stack().unwrap_or_default();
            format!("{name}: {message}\n{}", stack.trim_end())
        }
        CaughtError::Value(value) => {
            from_js(value).map_or_else(|_| "a value was thrown".into(), |told| format!("{told} was thrown"))
        }
        CaughtError::Error(rquickjs::Error::WouldBlock) => "a promise that nothing here can settle".into(),
        CaughtError::Error(error) => error.to_string(),
    }
}
