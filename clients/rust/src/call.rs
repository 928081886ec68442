//! One call of a method, as data.

use serde_json::{Map, Value};

use crate::wait::Wait;

/// What a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Changes the object; needs no session, so it may go under an idempotency key.
    Command,
    /// Acts on what the caller's session holds, or takes something for it.
    Owned,
    /// May wait, and belongs to a session, so that the wait ends with its client.
    Blocking,
    /// Reads.
    Query,
    /// Reads, or waits.
    Either,
}

/// A call of a method.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) kind: Kind,
    pub(crate) method: String,
    pub(crate) args: Map<String, Value>,
    pub(crate) wait: Wait,
}

impl Call {
    pub(crate) fn new(kind: Kind, method: &str) -> Self {
        Self { kind, method: method.into(), args: Map::new(), wait: Wait::forever() }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.args.insert(name.into(), value.into());
        self
    }

    /// With an argument that may be left out.
    pub(crate) fn with_some(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn waits(self, wait: Wait) -> Self {
        Self { wait, ..self }
    }

    /// Nothing stands for no arguments.
    pub(crate) fn body(&self) -> Vec<u8> {
        if self.args.is_empty() {
            Vec::new()
        } else {
            Value::from(self.args.clone()).to_string().into_bytes()
        }
    }

    pub(crate) fn may_wait(&self) -> bool {
        matches!(self.kind, Kind::Blocking | Kind::Either)
    }

    /// How a grant of this call is given back that nobody waits for any more.
    pub(crate) fn undo(&self, of: &str, got: &Value) -> Option<Call> {
        let back = |method: &str| Some(Self::new(Kind::Owned, method).with("fence", got["fence"].clone()));
        match (of, self.method.as_str()) {
            ("lock", "acquire") | ("rwlock", _) if got["acquired"] == true => back("release"),
            ("semaphore", "acquire") if got["acquired"] == true => {
                back("release").map(|call| call.with_some("n", self.args.get("n").cloned()))
            }
            ("election", "campaign") if got["leader"] == true => back("resign"),
            ("queue", "take") if self.args.contains_key("lease_ms") => {
                let items = got["items"].as_array().filter(|items| !items.is_empty())?;
                let ids: Vec<Value> = items.iter().map(|item| item["id"].clone()).collect();
                Some(Self::new(Kind::Owned, "nack").with("ids", ids))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Call, Kind};

    #[test]
    fn grants_are_given_back_by_the_method_that_frees_them() {
        let undone = |of: &str, call: Call, got: serde_json::Value| {
            call.undo(of, &got).map(|back| (back.method, serde_json::Value::from(back.args)))
        };
        let acquire = || Call::new(Kind::Blocking, "acquire");
        let got = json!({ "acquired": true, "fence": 7 });
        assert_eq!(undone("lock", acquire(), got.clone()), Some(("release".into(), json!({ "fence": 7 }))));
        assert_eq!(
            undone("semaphore", acquire().with("n", 2), got),
            Some(("release".into(), json!({ "fence": 7, "n": 2 })))
        );
        assert_eq!(undone("lock", acquire(), json!({ "acquired": false })), None);
        let take = Call::new(Kind::Blocking, "take");
        let items = json!({ "items": [{ "id": 3 }] });
        assert_eq!(undone("queue", take.clone(), items.clone()), None, "taken without a lease is gone");
        assert_eq!(
            undone("queue", take.with("lease_ms", 5), items),
            Some(("nack".into(), json!({ "ids": [3] })))
        );
    }
}
