//! A counter of 64 bits within bounds.

use serde_json::{Value, json};

use crate::model::answer::{Answer, Refusal, bad_argument, refuse};
use crate::model::args::{Args, the};
use crate::model::kind::{Cx, Kind, Step, View};
use crate::model::with_texts;

#[derive(Clone)]
pub(super) struct Counter {
    configured: Value,
    start: i64,
    min: i64,
    max: i64,
    value: i64,
}

impl Counter {
    pub(super) fn new(args: &Args) -> Result<Self, Refusal> {
        let start = args.int("start")?.unwrap_or(0);
        let min = args.int("min")?.unwrap_or(i64::MIN);
        let max = args.int("max")?.unwrap_or(i64::MAX);
        if !(min..=max).contains(&start) {
            return bad_argument();
        }
        // A bound that is none is still one that was asked for.
        let configured = json!([start, args.int("min")?, args.int("max")?]);
        Ok(Self { configured, start, min, max, value: start })
    }

    /// The value from now on, and the one before.
    fn become_(&mut self, value: i64) -> Result<i64, Refusal> {
        if !(self.min..=self.max).contains(&value) {
            return refuse("out-of-range");
        }
        Ok(std::mem::replace(&mut self.value, value))
    }

    fn add(&mut self, by: Option<i64>) -> Result<Value, Refusal> {
        let sum = by.and_then(|by| self.value.checked_add(by)).map_or_else(|| refuse("overflow"), Ok)?;
        self.become_(sum)?;
        Ok(json!({ "value": self.value }))
    }

    fn is_reached(&self, wants: &Value) -> bool {
        wants["at_least"].as_i64().is_some_and(|bound| self.value >= bound)
            || wants["at_most"].as_i64().is_some_and(|bound| self.value <= bound)
            || wants["equals"].as_i64().is_some_and(|bound| self.value == bound)
    }

    fn wait(&self, args: &Args) -> Result<Step, Refusal> {
        let mut wants = json!({});
        for bound in ["at_least", "at_most", "equals"] {
            if let Some(value) = args.int(bound)? {
                wants[bound] = json!(value);
            }
        }
        if wants.as_object().is_none_or(|wants| wants.len() != 1) {
            return bad_argument();
        }
        Ok(if self.is_reached(&wants) { Step::Done(self.reached(true)) } else { Step::Wait(wants) })
    }

    fn reached(&self, reached: bool) -> Value {
        texts(json!({ "reached": reached, "value": self.value }))
    }
}

fn texts(result: Value) -> Value {
    with_texts(result, &["value", "previous"])
}

impl Kind for Counter {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        self.configured.clone()
    }

    fn call(&mut self, _cx: &mut Cx<'_>, method: &str, args: &Args) -> Result<Step, Refusal> {
        let result = match method {
            "increment" => {
                let by = args.int("by")?.unwrap_or(1);
                self.add(Some(by))?
            }
            "decrement" => {
                let by = args.int("by")?.unwrap_or(1);
                // What has no negative is taken in two steps.
                match self.value.checked_sub(by) {
                    Some(value) => {
                        self.become_(value)?;
                        json!({ "value": self.value })
                    }
                    None => return refuse("overflow"),
                }
            }
            "set" | "swap" => {
                let value = the(args.int("value")?)?;
                let previous = self.become_(value)?;
                json!({ "value": value, "previous": previous })
            }
            "compare_and_set" => {
                let (expect, value) = (the(args.int("expect")?)?, the(args.int("value")?)?);
                let swapped = self.value == expect;
                if swapped {
                    self.become_(value)?;
                }
                json!({ "swapped": swapped, "value": self.value })
            }
            _ => return self.wait(args),
        };
        Ok(Step::Done(texts(result)))
    }

    fn query(&self, _view: &View<'_>, _method: &str, _args: &Args) -> Answer {
        Ok(texts(json!({ "value": self.value })))
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        cx.end_all("await", |waiter| self.is_reached(&waiter.wants).then(|| Ok(self.reached(true))));
    }

    fn missed(&self, _view: &View<'_>, _method: &str, _wants: &Value) -> Value {
        self.reached(false)
    }

    fn limits(&self) -> Vec<(&'static str, &'static str, i64)> {
        vec![("get", "value", self.max)]
    }

    fn is_default(&self) -> bool {
        self.value == self.start
    }
}
