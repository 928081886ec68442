//! What goes wrong, how often, and the budget that keeps it bearable: nothing takes away what a majority's disks have kept, but
//! for one disk at a time, and the next only when the group is whole again.

use base::Random;
use sim_kit::MessageFaults;
use sim_kit::disk::{Loss, SimDisk};

use super::Members;
use super::deaths::alive;
use super::machine::Stage;
use super::node::{Node, Step};

/// The kinds of faults. Each run leaves some out, so that none hides another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Crash,
    Kill,
    Pause,
    Jump,
    Part,
    Delay,
    HoldUp,
    Stall,
    Slow,
    Fail,
    Full,
    Wipe,
    EdgeStall,
    ClientDelay,
    Snapshot,
}

const KINDS: [Kind; 15] = [
    Kind::Crash,
    Kind::Kill,
    Kind::Pause,
    Kind::Jump,
    Kind::Part,
    Kind::Delay,
    Kind::HoldUp,
    Kind::Stall,
    Kind::Slow,
    Kind::Fail,
    Kind::Full,
    Kind::Wipe,
    Kind::EdgeStall,
    Kind::ClientDelay,
    Kind::Snapshot,
];

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    pub(super) of_messages: MessageFaults,
    /// Those that there are, each as often as it is named.
    kinds: Vec<Kind>,
    /// How often, of a thousand moments, one strikes.
    often: u64,
    restart: u64,
    mend: u64,
}

impl Faults {
    /// Which there are at all, and how often.
    pub(super) fn draw(random: &mut Random) -> Self {
        let mut some = |most: u64| if random.chance(50) { 1 + random.below(most) } else { 0 };
        let of_messages = MessageFaults { loss: some(100), repeat: some(50), overtake: some(300) };
        let mut kinds = Vec::new();
        for kind in KINDS {
            kinds.extend(std::iter::repeat_n(kind, some(4) as usize));
        }
        let mend = if random.chance(25) { 1 } else { 8 };
        Self { of_messages, kinds, often: 4 + random.below(20), restart: 10, mend }
    }

    pub(super) const fn may_crash(&self) -> bool {
        self.often > 0
    }
}

impl Members {
    /// What goes wrong in this moment.
    pub(super) fn misfortune(&mut self, faults: &Faults) {
        if let Some(mut chance) = self.sim.strike(faults.often)
            && let Some(kind) = faults.kinds.get(chance.below(faults.kinds.len() as u64) as usize)
        {
            self.strike(*kind, &mut chance);
        }
        self.sim.end_fault();
        if faults.restart > self.sim.random.below(1000)
            && let Some(number) = self.down().first().copied()
        {
            self.start(number);
        }
        if faults.mend > self.sim.random.below(1000) {
            self.mend();
        }
        if self.is_disk_lost && self.is_whole() {
            self.is_disk_lost = false;
        }
        let now_ms = self.sim.now_ms();
        self.machines.values_mut().for_each(|machine| machine.host.give_room_in_time(now_ms));
    }

    fn strike(&mut self, kind: Kind, chance: &mut Random) {
        let running = self.running();
        let Some(number) = running.get(chance.below(running.len() as u64) as usize).copied() else { return };
        match kind {
            Kind::Crash => self.crash(number),
            Kind::Kill => self.kill(number),
            Kind::Part => self.part(chance),
            Kind::Delay | Kind::HoldUp => self.slow_down(kind == Kind::HoldUp, chance),
            Kind::Wipe => self.wipe(number),
            Kind::Snapshot => {
                self.at_node(number, |node| node.core().request_snapshot());
                self.sim.tell("snapshot asked for", format_args!("member {number} is to take a snapshot"));
            }
            Kind::Pause | Kind::Jump | Kind::EdgeStall | Kind::ClientDelay => {
                self.threads_fail(kind, number, chance);
            }
            Kind::Stall | Kind::Slow | Kind::Fail | Kind::Full => self.disk_fails(kind, number, chance),
        }
    }

    fn threads_fail(&mut self, kind: Kind, number: u64, chance: &mut Random) {
        let now_ms = self.sim.now_ms();
        let long_ms = 50 + chance.below(6_000);
        match kind {
            Kind::Pause => {
                self.machine(number).host.pause(now_ms, long_ms);
                self.sim.tell("pause", format_args!("member {number} is paused for {long_ms} ms"));
            }
            Kind::Jump => {
                let most_ms = [10_000, 10_000, 10_000, 600_000][chance.below(4) as usize];
                let by_ms = chance.below(2 * most_ms) as i64 - most_ms as i64;
                self.machine(number).jumped_ms += by_ms;
                if let Some(node) = self.node(number) {
                    node.jump(by_ms);
                }
                let words = format_args!("the wall clock of member {number} jumps by {by_ms} ms");
                self.sim.tell("clock jump", words);
            }
            Kind::ClientDelay => {
                let extra_ms = 50 + chance.below(3_000);
                self.client_delays.insert(number, (extra_ms, now_ms + long_ms));
                let words =
                    format_args!("clients of member {number} are {extra_ms} ms away, for {long_ms} ms");
                self.sim.tell("clients' delay", words);
            }
            _ => {
                let edges = self.node(number).map_or(1, |node| node.edges());
                let edge = chance.below(u64::from(edges)) as u16;
                self.machine(number).stalled_edges.insert(edge, now_ms + long_ms);
                let words = format_args!("edge {edge} of member {number} stands still for {long_ms} ms");
                self.sim.tell("edge stall", words);
            }
        }
    }

    fn disk_fails(&mut self, kind: Kind, number: u64, chance: &mut Random) {
        let now_ms = self.sim.now_ms();
        match kind {
            Kind::Stall => {
                let most_ms = if chance.chance(20) { 25_000 } else { 5_000 };
                let long_ms = 50 + chance.below(most_ms);
                self.machine(number).host.stall_disk(now_ms + long_ms);
                let words = format_args!("the disk of member {number} does nothing for {long_ms} ms");
                self.sim.tell("disk stall", words);
            }
            Kind::Slow => {
                let (each_ms, long_ms) = (5 + chance.below(150), 500 + chance.below(8_000));
                self.machine(number).host.slow_disk(each_ms, now_ms + long_ms);
                let words = format_args!("flushes of member {number} take {each_ms} ms, for {long_ms} ms");
                self.sim.tell("slow disk", words);
            }
            Kind::Fail => {
                let (writes, after) = (chance.chance(30), 1 + chance.below(4));
                self.machine(number).host.fail_disk(writes, after);
                self.sim.tell("failing disk", format_args!("the disk of member {number} will fail"));
            }
            _ => {
                let (room, long_ms) = (chance.below(20_000), 500 + chance.below(10_000));
                let copies = chance.chance(30);
                self.machine(number).host.fill_disk(room, copies, now_ms + long_ms);
                let words =
                    format_args!("the disk of member {number} has room for {room} bytes, for {long_ms} ms");
                self.sim.tell("full disk", words);
            }
        }
    }

    /// One direction takes longer, or all that is bulky on its way to one member.
    fn slow_down(&mut self, is_bulk: bool, chance: &mut Random) {
        let numbers = self.numbers();
        let mut any = || numbers[chance.below(numbers.len() as u64) as usize];
        let (one, other) = (any(), any());
        let (extra_ms, long_ms) = match is_bulk {
            true => (2_000 + chance.below(18_000), 3_000 + chance.below(17_000)),
            false => (50 + chance.below(1_500), 200 + chance.below(5_000)),
        };
        let until_ms = self.sim.now_ms() + long_ms;
        if is_bulk {
            for from in numbers {
                self.peering.network.slow_down((from, one), true, extra_ms, until_ms);
            }
            let words = format_args!("bulk to member {one} takes {extra_ms} ms longer, for {long_ms} ms");
            return self.sim.tell("bulk delay", words);
        }
        self.peering.network.slow_down((one, other), false, extra_ms, until_ms);
        let words = format_args!("from member {one} to {other} takes {extra_ms} ms longer, for {long_ms} ms");
        self.sim.tell("delay", words);
    }

    /// A member loses its disk, within the budget.
    fn wipe(&mut self, number: u64) {
        if self.is_disk_lost || self.wanted.len() < 3 || self.is_changing || !self.is_whole() {
            return;
        }
        self.sim.tell("disk wiped", format_args!("member {number} loses its disk"));
        self.lose_disk(number);
        self.is_disk_lost = true;
    }

    pub(super) fn lose_disk(&mut self, number: u64) {
        self.crash(number);
        self.lose_marks(number, true);
        let disk = SimDisk::new(self.sim.random.number());
        self.machine(number).host.disk = disk;
    }

    /// The power of a member fails.
    pub(super) fn crash(&mut self, number: u64) {
        self.collect(number);
        let machine = self.machine(number);
        let Some(process) = machine.process.take() else { return };
        if let Stage::Running(mut node) = process.stage
            && self.sim.random.chance(50)
        {
            let operations = self.sim.random.below(3);
            // Whether a run kills it or its power fails is one.
            let _ = alive(|| die_while_asked(&mut node, &self.machine(number).host.disk, operations));
            self.note_death(number, &mut node);
        }
        self.end_life(number, false);
        let loss = [Loss::All, Loss::Nothing, Loss::Some][self.sim.random.below(3) as usize];
        let machine = self.machine(number);
        machine.host.crash(loss);
        machine.stalled_edges.clear();
        self.sim
            .tell("crash", format_args!("member {number} crashes and loses what was not flushed: {loss:?}"));
        // Half of the time its system still closes its connections.
        let told = self.sim.random.chance(50);
        self.lose_marks(number, false);
        self.peering.network.forget(number);
        self.peering.end(number, told, &mut self.sim);
    }

    /// The process of a member dies; what it wrote is there as long as the machine is.
    fn kill(&mut self, number: u64) {
        self.stop(number);
        self.sim.tell("kill", format_args!("the process of member {number} is killed"));
    }
}

/// A member is asked for more, and its power fails while its disk is busy.
fn die_while_asked(node: &mut Node, disk: &SimDisk, operations: u64) {
    let steps = [Step::Edge(0), Step::CoreOf(0), Step::Advance];
    if steps.into_iter().try_for_each(|step| node.step(step)).is_ok() {
        disk.crash_at(disk.operations() + operations);
        let _ = node.step(Step::Journal);
    }
}
