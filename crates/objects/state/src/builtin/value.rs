//! A value: any JSON. Its version is the position of its last change, so no version ever comes back.

use super::{Builtin, Method, Step, blocking, command, query};
use crate::args::{Args, required};
use crate::codec::{decoded, encoded, record};
use crate::key::table;
use crate::object::{Ctx, Live, View};
use crate::place::Queue;
use crate::problem::Problem;
use crate::reply::Reply;
use crate::script::Script;

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Config {
        initial: String,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { initial: String::from("null") }
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        /// 0 while it was never changed.
        version: u64,
    }
}

/// The value, once it was changed: one record.
const VALUE: u8 = table::OWN;
const CHANGE: u8 = 1;

/// The type.
pub(crate) struct Value;

type Result<T> = core::result::Result<T, Problem>;

impl Live<Value> {
    fn value(&self, view: &View<'_>) -> String {
        let changed = (self.root.version > 0).then(|| view.get(VALUE, &[])).flatten();
        changed.unwrap_or_else(|| self.config.initial.clone())
    }

    fn set(&mut self, ctx: &mut Ctx<'_>, value: &String) {
        self.root.version = ctx.position();
        ctx.put(VALUE, &[], value);
    }

    fn change(&self, view: &View<'_>, changed: bool) -> String {
        let reply = Reply::new().flag("changed", changed).raw("value", &self.value(view));
        reply.number("version", self.root.version).finish()
    }

    fn compare_and_set(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let value = required("value", args.value("value")?)?;
        let (expect, version) = (args.value("expect")?, args.position("version")?);
        if expect.is_some() == version.is_some() {
            return Err(Problem::argument("expect", "one of `expect` and `version`"));
        }
        let current = self.value(&ctx.view());
        let swapped = expect.is_none_or(|expect| expect == current)
            && version.is_none_or(|version| version == self.root.version);
        if swapped {
            self.set(ctx, &value);
        }
        let reply = Reply::new().flag("swapped", swapped).number("version", self.root.version);
        Ok(reply.raw("value", if swapped { &value } else { &current }).finish())
    }
}

impl Builtin for Value {
    const METHODS: &'static [Method] = &[
        command("set", &["value"]),
        command("swap", &["value"]),
        command("compare_and_set", &["expect", "version", "value"]),
        blocking("await_change", &["version"]),
        query("get", &[]),
    ];
    const CONSTRUCTOR: &'static [&'static str] = &["initial"];
    const SCRIPT: &'static [&'static str] = &["set"];
    type Config = Config;
    type Root = Root;

    fn config(args: &Args) -> Result<Config> {
        Ok(args.value("initial")?.map_or_else(Config::default, |initial| Config { initial }))
    }

    fn call(live: &mut Live<Self>, ctx: &mut Ctx<'_>, method: &str, args: &Args) -> Result<Step> {
        Ok(Step::Done(match method {
            "set" | "swap" => {
                let value = required("value", args.value("value")?)?;
                let previous = live.value(&ctx.view());
                live.set(ctx, &value);
                Reply::new().number("version", live.root.version).raw("previous", &previous).finish()
            }
            "compare_and_set" => live.compare_and_set(ctx, args)?,
            _ => {
                let version = required("version", args.position("version")?)?;
                if version == live.root.version {
                    return Ok(Step::wait(Queue::of(CHANGE), encoded(&version)));
                }
                live.change(&ctx.view(), true)
            }
        }))
    }

    fn query(live: &Live<Self>, view: &View<'_>, _: &str, _: &Args) -> Result<String> {
        let value = live.value(view);
        Ok(Reply::new().raw("value", &value).number("version", live.root.version).finish())
    }

    fn wake(live: &mut Live<Self>, ctx: &mut Ctx<'_>) {
        // All wait for another version than the one they know, which was the same for all when they came.
        while let Some(found) = ctx.first(&Queue::of(CHANGE)) {
            if decoded::<u64>(&found.1.wants) == Ok(live.root.version) {
                return;
            }
            let result = live.change(&ctx.view(), true);
            ctx.grant(&found, result);
        }
    }

    fn missed(live: &Live<Self>, view: &View<'_>, _: &Queue, _: &[u8]) -> String {
        live.change(view, false)
    }
    fn waits_by(_: &Live<Self>, _: &Queue, _: &[u8]) -> Option<String> {
        Some(String::from("await_change"))
    }

    fn arguments(live: &Live<Self>) -> Reply {
        Reply::new().raw("initial", &live.config.initial)
    }

    fn script(live: &Live<Self>, view: &View<'_>, script: &mut Script) {
        if live.root.version > 0 {
            script.call("set", Reply::new().raw("value", &live.value(view)));
        }
    }

    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        live.root.version == 0
    }

    fn is_readable(table: u8, value: &[u8]) -> bool {
        table == VALUE && decoded::<String>(value).is_ok()
    }
}
