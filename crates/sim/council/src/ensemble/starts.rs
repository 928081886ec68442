//! Processes of members begin and end. What a process does in between is in `process`.

use base::MemberNumber;
use consensus_replica::lifecycle::Setup;
use sim_kit::peers::NUMBERS;

use super::Ensemble;
use super::machine::Machine;
use super::process::Process;
use crate::disk::SimDisk;

impl Ensemble {
    /// A machine of that number is there and runs: a new one with a blank disk, or the one that was turned off.
    pub fn install(&mut self, number: u64) {
        let (random, drifts, level) =
            (&mut self.sim.random, self.drifts, self.config.core.replica.feature_level);
        let machine =
            self.machines.entry(number).or_insert_with(|| Machine::new(random, drifts, false, level));
        machine.off = false;
        if machine.is_down() {
            self.start(number);
        }
    }

    /// A member that is down comes back.
    pub fn start(&mut self, number: u64) {
        let Some(machine) = self.machines.get_mut(&number).filter(|machine| !machine.off) else { return };
        self.lives += 1;
        if machine.level < self.config.core.replica.feature_level && self.sim.random.chance(50) {
            machine.level = self.config.core.replica.feature_level;
            self.tell("newer build", format_args!("member {number} gets a newer build"));
        }
        let process = Process::new(self.setup(number), self.lives);
        self.peering.begin(number, self.lives);
        self.machine(number).process = Some(Box::new(process));
    }

    /// What its configuration says. One that is not to bootstrap an ensemble does not name itself.
    fn setup(&self, number: u64) -> Setup {
        let founder = self.machines.get(&number).is_some_and(|machine| machine.founder);
        let number = number % NUMBERS;
        let voters = self.numbers().into_iter().filter(|other| *other < NUMBERS);
        let voters = voters.filter(|other| founder || *other != number).map(MemberNumber::of).collect();
        Setup::OneOfSeveral { number: MemberNumber::of(number), voters }
    }

    /// The member stops, its disk keeps what was written. Its system closes its connections.
    pub(super) fn stop(&mut self, number: u64) {
        let machine = self.machine(number);
        machine.process = None;
        machine.host.end_process();
        machine.stalled_shards.clear();
        self.peering.end(number, true, &mut self.sim);
    }

    /// A member's disk is replaced by an empty one.
    pub(super) fn empty(&mut self, number: u64) {
        self.crash(number);
        let disk = SimDisk::new(self.sim.random.number());
        let machine = self.machine(number);
        machine.replace_disk(disk);
        machine.outsider = false;
    }

    /// Every member that is down comes back.
    pub fn start_all(&mut self) {
        self.down().into_iter().for_each(|number| self.start(number));
    }

    /// The processes of so many voters die that no majority is left without that member.
    pub fn kill_all_but_a_majority_with(&mut self, number: u64) {
        let voters = self.roster().map(|roster| roster.participants()).unwrap_or_default();
        let voters: Vec<u64> = voters.into_iter().map(u64::from).collect();
        let spare = if voters.contains(&number) { (voters.len() - 1) / 2 } else { 0 };
        voters.into_iter().filter(|voter| *voter != number).take(spare).for_each(|voter| self.kill(voter));
    }

    pub(super) fn down(&self) -> Vec<u64> {
        let is_down = |machine: &Machine| {
            machine.is_down() && !machine.off && machine.away_until_ms <= self.sim.now_ms()
        };
        self.machines.iter().filter(|(_, machine)| is_down(machine)).map(|(number, _)| *number).collect()
    }
}
