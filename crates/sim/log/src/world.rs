//! A world of one to five brokers: what happens next is drawn from the seed. First under faults; then all is well, and everything that
//! was begun comes to its end; then the broker's power fails once more, and all partitions are read from their beginnings.

mod cluster;
mod faults;
mod replicas;

use std::collections::BTreeMap;

use log_partition::PartitionId;
use sim_kit::disk::Loss;
use sim_kit::random::Random;
use sim_kit::{Floor, Judged, Plan, Simulation, World};

use crate::broker::{Ended, Machine, PeerPort, Process, Step};
use crate::council::Council;
use crate::history::{History, Place, RETENTION_CHECK_MS, Retention};
use crate::peers::Peers;
use crate::reached::{FLOORS, REACHED};
use crate::served::Served;
use crate::setting::Setting;
use crate::user::{
    Around, ClassicMember, Consumer, ConsumerMember, GroupMember, Mover, NAMES, NUMBERS_EACH, OffsetReader,
    Operator, Producer, ShareMember, TimeReader, Topics, TransactionalProducer, are_at_rest, open_shares,
};
use crate::wire::Wires;

/// How long everything may take to come to rest, milliseconds.
const REST_MAX_MS: u64 = 60_000;
/// Compaction is over so long after two looks for a partition to compact in which no segment was made: one pass says when a
/// tombstone may go, another one removes it.
const COMPACTION_REST_MS: u64 = 1_000;
/// For so long it may go on when all has come to rest: a pass that meets more keys than its map holds is one of many.
const COMPACTION_MAX_MS: u64 = 300_000;

/// The longest timeout of a transaction, with some time for its end.
const TRANSACTION_MAX_MS: u64 = 10_000;
/// For how long after the last crash markers may come that had been written before: that all were may not have been durable.
const MARKED_AGAIN_MS: u64 = 6_000;

/// The stream of random numbers that says how many brokers there are. The seeds of `seeds.txt` that found something with one
/// broker play one still.
const CLUSTER: u64 = 48_011;
/// The stream that says whether there is a share group.
const SHARES: u64 = 61_027;

/// An operator is told something far less often than producers are.
const OPERATOR_WEIGHT: u64 = 40;
/// And so are members of groups.
const MEMBER_WEIGHT: u64 = 4;
/// After a little more, milliseconds, a broker gives a write of what a share group has up, reads what is durable, and counts deliveries
/// from there.
const GIVES_WRITES_UP_MS: u64 = 3_500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Faulty,
    /// All is well; producers end what they began, consumers read on.
    Settling,
    /// The broker has lost its power once more, and everything is read.
    Reading,
    Over,
}

/// See the module.
pub struct LogWorld {
    sim: Simulation,
    setting: Setting,
    phase: Phase,
    phase_from_ms: u64,
    phase_until_ms: u64,
    /// When compaction made the last segment of the topic that is compacted.
    compacted_ms: u64,
    brokers: Vec<Machine>,
    council: Council,
    wires: Wires,
    peers: Peers,
    watched: replicas::Watched,
    history: History,
    topics: Topics,
    operator: Operator,
    mover: Mover,
    /// When it is looked next for former numbers of brokers.
    formers_due_ms: u64,
    producers: Vec<Producer>,
    transactional: Vec<TransactionalProducer>,
    consumers: Vec<Consumer>,
    members: Vec<GroupMember>,
    shares: Vec<ShareMember>,
    offset_reader: OffsetReader,
    served: Served,
    /// For how long the disk of the first broker has stood still, milliseconds.
    stalled_ms: u64,
    /// They read everything in the end: all of it, and what is committed.
    last_readers: Vec<Consumer>,
    /// It looks offsets up behind that.
    times: Option<TimeReader>,
}

impl World for LogWorld {
    const COMMAND: &'static str = "cargo xtask sim-log";
    const LIGHT: &'static str = "one broker without faults";
    const OWN_OPTION: &'static str = "  --lone         plays one broker in each run";
    const REACHED: &'static [&'static str] = REACHED;
    const FLOORS: &'static [Floor] = FLOORS;

    fn begin(plan: &Plan) -> Self {
        Self::of(plan, false)
    }

    fn setting(&self) -> String {
        format!("{:?}", self.setting)
    }

    fn simulation(&self) -> &Simulation {
        &self.sim
    }

    fn simulation_mut(&mut self) -> &mut Simulation {
        &mut self.sim
    }

    fn step(&mut self) -> bool {
        if self.history.has_wrongs() || self.phase == Phase::Over {
            return false;
        }
        // Several brokers do more in the same time.
        let [broker, deliver, user, council, peers] =
            if self.brokers.len() == 1 { [40, 60, 82, 90, 90] } else { [46, 56, 67, 74, 94] };
        let drawn = self.sim.random.below(100);
        if drawn < broker {
            self.broker_step();
        } else if drawn < deliver {
            self.deliver();
        } else if drawn < user {
            self.user_step();
        } else if drawn < council {
            let faulty = self.phase == Phase::Faulty;
            self.council.step(&mut self.sim.random, faulty);
        } else if drawn < peers {
            self.peers_step();
        } else {
            self.time_passes();
        }
        self.go_on();
        self.sim.end_moment();
        true
    }

    fn judge(&mut self) -> Vec<String> {
        if !self.history.has_wrongs() {
            self.judge_all();
        }
        let wrongs = self.history.take_wrongs();
        self.tell_copies(&wrongs);
        wrongs
    }

    fn judged(&self) -> BTreeMap<u32, Judged> {
        self.history.judged()
    }
}

impl LogWorld {
    /// The world of a plan before its first step; with one broker, or as many as the seed draws.
    #[expect(clippy::too_many_lines, reason = "one part of the world after the other")]
    pub(crate) fn of(plan: &Plan, is_lone: bool) -> Self {
        let mut random = Random::new(plan.seed);
        let setting = Setting::draw(&mut random, plan.light);
        let setting = match is_lone {
            true => setting,
            false => setting.of_cluster(&mut Random::new(plan.seed ^ CLUSTER), plan.light),
        };
        let setting = setting.of_shares(&mut Random::new(plan.seed ^ SHARES));
        let brokers = (1..=setting.brokers).map(|id| Machine::new(id, &setting, &mut random)).collect();
        let mut sim = Simulation::new(random);
        sim.leave_out(plan.without.clone());
        let compacted = setting.compacts.then_some(NAMES[1]);
        let topics = Topics {
            partitions: setting.partitions,
            compacted,
            flushing: setting.flushing,
            retention: setting.retention,
            keeps_tombstones: setting.keeps_tombstones,
            replication: setting.replication.clone(),
            has_shares: setting.shares > 0,
            ..Topics::default()
        };
        let phase_until_ms = sim.now_ms() + plan.faulty_ms;
        let mut world = Self {
            sim,
            phase: Phase::Faulty,
            phase_from_ms: 0,
            phase_until_ms,
            compacted_ms: 0,
            brokers,
            council: Council::new(setting.servers),
            wires: Wires::default(),
            peers: Peers::default(),
            watched: replicas::Watched::default(),
            history: History::new(setting.epoch_max, setting.brokers == 1),
            topics,
            operator: Operator::new(),
            mover: Mover::default(),
            formers_due_ms: 0,
            producers: Vec::new(),
            transactional: Vec::new(),
            consumers: Vec::new(),
            members: Vec::new(),
            shares: Vec::new(),
            offset_reader: OffsetReader::new(),
            served: Served::default(),
            stalled_ms: 0,
            last_readers: Vec::new(),
            times: None,
            setting,
        };
        for number in 0..world.setting.producers {
            let producer = world.with(|around| Producer::new(number as u32 + 1, around));
            world.producers.push(producer);
        }
        for number in 0..world.setting.transactional {
            let producer = world.with(|around| TransactionalProducer::new(number as u32 + 100, around));
            world.transactional.push(producer);
        }
        for _ in 0..world.setting.consumers {
            let consumer = world.with(Consumer::new);
            world.consumers.push(consumer);
        }
        world.history.may_lose_tombstones = !world.setting.keeps_tombstones;
        world.make_members();
        world
    }

    /// Calls something with what a client sees.
    fn with<T>(&mut self, call: impl FnOnce(&mut Around<'_>) -> T) -> T {
        let mut random = self.sim.random.fork();
        self.with_random(&mut random, call)
    }

    fn with_random<T>(&mut self, random: &mut Random, call: impl FnOnce(&mut Around<'_>) -> T) -> T {
        let now_ms = self.sim.now_ms();
        let wall_ms = self.brokers.iter().map(|broker| broker.host.now(now_ms).wall.ms()).max();
        let mut around = Around {
            wires: &mut self.wires,
            brokers: &mut self.brokers,
            history: &mut self.history,
            topics: &mut self.topics,
            sim: &mut self.sim,
            random,
            now_ms,
            served: if self.setting.brokers == 1 { self.served } else { Served::unknown() },
            wall_ms: wall_ms.unwrap_or(0),
            is_busy: self.phase == Phase::Faulty,
        };
        call(&mut around)
    }

    /// A broker, drawn if there are several.
    fn any_broker(&self, random: &mut Random) -> usize {
        any(self.brokers.len(), random)
    }

    fn broker_step(&mut self) {
        let at = any(self.brokers.len(), &mut self.sim.random);
        let now_ms = self.sim.now_ms();
        let machine = &mut self.brokers[at];
        let now = machine.host.now(now_ms);
        if machine.host.is_paused(now_ms) {
            return;
        }
        // It stays where it is: a process is large, and this is the most frequent step.
        let Some(process) = machine.process.as_mut() else {
            if now_ms >= machine.restart_at_ms {
                machine.start(&mut self.sim.random, now);
            }
            return;
        };
        let was_serving = process.is_serving();
        let step = process.draw(&mut self.sim.random);
        let is_stalled = machine.host.is_disk_stalled(now_ms);
        let mut random = self.sim.random.fork();
        let around = (&mut self.wires, &mut self.council);
        let done = process.step(step, &mut machine.host, around, &mut random, (now, is_stalled));
        self.sim.trace.step("step", &[step_number(step)]);
        let alone = process.flushed_alone();
        self.sim.count("flush by a shard", u64::from(alone > machine.flushed_alone));
        machine.flushed_alone = alone;
        if process.take_compacted().iter().any(|topic| self.topics.is_compacted(topic)) {
            self.compacted_ms = now_ms;
        }
        let notices = process.take_notices();
        if !was_serving && process.is_serving() {
            if machine.is_wiped {
                self.history
                    .wrong(33, format!("broker {} starts under its number with a wiped disk", at + 1));
            }
            self.served.begin();
            self.sim.tell("broker joined", format_args!("broker {} has joined", at + 1));
        }
        notices.iter().for_each(|notice| self.noticed(at, notice));
        if let Err(ended) = done {
            self.process_ended(at, &ended);
        }
    }

    fn peers_step(&mut self) {
        let mut random = self.sim.random.fork();
        if self.peers.step(&mut self.brokers, &mut random, self.sim.now_ms()) {
            self.sim.count("brokers connected", 1);
        }
        let silences = self.peers.take_silences();
        self.sim.count("broker silent", silences);
        for at in 0..self.brokers.len() {
            let refused =
                self.brokers[at].process.as_ref().and_then(|of| of.with_peers(PeerPort::take_refused));
            for (from, why) in refused.unwrap_or_default() {
                self.sim.tell(
                    "message refused",
                    format_args!("broker {} refuses a message of {from}: {why}", at + 1),
                );
                let other = (from as usize - 1) % NUMBERS_EACH;
                self.peers.reset_between(&mut self.brokers, at, other);
            }
        }
    }

    fn process_ended(&mut self, at: usize, ended: &Ended) {
        let may_fail = self.brokers[at].host.may_fail();
        match ended {
            Ended::Fault(fault) if may_fail => {
                self.sim.tell("fault", format_args!("broker {} stops: {fault}", at + 1));
                self.unflushed_is_lost();
            }
            Ended::OtherDirectory if self.brokers[at].is_wiped => self.begin_anew(at),
            Ended::OtherDirectory => {
                self.history.wrong(33, format!("broker {} does not know its own directory", at + 1));
            }
            Ended::Fault(why) | Ended::Refused(why) => {
                self.history.wrong(75, format!("broker {} stopped on a good disk: {why}", at + 1));
            }
        }
        self.kill(at, self.sim.now_ms() + 50);
    }

    /// The process of a broker is gone, if there is one. Another begins at that time.
    fn kill(&mut self, at: usize, restart_at_ms: u64) {
        self.history.disturbed();
        let machine = &mut self.brokers[at];
        machine.kill(&mut self.wires, &mut self.council);
        machine.restart_at_ms = restart_at_ms;
    }

    fn deliver(&mut self) {
        let mut random = self.sim.random.fork();
        if let Some((id, bytes)) = self.wires.deliver(&mut random) {
            let process = &mut self.brokers[self.wires.broker_of(id)].process;
            let known = process.as_mut().is_some_and(|process| process.receive(id, &bytes));
            if !known {
                // It is not accepted yet: its bytes wait.
                self.wires.put_back(id, bytes);
            }
        }
        for id in self.wires.ended() {
            let process = &mut self.brokers[self.wires.broker_of(id)].process;
            let known = process.as_mut().is_some_and(|process| process.ended(id));
            if !known && process.is_none() {
                self.wires.close(id);
            }
        }
    }

    fn user_step(&mut self) {
        let (producers, transactional) = (self.producers.len(), self.transactional.len());
        let (consumers, readers) = (self.consumers.len(), self.last_readers.len());
        let members = self.members.len() + 1;
        let shares = self.shares.len();
        let all = producers + transactional + consumers + readers + members + shares + 2;
        let mut drawn = self.sim.random.below(all as u64) as usize;
        if drawn < producers + transactional {
            let before = self.history.acked_count();
            if drawn < producers {
                let mut producer = self.producers.swap_remove(drawn);
                self.with(|around| producer.step(around));
                self.producers.push(producer);
            } else {
                let mut producer = self.transactional.swap_remove(drawn - producers);
                self.with(|around| producer.step(around));
                self.transactional.push(producer);
            }
            return self.crash_if_told(before, 1);
        }
        drawn -= producers + transactional;
        if drawn < consumers {
            let mut consumer = self.consumers.swap_remove(drawn);
            self.with(|around| consumer.step(around));
            self.consumers.push(consumer);
        } else if drawn < consumers + readers {
            let mut reader = self.last_readers.remove(drawn - consumers);
            self.with(|around| reader.step(around));
            self.last_readers.insert(drawn - consumers, reader);
        } else if drawn < consumers + readers + members {
            self.member_step(drawn - consumers - readers);
        } else if drawn < consumers + readers + members + shares {
            self.share_step(drawn - consumers - readers - members);
        } else {
            let mut operator = std::mem::replace(&mut self.operator, Operator::new());
            let before = self.history.acked_count();
            self.with(|around| operator.step(around));
            self.operator = operator;
            self.crash_if_told(before, OPERATOR_WEIGHT);
        }
    }

    fn share_step(&mut self, drawn: usize) {
        let before = self.history.acked_count();
        let mut member = self.shares.swap_remove(drawn);
        self.with(|around| member.step(around));
        self.shares.push(member);
        self.crash_if_told(before, MEMBER_WEIGHT);
    }

    /// A member of a group does something, or whoever reads the offsets of all groups.
    fn member_step(&mut self, drawn: usize) {
        let before = self.history.acked_count();
        if drawn < self.members.len() {
            let mut member = self.members.swap_remove(drawn);
            self.with(|around| member.step(around));
            self.members.push(member);
        } else {
            let mut reader = std::mem::replace(&mut self.offset_reader, OffsetReader::new());
            self.with(|around| reader.step(around));
            self.offset_reader = reader;
            if let Some(mut times) = self.times.take() {
                self.with(|around| times.step(around));
                self.times = Some(times);
            }
        }
        self.crash_if_told(before, MEMBER_WEIGHT);
    }

    fn make_members(&mut self) {
        let Setting { classic, all_static, consumer, .. } = self.setting;
        for number in 0..classic {
            let all = all_static.then_some(classic);
            let member = self.with(|around| ClassicMember::new(number as u32 + 200, all, around));
            self.members.push(GroupMember::Classic(member));
        }
        for number in 0..consumer {
            let member = self.with(|around| ConsumerMember::new(number as u32 + 300, around));
            self.members.push(GroupMember::Consumer(member));
        }
        self.make_shares();
    }

    fn make_shares(&mut self) {
        for number in 0..self.setting.shares as u32 {
            let member = self.with(|around| ShareMember::new(number + 400, around));
            self.shares.push(member);
        }
        for number in 0..self.setting.shares.min(2) as u32 {
            let producer = self.with(|around| Producer::of_shares(number + 50, around));
            self.producers.push(producer);
        }
    }

    /// The power may fail at the moment of an acknowledgement (L2, L3), of which there were so many before.
    fn crash_if_told(&mut self, before: u64, weight: u64) {
        let is_told = self.history.acked_count() > before && self.phase == Phase::Faulty;
        if !is_told || self.sim.random.below(1_000) >= self.setting.faults.acked * weight {
            return;
        }
        self.sim.tell("crash at an acknowledgement", format_args!("the power fails as a client is answered"));
        let at = any(self.brokers.len(), &mut self.sim.random);
        self.power_fails(at, Loss::All, self.sim.now_ms());
    }

    fn time_passes(&mut self) {
        let ms = 1 + self.sim.random.below(8);
        self.sim.pass(ms);
        let now_ms = self.sim.now_ms();
        let first = &self.brokers[0];
        let is_serving = first.process.as_ref().is_some_and(Process::is_serving);
        let is_up = is_serving && !first.host.is_paused(now_ms);
        if is_up {
            self.served.pass(ms);
        }
        let is_stalled = first.host.is_disk_stalled(now_ms);
        self.stalled_ms = if is_stalled { self.stalled_ms + ms } else { 0 };
        if self.stalled_ms >= GIVES_WRITES_UP_MS {
            self.history.disturbed();
        }
        self.history.passes(now_ms, is_up && !is_stalled);
        self.brokers.iter_mut().for_each(|broker| broker.host.give_room_in_time(now_ms));
        if self.brokers.len() > 1 {
            self.stops_go_on();
            self.mover_step();
            self.watch_replicas();
        }
        if self.phase == Phase::Faulty {
            self.faults();
        }
    }

    /// All faults end.
    fn heal(&mut self, now_ms: u64) {
        self.sim.tell("healed", format_args!("all is well from now on"));
        for at in 0..self.brokers.len() {
            if self.brokers[at].process.as_ref().is_some_and(Process::has_failed) {
                self.kill(at, now_ms);
            }
            self.brokers[at].host.heal();
            self.peers.heal();
            self.brokers[at].restart_at_ms = now_ms;
        }
    }

    /// From phase to phase.
    fn go_on(&mut self) {
        let now_ms = self.sim.now_ms();
        let is_late = now_ms >= self.phase_until_ms;
        let is_done = match self.phase {
            Phase::Faulty => is_late,
            Phase::Settling => self.is_settled(),
            Phase::Reading => self.is_read(),
            Phase::Over => false,
        };
        match self.phase {
            Phase::Faulty if is_done => {
                self.heal(now_ms);
                self.begin(Phase::Settling);
            }
            Phase::Settling if is_done => {
                self.judge_replicas();
                self.sim.tell("last crash", format_args!("everything is at rest: the power fails"));
                for place in self.places() {
                    self.history.share_ended(place);
                }
                (0..self.brokers.len()).for_each(|at| self.power_fails(at, Loss::All, now_ms));
                self.offset_reader = OffsetReader::new();
                self.begin(Phase::Reading);
            }
            Phase::Reading if is_done => self.phase = Phase::Over,
            Phase::Reading if self.last_readers.is_empty() && self.is_retention_over_again() => {
                self.begin_reading()
            }
            Phase::Settling | Phase::Reading if is_late => {
                let (phase, are_members_at_rest) = (self.phase, self.are_members_at_rest());
                let after_ms = now_ms - self.phase_from_ms;
                if !are_members_at_rest {
                    self.history.wrong(53, format!("groups are not at rest after {after_ms} ms ({phase:?})"));
                }
                let why = self.unrest();
                self.history.wrong(36, format!("not at rest after {after_ms} ms ({phase:?}): {why}"));
            }
            _ => {}
        }
    }

    fn begin(&mut self, phase: Phase) {
        (self.phase, self.phase_from_ms) = (phase, self.sim.now_ms());
        let is_long = phase == Phase::Reading && self.loses_tombstones();
        self.phase_until_ms = self.phase_from_ms + if is_long { COMPACTION_MAX_MS } else { REST_MAX_MS };
    }

    fn is_settled(&mut self) -> bool {
        let is_done = self.producers.iter().all(Producer::is_done)
            && self.transactional.iter().all(TransactionalProducer::is_done);
        if !is_done
            || !self.operator.is_content(&self.topics)
            || !self.is_retention_over()
            || !self.is_repaired()
        {
            return false;
        }
        let consumers = std::mem::take(&mut self.consumers);
        let done = self.with(|around| consumers.iter().all(|consumer| consumer.is_at_the_end(around)));
        self.consumers = consumers;
        let are_shares_done = self.with(|around| open_shares(around).is_empty());
        done && are_shares_done && self.are_members_at_rest() && self.are_replicas_at_rest()
    }

    /// What is not at rest, in words.
    fn unrest(&mut self) -> String {
        let open = |is_done: bool, what: &'static str| (!is_done).then(|| String::from(what));
        let producers = self.producers.iter().filter(|producer| !producer.is_done()).map(|_| "a producer");
        let mut why: Vec<String> = producers.map(String::from).collect();
        let are_done = self.transactional.iter().all(TransactionalProducer::is_done);
        why.extend(open(are_done, "a transaction"));
        why.extend(open(self.operator.is_content(&self.topics), "the operator"));
        why.extend(open(self.is_retention_over(), "retention"));
        why.extend(self.unrepaired());
        why.extend(self.unequal_replicas());
        if !self.are_members_at_rest() {
            why.extend(self.members.iter().map(GroupMember::standing));
        }
        why.extend(self.with(|around| open_shares(around)));
        let consumers: Vec<Consumer> = self.consumers.drain(..).chain(self.last_readers.drain(..)).collect();
        why.extend(self.with(|around| consumers.iter().flat_map(|of| of.behind(around)).collect::<Vec<_>>()));
        why.join(", ")
    }

    /// Whether everything had the time to go that may.
    fn is_retention_over(&self) -> bool {
        let long_ms = match self.setting.retention {
            None => return true,
            Some(Retention::Bytes(_)) => 0,
            Some(Retention::Time(ms)) => ms.unsigned_abs(),
        };
        // Markers of transactions that time out come behind.
        self.sim.now_ms() >= self.history.sent_ms + TRANSACTION_MAX_MS + long_ms + RETENTION_CHECK_MS
    }

    /// Whether retention has taken once more what came back with the last start, and compaction too: who takes longer to read a log
    /// than tombstones are kept may miss one whose key it has read.
    fn is_retention_over_again(&self) -> bool {
        let retained_ms = if self.setting.retention.is_some() { 2 * RETENTION_CHECK_MS } else { 0 };
        let looks_ms = 2 * self.setting.compaction_check_ms + COMPACTION_REST_MS;
        let compacted_ms = self.compacted_ms.max(self.phase_from_ms) + looks_ms;
        let now_ms = self.sim.now_ms();
        now_ms >= self.phase_from_ms + retained_ms && (!self.loses_tombstones() || now_ms >= compacted_ms)
    }

    const fn loses_tombstones(&self) -> bool {
        self.setting.compacts && !self.setting.keeps_tombstones
    }

    fn begin_reading(&mut self) {
        for isolation in [0, 1] {
            let reader = self.with(|around| Consumer::last(around, isolation));
            self.last_readers.push(reader);
        }
    }

    /// The power of a broker fails. It is there again at that time.
    fn power_fails(&mut self, at: usize, loss: Loss, restart_at_ms: u64) {
        self.history.disturbed();
        let machine = &mut self.brokers[at];
        machine.crash(loss, &mut self.wires, &mut self.council);
        machine.restart_at_ms = restart_at_ms;
        if !matches!(loss, Loss::Nothing) {
            self.unflushed_is_lost();
        }
    }

    /// The power takes what was not flushed, and so does a flush that fails: the kernel drops what it could not write.
    fn unflushed_is_lost(&mut self) {
        self.history.power_failed();
        if self.setting.flushing.is_some() {
            // They tell of a log that is not there any more.
            self.wires.lose_answers();
        }
    }

    fn are_members_at_rest(&mut self) -> bool {
        let members = std::mem::take(&mut self.members);
        let done = self.with(|around| are_at_rest(&members, around));
        self.members = members;
        done
    }

    fn is_read(&mut self) -> bool {
        if self.last_readers.is_empty() {
            return false;
        }
        // Drawn in each step, needed or not: the seeds that are always played shall take the steps that they took.
        let [mut first, mut second] = [self.sim.random.fork(), self.sim.random.fork()];
        // Where a log ends is not judged while a marker may come.
        if self.may_be_marked() {
            return false;
        }
        let readers = std::mem::take(&mut self.last_readers);
        // A marker may have come since one of them was at the end.
        let is_same = readers.windows(2).all(|two| two[0].has_read_as_far_as(&two[1]));
        let are_at_the_end = |around: &mut Around<'_>| readers.iter().all(|of| of.is_at_the_end(around));
        let done = is_same && self.with_random(&mut first, are_at_the_end);
        self.last_readers = readers;
        done && self.are_offsets_read(&mut second) && self.are_times_read()
    }

    fn are_offsets_read(&mut self, random: &mut Random) -> bool {
        let reader = std::mem::replace(&mut self.offset_reader, OffsetReader::new());
        let done = self.with_random(random, |around| reader.is_done(around));
        self.offset_reader = reader;
        done
    }

    /// Whether a marker of a transaction may still come.
    fn may_be_marked(&self) -> bool {
        let is_open = |gave_up_ms| self.sim.now_ms() < gave_up_ms + TRANSACTION_MAX_MS;
        let again_ms = if self.setting.transactional > 0 { MARKED_AGAIN_MS } else { 0 };
        let may_be_again = self.sim.now_ms() + REST_MAX_MS < self.phase_until_ms + again_ms;
        may_be_again || self.history.gave_up_ms.is_some_and(is_open)
    }

    fn are_times_read(&mut self) -> bool {
        if self.times.is_none() {
            let mut times = TimeReader::default();
            let readers = std::mem::take(&mut self.last_readers);
            for place in self.places() {
                let is_compacted = self.topics.is_compacted(&place.topic);
                if let Some(read) =
                    readers.first().and_then(|reader| reader.read(place)).filter(|_| !is_compacted)
                {
                    self.with(|around| times.look(around, place, read));
                }
            }
            self.last_readers = readers;
            self.times = Some(times);
        }
        self.times.as_ref().is_some_and(TimeReader::is_done)
    }

    fn places(&self) -> Vec<Place> {
        let partitions = self.topics.partitions;
        let of = |topic: &[u8; 16]| {
            let topic = *topic;
            (0..partitions).map(move |partition| Place { topic, partition })
        };
        self.topics.ids.values().flat_map(of).collect()
    }

    /// Tells what each broker has of the partitions with which something is wrong.
    fn tell_copies(&mut self, wrongs: &[String]) {
        let is_named = |place: &Place| wrongs.iter().any(|wrong| wrong.contains(&format!("{place:?}")));
        for place in self.places().into_iter().filter(is_named) {
            let id = PartitionId { topic: place.topic, index: place.partition };
            for at in 0..self.brokers.len() {
                let copy = self.brokers[at].process.as_ref().and_then(|process| process.copy_in_words(id));
                if let Some(copy) = copy {
                    self.sim.tell("copy", format_args!("broker {} has of {place:?}: {copy}", at + 1));
                }
            }
        }
    }

    fn judge_all(&mut self) {
        if self.last_readers.is_empty() {
            return;
        }
        let reader = self.last_readers.remove(0);
        for place in self.places() {
            let Some((end, log)) = reader.read(place) else { continue };
            let kind = (self.topics.is_compacted(&place.topic), reader.bytes(place));
            let missing = self.history.judge_partition(place, end, log, kind);
            self.sim.count("compacted away", missing);
        }
    }
}

/// One of several; nothing is drawn if there is only one.
fn any(all: usize, random: &mut Random) -> usize {
    if all == 1 { 0 } else { random.below(all as u64) as usize }
}

const fn step_number(step: Step) -> u64 {
    match step {
        Step::Disk => 0,
        Step::Council => 1,
        Step::Shard(number) => 2 + number as u64,
    }
}
