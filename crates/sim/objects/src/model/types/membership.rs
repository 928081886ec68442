//! Who is a member, in epochs.

use objects_state::SessionId;
use serde_json::{Value, json};

use crate::model::answer::{Answer, Refusal, refuse};
use crate::model::args::Args;
use crate::model::kind::{Cx, Holding, Kind, MEMBERSHIP, Step, View};

#[derive(Clone)]
struct Member {
    name: String,
    data: Value,
    session: SessionId,
    since_ms: i64,
    position: u64,
    /// Who has reported it in this epoch.
    reporters: Vec<SessionId>,
}

#[derive(Clone)]
pub(super) struct Membership {
    min_size: usize,
    epoch: u64,
    /// In the order of their names.
    members: Vec<Member>,
}

/// The most members.
const MEMBERS_MAX: usize = 1_000;

impl Membership {
    pub(super) fn new(args: &Args) -> Result<Self, Refusal> {
        let min_size = args.int_in("min_size", 0, MEMBERS_MAX as i64)?.unwrap_or(0) as usize;
        Ok(Self { min_size, epoch: 0, members: Vec::new() })
    }

    fn view(&self, mut result: Value) -> Value {
        let shown = |member: &Member| {
            let (name, data, session) = (&member.name, &member.data, member.session.to_string());
            json!({ "name": name, "data": data, "session": session, "since": member.since_ms })
        };
        result["epoch"] = json!(self.epoch);
        result["members"] = json!(self.members.iter().map(shown).collect::<Vec<_>>());
        result
    }

    /// Another epoch: reports of the one before do not count.
    fn change(&mut self) {
        self.epoch += 1;
        self.members.sort_by(|one, other| one.name.cmp(&other.name));
        self.members.iter_mut().for_each(|member| member.reporters.clear());
    }

    fn join(&mut self, cx: &Cx<'_>, args: &Args) -> Answer {
        let session = cx.owner()?;
        let name = args.the_text("name")?;
        let data = args.value("data")?.unwrap_or(Value::Null);
        let is_full = self.members.len() >= MEMBERS_MAX;
        match self.members.iter_mut().find(|member| member.name == name) {
            Some(member) if member.session != session => return refuse("name-taken"),
            // The same data is no change.
            Some(member) if member.data == data => return Ok(self.view(json!({}))),
            Some(member) => member.data = data,
            None if is_full => return refuse("full"),
            None => {
                let (since_ms, position, reporters) = (cx.now_ms, cx.position, Vec::new());
                self.members.push(Member { name, data, session, since_ms, position, reporters });
            }
        }
        self.change();
        Ok(self.view(json!({})))
    }

    fn own(&mut self, cx: &Cx<'_>, name: &str) -> Result<&mut Member, Refusal> {
        let Some(session) = cx.session else { return refuse("not-owner") };
        let own = self.members.iter_mut().find(|member| member.name == name && member.session == session);
        own.map_or_else(|| refuse("not-owner"), Ok)
    }

    fn report(&mut self, cx: &Cx<'_>, args: &Args) -> Answer {
        let session = cx.owner()?;
        let (epoch, name) = (args.the_position("epoch")?, args.the_text("name")?);
        if !self.members.iter().any(|member| member.session == session) {
            return refuse("not-owner");
        }
        let size = self.members.len();
        let (mut reports, mut removed) = (0, false);
        if epoch == self.epoch
            && let Some(place) = self.members.iter().position(|member| member.name == name)
        {
            let reporters = &mut self.members[place].reporters;
            if !reporters.contains(&session) {
                reporters.push(session);
            }
            let reporters = reporters.clone();
            // A session reports once, whatever names it has.
            reports = reporters.len();
            removed = reports * 2 > size;
            if removed {
                self.members.remove(place);
                self.change();
            }
        }
        Ok(json!({ "reports": reports, "removed": removed, "epoch": self.epoch }))
    }

    fn await_size(&self, wants: &Value) -> Option<Value> {
        let is_reached = self.members.len() as u64 >= wants.as_u64().unwrap_or_default();
        is_reached.then(|| self.view(json!({ "reached": true })))
    }

    fn await_change(&self, wants: &Value) -> Option<Value> {
        (wants.as_u64() != Some(self.epoch)).then(|| self.view(json!({ "changed": true })))
    }
}

impl Kind for Membership {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        json!(self.min_size)
    }

    fn call(&mut self, cx: &mut Cx<'_>, method: &str, args: &Args) -> Result<Step, Refusal> {
        match method {
            "join" => self.join(cx, args).map(Step::Done),
            "leave" => {
                let name = args.the_text("name")?;
                self.own(cx, &name)?;
                self.members.retain(|member| member.name != name);
                self.change();
                Ok(Step::Done(json!({ "epoch": self.epoch })))
            }
            "update" => {
                let name = args.the_text("name")?;
                let member = self.own(cx, &name)?;
                let data = args.the_value("data")?;
                // The same data is no change.
                if std::mem::replace(&mut member.data, data.clone()) != data {
                    self.change();
                }
                Ok(Step::Done(json!({ "epoch": self.epoch })))
            }
            "report" => self.report(cx, args).map(Step::Done),
            "await_change" => {
                let wants = json!(args.the_position("epoch")?);
                Ok(self.await_change(&wants).map_or(Step::Wait(wants), Step::Done))
            }
            _ => {
                let n = args.int_in("n", 0, MEMBERS_MAX as i64)?.unwrap_or(self.min_size as i64);
                let wants = json!(n);
                Ok(self.await_size(&wants).map_or(Step::Wait(wants), Step::Done))
            }
        }
    }

    fn query(&self, _view: &View<'_>, _method: &str, _args: &Args) -> Answer {
        Ok(self.view(json!({ "enough": self.members.len() >= self.min_size })))
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        cx.end_every(|waiter| match &*waiter.method {
            "await_change" => self.await_change(&waiter.wants).map(Ok),
            _ => self.await_size(&waiter.wants).map(Ok),
        });
    }

    fn missed(&self, _view: &View<'_>, method: &str, _wants: &Value) -> Value {
        let word = if method == "await_size" { "reached" } else { "changed" };
        self.view(json!({ word: false }))
    }

    fn holdings(&self) -> Vec<Holding> {
        let all = self.members.iter();
        all.map(|member| Holding { class: MEMBERSHIP, position: member.position, session: member.session })
            .collect()
    }

    fn lose(&mut self, _cx: &mut Cx<'_>, lost: &Holding, _expired: bool) {
        self.members.retain(|member| member.position != lost.position);
        self.change();
    }

    fn is_default(&self) -> bool {
        self.epoch == 0
    }
}
