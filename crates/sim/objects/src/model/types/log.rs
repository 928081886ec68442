//! A log of entries with indexes that count.

use objects_state::limits::{ENTRIES_MAX, ITEMS_PER_CALL, OBJECT_BYTES, OBJECT_BYTES_MAX};
use serde_json::{Value, json};

use crate::model::answer::{Answer, Refusal, refuse};
use crate::model::args::Args;
use crate::model::kind::{Cx, Kind, Step, View};
use crate::model::text_of;

/// Entries of a log that was not configured.
const ENTRIES: i64 = 10_000;

#[derive(Clone)]
pub(super) struct Log {
    max_entries: i64,
    max_bytes: i64,
    refuses: bool,
    first: u64,
    entries: Vec<Value>,
}

impl Log {
    pub(super) fn new(args: &Args) -> Result<Self, Refusal> {
        let refuses = args.word("when_full", &["drop", "refuse"])?.is_some_and(|word| word == "refuse");
        let max_entries = args.int_in("max_entries", 1, ENTRIES_MAX)?.unwrap_or(ENTRIES);
        let max_bytes = args.int_in("max_bytes", 1, OBJECT_BYTES_MAX)?.unwrap_or(OBJECT_BYTES);
        Ok(Self { max_entries, max_bytes, refuses, first: 0, entries: Vec::new() })
    }

    fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    fn is_too_full(&self) -> bool {
        let bytes: usize = self.entries.iter().map(|entry| text_of(entry).len()).sum();
        self.entries.len() as i64 > self.max_entries || bytes as i64 > self.max_bytes
    }

    fn append(&mut self, entry: Value) -> Answer {
        let is_too_long = text_of(&entry).len() as i64 > self.max_bytes;
        self.entries.push(entry);
        while self.is_too_full() {
            if self.refuses || is_too_long {
                return refuse("full");
            }
            self.entries.remove(0);
            self.first += 1;
        }
        Ok(json!({ "index": self.end() - 1 }))
    }

    /// Nothing if there is nothing to read yet.
    fn read(&self, from: u64, limit: usize) -> Result<Option<Value>, Refusal> {
        if from < self.first {
            return refuse("trimmed");
        }
        let entries: Vec<_> = self.entries.iter().skip((from - self.first) as usize).take(limit).collect();
        let next = from + entries.len() as u64;
        Ok((!entries.is_empty()).then(|| json!({ "entries": entries, "first": self.first, "next": next })))
    }

    fn nothing(&self, from: u64) -> Value {
        json!({ "entries": [], "first": self.first, "next": from })
    }

    fn asked(&self, args: &Args) -> Result<(u64, usize), Refusal> {
        let from = args.position("from")?.unwrap_or(self.first);
        if from < self.first {
            return refuse("trimmed");
        }
        Ok((from, args.count("limit", ITEMS_PER_CALL as usize)?))
    }
}

impl Kind for Log {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        json!([self.max_entries, self.max_bytes, self.refuses])
    }

    fn call(&mut self, _cx: &mut Cx<'_>, method: &str, args: &Args) -> Result<Step, Refusal> {
        match method {
            "append" => self.append(args.the_value("entry")?).map(Step::Done),
            "trim" => {
                let before = args.the_position("before")?;
                let trimmed = before.min(self.end()).saturating_sub(self.first);
                self.entries.drain(..trimmed as usize);
                self.first += trimmed;
                Ok(Step::Done(json!({ "trimmed": trimmed, "first": self.first })))
            }
            _ => {
                let (from, limit) = self.asked(args)?;
                let wants = json!({ "from": from, "limit": limit });
                Ok(self.read(from, limit)?.map_or(Step::Wait(wants), Step::Done))
            }
        }
    }

    fn query(&self, _view: &View<'_>, _method: &str, args: &Args) -> Answer {
        let (from, limit) = self.asked(args)?;
        Ok(self.read(from, limit)?.unwrap_or_else(|| self.nothing(from)))
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        cx.end_all("read", |waiter| {
            let (from, limit) = (waiter.wants["from"].as_u64()?, waiter.wants["limit"].as_u64()?);
            self.read(from, limit as usize).transpose()
        });
    }

    fn missed(&self, _view: &View<'_>, _method: &str, wants: &Value) -> Value {
        self.nothing(wants["from"].as_u64().unwrap_or_default())
    }

    fn is_default(&self) -> bool {
        self.end() == 0
    }
}
