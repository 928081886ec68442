//! Who changes the members: adds, removes, replaces them, and changes their part, within the budget of
//! `ensemble/faults.rs`.

use base::MemberNumber;
use council_tree::Roster;
use council_wire::SessionId;

use super::visitor::Visitor;
use crate::ensemble::Ensemble;
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
                Outcome::Ok => ensemble.tell("reconfig", format_args!("the wanted members have changed")),
                other => ensemble
                    .tell("reconfig refused", format_args!("the wanted members have not changed: {other:?}")),
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
        let Some((mut joining, mut leaving)) = self.wish(&roster, ensemble, random) else { return };
        // Of an older version than the present one it is refused.
        let version = [-1, -1, -1, -1, roster.version, roster.version - 1][random.below(6) as usize];
        let mut members = String::new();
        if random.chance(30) {
            members = all_of(&roster, &std::mem::take(&mut joining), &std::mem::take(&mut leaving));
        }
        ensemble.tell(
            "reconfig asked",
            format_args!(
                "reconfig requested: join `{joining}`, leave `{leaving}`, be `{members}`, version {version:x}"
            ),
        );
        let ask = Ask::Reconfig { joining, leaving, members, version };
        self.asked = self.visitor.ask(ensemble, history, ask);
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
        let present: Vec<u64> = roster.members().map(|member| member.number.into()).collect();
        let absent: Vec<_> = (1..=MEMBERS_MAX).filter(|number| !present.contains(number)).collect();
        let voters: Vec<u64> = roster.participants().into_iter().map(u64::from).collect();
        let pick = |random: &mut Random, numbers: &[u64]| {
            numbers.get(random.below(numbers.len() as u64) as usize).copied()
        };
        let some = pick(random, &present)?;
        let may_lose = voters.len() > self.voters_min || !voters.contains(&some);
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

/// What is asked for of one member: with both ports, so that it stands in the log as it was asked for.
fn line(number: u64, votes: bool) -> String {
    let part = if votes { "participant" } else { "observer" };
    format!("server.{number}=member{number}:1:1001:{part}")
}

/// The same change, told as everybody who is a member behind it.
fn all_of(roster: &Roster, joining: &str, leaving: &str) -> String {
    let changes = |number: MemberNumber| {
        joining.starts_with(&format!("server.{number}=")) || leaving == number.to_string()
    };
    let stay = roster.members().filter(|member| !changes(member.number));
    let stay = stay.map(|member| line(member.number.into(), member.votes));
    let all: Vec<_> = stay.chain([joining.to_owned()]).filter(|line| !line.is_empty()).collect();
    all.join(",")
}
