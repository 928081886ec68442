//! A lock and its conditions.

use objects_state::SessionId;
use objects_state::limits::{ITEMS_PER_CALL_MAX, PASSED_MAX};
use serde_json::{Value, json};

use super::LOCK_DELAY_MS_MAX;
use crate::model::answer::{Answer, Refusal, refuse};
use crate::model::args::Args;
use crate::model::kind::{Cx, HOLDING, Holding, Kind, Left, Step, View, Waiter, Why};

#[derive(Clone)]
struct Holder {
    session: SessionId,
    owner: Value,
    fence: u64,
    holds: i64,
    since_ms: i64,
}

#[derive(Clone)]
pub(super) struct Lock {
    fair: bool,
    most: i64,
    delay_ms: i64,
    holder: Option<Holder>,
    closed_until: Option<i64>,
}

impl Lock {
    pub(super) fn new(args: &Args) -> Result<Self, Refusal> {
        Ok(Self {
            fair: args.flag("fair")?.unwrap_or(true),
            most: args.int_in("reentrant", 1, i64::from(u32::MAX))?.unwrap_or(1),
            delay_ms: args.int_in("lock_delay_ms", 0, LOCK_DELAY_MS_MAX)?.unwrap_or(0),
            holder: None,
            closed_until: None,
        })
    }

    fn is_free(&self) -> bool {
        self.holder.is_none() && self.closed_until.is_none()
    }

    fn take(&mut self, cx: &Cx<'_>, session: SessionId, owner: Value, holds: i64) {
        let (fence, since_ms) = (cx.position, cx.now_ms);
        self.holder = Some(Holder { session, owner, fence, holds, since_ms });
    }

    fn own(&mut self, cx: &Cx<'_>) -> Result<&mut Holder, Refusal> {
        let Some(session) = cx.session else { return refuse("not-owner") };
        match &mut self.holder {
            Some(holder) if holder.session == session => Ok(holder),
            _ => refuse("not-owner"),
        }
    }

    fn own_of(&mut self, cx: &Cx<'_>, fence: u64) -> Result<&mut Holder, Refusal> {
        let holder = self.own(cx)?;
        if holder.fence == fence { Ok(holder) } else { refuse("stale-fence") }
    }

    fn acquire(&mut self, cx: &mut Cx<'_>, args: &Args) -> Result<Step, Refusal> {
        let session = cx.owner()?;
        let owner = json!(args.text("owner")?);
        if let Some(holder) = &mut self.holder
            && holder.session == session
            && holder.owner == owner
        {
            if holder.holds >= self.most {
                return refuse("reentry-limit");
            }
            holder.holds += 1;
            let (fence, holds) = (holder.fence, holder.holds);
            return Ok(Step::Done(json!({ "acquired": true, "fence": fence, "holds": holds })));
        }
        if self.is_free() && next(self.fair, cx.waiters).is_none() {
            self.take(cx, session, owner, 1);
            return Ok(Step::Done(json!({ "acquired": true, "fence": cx.position, "holds": 1 })));
        }
        Ok(Step::Wait(json!({ "owner": owner, "holds": 1 })))
    }

    fn wait(&mut self, cx: &Cx<'_>, args: &Args) -> Result<Step, Refusal> {
        let condition = args.the_text("condition")?;
        let fence = args.the_position("fence")?;
        let holder = self.own_of(cx, fence)?;
        let mut wants = json!({ "owner": holder.owner, "holds": holder.holds, "signalled": false });
        self.holder = None;
        if cx.is_try {
            return Ok(Step::WaitForever(wants));
        }
        wants["condition"] = json!(condition);
        Ok(Step::Wait(wants))
    }

    fn signal(&mut self, cx: &mut Cx<'_>, args: &Args, most: usize) -> Result<Step, Refusal> {
        let condition = args.the_text("condition")?;
        self.own(cx)?;
        let mut woken = 0;
        while woken < most {
            let place = cx.waiters.iter().position(|waiter| waiter.wants["condition"] == condition.as_str());
            let Some(place) = place else { break };
            let mut waiter = cx.waiters.remove(place);
            waiter.wants = returning(&waiter.wants, true);
            waiter.deadline_ms = None;
            cx.stand_behind(waiter);
            woken += 1;
        }
        Ok(Step::Done(json!({ "woken": woken })))
    }
}

/// What a wait for a condition is when it only has to get the lock again.
fn returning(wants: &Value, signalled: bool) -> Value {
    json!({ "owner": wants["owner"], "holds": wants["holds"], "signalled": signalled })
}

/// Who gets the lock next: not those who wait for a signal.
fn next(fair: bool, waiters: &[Waiter]) -> Option<usize> {
    let wants = |waiter: &&Waiter| waiter.wants["condition"].is_null();
    let oldest = waiters.iter().position(|waiter| wants(&waiter))?;
    let newest = waiters.iter().rposition(|waiter| wants(&waiter))?;
    let is_due = fair || waiters.iter().filter(wants).any(|waiter| waiter.passed >= PASSED_MAX);
    Some(if is_due { oldest } else { newest })
}

impl Kind for Lock {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        json!([self.fair, self.most, self.delay_ms])
    }

    fn call(&mut self, cx: &mut Cx<'_>, method: &str, args: &Args) -> Result<Step, Refusal> {
        match method {
            "acquire" => self.acquire(cx, args),
            "release" => {
                let fence = args.the_position("fence")?;
                let holder = self.own_of(cx, fence)?;
                holder.holds -= 1;
                let holds = holder.holds;
                if holds == 0 {
                    self.holder = None;
                }
                Ok(Step::Done(json!({ "holds": holds })))
            }
            "steal" => {
                let session = cx.owner()?;
                self.closed_until = None;
                self.take(cx, session, Value::Null, 1);
                Ok(Step::Done(json!({ "fence": cx.position })))
            }
            "await" => self.wait(cx, args),
            "signal" => {
                let most = args.int_in("n", 1, ITEMS_PER_CALL_MAX)?.unwrap_or(1);
                self.signal(cx, args, most as usize)
            }
            _ => self.signal(cx, args, usize::MAX),
        }
    }

    fn query(&self, view: &View<'_>, method: &str, args: &Args) -> Answer {
        let holder = self.holder.as_ref();
        if method == "check" {
            let fence = args.the_position("fence")?;
            return Ok(json!({ "valid": holder.is_some_and(|holder| holder.fence == fence) }));
        }
        Ok(json!({
            "session": holder.map(|holder| holder.session.to_string()),
            "owner": holder.map_or(Value::Null, |holder| holder.owner.clone()),
            "fence": holder.map(|holder| holder.fence),
            "holds": holder.map_or(0, |holder| holder.holds),
            "since": holder.map(|holder| holder.since_ms),
            "waiting": view.waiters.len(),
        }))
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        while self.is_free()
            && let Some(place) = next(self.fair, cx.waiters)
        {
            for waiter in &mut cx.waiters[..place] {
                waiter.passed += u64::from(waiter.wants["condition"].is_null());
            }
            let waiter = &cx.waiters[place];
            let Some(session) = waiter.asker.session else { return };
            let wants = waiter.wants.clone();
            self.take(cx, session, wants["owner"].clone(), wants["holds"].as_i64().unwrap_or(1));
            let fence = cx.position;
            let result = match wants["signalled"].as_bool() {
                Some(signalled) => json!({ "signalled": signalled, "fence": fence }),
                None => json!({ "acquired": true, "fence": fence, "holds": 1 }),
            };
            cx.end(place, Ok(result));
        }
    }

    fn missed(&self, _view: &View<'_>, _method: &str, _wants: &Value) -> Value {
        json!({ "acquired": false })
    }

    fn leave(&mut self, _cx: &mut Cx<'_>, waiter: &Waiter, why: Why) -> Left {
        match (&*waiter.method, why) {
            ("await", Why::TimedOut) => Left::Stays(returning(&waiter.wants, false)),
            // It must return holding the lock, or not at all.
            ("await", Why::Cancelled) => Left::Ends(refuse("not-owner")),
            _ => Left::Ends(Ok(json!({ "acquired": false }))),
        }
    }

    fn timers(&self, _waiters: &[Waiter]) -> Vec<(i64, String)> {
        self.closed_until.iter().map(|at| (*at, String::new())).collect()
    }

    fn due(&mut self, _cx: &mut Cx<'_>, _timer: &str) {
        self.closed_until = None;
    }

    fn holdings(&self) -> Vec<Holding> {
        let holding =
            |holder: &Holder| Holding { class: HOLDING, position: holder.fence, session: holder.session };
        self.holder.iter().map(holding).collect()
    }

    fn lose(&mut self, cx: &mut Cx<'_>, _lost: &Holding, expired: bool) {
        self.holder = None;
        self.closed_until = (expired && self.delay_ms > 0).then(|| cx.now_ms.saturating_add(self.delay_ms));
    }

    fn is_default(&self) -> bool {
        self.is_free()
    }
}
