//! Two machines of one number: an operator starts a second one, with a blank disk, while the member of that number lives. Both
//! prove who they are, so each other member is connected with that of the two whose process started last, as long as a
//! connection to it stands, and refuses the other (`net_peer_pairs`). In the end the operator turns one of them off, and
//! its disk is thrown away.
//!
//! The second machine has a place of its own: its number and [`NUMBERS`] more. There is one at a time. Who dials the number
//! reaches either.

use sim_kit::DRIFT_MAX_PPM;
use sim_kit::peers::NUMBERS;

use super::Ensemble;
use super::machine::Machine;
use crate::random::Random;

/// How often, of this many moments, the operator finds out.
const FOUND_OUT_EVERY: u64 = 3_000;

impl Ensemble {
    /// A second machine of a member's number starts with a blank disk, within the budget: one of the two disks goes in the end.
    pub(super) fn double(&mut self, number: u64, chance: &mut Random) {
        // Where nothing is proved, a second machine is let in nowhere: it comes from another address.
        if !self.peering.is_proven() || self.doubled.is_some() || !self.may_lose_disk(number) {
            return;
        }
        let place = NUMBERS + number;
        let machine = Machine::new(chance, self.drifts, false, self.config.core.replica.feature_level);
        self.machines.insert(place, machine);
        self.wiped = true;
        (self.doubled, self.was_doubled) = (Some(number), Some(number));
        self.tell(
            "two machines of one number",
            format_args!("a second machine with the number {number} starts, machine {place}"),
        );
        self.start(place);
    }

    /// The operator finds out, sooner or later.
    pub(super) fn find_double(&mut self) {
        if self.doubled.is_some() && self.sim.random.below(FOUND_OUT_EVERY) == 0 {
            self.end_double();
        }
    }

    /// The operator turns one of two machines of one number off, and throws its disk away.
    pub fn end_double(&mut self) {
        let Some(number) = self.doubled.take() else { return };
        let double = NUMBERS + number;
        self.count_outcome(number, double);
        let (goes, stays) = if self.sim.random.chance(50) { (number, double) } else { (double, number) };
        self.crash(goes);
        if stays == double {
            // It is brought to where the other was.
            self.stop(double);
            if let Some(machine) = self.machines.remove(&double) {
                self.machines.insert(number, machine);
            }
        }
        self.machines.remove(&double);
        self.peering.network.cut.retain(|(from, to)| *from != double && *to != double);
        self.unreached.remove(&double);
        self.client_delays.remove(&double);
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
        if self.machine(number).is_down() {
            self.start(number);
        }
    }

    /// Whether the second machine has taken the place of the first, which runs.
    fn count_outcome(&mut self, number: u64, double: u64) {
        let id = self.id_of(double);
        let votes = self.node(double).is_some_and(|node| node.core().membership().voters.contains(&id));
        let lives = !self.machine(number).is_down();
        self.count("member replaced while it ran", u64::from(votes && lives));
    }

    /// Two machines of one number must not serve at a time: each gives numbers to connections under it.
    pub(super) fn watch_double(&mut self) {
        let Some(number) = self.doubled else { return };
        let lease_ms = self.config.core.replica.lease_ms;
        let room_ms = 2 + 4 * lease_ms * DRIFT_MAX_PPM as u64 / 1_000_000;
        let now_ms = self.sim.now_ms();
        let serves = |machine: &mut Machine| {
            let mono = machine.host.mono(now_ms);
            let node = machine.node()?;
            (node.core().is_serving() && node.core().lease_until() > mono.plus_ms(room_ms)).then_some(())
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
