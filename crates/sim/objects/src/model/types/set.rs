//! A set of values, in the order of their canonical texts.

use objects_state::limits::{ENTRIES, ENTRIES_MAX, ITEMS_PER_CALL};
use serde_json::{Value, json};

use crate::model::answer::{Answer, Refusal, refuse};
use crate::model::args::Args;
use crate::model::kind::{Cx, Kind, Step, View};
use crate::model::text_of;

#[derive(Clone)]
pub(super) struct Set {
    max_entries: i64,
    items: Vec<Value>,
}

impl Set {
    pub(super) fn new(args: &Args) -> Result<Self, Refusal> {
        let max_entries = args.int_in("max_entries", 1, ENTRIES_MAX)?.unwrap_or(ENTRIES);
        Ok(Self { max_entries, items: Vec::new() })
    }
}

impl Kind for Set {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        json!(self.max_entries)
    }

    fn call(&mut self, _cx: &mut Cx<'_>, method: &str, args: &Args) -> Result<Step, Refusal> {
        let before = self.items.len();
        Ok(Step::Done(match method {
            "add" => {
                for item in args.values("items")? {
                    if !self.items.contains(&item) {
                        self.items.push(item);
                    }
                }
                self.items.sort_by_key(text_of);
                if self.items.len() as i64 > self.max_entries {
                    return refuse("full");
                }
                json!({ "added": self.items.len() - before })
            }
            "remove" => {
                let items = args.values("items")?;
                self.items.retain(|item| !items.contains(item));
                json!({ "removed": before - self.items.len() })
            }
            _ => {
                let n = args.count("n", 1)?.min(before);
                let popped: Vec<_> = self.items.drain(..n).collect();
                json!({ "items": popped })
            }
        }))
    }

    fn query(&self, _view: &View<'_>, method: &str, args: &Args) -> Answer {
        Ok(match method {
            "contains" => json!({ "contains": self.items.contains(&args.the_value("item")?) }),
            "size" => json!({ "size": self.items.len() }),
            _ => {
                let after = args.value("after")?.map(|after| text_of(&after));
                let limit = args.count("limit", ITEMS_PER_CALL as usize)?;
                let is_behind = |item: &&Value| after.as_ref().is_none_or(|after| text_of(item) > *after);
                let behind: Vec<_> = self.items.iter().filter(is_behind).collect();
                let shown: Vec<_> = behind.iter().take(limit).collect();
                let next = shown.last().filter(|_| behind.len() > shown.len());
                json!({ "items": shown, "next": next })
            }
        })
    }

    fn limits(&self) -> Vec<(&'static str, &'static str, i64)> {
        vec![("size", "size", self.max_entries)]
    }

    fn is_default(&self) -> bool {
        self.items.is_empty()
    }
}
