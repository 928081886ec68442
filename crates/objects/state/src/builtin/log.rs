//! A log of entries by index, from 0. When it is full the oldest go, or an append is refused.

use core::ops::Bound;

use super::{Builtin, Method, MethodKind, Step, command};
use crate::args::{Args, required};
use crate::codec::{decoded, encoded, record};
use crate::key::table;
use crate::limits::{ENTRIES_MAX, ITEMS_PER_CALL, OBJECT_BYTES, OBJECT_BYTES_MAX, REPLY_BYTES_MAX};
use crate::object::{Ctx, Live, View};
use crate::place::Queue;
use crate::problem::{Problem, Slug};
use crate::reply::Reply;
use crate::script::Script;
use crate::ticket::Ticket;

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Config {
        max_entries: u64,
        max_bytes: u64,
        refuses: bool,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { max_entries: 10_000, max_bytes: OBJECT_BYTES.unsigned_abs(), refuses: false }
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        first: u64,
        next: u64,
        bytes: u64,
    }
}

/// Entries by index.
const ENTRY: u8 = table::OWN;
/// Readers that wait, by the index that they wait for.
const READ: u8 = 1;

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Read {
        from: u64,
        limit: u64,
    }
}

/// The type.
pub(crate) struct Log;

type Result<T> = core::result::Result<T, Problem>;

impl Live<Log> {
    fn drop_first(&mut self, ctx: &mut Ctx<'_>) {
        let key = self.root.first.to_be_bytes();
        let bytes = ctx.get::<String>(ENTRY, &key).map_or(0, |entry| entry.len() as u64);
        ctx.remove(ENTRY, &key);
        self.root.bytes = self.root.bytes.saturating_sub(bytes);
        self.root.first += 1;
    }

    const fn is_full(&self, entries: u64, bytes: u64) -> bool {
        self.root.next - self.root.first + entries > self.config.max_entries
            || self.root.bytes + bytes > self.config.max_bytes
    }

    fn append(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let entry = required("entry", args.value("entry")?)?;
        let bytes = entry.len() as u64;
        if bytes > self.config.max_bytes || (self.config.refuses && self.is_full(1, bytes)) {
            return Err(Problem::new(Slug::Full, format!("it holds {} bytes", self.root.bytes)));
        }
        let index = self.root.next;
        ctx.put(ENTRY, &index.to_be_bytes(), &entry);
        self.root.next += 1;
        self.root.bytes += bytes;
        while self.is_full(0, 0) {
            self.drop_first(ctx);
        }
        Ok(Reply::new().number("index", index).finish())
    }

    /// As many as a call may do; the caller repeats it until `first` is where it wants it.
    fn trim(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let before = required("before", args.position("before")?)?.min(self.root.next);
        let mut trimmed = 0;
        while self.root.first < before && trimmed < TRIMMED_MAX {
            self.drop_first(ctx);
            trimmed += 1;
        }
        Ok(Reply::new().number("trimmed", trimmed).number("first", self.root.first).finish())
    }

    fn asked(&self, args: &Args) -> Result<Read> {
        let from = args.position("from")?.unwrap_or(self.root.first);
        if from < self.root.first {
            return Err(Problem::new(Slug::Trimmed, format!("the first entry is {}", self.root.first)));
        }
        Ok(Read { from, limit: args.count("limit", ITEMS_PER_CALL)? as u64 })
    }

    fn read(&self, view: &View<'_>, read: &Read) -> String {
        let (mut entries, mut bytes, mut next) = (Vec::new(), 0, read.from);
        let from = read.from.to_be_bytes();
        for (_, value) in view.entries(ENTRY, Bound::Included(&from), Bound::Unbounded) {
            let Ok(entry) = decoded::<String>(value) else { break };
            bytes += entry.len();
            let is_enough = entries.len() as u64 == read.limit;
            if is_enough || (!entries.is_empty() && bytes > REPLY_BYTES_MAX) {
                break;
            }
            entries.push(entry);
            next += 1;
        }
        Reply::new().list("entries", entries).number("first", self.root.first).number("next", next).finish()
    }
}

/// Entries that one `trim` removes.
const TRIMMED_MAX: u64 = 10_000;

impl Builtin for Log {
    const METHODS: &'static [Method] = &[
        command("append", &["entry"]),
        command("trim", &["before"]),
        Method { name: "read", kind: MethodKind::Either, args: &["from", "limit"] },
    ];
    const CONSTRUCTOR: &'static [&'static str] = &["max_entries", "max_bytes", "when_full"];
    const SCRIPT: &'static [&'static str] = &["append"];
    type Config = Config;
    type Root = Root;

    fn config(args: &Args) -> Result<Config> {
        let refuses = match args.text("when_full")? {
            None | Some("drop") => false,
            Some("refuse") => true,
            Some(_) => return Err(Problem::argument("when_full", "neither `drop` nor `refuse`")),
        };
        let max_entries = args.int_in("max_entries", 1, ENTRIES_MAX)?.unwrap_or(10_000).unsigned_abs();
        let max_bytes = args.int_in("max_bytes", 1, OBJECT_BYTES_MAX)?.unwrap_or(OBJECT_BYTES).unsigned_abs();
        Ok(Config { max_entries, max_bytes, refuses })
    }

    fn call(live: &mut Live<Self>, ctx: &mut Ctx<'_>, method: &str, args: &Args) -> Result<Step> {
        Ok(Step::Done(match method {
            "append" => live.append(ctx, args)?,
            "trim" => live.trim(ctx, args)?,
            _ => {
                let read = live.asked(args)?;
                if read.from >= live.root.next {
                    return Ok(Step::wait(Queue::named(READ, read.from.to_be_bytes()), encoded(&read)));
                }
                live.read(&ctx.view(), &read)
            }
        }))
    }

    fn query(live: &Live<Self>, view: &View<'_>, _: &str, args: &Args) -> Result<String> {
        Ok(live.read(view, &live.asked(args)?))
    }

    /// Those wait in the order of their indexes.
    fn wake(live: &mut Live<Self>, ctx: &mut Ctx<'_>) {
        let is_due =
            |ticket: &Ticket| decoded::<Read>(&ticket.wants).is_ok_and(|read| read.from < live.root.next);
        for found in ctx.due_of_tag(READ, is_due) {
            let Ok(read) = decoded::<Read>(&found.1.wants) else { return };
            let result = live.read(&ctx.view(), &read);
            ctx.grant(&found, result);
        }
    }

    fn missed(live: &Live<Self>, _: &View<'_>, _: &Queue, wants: &[u8]) -> String {
        let from = decoded::<Read>(wants).map_or(live.root.next, |read| read.from);
        let reply = Reply::new().list::<&str>("entries", []);
        reply.number("first", live.root.first).number("next", from).finish()
    }
    fn waits_by(_: &Live<Self>, _: &Queue, _: &[u8]) -> Option<String> {
        Some(String::from("read"))
    }

    fn arguments(live: &Live<Self>) -> Reply {
        Reply::new()
            .number("max_entries", live.config.max_entries)
            .number("max_bytes", live.config.max_bytes)
            .text("when_full", if live.config.refuses { "refuse" } else { "drop" })
    }

    /// The first entry that is left becomes entry 0.
    fn script(live: &Live<Self>, view: &View<'_>, script: &mut Script) {
        for (_, entry) in view.table(ENTRY) {
            if script.is_too_large() {
                return;
            }
            if let Ok(entry) = decoded::<String>(entry) {
                script.call("append", Reply::new().raw("entry", &entry));
            }
        }
        if live.root.first > 0 {
            script.leave_out("the indexes of entries, which begin at 0 again");
        }
    }

    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        live.root.next == 0
    }

    fn is_readable(table: u8, value: &[u8]) -> bool {
        table == ENTRY && decoded::<String>(value).is_ok()
    }
}
