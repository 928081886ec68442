//! Two machines of one number: an operator starts a second one, with a blank disk, while the member of that number lives. Both
//! prove who they are, so every other member is connected with that of the two whose process started last, as long as a
//! connection to it stands, and refuses the other, as `peers::connected` and `peers::switchboard` of the server do. In the end the
//! operator turns one of them off, and its disk is thrown away.
//!
//! The second machine has a place of its own: its number and [`NUMBERS`] more. There is one at a time.

use std::collections::{BTreeMap, BTreeSet};

use council_replica::MemberId;
use council_replica::founding::NUMBERS;

use super::Ensemble;
use super::machine::{Life, Machine};
use crate::ensemble::faults::DRIFT_MAX_PPM;
use crate::random::Random;

/// How often, of this many moments, the operator finds out.
const FOUND_OUT_EVERY: u64 = 3_000;

/// Who is connected with which of two machines of one number.
#[derive(Debug, Default)]
pub(super) struct Routes {
    /// The number that there are two machines of.
    number: Option<u64>,
    /// By the place of each other machine: with which of the two it is connected.
    chosen: BTreeMap<u64, u64>,
    /// Connections to one of the two that broke: the other machine, and that one.
    broken: BTreeSet<(u64, u64)>,
}

impl Routes {
    /// The number that there are two machines of.
    pub(super) const fn doubled(&self) -> Option<u64> {
        self.number
    }

    /// The place that a message goes to; nothing where no connection stands.
    pub(super) fn place_of(&self, from: u64, to: u64) -> Option<u64> {
        let to = to % NUMBERS;
        match self.number {
            Some(number) if number == to => self.chosen.get(&from).copied(),
            Some(number) if number == from % NUMBERS => (self.chosen.get(&to) == Some(&from)).then_some(to),
            _ => Some(to),
        }
    }

    /// Whether two machines may talk to each other, as far as there being two of one number goes.
    pub(super) fn are_connected(&self, one: u64, other: u64) -> bool {
        one % NUMBERS != other % NUMBERS && self.place_of(one, other) == Some(other)
    }

    /// A machine has noticed that its connection with another one is gone.
    pub(super) fn broke(&mut self, at: u64, with: u64) {
        if self.number == Some(with % NUMBERS) {
            self.broken.insert((at, with));
        }
    }

    pub(super) fn mend(&mut self) {
        self.broken.clear();
    }
}

impl Ensemble {
    /// A second machine of a member's number starts with a blank disk, within the budget: one of the two disks goes in the end.
    pub(super) fn double(&mut self, number: u64, chance: &mut Random) {
        if self.routes.number.is_some() || !self.may_lose_disk(number) {
            return;
        }
        let place = NUMBERS + number;
        let machine = Machine::new(chance, self.drifts, false, self.config.core.feature_level);
        self.machines.insert(place, machine);
        self.wiped = true;
        let others = self.numbers().into_iter().filter(|other| other % NUMBERS != number);
        let chosen = others.map(|other| (other, number)).collect();
        self.routes = Routes { number: Some(number), chosen, ..Routes::default() };
        self.tell(
            "two machines of one number",
            format_args!("a second machine with the number {number} starts, machine {place}"),
        );
        self.start(place);
    }

    /// The operator finds out, sooner or later.
    pub(super) fn find_double(&mut self) {
        if self.routes.number.is_some() && self.random.below(FOUND_OUT_EVERY) == 0 {
            self.end_double();
        }
    }

    /// The operator turns one of two machines of one number off, and throws its disk away.
    pub fn end_double(&mut self) {
        let Some(number) = self.routes.number else { return };
        let double = NUMBERS + number;
        self.count_outcome(number, double);
        let (goes, stays) = if self.random.chance(50) { (number, double) } else { (double, number) };
        self.crash(goes);
        if stays == double {
            // It is brought to where the other was.
            self.stop(double);
            if let Some(machine) = self.machines.remove(&double) {
                self.machines.insert(number, machine);
            }
        }
        self.machines.remove(&double);
        self.network.forget(double);
        self.network.cut.retain(|(from, to)| *from != double && *to != double);
        self.unreached.remove(&double);
        self.client_delays.remove(&double);
        self.routes = Routes::default();
        self.tell(
            "one of two turned off",
            format_args!(
                "of two machines with the number {number} the {} is turned off",
                match goes == number {
                    true => "first",
                    false => "second",
                }
            ),
        );
        match matches!(self.machine(number).life, Life::Down) {
            true => self.start(number),
            false => self.tell_links(number, true),
        }
    }

    /// Whether the second machine has taken the place of the first, which runs.
    fn count_outcome(&mut self, number: u64, double: u64) {
        let id = self.id_of(double);
        let votes = self.node(double).is_some_and(|node| node.core().membership().voters.contains(&id));
        let lives = !matches!(self.machine(number).life, Life::Down);
        self.count("replaced while it lived", u64::from(votes && lives));
    }

    /// Each machine is connected with that of two machines of one number which started last and can be reached.
    pub(super) fn reroute(&mut self) {
        let Some(number) = self.routes.number else { return };
        for other in self.numbers().into_iter().filter(|other| other % NUMBERS != number) {
            let fits = |place: &u64| {
                let machine = self.machines.get(place).filter(|machine| !matches!(machine.life, Life::Down));
                let machine = machine.filter(|_| !self.routes.broken.contains(&(other, *place)))?;
                Some((machine.process, *place))
            };
            let chosen = [number, NUMBERS + number].iter().filter_map(fits).max().map(|(_, place)| place);
            let before = self.routes.chosen.get(&other).copied();
            if chosen == before {
                continue;
            }
            if let Some(before) = before {
                self.connect(other, before, false);
            }
            match chosen {
                Some(place) => {
                    self.routes.chosen.insert(other, place);
                    self.connect(other, place, true);
                    self.count("number changed hands", u64::from(before.is_some()));
                }
                None => drop(self.routes.chosen.remove(&other)),
            }
        }
    }

    /// A connection between two machines begins to stand, or breaks; both sides hear of it.
    fn connect(&mut self, one: u64, other: u64, up: bool) {
        // Members of two ensembles refuse each other.
        let (own, theirs) = (self.cluster(one), self.cluster(other));
        if own.is_some() && theirs.is_some() && own != theirs {
            return;
        }
        for (at, with) in [(one, other), (other, one)] {
            let (id, level) = (self.id_of(with), self.machine(with).level);
            let is_seated = self.machine(with).seat.is_some();
            match &mut self.machine(at).life {
                Life::Seated(node) if is_seated => {
                    node.core().understands(MemberId(id), level);
                    node.link(id, up);
                }
                Life::Blank(member) if up => member.meet(with % NUMBERS),
                Life::Blank(member) => member.lost(with % NUMBERS),
                _ => {}
            }
        }
    }

    /// Two machines of one number must not serve at a time: each gives numbers to connections under it.
    pub(super) fn watch_double(&mut self) {
        let Some(number) = self.routes.number else { return };
        let lease_ms = self.config.core.lease_ms;
        let room_ms = 2 + 4 * lease_ms * DRIFT_MAX_PPM as u64 / 1_000_000;
        let now_ms = self.now_ms;
        let serves = |machine: &mut Machine| {
            let mono_ms = machine.mono_ms(now_ms);
            let node = machine.node()?;
            (node.core().is_serving() && node.core().lease_until_ms() > mono_ms + room_ms).then_some(())
        };
        let both = [number, NUMBERS + number]
            .iter()
            .filter_map(|place| serves(self.machines.get_mut(place)?))
            .count();
        self.record.doubled_looks += 1;
        if both == 2 {
            self.record.both_served.insert(number, now_ms);
        }
    }
}
