//! A counter: an integer of 64 bits within bounds. It never wraps around.

use super::{Builtin, Method, Step, blocking, command, query};
use crate::args::{Args, required};
use crate::codec::{decoded, encoded, record};
use crate::key::ordered;
use crate::object::{Ctx, Live, View, in_order};
use crate::place::Queue;
use crate::problem::{Problem, Slug};
use crate::reply::Reply;
use crate::script::Script;
use crate::ticket::{self, Ticket};

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Config {
        start: i64,
        min: Option<i64>,
        max: Option<i64>,
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        /// Not set: where it starts.
        value: Option<i64>,
    }
}

/// Waiting for at least so much: the least comes first in the queue's order.
const AT_LEAST: u8 = 1;
/// Waiting for at most so much: the greatest comes first.
const AT_MOST: u8 = 2;
const EQUALS: u8 = 3;

/// The type.
pub(crate) struct Counter;

type Result<T> = core::result::Result<T, Problem>;

impl Live<Counter> {
    fn value(&self) -> i64 {
        self.root.value.unwrap_or(self.config.start)
    }

    fn set(&mut self, value: Option<i64>) -> Result<i64> {
        let value = value.ok_or_else(|| Problem::new(Slug::Overflow, "beyond an integer of 64 bits"))?;
        let (min, max) = (self.config.min.unwrap_or(i64::MIN), self.config.max.unwrap_or(i64::MAX));
        if !(min..=max).contains(&value) {
            let detail = format!("{value} is not between {min} and {max}");
            return Err(Problem::new(Slug::OutOfRange, detail));
        }
        self.root.value = Some(value);
        Ok(value)
    }

    fn compare_and_set(&mut self, args: &Args) -> Result<String> {
        let expect = required("expect", args.int("expect")?)?;
        let value = required("value", args.int("value")?)?;
        let swapped = self.value() == expect;
        if swapped {
            self.set(Some(value))?;
        }
        Ok(Reply::new().flag("swapped", swapped).int("value", self.value()).finish())
    }
}

fn reached(value: i64, reached: bool) -> String {
    Reply::new().flag("reached", reached).int("value", value).finish()
}

/// What an `await` waits for: its queue and the bound.
fn awaited(args: &Args) -> Result<(u8, i64)> {
    let bounds = [(AT_LEAST, "at_least"), (AT_MOST, "at_most"), (EQUALS, "equals")];
    let mut found = None;
    for (tag, name) in bounds {
        if let Some(bound) = args.int(name)? {
            if found.is_some() {
                return Err(Problem::argument(name, "only one of `at_least`, `at_most`, `equals`"));
            }
            found = Some((tag, bound));
        }
    }
    required("at_least", found)
}

const fn satisfies(tag: u8, bound: i64, value: i64) -> bool {
    match tag {
        AT_LEAST => value >= bound,
        AT_MOST => value <= bound,
        _ => value == bound,
    }
}

impl Builtin for Counter {
    const METHODS: &'static [Method] = &[
        command("increment", &["by"]),
        command("decrement", &["by"]),
        command("set", &["value"]),
        command("swap", &["value"]),
        command("compare_and_set", &["expect", "value"]),
        blocking("await", &["at_least", "at_most", "equals"]),
        query("get", &[]),
    ];
    const CONSTRUCTOR: &'static [&'static str] = &["start", "min", "max"];
    const SCRIPT: &'static [&'static str] = &["set"];
    type Config = Config;
    type Root = Root;

    fn config(args: &Args) -> Result<Config> {
        let config =
            Config { start: args.int("start")?.unwrap_or(0), min: args.int("min")?, max: args.int("max")? };
        let is_within = config.min.is_none_or(|min| min <= config.start)
            && config.max.is_none_or(|max| max >= config.start);
        if is_within { Ok(config) } else { Err(Problem::argument("start", "not between `min` and `max`")) }
    }

    fn call(live: &mut Live<Self>, _: &mut Ctx<'_>, method: &str, args: &Args) -> Result<Step> {
        let previous = live.value();
        let by = args.int("by")?.unwrap_or(1);
        let value = |name| required(name, args.int(name)?);
        let result = match method {
            "increment" => Reply::new().int("value", live.set(previous.checked_add(by))?).finish(),
            "decrement" => Reply::new().int("value", live.set(previous.checked_sub(by))?).finish(),
            "set" | "swap" => {
                let value = live.set(Some(value("value")?))?;
                Reply::new().int("value", value).int("previous", previous).finish()
            }
            "compare_and_set" => live.compare_and_set(args)?,
            _ => {
                let (tag, bound) = awaited(args)?;
                if !satisfies(tag, bound, previous) {
                    let order = ordered(if tag == AT_MOST { !bound } else { bound });
                    return Ok(Step::wait(Queue::named(tag, order), encoded(&bound)));
                }
                reached(previous, true)
            }
        };
        Ok(Step::Done(result))
    }

    fn query(live: &Live<Self>, _: &View<'_>, _: &str, _: &Args) -> Result<String> {
        Ok(Reply::new().int("value", live.value()).finish())
    }

    /// The waits are ordered by their bounds, so only those that are granted are looked at, and one more.
    fn wake(live: &mut Live<Self>, ctx: &mut Ctx<'_>) {
        let value = live.value();
        let satisfied = |tag: u8| {
            move |ticket: &Ticket| {
                decoded::<i64>(&ticket.wants).is_ok_and(|bound| satisfies(tag, bound, value))
            }
        };
        let mut due = ctx.due_of_tag(AT_LEAST, satisfied(AT_LEAST));
        due.extend(ctx.due_of_tag(AT_MOST, satisfied(AT_MOST)));
        let equal = ctx.view().waiting(&Queue::named(EQUALS, ordered(value)));
        let equal: Vec<_> = equal.filter_map(|ticket| ticket::waiting(ctx.core, ticket.id)).collect();
        due.extend(equal);
        for found in in_order(due) {
            ctx.grant(&found, reached(value, true));
        }
    }

    fn missed(live: &Live<Self>, _: &View<'_>, _: &Queue, _: &[u8]) -> String {
        reached(live.value(), false)
    }
    fn waits_by(_: &Live<Self>, _: &Queue, _: &[u8]) -> Option<String> {
        Some(String::from("await"))
    }

    fn arguments(live: &Live<Self>) -> Reply {
        let bound = |reply: Reply, name, value: Option<i64>| match value {
            Some(value) => reply.int(name, value),
            None => reply,
        };
        let reply = Reply::new().int("start", live.config.start);
        bound(bound(reply, "min", live.config.min), "max", live.config.max)
    }

    fn script(live: &Live<Self>, _: &View<'_>, script: &mut Script) {
        if let Some(value) = live.root.value {
            script.call("set", Reply::new().int("value", value));
        }
    }

    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        live.value() == live.config.start
    }

    fn is_readable(_: u8, _: &[u8]) -> bool {
        false
    }
}
