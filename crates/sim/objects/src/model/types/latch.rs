//! A latch: opens once, and is reset when open.

use serde_json::{Value, json};

use crate::model::answer::{Answer, Refusal, refuse};
use crate::model::args::Args;
use crate::model::kind::{Cx, Kind, Step, View};

#[derive(Clone)]
pub(super) struct Latch {
    configured: i64,
    count: i64,
}

const COUNT_MAX: i64 = 1_000_000;

impl Latch {
    pub(super) fn new(args: &Args) -> Result<Self, Refusal> {
        let count = args.int_in("count", 0, COUNT_MAX)?.unwrap_or(1);
        Ok(Self { configured: count, count })
    }
}

impl Kind for Latch {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        json!(self.configured)
    }

    fn call(&mut self, _cx: &mut Cx<'_>, method: &str, args: &Args) -> Result<Step, Refusal> {
        match method {
            "count_down" => {
                let n = args.count("n", 1)?;
                self.count = (self.count - n as i64).max(0);
                Ok(Step::Done(json!({ "count": self.count })))
            }
            "reset" => {
                if self.count > 0 {
                    return refuse("not-open");
                }
                let count = args.int_in("count", 0, COUNT_MAX)?.unwrap_or(self.configured);
                self.count = count;
                Ok(Step::Done(json!({ "count": count })))
            }
            _ if self.count == 0 => Ok(Step::Done(json!({ "open": true }))),
            _ => Ok(Step::Wait(Value::Null)),
        }
    }

    fn query(&self, _view: &View<'_>, _method: &str, _args: &Args) -> Answer {
        Ok(json!({ "count": self.count }))
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        if self.count == 0 {
            cx.end_all("await", |_| Some(Ok(json!({ "open": true }))));
        }
    }

    fn missed(&self, _view: &View<'_>, _method: &str, _wants: &Value) -> Value {
        json!({ "open": false })
    }

    fn is_default(&self) -> bool {
        self.count == self.configured
    }
}
