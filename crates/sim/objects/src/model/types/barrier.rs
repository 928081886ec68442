//! A barrier, also a double one.

use objects_state::SessionId;
use serde_json::{Value, json};

use crate::model::answer::{Answer, Refusal, refuse};
use crate::model::args::Args;
use crate::model::kind::{Cx, HOLDING, Holding, Kind, Left, Step, View, Waiter, Why};

/// A party that has entered a double barrier.
#[derive(Clone)]
struct Inside {
    session: Option<SessionId>,
    /// Its call.
    ticket: u64,
    leaving: bool,
}

#[derive(Clone)]
pub(super) struct Barrier {
    configured: i64,
    shrinks: bool,
    double: bool,
    parties: i64,
    generation: u64,
    broken: bool,
    inside: Vec<Inside>,
}

impl Barrier {
    pub(super) fn new(args: &Args) -> Result<Self, Refusal> {
        let shrinks = args.word("on_loss", &["break", "shrink"])?.is_some_and(|word| word == "shrink");
        let parties = args.int_in("parties", 1, 10_000)?.unwrap_or(2);
        let double = args.flag("double")?.unwrap_or(false);
        let inside = Vec::new();
        Ok(Self { configured: parties, shrinks, double, parties, generation: 0, broken: false, inside })
    }

    fn come(&self, cx: &Cx<'_>, method: &str) -> Result<Step, Refusal> {
        if self.broken {
            return refuse("broken");
        }
        let come = cx.waiters.iter().filter(|waiter| waiter.method == method).count() as i64;
        if !self.inside.is_empty() || come + 1 < self.parties {
            return Ok(Step::Wait(Value::Null));
        }
        Ok(Step::Done(Value::Null))
    }

    /// All parties have come: `last` did not wait.
    fn pass(&mut self, cx: &mut Cx<'_>, method: &str, last: Option<(Option<SessionId>, u64)>) -> Value {
        self.generation = cx.position;
        let mut left = self.parties - i64::from(last.is_some());
        while left > 0
            && let Some(place) = cx.first(&[method])
        {
            left -= 1;
            let index = left + i64::from(last.is_some());
            let waiter = &cx.waiters[place];
            self.inside.push(Inside { session: waiter.asker.session, ticket: waiter.ticket, leaving: false });
            cx.end(place, Ok(json!({ "index": index, "generation": self.generation })));
        }
        if let Some((session, ticket)) = last {
            self.inside.push(Inside { session, ticket, leaving: false });
        }
        if !self.double {
            self.inside.clear();
        }
        json!({ "index": 0, "generation": self.generation })
    }

    fn leave_inside(&mut self, cx: &mut Cx<'_>) -> Result<Step, Refusal> {
        if self.broken {
            return refuse("broken");
        }
        let session = cx.session;
        let own = self.inside.iter_mut().find(|inside| inside.session == session && !inside.leaving);
        let Some(own) = own else { return refuse("not-owner") };
        own.leaving = true;
        let ticket = own.ticket;
        if self.inside.iter().all(|inside| inside.leaving) {
            return Ok(Step::Done(json!({ "left": true })));
        }
        if cx.is_try {
            self.stay(ticket);
        }
        Ok(Step::Wait(json!(ticket)))
    }

    /// A party does not leave after all. Nothing if it is gone.
    fn stay(&mut self, ticket: u64) -> Option<()> {
        self.inside.iter_mut().find(|inside| inside.ticket == ticket)?.leaving = false;
        Some(())
    }

    fn lost_one(&mut self) {
        if self.shrinks {
            self.parties = (self.parties - 1).max(1);
        } else {
            self.broken = true;
        }
    }
}

impl Kind for Barrier {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        json!([self.configured, self.shrinks, self.double])
    }

    fn call(&mut self, cx: &mut Cx<'_>, method: &str, _args: &Args) -> Result<Step, Refusal> {
        match method {
            "reset" => {
                (self.parties, self.broken, self.generation) = (self.configured, false, 0);
                self.inside.clear();
                for method in ["leave", "enter", "await"] {
                    cx.end_all(method, |_| Some(refuse("broken")));
                }
                Ok(Step::Done(json!({ "parties": self.parties })))
            }
            "await" if self.double => refuse("no-such-method"),
            "enter" | "leave" if !self.double => refuse("no-such-method"),
            "leave" => self.leave_inside(cx),
            _ => match self.come(cx, method)? {
                Step::Done(_) => {
                    let last = (cx.session, cx.position);
                    Ok(Step::Done(self.pass(cx, method, Some(last))))
                }
                waits => Ok(waits),
            },
        }
    }

    fn query(&self, view: &View<'_>, _method: &str, _args: &Args) -> Answer {
        let leaving = self.inside.iter().filter(|inside| inside.leaving).count();
        let waiting = view.waiters.iter().filter(|waiter| waiter.method != "leave").count();
        Ok(json!({
            "parties": self.parties, "waiting": waiting, "inside": self.inside.len(), "leaving": leaving,
            "generation": self.generation, "broken": self.broken,
        }))
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        if self.broken {
            self.inside.iter_mut().for_each(|inside| inside.leaving = false);
            for method in ["leave", "enter", "await"] {
                cx.end_all(method, |_| Some(refuse("broken")));
            }
            return;
        }
        if self.inside.iter().all(|inside| inside.leaving) {
            self.inside.clear();
            cx.end_all("leave", |_| Some(Ok(json!({ "left": true }))));
        }
        let method = if self.double { "enter" } else { "await" };
        while self.inside.is_empty()
            && cx.waiters.iter().filter(|waiter| waiter.method == method).count() as i64 >= self.parties
        {
            self.pass(cx, method, None);
        }
    }

    fn missed(&self, _view: &View<'_>, method: &str, _wants: &Value) -> Value {
        if method == "leave" {
            return json!({ "left": false });
        }
        json!({ "index": null, "generation": null })
    }

    fn leave(&mut self, cx: &mut Cx<'_>, waiter: &Waiter, _why: Why) -> Left {
        let is_there = waiter.method != "leave" || self.stay(waiter.wants.as_u64().unwrap_or(0)).is_some();
        if is_there {
            self.lost_one();
        }
        let view = View { now_ms: cx.now_ms, waiters: cx.waiters };
        Left::Ends(Ok(self.missed(&view, &waiter.method, &waiter.wants)))
    }

    fn holdings(&self) -> Vec<Holding> {
        let holding = |inside: &Inside| {
            Some(Holding { class: HOLDING, position: inside.ticket, session: inside.session? })
        };
        self.inside.iter().filter_map(holding).collect()
    }

    fn lose(&mut self, _cx: &mut Cx<'_>, lost: &Holding, _expired: bool) {
        self.inside.retain(|inside| inside.ticket != lost.position);
        self.lost_one();
    }

    fn is_default(&self) -> bool {
        self.inside.is_empty() && !self.broken && self.parties == self.configured
    }
}
