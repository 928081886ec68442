//! Who changes the members while clients run: adds one, removes one, or puts one in the place of another. As in a server, each
//! member is told by its council, at a time of its own; the leader makes it so. The budget: one change at a time, begun while
//! all is whole, and never fewer members than a majority of which survives one that is lost.

use std::collections::BTreeMap;

use base::Random;

use super::Members;
use super::machine::Machine;

/// Fewer members than these there are not.
const MEMBERS_MIN: usize = 3;
/// And not more.
const MEMBERS_MAX: usize = 5;
/// How long after all faults have ended the operator looks for members that wait for it, milliseconds.
const OPERATOR_MS: u64 = 20_000;
/// How much later than another a member hears of a change, milliseconds.
const TOLD_MS: u64 = 3_000;

/// See the module.
pub(super) struct Operator {
    random: Random,
    /// How often, of a thousand moments, it changes something that may be changed.
    often: u64,
    /// When members are told who is to be one.
    told_at: BTreeMap<u64, u64>,
}

impl Operator {
    pub(super) fn new(mut random: Random) -> Self {
        let often = 2 + random.below(20);
        Self { random, often, told_at: BTreeMap::new() }
    }
}

impl Members {
    /// The operator's moment.
    pub(super) fn operate(&mut self, is_faulty: bool) {
        let Some(mut operator) = self.operator.take() else { return };
        if is_faulty && !self.is_changing && operator.random.below(1000) < operator.often && self.may_change()
        {
            self.change(&mut operator);
        }
        self.tell_members(&mut operator, !is_faulty);
        if !is_faulty {
            self.look_after_all();
        }
        self.operator = Some(operator);
        if self.is_changing && self.is_whole() {
            self.is_changing = false;
            self.sim.tell("members changed", format_args!("the members are {:?}", self.wanted));
            self.turn_off_others();
        }
    }

    fn may_change(&mut self) -> bool {
        !self.is_disk_lost && self.is_whole()
    }

    fn change(&mut self, operator: &mut Operator) {
        let random = &mut operator.random;
        let place = random.below(self.wanted.len() as u64) as usize;
        let (may_add, may_remove) = (self.wanted.len() < MEMBERS_MAX, self.wanted.len() > MEMBERS_MIN);
        let (adds, removes) = match random.below(3) {
            0 if may_add => (true, false),
            1 if may_remove => (false, true),
            _ => (true, true),
        };
        if removes {
            let removed = self.wanted.remove(place);
            self.sim.tell("member removed", format_args!("member {removed} is to be none"));
        }
        if adds {
            let number = self.added(random);
            self.wanted.push(number);
            self.sim.tell("member added", format_args!("member {number} is to be one"));
            self.start(number);
        }
        self.is_changing = true;
        let now_ms = self.sim.now_ms();
        for number in self.numbers() {
            operator.told_at.insert(number, now_ms + operator.random.below(TOLD_MS));
        }
    }

    /// A machine that is no member: one of before, with its old data, or a new one.
    fn added(&mut self, random: &mut Random) -> u64 {
        let off = |(number, machine): (&u64, &Machine)| machine.off.then_some(*number);
        let before: Vec<_> = self.machines.iter().filter_map(off).collect();
        if let Some(number) = before.first().copied().filter(|_| random.chance(60)) {
            self.machine(number).off = false;
            self.sim.tell("member comes back", format_args!("member {number} comes back with its old data"));
            return number;
        }
        let number = self.machines.keys().last().map_or(1, |last| last + 1);
        let (drifts, level) = (random.chance(50), self.config.core.replica.feature_level);
        self.machines.insert(number, Machine::new(number, random, drifts, level));
        number
    }

    fn tell_members(&mut self, operator: &mut Operator, is_due: bool) {
        let now_ms = self.sim.now_ms();
        let due: Vec<_> = operator
            .told_at
            .iter()
            .filter(|(_, at_ms)| is_due || **at_ms <= now_ms)
            .map(|(number, _)| *number)
            .collect();
        for number in due {
            operator.told_at.remove(&number);
            let wanted = self.wanted();
            self.at_node(number, |node| node.core().want_members(Some(wanted)));
        }
    }

    /// A member that was replaced while it was away, and of whose group too few are left to tell it so, waits for its operator,
    /// as docs/ensembles.md says. The operator does what it logs, and does so only there: a member that can be told has to mend
    /// itself, or there is no rest.
    fn look_after_all(&mut self) {
        if self.healed_ms.is_none_or(|healed_ms| self.sim.now_ms() < healed_ms + OPERATOR_MS) {
            return;
        }
        let Some(number) = self.numbers().into_iter().find(|number| self.waits_for_operator(*number)) else {
            return;
        };
        let words =
            format_args!("member {number} was replaced and cannot know it: the operator empties its disk");
        self.sim.tell("operator empties a disk", words);
        self.lose_disk(number);
        self.start(number);
    }

    /// Whether a member is told that it was replaced, and fewer run of those that it knows than it has to be told by.
    fn waits_for_operator(&mut self, number: u64) -> bool {
        let Some(node) = self.node(number) else { return false };
        let (denials, id) = (node.core().denials(), node.core().id());
        let known: Vec<u64> =
            node.core().membership().others(id).iter().map(|id| u64::from(id.number().0)).collect();
        if denials.numbers.is_empty() {
            return false;
        }
        let mut members: Vec<_> = Vec::new();
        for other in self.numbers() {
            if let Some(node) = self.node(other) {
                let applied = node.core().status().applied_index;
                members.push((applied, other, node.core().id(), node.core().membership().clone()));
            }
        }
        let farthest = members.iter().max_by_key(|(applied, ..)| *applied);
        let Some(seats) = farthest.map(|(.., seats)| seats.clone()) else { return false };
        let tells = |(_, other, id, _): &&(_, u64, _, _)| {
            *other != number && known.contains(other) && seats.contains(*id)
        };
        members.iter().filter(tells).count() < denials.needed
    }

    /// Who is no member any more is turned off.
    fn turn_off_others(&mut self) {
        for number in self.numbers() {
            if self.wanted.contains(&number) || self.machine(number).off {
                continue;
            }
            if self.machine(number).process.is_some() {
                self.stop(number);
            }
            self.machine(number).off = true;
            self.sim.tell("member turned off", format_args!("member {number} is turned off"));
        }
    }
}
