//! Permits. Those of a bounded semaphore are held by sessions; one without a bound takes back what nobody held.

use objects_state::SessionId;
use serde_json::{Value, json};

use crate::model::answer::{Answer, Refusal, refuse};
use crate::model::args::Args;
use crate::model::kind::{Cx, HOLDING, Holding, Kind, Step, View};

#[derive(Clone)]
pub(super) struct Semaphore {
    configured: i64,
    permits: i64,
    bounded: bool,
    available: i64,
    /// Who holds how many, under which fence.
    grants: Vec<(SessionId, u64, i64)>,
}

/// The most permits that there may be.
const PERMITS_MAX: i64 = u32::MAX as i64;

impl Semaphore {
    pub(super) fn new(args: &Args) -> Result<Self, Refusal> {
        let permits = args.int_in("permits", 0, PERMITS_MAX)?.unwrap_or(1);
        let bounded = args.flag("bounded")?.unwrap_or(true);
        Ok(Self { configured: permits, permits, bounded, available: permits, grants: Vec::new() })
    }

    fn grant(&mut self, session: SessionId, fence: u64, n: i64) -> Value {
        self.available -= n;
        // Two calls of a session may be granted at one position, under one fence.
        let known = self.grants.iter_mut().find(|grant| (grant.0, grant.1) == (session, fence));
        let held = n + known.as_ref().map_or(0, |grant| grant.2);
        match known {
            Some(grant) => grant.2 = held,
            None => self.grants.push((session, fence, n)),
        }
        json!({ "acquired": true, "fence": fence, "held": held })
    }

    fn release(&mut self, cx: &Cx<'_>, args: &Args) -> Result<Step, Refusal> {
        let n = args.int_in("n", 1, PERMITS_MAX)?.unwrap_or(1);
        let fence = args.position("fence")?;
        let mut left = n;
        if let Some(session) = cx.session {
            for grant in &mut self.grants {
                if grant.0 == session && fence.is_none_or(|fence| grant.1 == fence) {
                    let back = left.min(grant.2);
                    (grant.2, left) = (grant.2 - back, left - back);
                }
            }
            self.grants.retain(|grant| grant.2 > 0);
        }
        if left > 0 && (fence.is_some() || (self.bounded && left < n)) {
            return refuse("not-held");
        }
        if self.bounded && self.available + n > self.permits {
            return refuse("over-release");
        }
        if left > 0 && self.bounded {
            return refuse("not-held");
        }
        if self.available + n > PERMITS_MAX {
            return refuse("over-release");
        }
        self.available += n;
        Ok(Step::Done(json!({ "available": self.available })))
    }
}

impl Kind for Semaphore {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        json!([self.configured, self.bounded])
    }

    fn call(&mut self, cx: &mut Cx<'_>, method: &str, args: &Args) -> Result<Step, Refusal> {
        match method {
            "acquire" => {
                let n = args.int_in("n", 1, PERMITS_MAX)?.unwrap_or(1);
                let session = cx.owner()?;
                if cx.waiters.is_empty() && self.available >= n {
                    return Ok(Step::Done(self.grant(session, cx.position, n)));
                }
                Ok(Step::Wait(json!(n)))
            }
            "release" => self.release(cx, args),
            "drain" => {
                let session = cx.owner()?;
                if self.available <= 0 || !cx.waiters.is_empty() {
                    return Ok(Step::Done(json!({ "taken": 0, "fence": null })));
                }
                let taken = self.available;
                self.grant(session, cx.position, taken);
                Ok(Step::Done(json!({ "taken": taken, "fence": cx.position })))
            }
            _ => {
                let by = args
                    .int_in("by", -PERMITS_MAX, PERMITS_MAX)?
                    .map_or_else(crate::model::answer::bad_argument, Ok)?;
                let permits = self.permits.checked_add(by).unwrap_or(-1);
                if !(0..=PERMITS_MAX).contains(&permits) {
                    return refuse("out-of-range");
                }
                (self.permits, self.available) = (permits, self.available + by);
                Ok(Step::Done(json!({ "permits": permits, "available": self.available })))
            }
        }
    }

    fn query(&self, view: &View<'_>, _method: &str, _args: &Args) -> Answer {
        let (available, permits) = (self.available, self.permits);
        Ok(json!({ "available": available, "permits": permits, "waiting": view.waiters.len() }))
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        while let Some(first) = cx.waiters.first() {
            let n = first.wants.as_i64().unwrap_or(1);
            let Some(session) = first.asker.session else { return };
            if n > self.available {
                return;
            }
            let result = self.grant(session, cx.position, n);
            cx.end(0, Ok(result));
        }
    }

    fn missed(&self, _view: &View<'_>, _method: &str, _wants: &Value) -> Value {
        json!({ "acquired": false })
    }

    fn holdings(&self) -> Vec<Holding> {
        let all = self.grants.iter();
        all.map(|(session, fence, _)| Holding { class: HOLDING, position: *fence, session: *session })
            .collect()
    }

    fn lose(&mut self, _cx: &mut Cx<'_>, lost: &Holding, _expired: bool) {
        let is_lost = |grant: &(SessionId, u64, i64)| (grant.0, grant.1) == (lost.session, lost.position);
        self.available += self.grants.iter().filter(|grant| is_lost(grant)).map(|grant| grant.2).sum::<i64>();
        self.grants.retain(|grant| !is_lost(grant));
    }

    fn is_bounded(&self) -> bool {
        self.bounded
    }

    fn is_default(&self) -> bool {
        self.grants.is_empty() && self.permits == self.configured && self.available == self.configured
    }
}
