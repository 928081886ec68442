//! Members begin and end: with a blank disk, with the seat that they had, in doubt of it, or without what they lost.

use council_replica::MemberId;
use council_replica::founding::{Founding, NUMBERS, Outcome};

use super::Ensemble;
use super::machine::{Life, Machine, Seat};
use crate::disk::SimDisk;
use crate::node::{Node, NodeError};

/// How many shards a member serves clients with at most.
const SHARDS_MAX: u64 = 4;

impl Ensemble {
    /// A machine of that number is there and runs: a new one with a blank disk, or the one that was turned off.
    pub fn install(&mut self, number: u64) {
        let (random, drifts, level) = (&mut self.random, self.drifts, self.config.core.feature_level);
        let machine =
            self.machines.entry(number).or_insert_with(|| Machine::new(random, drifts, false, level));
        machine.off = false;
        if matches!(machine.life, Life::Down) {
            self.start(number);
        }
    }

    /// A member that is down comes back.
    pub fn start(&mut self, number: u64) {
        let Some(machine) = self.machines.get_mut(&number).filter(|machine| !machine.off) else { return };
        self.lives += 1;
        machine.born = self.lives;
        machine.process.get_or_insert(self.lives);
        if machine.level < self.config.core.feature_level && self.random.chance(50) {
            machine.level = self.config.core.feature_level;
            self.tell("newer build", format_args!("member {number} is given a newer build"));
        }
        let machine = self.machine(number);
        match machine.seat.clone() {
            Some(seat) => self.sit_down(number, &seat),
            None => {
                let founding = self.founding(number);
                self.machine(number).life = Life::Blank(Box::new(founding));
                self.reroute();
            }
        }
    }

    pub(super) fn sit_down(&mut self, number: u64, seat: &Seat) {
        let mut config = self.config.clone();
        config.core.member = seat.id;
        config.core.cluster = seat.cluster;
        config.core.feature_level = self.machine(number).level;
        config.founders.clone_from(&seat.founders);
        config.seed = [(self.lives % 251) as u8; 32];
        config.seed[1] = (number % NUMBERS) as u8;
        config.journal_seed = Some(self.random.number());
        config.core.shards = 1 + self.random.below(SHARDS_MAX) as u16;
        let chance = self.random.fork();
        let now_ms = self.now_ms;
        let machine = self.machine(number);
        let mut node = match Node::start(machine.disk.clone(), &config, machine.now(now_ms)) {
            Ok(node) => node,
            Err(error) if machine.damaged => {
                machine.damaged = false;
                self.tell(
                    "damage found",
                    format_args!("member {number} puts its damaged data aside: {}", words_of(&error)),
                );
                self.empty(number);
                self.machine(number).founds = false;
                return self.start(number);
            }
            Err(error) if machine.failing || machine.full_until_ms.is_some() => {
                machine.life = Life::Down;
                machine.disk.repair();
                (machine.failing, machine.full_until_ms) = (false, None);
                return self.tell("no start", format_args!("member {number} does not start: {error:?}"));
            }
            Err(error) => panic!("member {number} does not come back: {error:?}"),
        };
        node.read_in_parts(chance);
        let torn = node.had_torn_tail();
        let machine = self.machine(number);
        let did_no_harm = std::mem::take(&mut machine.damaged);
        machine.life = Life::Seated(Box::new(node));
        let (life, outsider) = (machine.born, machine.outsider);
        if !outsider {
            self.record.begun(number, life);
        }
        self.count("torn tail", u64::from(torn));
        self.count("damage that did no harm", u64::from(did_no_harm));
        self.tell(
            "start",
            format_args!("member {number} starts{}", if torn { ", its log torn at the end" } else { "" }),
        );
        self.reroute();
        self.tell_links(number, true);
        self.collect(number);
    }

    /// A member's outcome is written down before it is said.
    pub(super) fn seat(&mut self, number: u64, outcome: Outcome) {
        let seat = match outcome {
            Outcome::Founded { cluster, voters } => {
                self.tell("founding", format_args!("member {number} founds an ensemble of {voters:?}"));
                Seat { id: number, cluster, founders: voters }
            }
            Outcome::Admitted { cluster, id } => {
                self.tell("admission", format_args!("member {number} is admitted as {id:x}"));
                self.count("second machine let in", u64::from(number >= NUMBERS));
                Seat { id, cluster, founders: Vec::new() }
            }
            Outcome::Kept => {
                self.tell("doubt over", format_args!("member {number} keeps its seat"));
                let Some(seat) = self.machine(number).seat.clone() else { return };
                seat
            }
        };
        let machine = self.machine(number);
        if machine.seat.replace(seat.clone()).is_some_and(|before| before.cluster != seat.cluster) {
            // It had one in an ensemble that never came to be.
            machine.disk = SimDisk::new(seat.id);
            machine.founds = false;
        }
        self.sit_down(number, &seat);
    }

    /// The member stops, its disk keeps what was written.
    pub(super) fn stop(&mut self, number: u64) {
        let machine = self.machine(number);
        machine.life = Life::Down;
        machine.disk.restart();
        machine.disk.repair();
        machine.full_until_ms = None;
        self.gone(number);
    }

    /// A member that stopped is heard of no more.
    pub(super) fn gone(&mut self, number: u64) {
        let machine = self.machine(number);
        (machine.paused_from_ms, machine.paused_until_ms) = (0, 0);
        (machine.stalled_until_ms, machine.slow_until_ms) = (0, 0);
        (machine.flushed_ms, machine.failing, machine.process) = (None, false, None);
        self.network.forget(number);
        self.tell_links(number, false);
        self.reroute();
    }

    pub(super) fn empty(&mut self, number: u64) {
        self.crash(number);
        let disk = SimDisk::new(self.random.number());
        let machine = self.machine(number);
        (machine.disk, machine.seat, machine.outsider) = (disk, None, false);
    }

    pub(super) fn tell_links(&mut self, number: u64, up: bool) {
        let (id, level) = (self.id_of(number), self.machine(number).level);
        let cluster = self.cluster(number);
        let mut links = Vec::new();
        for (other, machine) in &mut self.machines {
            if !self.routes.are_connected(number, *other) {
                continue;
            }
            let theirs = machine.seat.as_ref().map(|seat| seat.cluster);
            match &mut machine.life {
                // Members of two ensembles refuse each other.
                Life::Seated(_) if cluster.is_some() && theirs != cluster => {}
                Life::Seated(node) => {
                    node.core().understands(MemberId(id), level);
                    node.link(id, up);
                    links.extend(machine.seat.as_ref().map(|seat| (seat.id, machine.level)));
                }
                Life::Blank(member) if up => member.meet(number % NUMBERS),
                Life::Blank(member) => member.lost(number % NUMBERS),
                _ => {}
            }
        }
        if let Some(node) = self.node(number) {
            for (other, level) in links {
                node.core().understands(MemberId(other), level);
                node.link(other, true);
            }
        }
    }

    /// A member asks whether there is another ensemble than the one that it was to found.
    pub(super) fn doubt(&mut self, number: u64) {
        self.tell("doubt", format_args!("member {number} doubts that its ensemble comes to be"));
        self.stop(number);
        self.lives += 1;
        let (born, founding) = (self.lives, self.founding(number));
        let machine = self.machine(number);
        (machine.born, machine.process) = (born, Some(born));
        if let Some(seat) = &machine.seat {
            machine.life = Life::Blank(Box::new(founding.holding(seat.cluster)));
        }
    }

    /// A member without a seat.
    pub(super) fn founding(&self, number: u64) -> Founding {
        let mut name = [0; 16];
        name[..8].copy_from_slice(&self.lives.to_le_bytes());
        let founds = self.machines.get(&number).is_some_and(|machine| machine.founds);
        let number = number % NUMBERS;
        let numbers: Vec<_> = self.numbers().into_iter().filter(|place| *place < NUMBERS).collect();
        let mut founding = Founding::new(number, numbers.clone(), founds, name, name);
        numbers.into_iter().filter(|other| *other != number).for_each(|other| founding.meet(other));
        founding
    }

    /// Every member that is down comes back.
    pub fn start_all(&mut self) {
        self.down().into_iter().for_each(|number| self.start(number));
    }

    /// The processes of so many voters die that no majority is left without that member.
    pub fn kill_all_but_a_majority_with(&mut self, number: u64) {
        let voters = self.roster().map(|roster| roster.participants()).unwrap_or_default();
        let spare = if voters.contains(&number) { (voters.len() - 1) / 2 } else { 0 };
        voters.into_iter().filter(|voter| *voter != number).take(spare).for_each(|voter| self.kill(voter));
    }

    pub(super) fn down(&self) -> Vec<u64> {
        let is_down = |machine: &Machine| {
            matches!(machine.life, Life::Down) && !machine.off && machine.away_until_ms <= self.now_ms
        };
        self.machines.iter().filter(|(_, machine)| is_down(machine)).map(|(number, _)| *number).collect()
    }
}

/// Why a member does not start, in one line.
fn words_of(error: &NodeError) -> String {
    let words = match error {
        NodeError::Open(error) => error.to_string(),
        NodeError::Read(error) => error.to_string(),
        NodeError::Fault(words) => words.clone(),
    };
    words.lines().next().unwrap_or_default().to_owned()
}
