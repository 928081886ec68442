//! What goes wrong, how often, and the budget that keeps it bearable.
//!
//! # The budget
//! What an ensemble promises holds as long as a majority of its voters' disks keeps what they flushed. So:
//! - Crashes, pauses, partitions, slow, failing and full disks and clocks are not limited: none of them takes away what
//!   was flushed, and each of them ends. What was not flushed may be lost in a crash: in part, in any order, and names
//!   with it.
//! - A disk is lost, or damaged (rotten bits, writes that went to a wrong place, names that are gone), only when the ensemble is whole ([`Ensemble::is_whole`]), has three voters at the least and no
//!   change of members may be under way; the next only when it is whole again.
//! - Damage is found or does no harm: whoever finds some when it starts puts its data aside, is given a new seat and the
//!   others' data. But what stands at the very end of a log has little behind it that vouches for it, and the newest
//!   segment's name nothing: a disk that loses those loses them in silence, as if they had never been flushed
//!   (docs/decisions/0004). So damage strikes behind a start, which vouches for what was there, and spares that end.
//! - A second machine of a number is such a lost disk: the operator throws one of the two away in the end. An ensemble that is
//!   lost but for one member (`revival`) is one that its operator gave up: what its survivor does not hold is lost, and all
//!   else holds from there on, once the new ensemble is whole.
//! - No change of members is asked for before a lost disk is made good, and none leaves fewer than three voters where
//!   there were three once. A machine whose member was removed loses its disk only when the ensemble is whole without
//!   it.
//! - Only founders found: a machine that is added later, or had a seat, asks for one.
//! - Monotonic clocks run [`DRIFT_MAX_PPM`](sim_kit::DRIFT_MAX_PPM) faster or slower at the most. Leases have no room of their own for that: a
//!   slow clock serves its clients for `lease_ms` times the drift longer than the leader counts, and a fast one counts
//!   a timeout too short by as much. No promise hangs on it but the length of a timeout, which holds up to the drift.

use sim_kit::damage::Damage;
use sim_kit::{MessageFaults, Without};

use base::MemberNumber;

use crate::disk::Loss;
use crate::ensemble::Ensemble;
use crate::ensemble::process::Stage;
use crate::random::Random;

/// How often, of a thousand moments, a thing goes wrong.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// A message is lost.
    pub loss: u64,
    /// A message comes twice.
    pub repeat: u64,
    /// A message overtakes others.
    pub overtake: u64,
    /// One direction between two members becomes slow for a while.
    pub delay: u64,
    /// How much longer a message takes then at the most, milliseconds.
    pub delay_max_ms: u64,
    /// What is bulky is held up between members.
    pub hold_up: u64,
    /// A member crashes, and its disk with it.
    pub crash: u64,
    /// What goes between a member and its clients becomes slow for a while.
    pub client_delay: u64,
    /// A crashed member comes back.
    pub restart: u64,
    /// The network falls apart.
    pub part: u64,
    /// The network comes together.
    pub mend: u64,
    /// A member stands still for a while.
    pub pause: u64,
    /// A member's disk stands still for a while.
    pub stall: u64,
    /// Each flush of a member's disk takes long for a while.
    pub slow: u64,
    /// A write or a flush of a member's disk fails.
    pub fail: u64,
    /// A member's disk is full for a while.
    pub full: u64,
    /// A member comes back with an empty disk.
    pub wipe: u64,
    /// Bits rot on a member's disk.
    pub rot: u64,
    /// Something on a member's disk is overwritten by what was meant for another place.
    pub misdirect: u64,
    /// A file on a member's disk is gone.
    pub lose_name: u64,
    /// A member's wall clock jumps.
    pub jump: u64,
    /// A member's process dies while its machine lives on.
    pub kill: u64,
    /// A second machine starts with a member's number.
    pub double: u64,
    /// One shard of a member stands still for a while.
    pub shard_stall: u64,
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Self = Self {
        loss: 0,
        repeat: 0,
        overtake: 0,
        delay: 0,
        delay_max_ms: 0,
        hold_up: 0,
        crash: 0,
        client_delay: 0,
        restart: 0,
        part: 0,
        mend: 0,
        pause: 0,
        stall: 0,
        slow: 0,
        fail: 0,
        full: 0,
        wipe: 0,
        rot: 0,
        misdirect: 0,
        lose_name: 0,
        jump: 0,
        kill: 0,
        double: 0,
        shard_stall: 0,
    };

    /// Those that strike single messages.
    #[must_use]
    pub const fn of_messages(&self) -> MessageFaults {
        MessageFaults { loss: self.loss, repeat: self.repeat, overtake: self.overtake }
    }

    /// Some of those that strike single messages strike none.
    pub fn leave_out(&mut self, without: &Without) {
        let MessageFaults { loss, repeat, overtake } = without.apply(self.of_messages());
        (self.loss, self.repeat, self.overtake) = (loss, repeat, overtake);
    }

    /// A draw of which faults there are at all, and how often: a swarm in which each run lacks some, so that none hides
    /// what another would show.
    pub fn draw(random: &mut Random) -> Self {
        // What lasts longer than a lease is drawn apart: where nothing does, all else is as it always was.
        let (delay_max_ms, mend) = if random.clone().fork().chance(25) { (8_000, 1) } else { (1_500, 8) };
        let mut apart = random.clone().fork().fork();
        let mut apart_still = random.clone().fork().fork().fork();
        let mut seldom = || if apart.chance(40) { 1 + apart.below(2) } else { 0 };
        let mut often = |most: u64| if random.chance(50) { 1 + random.below(most) } else { 0 };
        Self {
            loss: often(100),
            repeat: often(50),
            overtake: often(300),
            delay: often(4),
            delay_max_ms,
            hold_up: seldom(),
            crash: often(4),
            restart: 10,
            part: often(4),
            mend,
            pause: often(4),
            stall: often(4),
            slow: often(4),
            fail: often(3),
            full: often(2),
            wipe: often(2),
            rot: seldom(),
            misdirect: seldom(),
            lose_name: seldom(),
            client_delay: seldom(),
            jump: often(3),
            kill: often(3),
            double: if apart_still.chance(30) { 1 + apart_still.below(3) } else { 0 },
            shard_stall: if apart_still.chance(40) { 1 + apart_still.below(3) } else { 0 },
        }
    }
}

impl Ensemble {
    /// What goes wrong in this moment.
    pub(super) fn misfortune(&mut self, faults: &Faults) {
        self.processes_fail(faults);
        if self.wiped && self.is_whole() {
            self.wiped = false;
        }
        self.disks_are_lost(faults);
        self.numbers_are_mixed_up(faults);
        if self.moments.is_multiple_of(64) {
            self.sim.end_fault();
            self.retire();
        }
        self.disks_fail(faults);
        self.networks_fail(faults);
        self.bulk_is_held_up(faults);
        self.clients_are_slow(faults);
        self.shards_stall(faults);
        self.sim.end_fault();
    }

    /// As [`Simulation::strike`](sim_kit::Simulation::strike), and which of the members that run it strikes.
    fn strike_one(&mut self, often: u64) -> Option<(u64, Random)> {
        let mut chance = self.sim.strike(often)?;
        let numbers = self.running();
        let number = numbers.get(chance.below(numbers.len() as u64) as usize).copied()?;
        Some((number, chance))
    }

    fn processes_fail(&mut self, faults: &Faults) {
        if let Some((number, _)) = self.strike_one(faults.crash) {
            self.crash(number);
        }
        if let Some((number, _)) = self.strike_one(faults.kill) {
            self.kill(number);
        }
        if faults.restart > self.sim.random.below(1000)
            && let Some(number) = self.down().first().copied()
        {
            self.sim.end_fault();
            self.start(number);
        }
        if let Some((number, mut chance)) = self.strike_one(faults.pause) {
            let long = 50 + chance.below(6_000);
            let now_ms = self.sim.now_ms();
            self.machine(number).host.pause(now_ms, long);
            self.tell("pause", format_args!("the process of member {number} is paused for {long} ms"));
        }
        if let Some((number, mut chance)) = self.strike_one(faults.jump) {
            let most_ms = [10_000, 10_000, 10_000, 600_000][chance.below(4) as usize];
            let by_ms = chance.below(2 * most_ms) as i64 - most_ms as i64;
            if let Some(node) = self.node(number) {
                node.jump(by_ms);
            }
            self.tell("clock jump", format_args!("the wall clock of member {number} jumps by {by_ms} ms"));
        }
    }

    fn networks_fail(&mut self, faults: &Faults) {
        if let Some(mut chance) = self.sim.strike(faults.part) {
            self.part(&mut chance);
        }
        if faults.mend > self.sim.random.below(1000) {
            self.mend();
        }
        if let Some(mut chance) = self.sim.strike(faults.delay) {
            let numbers = self.numbers();
            let any = |chance: &mut Random| numbers[chance.below(numbers.len() as u64) as usize];
            let (from, to) = (any(&mut chance), any(&mut chance));
            let (extra, long) = (50 + chance.below(faults.delay_max_ms), 200 + chance.below(5_000));
            self.peering.network.slow_down((from, to), false, extra, self.sim.now_ms() + long);
            self.tell(
                "delay",
                format_args!(
                    "messages from member {from} to member {to} take {extra} ms longer, for {long} ms"
                ),
            );
        }
    }

    /// What is bulky is held up for long, on its way to one member or from one to all, while all else comes through.
    fn bulk_is_held_up(&mut self, faults: &Faults) {
        let Some((one, mut chance)) = self.strike_one(faults.hold_up) else { return };
        let (extra, long) = (2_000 + chance.below(18_000), 3_000 + chance.below(17_000));
        let is_receiver = chance.chance(70);
        for other in self.numbers() {
            let direction = if is_receiver { (other, one) } else { (one, other) };
            self.peering.network.slow_down(direction, true, extra, self.sim.now_ms() + long);
        }
        let way = if is_receiver { "to" } else { "from" };
        self.tell(
            "bulk delay",
            format_args!("bulk messages {way} member {one} take {extra} ms longer, for {long} ms"),
        );
    }

    /// Between a member and all its clients everything takes longer, in both directions, and in order.
    fn clients_are_slow(&mut self, faults: &Faults) {
        // Runs without this fault draw nothing for it.
        if faults.client_delay == 0 {
            return;
        }
        let Some((number, mut chance)) = self.strike_one(faults.client_delay) else { return };
        let (extra, long) = (50 + chance.below(3_000), 500 + chance.below(10_000));
        self.client_delays.insert(number, (extra, self.sim.now_ms() + long));
        self.tell(
            "clients' delay",
            format_args!(
                "messages between member {number} and its clients take {extra} ms longer, for {long} ms"
            ),
        );
    }

    /// One thread gets no time, and all others do.
    fn shards_stall(&mut self, faults: &Faults) {
        // Runs without this fault draw nothing for it.
        if faults.shard_stall == 0 {
            return;
        }
        let Some((number, mut chance)) = self.strike_one(faults.shard_stall) else { return };
        let shards = self.node(number).map_or(1, |node| node.shard_count());
        let (shard, long) = (chance.below(u64::from(shards)) as u16, 50 + chance.below(6_000));
        let now_ms = self.sim.now_ms();
        self.machine(number).stall_shard(shard, now_ms, long);
        self.tell("shard stall", format_args!("shard {shard} of member {number} is paused for {long} ms"));
    }

    /// An operator starts a second machine with a member's number, or finds out about it.
    fn numbers_are_mixed_up(&mut self, faults: &Faults) {
        self.find_double();
        // Runs without this fault draw nothing for it.
        if faults.double == 0 {
            return;
        }
        if let Some((number, mut chance)) = self.strike_one(faults.double) {
            self.double(number, &mut chance);
        }
    }

    fn disks_are_lost(&mut self, faults: &Faults) {
        if let Some((number, _)) = self.strike_one(faults.wipe) {
            self.wipe(number);
        }
        let damages = [
            (faults.rot, Damage::Rot),
            (faults.misdirect, Damage::Misdirected),
            (faults.lose_name, Damage::Name),
        ];
        for (often, damage) in damages {
            if let Some((number, mut chance)) = self.strike_one(often) {
                self.damage(number, damage, &mut chance);
            }
        }
    }

    /// One `if` for each fault, drawn in this order.
    fn disks_fail(&mut self, faults: &Faults) {
        if let Some((number, mut chance)) = self.strike_one(faults.stall) {
            let most_ms = if chance.chance(20) { 25_000 } else { 5_000 };
            let long = 50 + chance.below(most_ms);
            let until_ms = self.sim.now_ms() + long;
            self.machine(number).host.stall_disk(until_ms);
            self.tell("disk stall", format_args!("the disk of member {number} does nothing for {long} ms"));
        }
        if let Some((number, mut chance)) = self.strike_one(faults.slow) {
            let (each, long) = (5 + chance.below(150), 500 + chance.below(8_000));
            let until_ms = self.sim.now_ms() + long;
            self.machine(number).host.slow_disk(each, until_ms);
            self.tell(
                "slow disk",
                format_args!("each flush of member {number} takes {each} ms, for {long} ms"),
            );
        }
        if let Some((number, mut chance)) = self.strike_one(faults.fail) {
            let (writes, after) = (chance.chance(30), 1 + chance.below(4));
            self.machine(number).host.fail_disk(writes, after);
            let what = if writes { "write" } else { "flush" };
            self.tell("failing disk", format_args!("a {what} of member {number} will fail"));
        }
        if let Some((number, mut chance)) = self.strike_one(faults.full) {
            let (room, long) = (chance.below(20_000), 500 + chance.below(10_000));
            let (until_ms, copies) = (self.sim.now_ms() + long, chance.chance(30));
            self.machine(number).host.fill_disk(room, copies, until_ms);
            let what = if copies { ", which copies on write," } else { "" };
            self.tell(
                "full disk",
                format_args!("the disk of member {number}{what} has room for {room} bytes, for {long} ms"),
            );
        }
        let now_ms = self.sim.now_ms();
        self.machines.values_mut().for_each(|machine| machine.host.give_room_in_time(now_ms));
    }

    /// A member's disk has no room any more, until it is given some.
    pub fn fill_disk(&mut self, number: u64) {
        self.machine(number).host.fill_disk(0, false, u64::MAX);
        self.tell("full disk", format_args!("the disk of member {number} has no room"));
    }

    /// A member's disk has as much room as it may want.
    pub fn give_room(&mut self, number: u64) {
        self.machine(number).host.give_room();
        self.tell("disk has room again", format_args!("the disk of member {number} has room again"));
    }

    /// Whether that member may lose what its disk has kept.
    pub(super) fn may_lose_disk(&mut self, number: u64) -> bool {
        let voters = self.roster().map_or(0, |roster| roster.participants().len());
        !self.wiped && !self.changing && voters >= 3 && self.is_member(number) && self.is_whole()
    }

    /// A member loses its disk, within the budget.
    fn wipe(&mut self, number: u64) {
        if !self.may_lose_disk(number) {
            return;
        }
        self.tell("disk wiped", format_args!("member {number} loses its disk"));
        self.empty(number);
        self.wiped = true;
    }

    /// Machines whose members were removed are turned off, some for good: their disks are thrown away.
    fn retire(&mut self) {
        let Some(roster) = self.roster() else { return };
        let running = self.machines.iter().filter(|(_, machine)| !machine.off);
        // A second machine of a number has a place above all numbers, and is no member itself.
        let is_gone = |place: &u64| {
            MemberNumber::try_from(*place).ok().and_then(|number| roster.member(number)).is_none()
        };
        let gone: Vec<_> = running.map(|(number, _)| *number).filter(is_gone).collect();
        let Some(number) = gone.get(self.sim.random.below(gone.len() as u64) as usize).copied() else {
            return;
        };
        if self.sim.random.chance(70) || self.changing || !self.is_whole() {
            return;
        }
        self.crash(number);
        self.machine(number).off = true;
        if self.sim.random.chance(50) {
            self.empty(number);
        }
        self.machine(number).founder = false;
        self.tell(
            "removed machine turned off",
            format_args!("machine {number}, which is no member any more, is turned off"),
        );
    }

    /// The power of a member fails.
    pub fn crash(&mut self, number: u64) {
        let Some(machine) = self.machines.get_mut(&number) else { return };
        let Some(process) = machine.process.take() else { return };
        if let Stage::Running(mut node) = process.stage
            && self.sim.random.chance(50)
        {
            // It dies in the middle of what its disk is asked.
            let (disk, chance) = (machine.host.disk.clone(), self.sim.random.below(3));
            super::die_while_asked(&mut node, &disk, chance);
            if node.take_counts().into_iter().any(|(what, count)| what == "expiry decided" && count > 0) {
                self.record.verdicts_ms.push(self.sim.now_ms());
            }
            let numbers = node.take_sequences().into_iter();
            let life = machine.born;
            self.sequences.extend(numbers.map(|(conn, xid, sequence)| ((life, conn, xid), sequence)));
        }
        let loss = [Loss::All, Loss::Nothing, Loss::Some][self.sim.random.below(3) as usize];
        machine.host.crash(loss);
        machine.stalled_shards.clear();
        self.tell(
            "crash",
            format_args!("member {number} crashes and loses data that was not flushed: {loss:?}"),
        );
        // Half of the time its system still closes its connections.
        let told = self.sim.random.chance(50);
        self.peering.network.forget(number);
        self.peering.end(number, told, &mut self.sim);
    }

    /// The process of a member dies; what it wrote is there as long as the machine is.
    pub fn kill(&mut self, number: u64) {
        if self.node(number).is_none() {
            return;
        }
        self.stop(number);
        self.tell("kill", format_args!("the process of member {number} is killed"));
    }
}
