//! A stack: the newest item first.

use objects_state::limits::{ENTRIES, ENTRIES_MAX, ITEMS_PER_CALL};
use serde_json::{Value, json};

use crate::model::answer::{Answer, Refusal, refuse};
use crate::model::args::Args;
use crate::model::kind::{Cx, Kind, Step, View};

#[derive(Clone)]
pub(super) struct Stack {
    capacity: i64,
    items: Vec<Value>,
}

impl Stack {
    pub(super) fn new(args: &Args) -> Result<Self, Refusal> {
        let capacity = args.int_in("capacity", 1, ENTRIES_MAX)?.unwrap_or(ENTRIES);
        Ok(Self { capacity, items: Vec::new() })
    }

    fn push(&mut self, item: Value) -> Value {
        self.items.push(item);
        json!({ "size": self.items.len() })
    }

    fn pop(&mut self, n: usize) -> Value {
        let left = self.items.len().saturating_sub(n);
        let popped: Vec<_> = self.items.drain(left..).rev().collect();
        json!({ "items": popped })
    }

    fn newest(&self, most: usize) -> Value {
        json!({ "items": self.items.iter().rev().take(most).collect::<Vec<_>>() })
    }
}

impl Kind for Stack {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        json!(self.capacity)
    }

    fn call(&mut self, cx: &mut Cx<'_>, method: &str, args: &Args) -> Result<Step, Refusal> {
        if method == "push" {
            let item = args.the_value("item")?;
            return match (self.items.len() as i64) < self.capacity && !cx.is_waiting(&["push"]) {
                true => Ok(Step::Done(self.push(item))),
                false if cx.is_try => refuse("queue-full"),
                false => Ok(Step::Wait(item)),
            };
        }
        let n = args.count("n", 1)?;
        if self.items.is_empty() || cx.is_waiting(&["pop"]) {
            return Ok(Step::Wait(json!(n)));
        }
        Ok(Step::Done(self.pop(n)))
    }

    fn query(&self, _view: &View<'_>, method: &str, args: &Args) -> Answer {
        Ok(match method {
            "peek" => self.newest(1),
            "items" => self.newest(args.count("limit", ITEMS_PER_CALL as usize)?),
            _ => json!({ "size": self.items.len() }),
        })
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        loop {
            if !self.items.is_empty()
                && let Some(place) = cx.first(&["pop"])
            {
                let n = cx.waiters[place].wants.as_u64().unwrap_or(1) as usize;
                let result = self.pop(n);
                cx.end(place, Ok(result));
            } else if (self.items.len() as i64) < self.capacity
                && let Some(place) = cx.first(&["push"])
            {
                let result = self.push(cx.waiters[place].wants.clone());
                cx.end(place, Ok(result));
            } else {
                return;
            }
        }
    }

    fn missed(&self, _view: &View<'_>, method: &str, _wants: &Value) -> Value {
        if method == "push" { json!({ "size": null }) } else { json!({ "items": [] }) }
    }

    fn limits(&self) -> Vec<(&'static str, &'static str, i64)> {
        vec![("size", "size", self.capacity)]
    }

    fn is_default(&self) -> bool {
        self.items.is_empty()
    }
}
