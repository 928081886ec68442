//! Which object it is if members come to different states. Each member remembers what the latest runs of modules came to, as
//! hashes. One that finds its state to be another than another's tells all what it remembers; whoever leads looks for the first
//! run that differs between two of them, and proposes that its object goes into quarantine.
//!
//! Later runs may differ because that one did: by a message that was sent, or by the object's own memory. So one object is named
//! at a time; the next one only by what is told of a state behind the quarantine, if states still differ there.
//!
//! Memory only: a start begins anew. If more has run since the difference than is remembered, or states differ for another reason
//! than a run, nothing is named.

use std::collections::{BTreeMap, VecDeque};

use base::MonoTime;
use consensus_raft::MemberId;
use objects_state::{Command, ObjectName, Ran, State};

use crate::DISAGREED_LEVEL;
use crate::group::Group;
use crate::message::{ObjectsMessage, RAN_MAX, RunsTold};

/// Runs that are remembered.
const REMEMBERED_MAX: usize = 2 * RAN_MAX;
/// How often the others are told, milliseconds.
const TELL_MS: u64 = 500;
/// After how long what was proposed and not applied is taken for lost, milliseconds.
const LOST_MS: u64 = 2_000;
/// Members of which it is remembered what they told.
const TELLERS_MAX: usize = 8;
/// Objects that are looked up at a time.
const LOOKED_UP_MAX: usize = 8;

/// See the module.
pub(crate) struct Disagreement {
    own: Remembered,
    level: u32,
    told_at: Option<MonoTime>,
    /// What other members told, the latest last.
    heard: Vec<(MemberId, RunsTold)>,
    /// What is told of earlier positions than this counts no more: an object went into quarantine there.
    settled: u64,
    /// Up to which position this member had come when it looked last; nothing if there is something new.
    looked: Option<u64>,
    proposed: Option<MonoTime>,
}

impl Disagreement {
    pub(crate) fn new(state: &State) -> Self {
        Self {
            own: Remembered::behind(state.position()),
            level: state.feature_level(),
            told_at: None,
            heard: Vec::new(),
            settled: 0,
            looked: None,
            proposed: None,
        }
    }

    /// A command was applied.
    pub(crate) fn applied(&mut self, command: &Command, state: &State) {
        self.level = state.feature_level();
        self.own.applied(state);
        if matches!(command, Command::Disagreed { .. }) {
            self.settled = state.position();
            self.heard.clear();
            self.proposed = None;
        }
    }

    /// Another state has taken the place of this member's.
    pub(crate) fn look_anew(&mut self, state: &State) {
        let (heard, settled) = (core::mem::take(&mut self.heard), self.settled);
        *self = Self { heard, settled, ..Self::new(state) };
    }

    /// This member's state is another than another voter's: all are told, from time to time.
    pub(crate) fn tell(&mut self, group: &mut Group) {
        let now = group.now().mono();
        let is_due = self.told_at.is_none_or(|at| now >= at.plus_ms(TELL_MS));
        if is_due && self.level >= DISAGREED_LEVEL {
            self.told_at = Some(now);
            let others = group.view().others();
            group.send_each(others, ObjectsMessage::Ran(self.own.told()));
        }
    }

    /// Another member has told what its runs came to.
    pub(crate) fn hear(&mut self, from: MemberId, told: RunsTold) {
        if told.until <= self.settled {
            return;
        }
        self.heard.retain(|(known, _)| *known != from);
        if self.heard.len() == TELLERS_MAX {
            self.heard.remove(0);
        }
        self.heard.push((from, told));
        self.looked = None;
    }

    /// Another leads, or what was proposed is lost.
    pub(crate) const fn forget_proposed(&mut self) {
        self.proposed = None;
        self.looked = None;
    }

    /// What this leader is to propose now.
    pub(crate) fn due(&mut self, state: &State, now: MonoTime) -> Option<Command> {
        if self.proposed.is_some_and(|at| now >= at.plus_ms(LOST_MS)) {
            self.forget_proposed();
        }
        let lags = |looked: u64| self.heard.iter().any(|(_, told)| told.until > looked);
        let is_news = self.looked.is_none_or(|looked| looked < self.own.until && lags(looked));
        if self.heard.is_empty() || self.proposed.is_some() || !is_news {
            return None;
        }
        self.looked = Some(self.own.until);
        let (object, incarnation, position) = self.first(|space| state.may_disagree(space))?;
        self.proposed = Some(now);
        Some(Command::Disagreed { object, incarnation, position })
    }

    /// The first run that differs between two members, of an object that may go into quarantine for it: `look_up` gives its name,
    /// and the position up to which nothing counts any more.
    fn first(&self, look_up: impl Fn(u64) -> Option<(ObjectName, u64)>) -> Option<(ObjectName, u64, u64)> {
        let own = self.own.told();
        let all: Vec<_> = self.heard.iter().map(|(_, told)| told).chain([&own]).collect();
        let mut known = BTreeMap::new();
        let mut first: Option<(ObjectName, u64, u64)> = None;
        for (place, one) in all.iter().enumerate() {
            for other in &all[place + 1..] {
                let found = differences(one, other).find_map(|(position, space)| {
                    if known.len() == LOOKED_UP_MAX && !known.contains_key(&space) {
                        return None;
                    }
                    let looked_up = known.entry(space).or_insert_with(|| look_up(space));
                    let (object, _) = looked_up.as_ref().filter(|(_, released)| *released < position)?;
                    Some((object.clone(), space, position))
                });
                first = [first, found].into_iter().flatten().min_by_key(|(.., position)| *position);
            }
        }
        first
    }
}

/// What the latest runs came to here.
struct Remembered {
    runs: VecDeque<Ran>,
    /// Those of all positions behind this one are there.
    from: u64,
    until: u64,
}

impl Remembered {
    const fn behind(position: u64) -> Self {
        Self { runs: VecDeque::new(), from: position, until: position }
    }

    fn applied(&mut self, state: &State) {
        self.until = state.position();
        state.ran().iter().for_each(|ran| self.remember(*ran));
    }

    fn remember(&mut self, ran: Ran) {
        if self.runs.len() == REMEMBERED_MAX
            && let Some(oldest) = self.runs.pop_front()
        {
            self.from = self.from.max(oldest.position);
        }
        self.runs.push_back(ran);
    }

    /// The latest, as many as are told.
    fn told(&self) -> RunsTold {
        let left_out = self.runs.len().saturating_sub(RAN_MAX);
        let last_left_out = left_out.checked_sub(1).and_then(|last| self.runs.get(last));
        let from = last_left_out.map_or(self.from, |ran| self.from.max(ran.position));
        RunsTold { from, until: self.until, runs: self.runs.range(left_out..).copied().collect() }
    }
}

/// Positions and spaces at which both ran the same object and came to something else, in the order in which `one` ran them. What
/// only one of them ran is left out: the difference is an earlier one, or none of a run.
fn differences(one: &RunsTold, other: &RunsTold) -> impl Iterator<Item = (u64, u64)> {
    let (from, until) = (one.from.max(other.from), one.until.min(other.until));
    let mut theirs: BTreeMap<(u64, u64), VecDeque<u64>> = BTreeMap::new();
    for ran in &other.runs {
        theirs.entry((ran.position, ran.space)).or_default().push_back(ran.digest);
    }
    let both = one.runs.iter().filter(move |ran| from < ran.position && ran.position <= until);
    both.filter_map(move |ran| {
        let digest = theirs.get_mut(&(ran.position, ran.space))?.pop_front()?;
        (digest != ran.digest).then_some((ran.position, ran.space))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(from: u64, until: u64, runs: &[(u64, u64, u64)]) -> RunsTold {
        let runs = runs.iter().map(|(position, space, digest)| Ran {
            position: *position,
            space: *space,
            digest: *digest,
        });
        RunsTold { from, until, runs: runs.collect() }
    }

    fn of(one: &RunsTold, other: &RunsTold) -> Vec<(u64, u64)> {
        let found: Vec<_> = differences(one, other).collect();
        assert_eq!(differences(other, one).collect::<Vec<_>>(), found);
        found
    }

    #[test]
    fn first_difference_is_that_of_the_first_run_that_both_carried_out() {
        let one = told(2, 9, &[(3, 100, 1), (4, 100, 2), (4, 200, 3), (4, 100, 4), (8, 300, 5)]);
        assert_eq!(of(&one, &one), []);
        let second_of_a_position =
            told(2, 9, &[(3, 100, 1), (4, 100, 2), (4, 200, 3), (4, 100, 7), (8, 300, 6)]);
        assert_eq!(of(&one, &second_of_a_position), [(4, 100), (8, 300)]);
        let ran_more =
            told(2, 9, &[(3, 100, 1), (4, 50, 8), (4, 100, 2), (4, 200, 3), (4, 100, 4), (8, 300, 5)]);
        assert_eq!(of(&one, &ran_more), [], "what one did not run says nothing");
    }

    #[test]
    fn differences_count_only_where_both_remember_everything() {
        let one = told(2, 9, &[(3, 100, 1), (5, 100, 2), (7, 100, 3)]);
        assert_eq!(of(&one, &told(2, 9, &[(3, 100, 7), (5, 100, 7), (7, 100, 7)])).len(), 3);
        assert_eq!(of(&one, &told(3, 9, &[(3, 100, 7), (5, 100, 7), (7, 100, 7)])).len(), 2);
        assert_eq!(of(&one, &told(3, 6, &[(3, 100, 7), (5, 100, 7), (7, 100, 7)])), [(5, 100)]);
    }

    #[test]
    fn first_of_all_differences_is_named_and_those_that_are_settled_are_not() {
        let mut disagreement = Disagreement::new(&State::new());
        let own = told(0, 9, &[(3, 100, 1), (5, 200, 1), (7, 300, 1), (8, 100, 1)]);
        disagreement.own.runs = own.runs.iter().copied().collect();
        disagreement.own.until = 9;
        disagreement.hear(MemberId(2), told(0, 9, &[(3, 100, 1), (5, 200, 1), (7, 300, 2), (8, 100, 1)]));
        disagreement.hear(MemberId(3), told(0, 9, &[(3, 100, 1), (5, 200, 2), (7, 300, 3), (8, 100, 2)]));
        let name = |space: u64| ObjectName { kind: objects_state::TypeId(64), name: space.to_string() };
        let first = |disagreement: &Disagreement, released: &[(u64, u64)], gone: &[u64]| {
            let released =
                |space| released.iter().find(|(known, _)| *known == space).map_or(0, |(_, at)| *at);
            disagreement.first(|space| (!gone.contains(&space)).then(|| (name(space), released(space))))
        };
        assert_eq!(first(&disagreement, &[], &[]), Some((name(200), 200, 5)));
        assert_eq!(
            first(&disagreement, &[(200, 5)], &[]),
            Some((name(300), 300, 7)),
            "it was released since"
        );
        assert_eq!(first(&disagreement, &[(200, 4)], &[300]), Some((name(200), 200, 5)));
        assert_eq!(first(&disagreement, &[], &[200, 300]), Some((name(100), 100, 8)));
        assert_eq!(first(&disagreement, &[], &[100, 200, 300]), None);
        disagreement.settled = 9;
        disagreement.heard.clear();
        disagreement.hear(MemberId(3), told(0, 9, &[(5, 200, 2)]));
        assert_eq!(disagreement.heard, [], "it was told before the quarantine");
    }

    #[test]
    fn what_is_remembered_and_told_is_bounded_and_says_from_where_on_it_is_whole() {
        let mut remembered = Remembered::behind(10);
        assert_eq!(remembered.told(), told(10, 10, &[]));
        for position in 11..=10 + REMEMBERED_MAX as u64 + 5 {
            remembered.remember(Ran { position, space: 1, digest: 2 });
        }
        assert_eq!((remembered.runs.len(), remembered.from), (REMEMBERED_MAX, 15));
        let told = remembered.told();
        assert_eq!((told.runs.len(), told.from + 1), (RAN_MAX, told.runs[0].position));
    }
}
