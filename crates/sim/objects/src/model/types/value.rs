//! One value with a version.

use serde_json::{Value, json};

use crate::model::answer::{Answer, Refusal, bad_argument};
use crate::model::args::Args;
use crate::model::kind::{Cx, Kind, Step, View};

#[derive(Clone)]
pub(super) struct Cell {
    initial: Value,
    value: Value,
    version: u64,
}

impl Cell {
    pub(super) fn new(args: &Args) -> Result<Self, Refusal> {
        let initial = args.value("initial")?.unwrap_or(Value::Null);
        Ok(Self { value: initial.clone(), initial, version: 0 })
    }

    fn changed(&self, changed: bool) -> Value {
        json!({ "changed": changed, "value": self.value, "version": self.version })
    }

    fn compare_and_set(&mut self, position: u64, args: &Args) -> Answer {
        let value = args.the_value("value")?;
        let (expect, version) = (args.value("expect")?, args.position("version")?);
        let matches = match (expect, version) {
            (Some(expect), None) => self.value == expect,
            (None, Some(version)) => self.version == version,
            _ => return bad_argument(),
        };
        if matches {
            (self.value, self.version) = (value, position);
        }
        Ok(json!({ "swapped": matches, "version": self.version, "value": self.value }))
    }
}

impl Kind for Cell {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        self.initial.clone()
    }

    fn call(&mut self, cx: &mut Cx<'_>, method: &str, args: &Args) -> Result<Step, Refusal> {
        match method {
            "compare_and_set" => self.compare_and_set(cx.position, args).map(Step::Done),
            "await_change" => {
                let version = args.the_position("version")?;
                if version == self.version {
                    return Ok(Step::Wait(json!(version)));
                }
                Ok(Step::Done(self.changed(true)))
            }
            _ => {
                let value = args.the_value("value")?;
                let previous = std::mem::replace(&mut self.value, value);
                self.version = cx.position;
                Ok(Step::Done(json!({ "version": self.version, "previous": previous })))
            }
        }
    }

    fn query(&self, _view: &View<'_>, _method: &str, _args: &Args) -> Answer {
        Ok(json!({ "value": self.value, "version": self.version }))
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        let is_other = |wants: &Value| wants.as_u64() != Some(self.version);
        cx.end_all("await_change", |waiter| is_other(&waiter.wants).then(|| Ok(self.changed(true))));
    }

    fn missed(&self, _view: &View<'_>, _method: &str, _wants: &Value) -> Value {
        self.changed(false)
    }

    fn is_default(&self) -> bool {
        self.version == 0
    }
}
