//! Who changes the members: adds, removes, replaces them, and changes their part, within the budget of
//! `ensemble/faults.rs`.

use jute::SessionId;
use tree::Roster;

use super::visitor::Visitor;
use crate::ensemble::{Ensemble, member_of};
use crate::history::{Ask, History, Outcome};
use crate::random::Random;

/// Members at the most.
const MEMBERS_MAX: u64 = 6;
/// Who may change the members.
pub const SUPER: &str = "super:secret";

/// See the module.
#[derive(Debug)]
pub(super) struct Operator {
    pub(super) visitor: Visitor,
    /// Voters there must be at the least.
    voters_min: usize,
    /// How often, of a thousand moments, it wants something.
    often: u64,
    asked: Option<usize>,
    greeted: Option<SessionId>,
}

impl Operator {
    pub(super) fn new(name: usize, founders: u64, often: u64) -> Self {
        let voters_min = if founders >= 3 { 3 } else { 1 };
        Self { visitor: Visitor::new(name, 6_000), voters_min, often, asked: None, greeted: None }
    }

    /// Its connection is gone: what it asked for may still come, until it has a connection again.
    pub(super) fn moment(&mut self, ensemble: &mut Ensemble, history: &mut History, random: &mut Random) {
        if let Some(call) = self.asked
            && history.calls[call].answer.is_some()
        {
            match history.calls[call].outcome() {
                Outcome::Ok => ensemble.tell("reconfig", format_args!("the members are to be changed")),
                other => ensemble.tell("reconfig refused", format_args!("the members stay: {other:?}")),
            }
            self.asked = None;
            ensemble.changing = false;
        }
        if !self.visitor.is_served() {
            self.greeted = None;
            return;
        }
        if self.greeted.is_none() {
            // Nothing of an earlier connection takes effect any more.
            self.asked = None;
            ensemble.changing = false;
            self.greeted = Some(self.visitor.session());
            self.visitor.ask(ensemble, history, Ask::Auth { credentials: SUPER.into() });
        }
        if self.asked.is_some() || ensemble.has_lost_disk() || random.below(1000) >= self.often {
            return;
        }
        let Some(roster) = ensemble.roster() else { return };
        let Some((joining, leaving)) = self.wish(&roster, ensemble, random) else { return };
        let version = if random.chance(70) { -1 } else { roster.version };
        ensemble.tell("reconfig asked", format_args!("asked for: join `{joining}`, leave `{leaving}`"));
        self.asked = self.visitor.ask(ensemble, history, Ask::Reconfig { joining, leaving, version });
        ensemble.changing = self.asked.is_some();
    }

    /// It asks for nothing more.
    pub(super) fn finish(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        self.often = 0;
        self.moment(ensemble, history, &mut Random::new(0));
    }

    /// Who is to join, and who to leave.
    fn wish(
        &self,
        roster: &Roster,
        ensemble: &mut Ensemble,
        random: &mut Random,
    ) -> Option<(String, String)> {
        let present: Vec<_> = roster.members().map(|member| member.number).collect();
        let absent: Vec<_> = (1..=MEMBERS_MAX).filter(|number| !present.contains(number)).collect();
        let voters = roster.participants();
        let pick = |random: &mut Random, numbers: &[u64]| {
            numbers.get(random.below(numbers.len() as u64) as usize).copied()
        };
        let some = pick(random, &present)?;
        let may_lose = voters.len() > self.voters_min || !voters.contains(&some);
        let line = |number, votes| {
            let mut member = member_of(number);
            member.votes = votes;
            format!("server.{number}={member}")
        };
        match random.below(4) {
            0 => {
                let number = pick(random, &absent)?;
                ensemble.install(number);
                Some((line(number, random.chance(70)), String::new()))
            }
            1 if may_lose => Some((String::new(), some.to_string())),
            2 => {
                let number = pick(random, &absent)?;
                ensemble.install(number);
                Some((line(number, voters.contains(&some)), some.to_string()))
            }
            3 if may_lose => Some((line(some, !voters.contains(&some)), String::new())),
            _ => None,
        }
    }
}
