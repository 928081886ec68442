//! An ordered map with versions and times to live.

use objects_state::limits::{ENTRIES, ENTRIES_MAX, ITEMS_PER_CALL, OBJECT_BYTES, OBJECT_BYTES_MAX};
use serde_json::{Value, json};

use crate::model::answer::{Answer, Refusal, bad_argument, refuse};
use crate::model::args::Args;
use crate::model::kind::{Cx, Kind, Step, View, Waiter};
use crate::model::{text_of, with_texts};

#[derive(Clone)]
struct Entry {
    key: String,
    value: Value,
    version: u64,
    expires_ms: Option<i64>,
}

#[derive(Clone)]
pub(super) struct Map {
    max_entries: i64,
    max_bytes: i64,
    /// In the order of their keys.
    entries: Vec<Entry>,
}

/// The longest time to live of an entry.
const TTL_MS_MAX: i64 = 366 * 24 * 3_600_000;

impl Map {
    pub(super) fn new(args: &Args) -> Result<Self, Refusal> {
        let max_entries = args.int_in("max_entries", 1, ENTRIES_MAX)?.unwrap_or(ENTRIES);
        let max_bytes = args.int_in("max_bytes", 1, OBJECT_BYTES_MAX)?.unwrap_or(OBJECT_BYTES);
        Ok(Self { max_entries, max_bytes, entries: Vec::new() })
    }

    fn find(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    fn version(&self, key: &str) -> u64 {
        self.find(key).map_or(0, |entry| entry.version)
    }

    fn value(&self, key: &str) -> Value {
        self.find(key).map_or(Value::Null, |entry| entry.value.clone())
    }

    fn bytes(&self) -> i64 {
        self.entries.iter().map(|entry| (entry.key.len() + text_of(&entry.value).len()) as i64).sum()
    }

    fn put(&mut self, key: &str, value: Value, version: u64, expires_ms: Option<i64>) {
        self.entries.retain(|entry| entry.key != key);
        self.entries.push(Entry { key: key.into(), value, version, expires_ms });
        self.entries.sort_by(|one, other| one.key.cmp(&other.key));
    }

    fn fits(&self) -> Result<(), Refusal> {
        if self.entries.len() as i64 > self.max_entries || self.bytes() > self.max_bytes {
            return refuse("full");
        }
        Ok(())
    }

    fn put_one(&mut self, cx: &Cx<'_>, args: &Args) -> Answer {
        let (key, value) = (args.the_text("key")?, args.the_value("value")?);
        let ttl_ms = args.int_in("ttl_ms", 1, TTL_MS_MAX)?;
        let if_version = args.position("if_version")?;
        let if_absent = args.flag("if_absent")?.unwrap_or(false);
        let (version, previous) = (self.version(&key), self.value(&key));
        let is_there = version != 0;
        if (if_absent && is_there) || if_version.is_some_and(|asked| asked != version) {
            return Ok(json!({ "stored": false, "version": version, "previous": previous }));
        }
        self.put(&key, value, cx.position, ttl_ms.map(|ttl| cx.now_ms.saturating_add(ttl)));
        self.fits()?;
        Ok(json!({ "stored": true, "version": cx.position, "previous": previous }))
    }

    fn remove(&mut self, args: &Args) -> Answer {
        let key = args.the_text("key")?;
        let if_version = args.position("if_version")?;
        let (version, previous) = (self.version(&key), self.value(&key));
        if version == 0 || if_version.is_some_and(|asked| asked != version) {
            return Ok(json!({ "removed": false, "version": version, "previous": previous }));
        }
        self.entries.retain(|entry| entry.key != key);
        Ok(json!({ "removed": true, "version": 0, "previous": previous }))
    }

    fn add(&mut self, cx: &Cx<'_>, args: &Args) -> Answer {
        let key = args.the_text("key")?;
        let by = args.int("by")?.unwrap_or(1);
        let (old, expires_ms) = match self.find(&key) {
            None => (0, None),
            Some(entry) => match entry.value.as_i64() {
                Some(number) => (number, entry.expires_ms),
                None => return bad_argument(),
            },
        };
        let Some(sum) = old.checked_add(by) else { return refuse("overflow") };
        self.put(&key, json!(sum), cx.position, expires_ms);
        self.fits()?;
        Ok(with_texts(json!({ "value": sum, "version": cx.position }), &["value"]))
    }

    fn changed(&self, key: &Value, changed: bool) -> Value {
        let key = key.as_str().unwrap_or_default();
        json!({ "changed": changed, "value": self.value(key), "version": self.version(key) })
    }

    fn range(&self, args: &Args) -> Answer {
        let limit = args.count("limit", ITEMS_PER_CALL as usize)?;
        let (from, to) = (args.text("from")?, args.text("to")?);
        let is_within = |entry: &&Entry| {
            from.as_ref().is_none_or(|from| entry.key >= *from)
                && to.as_ref().is_none_or(|to| entry.key < *to)
        };
        let mut within = self.entries.iter().filter(is_within);
        let entries: Vec<_> = within.by_ref().take(limit).map(shown).collect();
        let next = within.next().map(|entry| entry.key.clone());
        Ok(json!({ "entries": entries, "next": next }))
    }
}

fn shown(entry: &Entry) -> Value {
    json!({ "key": entry.key, "value": entry.value, "version": entry.version })
}

impl Kind for Map {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        json!([self.max_entries, self.max_bytes])
    }

    fn call(&mut self, cx: &mut Cx<'_>, method: &str, args: &Args) -> Result<Step, Refusal> {
        let result = match method {
            "put" => self.put_one(cx, args)?,
            "remove" => self.remove(args)?,
            "add" => self.add(cx, args)?,
            "put_all" => {
                let pairs = args.pairs("entries")?;
                let stored = pairs.len();
                // One after the other, in the order of their names, which is how clients write them: each must find room.
                for (key, value) in pairs {
                    self.put(&key, value, cx.position, None);
                    self.fits()?;
                }
                json!({ "stored": stored, "version": cx.position })
            }
            "clear" => {
                let removed = self.entries.len();
                self.entries.clear();
                json!({ "removed": removed })
            }
            _ => {
                let (key, version) = (args.the_text("key")?, args.the_position("version")?);
                if self.version(&key) == version {
                    return Ok(Step::Wait(json!({ "key": key, "version": version })));
                }
                self.changed(&json!(key), true)
            }
        };
        Ok(Step::Done(result))
    }

    fn query(&self, _view: &View<'_>, method: &str, args: &Args) -> Answer {
        let entry = |entry: Option<&Entry>| json!({ "entry": entry.map(shown) });
        Ok(match method {
            "get" => {
                let key = args.the_text("key")?;
                json!({ "value": self.value(&key), "version": self.version(&key) })
            }
            "get_all" => {
                let keys = args.texts("keys")?;
                let found: Vec<_> = keys.iter().filter_map(|key| self.find(key)).map(shown).collect();
                json!({ "entries": found })
            }
            "contains" => json!({ "contains": self.find(&args.the_text("key")?).is_some() }),
            "size" => json!({ "size": self.entries.len(), "bytes": self.bytes() }),
            "first" => entry(self.entries.first()),
            "last" => entry(self.entries.last()),
            "floor" => {
                let key = args.the_text("key")?;
                entry(self.entries.iter().rfind(|entry| entry.key <= key))
            }
            "ceiling" => {
                let key = args.the_text("key")?;
                entry(self.entries.iter().find(|entry| entry.key >= key))
            }
            _ => self.range(args)?,
        })
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        let is_other =
            |wants: &Value| wants["version"] != self.version(wants["key"].as_str().unwrap_or_default());
        cx.end_all("await_change", |waiter| {
            is_other(&waiter.wants).then(|| Ok(self.changed(&waiter.wants["key"], true)))
        });
    }

    fn missed(&self, _view: &View<'_>, _method: &str, wants: &Value) -> Value {
        self.changed(&wants["key"], false)
    }

    fn timers(&self, _waiters: &[Waiter]) -> Vec<(i64, String)> {
        let timer = |entry: &Entry| Some((entry.expires_ms?, entry.key.clone()));
        self.entries.iter().filter_map(timer).collect()
    }

    fn due(&mut self, _cx: &mut Cx<'_>, timer: &str) {
        self.entries.retain(|entry| entry.key != timer);
    }

    fn limits(&self) -> Vec<(&'static str, &'static str, i64)> {
        vec![("size", "size", self.max_entries), ("size", "bytes", self.max_bytes)]
    }

    fn is_default(&self) -> bool {
        self.entries.is_empty()
    }
}
