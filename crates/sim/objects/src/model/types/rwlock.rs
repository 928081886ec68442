//! A lock for readers and writers, first come first served.

use objects_state::SessionId;
use serde_json::{Value, json};

use super::LOCK_DELAY_MS_MAX;
use crate::model::answer::{Answer, Refusal, refuse};
use crate::model::args::Args;
use crate::model::kind::{Cx, HOLDING, Holding, Kind, Step, View, Waiter};

#[derive(Clone)]
pub(super) struct RwLock {
    delay_ms: i64,
    /// Each with its fence.
    readers: Vec<(SessionId, u64)>,
    writer: Option<(SessionId, u64)>,
    closed_until: Option<i64>,
}

impl RwLock {
    pub(super) fn new(args: &Args) -> Result<Self, Refusal> {
        let delay_ms = args.int_in("lock_delay_ms", 0, LOCK_DELAY_MS_MAX)?.unwrap_or(0);
        Ok(Self { delay_ms, readers: Vec::new(), writer: None, closed_until: None })
    }

    fn may_enter(&self, method: &str) -> bool {
        let is_open = self.writer.is_none() && self.closed_until.is_none();
        is_open && (method == "read" || self.readers.is_empty())
    }

    fn enter(&mut self, method: &str, session: SessionId, fence: u64) -> Value {
        if method == "read" {
            self.readers.push((session, fence));
        } else {
            self.writer = Some((session, fence));
        }
        json!({ "acquired": true, "fence": fence })
    }

    /// What a session holds under a fence: refused if it holds nothing, or something else.
    fn own(&self, cx: &Cx<'_>, fence: u64) -> Result<(SessionId, u64), Refusal> {
        let Some(session) = cx.session else { return refuse("not-owner") };
        let mut all = self.readers.iter().chain(&self.writer);
        all.find(|held| **held == (session, fence)).copied().map_or_else(|| refuse("not-owner"), Ok)
    }
}

impl Kind for RwLock {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        json!(self.delay_ms)
    }

    fn call(&mut self, cx: &mut Cx<'_>, method: &str, args: &Args) -> Result<Step, Refusal> {
        if method == "read" || method == "write" {
            let session = cx.owner()?;
            let reads = self.readers.iter().any(|reader| reader.0 == session);
            let writes = self.writer.is_some_and(|writer| writer.0 == session);
            if writes || (method == "write" && reads) {
                return refuse("would-deadlock");
            }
            if cx.waiters.is_empty() && self.may_enter(method) {
                return Ok(Step::Done(self.enter(method, session, cx.position)));
            }
            return Ok(Step::Wait(Value::Null));
        }
        let fence = args.the_position("fence")?;
        let held = self.own(cx, fence)?;
        if method == "downgrade" {
            if self.writer != Some(held) {
                return refuse("not-owner");
            }
            self.writer = None;
            self.readers.push((held.0, cx.position));
            return Ok(Step::Done(json!({ "fence": cx.position })));
        }
        // Two calls of a session may be granted at one position, under one fence.
        if let Some(place) = self.readers.iter().position(|reader| *reader == held) {
            self.readers.remove(place);
        }
        self.writer = self.writer.filter(|writer| *writer != held);
        let left = self.readers.iter().filter(|reader| **reader == held).count();
        Ok(Step::Done(json!({ "holds": left })))
    }

    fn query(&self, view: &View<'_>, _method: &str, _args: &Args) -> Answer {
        Ok(json!({
            "readers": self.readers.len(),
            "writer": self.writer.map(|writer| writer.0.to_string()),
            "fence": self.writer.map(|writer| writer.1),
            "waiting": view.waiters.len(),
        }))
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        while let Some(first) = cx.waiters.first().filter(|first| self.may_enter(&first.method)) {
            let method = first.method.clone();
            let Some(session) = first.asker.session else { return };
            let result = self.enter(&method, session, cx.position);
            cx.end(0, Ok(result));
        }
    }

    fn missed(&self, _view: &View<'_>, _method: &str, _wants: &Value) -> Value {
        json!({ "acquired": false })
    }

    fn timers(&self, _waiters: &[Waiter]) -> Vec<(i64, String)> {
        self.closed_until.iter().map(|at| (*at, String::new())).collect()
    }

    fn due(&mut self, _cx: &mut Cx<'_>, _timer: &str) {
        self.closed_until = None;
    }

    fn holdings(&self) -> Vec<Holding> {
        let all = self.readers.iter().chain(&self.writer);
        all.map(|(session, fence)| Holding { class: HOLDING, position: *fence, session: *session }).collect()
    }

    fn lose(&mut self, cx: &mut Cx<'_>, lost: &Holding, expired: bool) {
        let held = (lost.session, lost.position);
        self.readers.retain(|reader| *reader != held);
        self.writer = self.writer.filter(|writer| *writer != held);
        if expired && self.delay_ms > 0 {
            self.closed_until = Some(cx.now_ms.saturating_add(self.delay_ms));
        }
    }

    fn is_default(&self) -> bool {
        self.readers.is_empty() && self.writer.is_none() && self.closed_until.is_none()
    }
}
