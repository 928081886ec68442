//! What clients did to nodes that all of them write, with when each call began and ended: lines of JSON, so that checkers
//! that know nothing of this project judge whether there is one order that explains it all. Judges nothing.
//!
//! A call without an answer may have taken effect until its client's next answer: what came over an old connection of a
//! session takes no effect once the next has been answered.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tools_testbed::Failure;

/// Nodes that all clients write.
pub(super) const NODES: usize = 3;

/// One of them.
pub(super) fn contended(number: usize) -> String {
    format!("/contended-{number}")
}

/// A call, as it ended.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) client: usize,
    pub(super) node: usize,
    pub(super) kind: Kind,
    pub(super) began: Instant,
    pub(super) outcome: Outcome,
}

/// What was asked.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// setData, over this version, or over any (-1).
    Write { data: String, over: i32 },
    /// sync and getData.
    Read,
}

/// What became of it.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// The version written or read, and the data read.
    Done { version: i32, data: String },
    /// A write over another version than the node's.
    Refused,
    /// No answer.
    Unknown,
}

/// See the module.
#[derive(Debug)]
pub(super) struct History {
    began: Instant,
    /// Each with when its outcome was known; nothing yet for a call without an answer.
    calls: Mutex<Vec<(Call, Option<Instant>)>>,
}

impl History {
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), calls: Mutex::default() }
    }

    pub(super) fn add(&self, call: Call) {
        let now = Instant::now();
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(call.outcome, Outcome::Unknown) {
            return calls.push((call, None));
        }
        for (earlier, ended) in calls.iter_mut() {
            if earlier.client == call.client && ended.is_none() {
                *ended = Some(now);
            }
        }
        calls.push((call, Some(now)));
    }

    /// Writes it down.
    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let mut text = Vec::new();
        for (call, ended) in self.calls.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let ns = |at: Instant| u64::try_from((at - self.began).as_nanos()).unwrap_or(u64::MAX);
            let (kind, over, given) = match &call.kind {
                Kind::Write { data, over } => ("write", *over, data.as_str()),
                Kind::Read => ("read", -1, ""),
            };
            let (outcome, version, data) = match &call.outcome {
                Outcome::Done { version, data } => ("done", *version, data.as_str()),
                Outcome::Refused => ("refused", -1, ""),
                Outcome::Unknown => ("unknown", -1, ""),
            };
            let line = serde_json::json!({
                "client": call.client,
                "node": call.node,
                "kind": kind,
                "over": over,
                "data": if kind == "write" { given } else { data },
                "outcome": outcome,
                "version": version,
                "began_ns": ns(call.began),
                "ended_ns": ended.map(ns),
            });
            writeln!(text, "{line}").map_err(Failure::io("a history"))?;
        }
        std::fs::write(path, text).map_err(Failure::io("the history of what clients did"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_answer_may_take_effect_until_the_next_answer() {
        let history = History::new();
        let call = |client, outcome| Call {
            client,
            node: 0,
            kind: Kind::Write { data: String::from("a"), over: -1 },
            began: Instant::now(),
            outcome,
        };
        history.add(call(0, Outcome::Unknown));
        history.add(call(1, Outcome::Done { version: 1, data: String::new() }));
        assert!(history.calls.lock().unwrap()[0].1.is_none(), "another client's answer says nothing of it");
        history.add(call(0, Outcome::Refused));
        let calls = history.calls.lock().unwrap().clone();
        assert_eq!(calls[0].1, calls[2].1);
        assert!(calls[0].1.is_some());
    }
}
