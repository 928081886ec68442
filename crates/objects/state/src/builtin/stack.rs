//! A stack. Who pushes waits while it is full, who pops while it is empty.

use super::{Builtin, Method, Step, blocking, query};
use crate::args::{Args, required};
use crate::codec::{decoded, encoded, record};
use crate::key::table;
use crate::limits::{ENTRIES, ENTRIES_MAX, ITEMS_PER_CALL, REPLY_BYTES_MAX};
use crate::object::{Ctx, Live, View};
use crate::place::Queue;
use crate::problem::{Problem, Slug};
use crate::reply::Reply;
use crate::script::Script;

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Config {
        capacity: u64,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { capacity: ENTRIES.unsigned_abs() }
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        size: u64,
    }
}

/// Items by their height.
const ITEM: u8 = table::OWN;
const PUSH: u8 = 1;
const POP: u8 = 2;

/// The type.
pub(crate) struct Stack;

type Result<T> = core::result::Result<T, Problem>;

impl Live<Stack> {
    fn push(&mut self, ctx: &mut Ctx<'_>, item: &String) -> String {
        ctx.put(ITEM, &self.root.size.to_be_bytes(), item);
        self.root.size += 1;
        Reply::new().number("size", self.root.size).finish()
    }

    /// At least one item, if there is one, and not more than fit into a reply.
    fn pop(&mut self, ctx: &mut Ctx<'_>, n: u64) -> String {
        let items = top(&ctx.view(), n as usize);
        for _ in &items {
            self.root.size -= 1;
            ctx.remove(ITEM, &self.root.size.to_be_bytes());
        }
        Reply::new().list("items", items).finish()
    }
}

fn top(view: &View<'_>, limit: usize) -> Vec<String> {
    let mut bytes = 0;
    let items = view.table(ITEM).rev().filter_map(|(_, value)| decoded::<String>(value).ok());
    let fitting = items.take(limit).enumerate().take_while(|(index, item)| {
        bytes += item.len();
        *index == 0 || bytes <= REPLY_BYTES_MAX
    });
    fitting.map(|(_, item)| item).collect()
}

impl Builtin for Stack {
    const METHODS: &'static [Method] = &[
        blocking("push", &["item"]),
        blocking("pop", &["n"]),
        query("peek", &[]),
        query("items", &["limit"]),
        query("size", &[]),
    ];
    const CONSTRUCTOR: &'static [&'static str] = &["capacity"];
    const SCRIPT: &'static [&'static str] = &["push"];
    type Config = Config;
    type Root = Root;

    fn config(args: &Args) -> Result<Config> {
        Ok(Config { capacity: args.int_in("capacity", 1, ENTRIES_MAX)?.unwrap_or(ENTRIES).unsigned_abs() })
    }

    fn call(live: &mut Live<Self>, ctx: &mut Ctx<'_>, method: &str, args: &Args) -> Result<Step> {
        if method == "push" {
            let item = required("item", args.value("item")?)?;
            if live.root.size < live.config.capacity && !ctx.view().is_waiting(&Queue::of(PUSH)) {
                return Ok(Step::Done(live.push(ctx, &item)));
            }
            if ctx.claim.wait_ms == Some(0) {
                return Err(Problem::new(Slug::QueueFull, format!("it holds {} items", live.root.size)));
            }
            return Ok(Step::wait(Queue::of(PUSH), encoded(&item)));
        }
        let n = args.count("n", 1)? as u64;
        if live.root.size == 0 || ctx.view().is_waiting(&Queue::of(POP)) {
            return Ok(Step::wait(Queue::of(POP), encoded(&n)));
        }
        Ok(Step::Done(live.pop(ctx, n)))
    }

    fn query(live: &Live<Self>, view: &View<'_>, method: &str, args: &Args) -> Result<String> {
        Ok(match method {
            "peek" => Reply::new().list("items", top(view, 1)),
            "items" => Reply::new().list("items", top(view, args.count("limit", ITEMS_PER_CALL)?)),
            _ => Reply::new().number("size", live.root.size),
        }
        .finish())
    }

    fn wake(live: &mut Live<Self>, ctx: &mut Ctx<'_>) {
        loop {
            if live.root.size > 0
                && let Some(found) = ctx.first(&Queue::of(POP))
                && let Ok(n) = decoded::<u64>(&found.1.wants)
            {
                let result = live.pop(ctx, n);
                ctx.grant(&found, result);
            } else if live.root.size < live.config.capacity
                && let Some(found) = ctx.first(&Queue::of(PUSH))
                && let Ok(item) = decoded::<String>(&found.1.wants)
            {
                let result = live.push(ctx, &item);
                ctx.grant(&found, result);
            } else {
                return;
            }
        }
    }

    fn missed(_: &Live<Self>, _: &View<'_>, queue: &Queue, _: &[u8]) -> String {
        match queue.tag {
            POP => Reply::new().list::<&str>("items", []).finish(),
            _ => Reply::new().raw("size", "null").finish(),
        }
    }
    fn waits_by(_: &Live<Self>, queue: &Queue, _: &[u8]) -> Option<String> {
        Some(String::from(if queue.tag == PUSH { "push" } else { "pop" }))
    }

    fn arguments(live: &Live<Self>) -> Reply {
        Reply::new().number("capacity", live.config.capacity)
    }

    fn script(_: &Live<Self>, view: &View<'_>, script: &mut Script) {
        for (_, item) in view.table(ITEM) {
            if script.is_too_large() {
                return;
            }
            if let Ok(item) = decoded::<String>(item) {
                script.call("push", Reply::new().raw("item", &item));
            }
        }
    }

    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        live.root.size == 0
    }

    fn is_readable(table: u8, value: &[u8]) -> bool {
        table == ITEM && decoded::<String>(value).is_ok()
    }
}
