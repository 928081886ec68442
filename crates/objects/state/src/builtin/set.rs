//! A set of JSON values, ordered by their canonical text.

use core::ops::Bound;

use super::{Builtin, Method, Step, command, query};
use crate::args::{Args, required};
use crate::codec::record;
use crate::key::table;
use crate::limits::{ENTRIES, ENTRIES_MAX, ITEMS_PER_CALL, REPLY_BYTES_MAX};
use crate::object::{Ctx, Live, View};
use crate::problem::{Problem, Slug};
use crate::reply::Reply;
use crate::script::Script;

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Config {
        max_entries: u64,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { max_entries: ENTRIES.unsigned_abs() }
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        size: u64,
    }
}

/// The members, by their texts.
const MEMBER: u8 = table::OWN;

/// The type.
pub(crate) struct Set;

type Result<T> = core::result::Result<T, Problem>;

/// Members in order, as many as fit into a reply, and whether there are more.
fn walk(view: &View<'_>, from: Bound<&[u8]>, limit: usize) -> (Vec<String>, bool) {
    let (mut members, mut bytes) = (Vec::new(), 0);
    for (key, _) in view.entries(MEMBER, from, Bound::Unbounded) {
        bytes += key.len();
        if members.len() == limit || (!members.is_empty() && bytes > REPLY_BYTES_MAX) {
            return (members, true);
        }
        members.push(String::from_utf8_lossy(key).into_owned());
    }
    (members, false)
}

impl Builtin for Set {
    const METHODS: &'static [Method] = &[
        command("add", &["items"]),
        command("remove", &["items"]),
        command("pop", &["n"]),
        query("contains", &["item"]),
        query("size", &[]),
        query("members", &["after", "limit"]),
    ];
    const CONSTRUCTOR: &'static [&'static str] = &["max_entries"];
    const SCRIPT: &'static [&'static str] = &["add"];
    type Config = Config;
    type Root = Root;

    fn config(args: &Args) -> Result<Config> {
        let max_entries = args.int_in("max_entries", 1, ENTRIES_MAX)?.unwrap_or(ENTRIES).unsigned_abs();
        Ok(Config { max_entries })
    }

    fn call(live: &mut Live<Self>, ctx: &mut Ctx<'_>, method: &str, args: &Args) -> Result<Step> {
        let before = live.root.size;
        let result = match method {
            "add" => {
                for item in args.values("items")? {
                    if ctx.get::<()>(MEMBER, item.as_bytes()).is_none() {
                        ctx.put(MEMBER, item.as_bytes(), &());
                        live.root.size += 1;
                    }
                }
                if live.root.size > live.config.max_entries {
                    let detail = format!("{} members are allowed", live.config.max_entries);
                    return Err(Problem::new(Slug::Full, detail));
                }
                Reply::new().number("added", live.root.size - before)
            }
            "remove" => {
                for item in args.values("items")? {
                    live.root.size -= u64::from(ctx.remove(MEMBER, item.as_bytes()));
                }
                Reply::new().number("removed", before - live.root.size)
            }
            _ => {
                let (items, _) = walk(&ctx.view(), Bound::Unbounded, args.count("n", 1)?);
                for item in &items {
                    live.root.size -= u64::from(ctx.remove(MEMBER, item.as_bytes()));
                }
                Reply::new().list("items", items)
            }
        };
        Ok(Step::Done(result.finish()))
    }

    fn query(live: &Live<Self>, view: &View<'_>, method: &str, args: &Args) -> Result<String> {
        Ok(match method {
            "contains" => {
                let item = required("item", args.value("item")?)?;
                Reply::new().flag("contains", view.get::<()>(MEMBER, item.as_bytes()).is_some())
            }
            "size" => Reply::new().number("size", live.root.size),
            _ => {
                let after = args.value("after")?;
                let from = after.as_ref().map_or(Bound::Unbounded, |after| Bound::Excluded(after.as_bytes()));
                let (items, more) = walk(view, from, args.count("limit", ITEMS_PER_CALL)?);
                let next = items.last().filter(|_| more).cloned();
                Reply::new().list("items", items).optional_raw("next", next.as_deref())
            }
        }
        .finish())
    }

    fn arguments(live: &Live<Self>) -> Reply {
        Reply::new().number("max_entries", live.config.max_entries)
    }

    fn script(_: &Live<Self>, view: &View<'_>, script: &mut Script) {
        let members = view.table(MEMBER);
        let members = members.filter_map(|(member, _)| core::str::from_utf8(member).ok());
        script.items("add", "items", members.map(String::from));
    }

    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        live.root.size == 0
    }

    fn is_readable(table: u8, value: &[u8]) -> bool {
        table == MEMBER && value.is_empty()
    }
}
