//! A latch: it opens when it was counted down to 0, and stays open until it is reset.

use super::{Builtin, Method, Step, blocking, command, query};
use crate::args::Args;
use crate::codec::record;
use crate::limits::ENTRIES_MAX;
use crate::object::{Ctx, Live, View};
use crate::place::Queue;
use crate::problem::{Problem, Slug};
use crate::reply::Reply;

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Config {
        count: u64,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { count: 1 }
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        /// Not set: what it starts with.
        left: Option<u64>,
    }
}

const AWAIT: u8 = 1;

/// The type.
pub(crate) struct Latch;

type Result<T> = core::result::Result<T, Problem>;

impl Live<Latch> {
    fn left(&self) -> u64 {
        self.root.left.unwrap_or(self.config.count)
    }
}

fn open(open: bool) -> String {
    Reply::new().flag("open", open).finish()
}

impl Builtin for Latch {
    const METHODS: &'static [Method] = &[
        command("count_down", &["n"]),
        blocking("await", &[]),
        command("reset", &["count"]),
        query("count", &[]),
    ];
    const CONSTRUCTOR: &'static [&'static str] = &["count"];
    type Config = Config;
    type Root = Root;

    fn config(args: &Args) -> Result<Config> {
        Ok(Config { count: args.int_in("count", 0, ENTRIES_MAX)?.unwrap_or(1).unsigned_abs() })
    }

    fn call(live: &mut Live<Self>, _: &mut Ctx<'_>, method: &str, args: &Args) -> Result<Step> {
        let left = live.left();
        let left = match method {
            "count_down" => left.saturating_sub(args.count("n", 1)? as u64),
            "reset" if left > 0 => return Err(Problem::new(Slug::NotOpen, format!("its count is {left}"))),
            "reset" => {
                let count = args.int_in("count", 0, ENTRIES_MAX)?;
                count.map_or(live.config.count, i64::unsigned_abs)
            }
            _ if left == 0 => return Ok(Step::Done(open(true))),
            _ => return Ok(Step::wait(Queue::of(AWAIT), Vec::new())),
        };
        live.root.left = Some(left);
        Ok(Step::Done(Reply::new().number("count", left).finish()))
    }

    fn query(live: &Live<Self>, _: &View<'_>, _: &str, _: &Args) -> Result<String> {
        Ok(Reply::new().number("count", live.left()).finish())
    }

    fn wake(live: &mut Live<Self>, ctx: &mut Ctx<'_>) {
        while live.left() == 0
            && let Some(found) = ctx.first(&Queue::of(AWAIT))
        {
            ctx.grant(&found, open(true));
        }
    }

    fn missed(_: &Live<Self>, _: &View<'_>, _: &Queue, _: &[u8]) -> String {
        open(false)
    }
    fn waits_by(_: &Live<Self>, _: &Queue, _: &[u8]) -> Option<String> {
        Some(String::from("await"))
    }

    fn arguments(live: &Live<Self>) -> Reply {
        Reply::new().number("count", live.root.left.unwrap_or(live.config.count))
    }

    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        live.left() == live.config.count
    }

    fn is_readable(_: u8, _: &[u8]) -> bool {
        false
    }
}
