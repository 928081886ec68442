//! A map, ordered by key. An entry's version is the position of its last change, so a key that was removed and put again
//! never has an old version.

use core::ops::Bound;
use std::collections::BTreeSet;

use super::{Builtin, Method, Step, blocking, command, query};
use crate::args::{Args, required};
use crate::codec::{decoded, record};
use crate::key::{self, Key, table};
use crate::limits::{ENTRIES, ENTRIES_MAX, ITEMS_PER_CALL, OBJECT_BYTES, OBJECT_BYTES_MAX, REPLY_BYTES_MAX};
use crate::object::{Ctx, Live, View};
use crate::place::Queue;
use crate::problem::{Problem, Slug};
use crate::reply::Reply;
use crate::script::Script;

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Config {
        max_entries: u64,
        max_bytes: u64,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { max_entries: ENTRIES.unsigned_abs(), max_bytes: OBJECT_BYTES.unsigned_abs() }
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        entries: u64,
        bytes: u64,
        /// The position at which it was cleared last: its entries are those below this number.
        era: u64,
    }
}

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Entry {
        value: String,
        version: u64,
        /// When it expires.
        expires_ms: Option<i64>,
    }
}

/// Entries by era and key. A `clear` begins a new era and buries the old one, so it costs nothing by what there was.
const ENTRY: u8 = table::OWN;
const CHANGE: u8 = 1;
const MS_MAX: i64 = 366 * 24 * 3_600_000;

/// The type.
pub(crate) struct Map;

type Result<T> = core::result::Result<T, Problem>;

fn shown(key: &str, entry: &Entry) -> String {
    Reply::new().text("key", key).raw("value", &entry.value).number("version", entry.version).finish()
}

impl Live<Map> {
    fn at(&self, key: &str) -> Key {
        Key::of(&[&self.root.era.to_be_bytes(), key.as_bytes()])
    }

    /// The entries of the present era, by key.
    fn walk<'a>(
        &self,
        view: &View<'a>,
        from: Bound<&str>,
        to: Bound<&str>,
    ) -> impl DoubleEndedIterator<Item = (&'a str, Entry)> + use<'a> {
        let from = match from {
            Bound::Included(key) => Bound::Included(self.at(key)),
            Bound::Excluded(key) => Bound::Excluded(self.at(key)),
            Bound::Unbounded => Bound::Included(self.at("")),
        };
        // No era is later than the present one.
        let to = to.map(|key| self.at(key));
        let entries = view.entries(ENTRY, from.as_ref().map(|key| &key[..]), to.as_ref().map(|key| &key[..]));
        entries.filter_map(|(key, value)| {
            Some((core::str::from_utf8(key.get(8..)?).ok()?, decoded(value).ok()?))
        })
    }

    fn get(&self, view: &View<'_>, key: &str) -> Option<Entry> {
        view.get(ENTRY, &self.at(key))
    }

    /// The entry, or the value `null` of version 0.
    fn known(&self, view: &View<'_>, key: &str) -> (String, u64) {
        let entry = self.get(view, key);
        entry.map_or_else(|| (String::from("null"), 0), |entry| (entry.value, entry.version))
    }

    /// Puts a value in the place of the entry that the key has now.
    fn put(
        &mut self,
        ctx: &mut Ctx<'_>,
        key: &str,
        old: Option<&Entry>,
        (value, expires_ms): (String, Option<i64>),
    ) -> Result<()> {
        let bytes = |value: &str| (key.len() + value.len()) as u64;
        let had = old.map_or(0, |old| bytes(&old.value));
        let entries = self.root.entries + u64::from(old.is_none());
        let total = self.root.bytes - had.min(self.root.bytes) + bytes(&value);
        if entries > self.config.max_entries || total > self.config.max_bytes {
            return Err(Problem::new(Slug::Full, format!("{entries} entries of {total} bytes are too many")));
        }
        (self.root.entries, self.root.bytes) = (entries, total);
        // An entry has the timer that it says. A key without one may have that of an entry that was cleared.
        if old.is_none_or(|old| old.expires_ms != expires_ms) {
            ctx.set_timer(key.as_bytes(), expires_ms);
        }
        ctx.put(ENTRY, &self.at(key), &Entry { value, version: ctx.position(), expires_ms });
        self.changed(ctx, key);
        Ok(())
    }

    fn remove(&mut self, ctx: &mut Ctx<'_>, key: &str) -> Option<Entry> {
        let old = self.get(&ctx.view(), key)?;
        ctx.remove(ENTRY, &self.at(key));
        ctx.set_timer(key.as_bytes(), None);
        self.root.entries = self.root.entries.saturating_sub(1);
        self.root.bytes = self.root.bytes.saturating_sub((key.len() + old.value.len()) as u64);
        self.changed(ctx, key);
        Some(old)
    }

    /// Those who wait for a change of this key have it.
    fn changed(&self, ctx: &mut Ctx<'_>, key: &str) {
        if ctx.header.tickets == 0 {
            return;
        }
        let queue = Queue::named(CHANGE, key);
        while let Some(found) = ctx.first(&queue) {
            let result = self.change(&ctx.view(), key, true);
            ctx.grant(&found, result);
        }
    }

    fn change(&self, view: &View<'_>, key: &str, changed: bool) -> String {
        let (value, version) = self.known(view, key);
        Reply::new().flag("changed", changed).raw("value", &value).number("version", version).finish()
    }

    fn put_if(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let key = required("key", args.text("key")?)?;
        let value = required("value", args.value("value")?)?;
        let ttl = args.int_in("ttl_ms", 1, MS_MAX)?;
        let old = self.get(&ctx.view(), key);
        let version = old.as_ref().map_or(0, |old| old.version);
        let (if_absent, if_version) = (args.flag("if_absent")?, args.position("if_version")?);
        let is_absent = if_absent != Some(true) || version == 0;
        let stored = is_absent && if_version.is_none_or(|asked| asked == version);
        if stored {
            let expires_ms = ttl.map(|ttl| ctx.now_ms().saturating_add(ttl));
            self.put(ctx, key, old.as_ref(), (value, expires_ms))?;
        }
        let version = if stored { ctx.position() } else { version };
        let reply = Reply::new().flag("stored", stored).number("version", version);
        Ok(reply.optional_raw("previous", old.as_ref().map(|old| old.value.as_str())).finish())
    }

    fn put_all(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let entries = args.pairs("entries")?;
        let stored = entries.len() as u64;
        for (key, value) in entries {
            let old = self.get(&ctx.view(), &key);
            self.put(ctx, &key, old.as_ref(), (value, None))?;
        }
        Ok(Reply::new().number("stored", stored).number("version", ctx.position()).finish())
    }

    fn add(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let key = required("key", args.text("key")?)?;
        let by = args.int("by")?.unwrap_or(1);
        let old = self.get(&ctx.view(), key);
        let value = old.as_ref().map_or(Some(0), |old| old.value.parse::<i64>().ok());
        let value = value.ok_or_else(|| Problem::argument("key", "its value is no integer of 64 bits"))?;
        let value = value.checked_add(by);
        let value = value.ok_or_else(|| Problem::new(Slug::Overflow, "beyond an integer of 64 bits"))?;
        // Its time to live is that of before, also if it is over and no tick has come.
        let expires_ms = old.as_ref().and_then(|old| old.expires_ms);
        self.put(ctx, key, old.as_ref(), (value.to_string(), expires_ms))?;
        Ok(Reply::new().int("value", value).number("version", ctx.position()).finish())
    }

    fn remove_if(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let key = required("key", args.text("key")?)?;
        let (known, version) = self.known(&ctx.view(), key);
        let is_asked = args.position("if_version")?.is_none_or(|asked| asked == version);
        let removed = is_asked && self.remove(ctx, key).is_some();
        let version = if removed { 0 } else { version };
        let reply = Reply::new().flag("removed", removed).number("version", version);
        Ok(reply.raw("previous", &known).finish())
    }

    fn clear(&mut self, ctx: &mut Ctx<'_>) -> String {
        let removed = self.root.entries;
        let waiting: BTreeSet<_> = ctx.view().queues(CHANGE).collect();
        let keys = waiting.into_iter().filter_map(|key| String::from_utf8(key).ok());
        let keys: Vec<_> = keys.filter(|key| self.get(&ctx.view(), key).is_some()).collect();
        if removed > 0 {
            let buried = key::entry(ctx.space(), ENTRY, &self.root.era.to_be_bytes());
            ctx.core.bury(buried);
            self.root = Root { entries: 0, bytes: 0, era: ctx.position() };
        }
        keys.iter().for_each(|key| self.changed(ctx, key));
        Reply::new().number("removed", removed).finish()
    }

    fn range(&self, view: &View<'_>, args: &Args) -> Result<String> {
        let limit = args.count("limit", ITEMS_PER_CALL)?;
        let from = args.text("from")?.map_or(Bound::Unbounded, Bound::Included);
        let to = args.text("to")?.map_or(Bound::Unbounded, Bound::Excluded);
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for (key, entry) in self.walk(view, from, to) {
            bytes += key.len() + entry.value.len();
            if entries.len() == limit || (!entries.is_empty() && bytes > REPLY_BYTES_MAX) {
                return Ok(Reply::new().list("entries", entries).text("next", key).finish());
            }
            entries.push(shown(key, &entry));
        }
        Ok(Reply::new().list("entries", entries).raw("next", "null").finish())
    }

    fn get_all(&self, view: &View<'_>, args: &Args) -> Result<String> {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for key in args.texts("keys")? {
            let Some(entry) = self.get(view, &key) else { continue };
            bytes += entry.value.len();
            if bytes > REPLY_BYTES_MAX && !entries.is_empty() {
                return Err(Problem::new(Slug::TooLarge, "the values are too long for one result"));
            }
            entries.push(shown(&key, &entry));
        }
        Ok(Reply::new().list("entries", entries).finish())
    }
}

/// The first entry of a walk, or nothing.
fn one<'a>(mut entries: impl Iterator<Item = (&'a str, Entry)>) -> String {
    let entry = entries.next().map(|(key, entry)| shown(key, &entry));
    Reply::new().optional_raw("entry", entry.as_deref()).finish()
}

impl Builtin for Map {
    const METHODS: &'static [Method] = &[
        command("put", &["key", "value", "ttl_ms", "if_version", "if_absent"]),
        command("remove", &["key", "if_version"]),
        command("add", &["key", "by"]),
        command("put_all", &["entries"]),
        command("clear", &[]),
        blocking("await_change", &["key", "version"]),
        query("get", &["key"]),
        query("get_all", &["keys"]),
        query("contains", &["key"]),
        query("size", &[]),
        query("first", &[]),
        query("last", &[]),
        query("floor", &["key"]),
        query("ceiling", &["key"]),
        query("range", &["from", "to", "limit"]),
    ];
    const CONSTRUCTOR: &'static [&'static str] = &["max_entries", "max_bytes"];
    const SCRIPT: &'static [&'static str] = &["put_all", "put"];
    type Config = Config;
    type Root = Root;

    fn config(args: &Args) -> Result<Config> {
        let max_entries = args.int_in("max_entries", 1, ENTRIES_MAX)?.unwrap_or(ENTRIES).unsigned_abs();
        let max_bytes = args.int_in("max_bytes", 1, OBJECT_BYTES_MAX)?.unwrap_or(OBJECT_BYTES).unsigned_abs();
        Ok(Config { max_entries, max_bytes })
    }

    fn call(live: &mut Live<Self>, ctx: &mut Ctx<'_>, method: &str, args: &Args) -> Result<Step> {
        Ok(Step::Done(match method {
            "put" => live.put_if(ctx, args)?,
            "remove" => live.remove_if(ctx, args)?,
            "add" => live.add(ctx, args)?,
            "put_all" => live.put_all(ctx, args)?,
            "clear" => live.clear(ctx),
            _ => {
                let key = required("key", args.text("key")?)?;
                let version = required("version", args.position("version")?)?;
                if live.known(&ctx.view(), key).1 == version {
                    return Ok(Step::wait(Queue::named(CHANGE, key), Vec::new()));
                }
                live.change(&ctx.view(), key, true)
            }
        }))
    }

    fn query(live: &Live<Self>, view: &View<'_>, method: &str, args: &Args) -> Result<String> {
        let key = || required("key", args.text("key")?);
        Ok(match method {
            "get" => {
                let (value, version) = live.known(view, key()?);
                Reply::new().raw("value", &value).number("version", version).finish()
            }
            "contains" => Reply::new().flag("contains", live.get(view, key()?).is_some()).finish(),
            "size" => {
                Reply::new().number("size", live.root.entries).number("bytes", live.root.bytes).finish()
            }
            "first" => one(live.walk(view, Bound::Unbounded, Bound::Unbounded)),
            "last" => one(live.walk(view, Bound::Unbounded, Bound::Unbounded).rev()),
            "floor" => one(live.walk(view, Bound::Unbounded, Bound::Included(key()?)).rev()),
            "ceiling" => one(live.walk(view, Bound::Included(key()?), Bound::Unbounded)),
            "get_all" => live.get_all(view, args)?,
            _ => live.range(view, args)?,
        })
    }

    fn missed(live: &Live<Self>, view: &View<'_>, queue: &Queue, _: &[u8]) -> String {
        live.change(view, &String::from_utf8_lossy(&queue.sub), false)
    }

    /// An entry expires.
    fn due(live: &mut Live<Self>, ctx: &mut Ctx<'_>, timer: &[u8]) {
        if let Ok(key) = core::str::from_utf8(timer) {
            live.remove(ctx, key);
        }
    }
    fn waits_by(_: &Live<Self>, _: &Queue, _: &[u8]) -> Option<String> {
        Some(String::from("await_change"))
    }

    fn arguments(live: &Live<Self>) -> Reply {
        Reply::new().number("max_entries", live.config.max_entries).number("max_bytes", live.config.max_bytes)
    }

    /// Entries that expire have as long to live as they have left.
    fn script(live: &Live<Self>, view: &View<'_>, script: &mut Script) {
        script.expect(live.root.entries);
        if script.is_too_large() {
            return;
        }
        let entries = || live.walk(view, Bound::Unbounded, Bound::Unbounded);
        let lasting = entries().filter(|(_, entry)| entry.expires_ms.is_none());
        script.pairs("put_all", "entries", lasting.map(|(key, entry)| (key, entry.value)));
        for (key, entry) in entries() {
            if script.is_too_large() {
                return;
            }
            if let Some(at) = entry.expires_ms {
                let ttl_ms = at.saturating_sub(view.core.meta.stamp_ms).max(1);
                let args = Reply::new().text("key", key).raw("value", &entry.value).int("ttl_ms", ttl_ms);
                script.call("put", args);
            }
        }
    }

    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        live.root.entries == 0
    }

    fn is_readable(table: u8, value: &[u8]) -> bool {
        table == ENTRY && decoded::<Entry>(value).is_ok()
    }
}
