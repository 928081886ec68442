//! Who leads.

use objects_state::SessionId;
use serde_json::{Value, json};

use super::LOCK_DELAY_MS_MAX;
use crate::model::answer::{Answer, Refusal, refuse};
use crate::model::args::Args;
use crate::model::kind::{Cx, HOLDING, Holding, Kind, Step, View, Waiter};

#[derive(Clone)]
struct Leader {
    session: SessionId,
    name: String,
    data: Value,
    /// Also its fence.
    term: u64,
}

#[derive(Clone)]
pub(super) struct Election {
    delay_ms: i64,
    leader: Option<Leader>,
    closed_until: Option<i64>,
}

impl Election {
    pub(super) fn new(args: &Args) -> Result<Self, Refusal> {
        let delay_ms = args.int_in("lock_delay_ms", 0, LOCK_DELAY_MS_MAX)?.unwrap_or(0);
        Ok(Self { delay_ms, leader: None, closed_until: None })
    }

    fn is_open(&self) -> bool {
        self.leader.is_none() && self.closed_until.is_none()
    }

    fn lead(&mut self, session: SessionId, term: u64, wants: &Value) -> Value {
        let name = wants["name"].as_str().unwrap_or_default().into();
        self.leader = Some(Leader { session, name, data: wants["data"].clone(), term });
        json!({ "leader": true, "term": term, "fence": term })
    }

    fn campaign(&mut self, cx: &Cx<'_>, args: &Args) -> Result<Step, Refusal> {
        let session = cx.owner()?;
        let name = args.the_text("name")?;
        let data = args.value("data")?.unwrap_or(Value::Null);
        if let Some(leader) = &self.leader
            && (leader.session, &leader.name) == (session, &name)
        {
            let term = leader.term;
            return Ok(Step::Done(json!({ "leader": true, "term": term, "fence": term })));
        }
        let wants = json!({ "name": name, "data": data });
        if self.is_open() && !cx.is_waiting(&["campaign"]) {
            return Ok(Step::Done(self.lead(session, cx.position, &wants)));
        }
        Ok(Step::Wait(wants))
    }

    fn own(&mut self, cx: &Cx<'_>, fence: u64) -> Result<&mut Leader, Refusal> {
        let Some(session) = cx.session else { return refuse("not-owner") };
        match &mut self.leader {
            Some(leader) if leader.session != session => refuse("not-owner"),
            Some(leader) if leader.term != fence => refuse("stale-fence"),
            Some(leader) => Ok(leader),
            None => refuse("not-owner"),
        }
    }

    fn shown(&self) -> Value {
        match &self.leader {
            Some(leader) => json!({ "name": leader.name, "data": leader.data, "term": leader.term }),
            None => json!({ "name": null, "data": null, "term": null }),
        }
    }

    fn observe(&self, wants: &Value) -> Option<Value> {
        let leader = self.leader.as_ref()?;
        (leader.term > wants.as_u64().unwrap_or_default()).then(|| self.shown())
    }
}

impl Kind for Election {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        json!(self.delay_ms)
    }

    fn call(&mut self, cx: &mut Cx<'_>, method: &str, args: &Args) -> Result<Step, Refusal> {
        match method {
            "campaign" => self.campaign(cx, args),
            "resign" => {
                let fence = args.the_position("fence")?;
                self.own(cx, fence)?;
                self.leader = None;
                Ok(Step::Done(json!({ "resigned": true })))
            }
            "proclaim" => {
                let fence = args.the_position("fence")?;
                let leader = self.own(cx, fence)?;
                leader.data = args.the_value("data")?;
                Ok(Step::Done(json!({ "term": fence })))
            }
            _ => {
                let wants = json!(args.position("term")?.unwrap_or(0));
                Ok(self.observe(&wants).map_or(Step::Wait(wants), Step::Done))
            }
        }
    }

    fn query(&self, view: &View<'_>, method: &str, _args: &Args) -> Answer {
        if method == "leader" {
            return Ok(self.shown());
        }
        let candidates = view.waiters.iter().filter(|waiter| waiter.method == "campaign");
        let names: Vec<_> = candidates.map(|waiter| waiter.wants["name"].clone()).collect();
        Ok(json!({ "candidates": names }))
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        if self.is_open()
            && let Some(place) = cx.first(&["campaign"])
            && let Some(session) = cx.waiters[place].asker.session
        {
            let wants = cx.waiters[place].wants.clone();
            let result = self.lead(session, cx.position, &wants);
            cx.end(place, Ok(result));
        }
        cx.end_all("observe", |waiter| self.observe(&waiter.wants).map(Ok));
    }

    fn missed(&self, _view: &View<'_>, method: &str, _wants: &Value) -> Value {
        if method == "campaign" { json!({ "leader": false }) } else { self.shown() }
    }

    fn timers(&self, _waiters: &[Waiter]) -> Vec<(i64, String)> {
        self.closed_until.iter().map(|at| (*at, String::new())).collect()
    }

    fn due(&mut self, _cx: &mut Cx<'_>, _timer: &str) {
        self.closed_until = None;
    }

    fn holdings(&self) -> Vec<Holding> {
        let all = self.leader.iter();
        all.map(|leader| Holding { class: HOLDING, position: leader.term, session: leader.session }).collect()
    }

    fn lose(&mut self, cx: &mut Cx<'_>, _lost: &Holding, expired: bool) {
        self.leader = None;
        self.closed_until = (expired && self.delay_ms > 0).then(|| cx.now_ms.saturating_add(self.delay_ms));
    }

    fn is_default(&self) -> bool {
        self.is_open()
    }
}
