//! A small simulated system, to show how one is made and that the kit finds what is wrong with it: one machine asks another to
//! count, over a network that loses, repeats and reorders, and the power of the one that counts fails now and then. A counter
//! that answers before it has flushed is the planted bug.

use std::collections::BTreeMap;

use net_peer_pairs::Lane;
use sim_kit::command_line::again;
use sim_kit::disk::{Loss, SimDisk};
use sim_kit::network::{ConnId, Flight, Network, Side};
use sim_kit::random::Random;
use sim_kit::{
    Floor, Host, Judged, MessageFaults, Plan, Report, Seeds, Simulation, Tally, Without, World, play, run,
    shrink,
};
use storage_disk::Disk;

/// How long everything may take to come to rest after the faults, milliseconds.
const REST_MAX_MS: u64 = 5_000;

#[derive(Clone, Copy, Debug)]
enum Message {
    /// Count this one, if it is the next.
    Count(u64),
    /// All up to this one are counted.
    Counted(u64),
}

/// The machine that counts. What it has counted is in a file.
struct Counter {
    host: Host,
    file: <SimDisk as Disk>::File,
    counted: u64,
}

impl Counter {
    fn start(mut host: Host) -> Self {
        let counted = host.disk.content("counted");
        let file = match counted {
            Some(_) => host.disk.open("counted"),
            None => host.disk.create("counted").and_then(|file| {
                host.disk.sync_directory("")?;
                Ok(file)
            }),
        };
        let counted = counted.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
        Self { host, file: file.expect("the disk is well"), counted }
    }

    fn count(&mut self, number: u64, flushes: bool) -> u64 {
        if number == self.counted + 1 {
            self.counted = number;
            let disk = &mut self.host.disk;
            disk.write_at(&self.file, 0, &number.to_le_bytes()).expect("the disk is well");
            if flushes {
                disk.sync_data(&self.file).expect("the disk is well");
            }
        }
        self.counted
    }
}

/// Machine 1 asks machine 2 to count.
struct Counters<const FLUSHES: bool> {
    sim: Simulation,
    network: Network<(), Message, ()>,
    connection: ConnId,
    faults: MessageFaults,
    /// How often, of a thousand moments.
    crash: u64,
    pause: u64,
    faulty_ms: u64,
    asked: u64,
    answered: u64,
    counter: Option<Counter>,
    judged: Judged,
}

impl<const FLUSHES: bool> World for Counters<FLUSHES> {
    const COMMAND: &'static str = "cargo xtask sim counters";
    const LIGHT: &'static str = "no faults";
    const REACHED: &'static [&'static str] = &["crash", "pause", "loss", "repeat", "overtaking"];
    const FLOORS: &'static [Floor] = &[(1, "answers", 100)];

    fn begin(plan: &Plan) -> Self {
        let mut random = Random::new(plan.seed);
        let drawn = MessageFaults { loss: random.below(100), repeat: random.below(100), overtake: 100 };
        let often = if plan.light { 0 } else { 1 + random.below(10) };
        let host = Host::new(&mut random, true);
        let mut network = Network::new(20);
        let connection = network.open((1, 1), 2, Lane::Control, 1);
        let mut sim = Simulation::new(random);
        sim.leave_out(plan.without.clone());
        Self {
            sim,
            network,
            connection,
            faults: if plan.light { MessageFaults::default() } else { plan.without.apply(drawn) },
            crash: often,
            pause: often,
            faulty_ms: plan.faulty_ms,
            asked: 0,
            answered: 0,
            counter: Some(Counter::start(host)),
            judged: Judged::new(),
        }
    }

    fn setting(&self) -> String {
        format!("{:?}", self.faults)
    }

    fn simulation(&self) -> &Simulation {
        &self.sim
    }

    fn simulation_mut(&mut self) -> &mut Simulation {
        &mut self.sim
    }

    fn step(&mut self) -> bool {
        let (now_ms, faulty_ms) = (self.sim.now_ms(), self.faulty_ms);
        let is_faulty = now_ms < faulty_ms;
        if is_faulty {
            self.strike();
        }
        let faults = if is_faulty { self.faults } else { MessageFaults::default() };
        if self.sim.random.chance(20) {
            self.ask(is_faulty);
        }
        while self.deliver(faults) {}
        let passed = 1 + self.sim.random.below(10);
        self.sim.pass(passed);
        self.sim.end_moment();
        is_faulty || (self.answered < self.asked && now_ms < faulty_ms + REST_MAX_MS)
    }

    fn judge(&mut self) -> Vec<String> {
        *self.judged.entry("answers").or_default() += self.answered;
        let counted = self.counter.as_ref().map_or(0, |counter| counter.counted);
        let mut wrongs = Vec::new();
        if counted < self.answered {
            wrongs.push(format!("rule 1 (Durability): {} were answered, {counted} are there", self.answered));
        }
        if self.answered < self.asked {
            wrongs.push(format!("it does not come to rest: {} of {}", self.answered, self.asked));
        }
        wrongs
    }

    fn judged(&self) -> BTreeMap<u32, Judged> {
        BTreeMap::from([(1, self.judged.clone())])
    }
}

impl<const FLUSHES: bool> Counters<FLUSHES> {
    /// Faults that are numbered: each draws from a stream of its own.
    fn strike(&mut self) {
        let now_ms = self.sim.now_ms();
        if let Some(mut chance) = self.sim.strike(self.crash)
            && let Some(mut counter) = self.counter.take()
        {
            let loss = [Loss::All, Loss::Nothing, Loss::Some][chance.below(3) as usize];
            counter.host.crash(loss);
            self.network.forget(2);
            self.counter = Some(Counter::start(counter.host));
            self.sim
                .tell("crash", format_args!("machine 2 crashes; of what was not flushed is lost: {loss:?}"));
        }
        if let Some(mut chance) = self.sim.strike(self.pause)
            && let Some(counter) = &mut self.counter
        {
            let long = 10 + chance.below(500);
            counter.host.pause(now_ms, long);
            self.sim.tell("pause", format_args!("machine 2 stands still for {long} ms"));
        }
        self.sim.end_fault();
    }

    /// Asks for the next, or again for one that was not answered.
    fn ask(&mut self, more: bool) {
        if self.answered == self.asked && more {
            self.asked += 1;
        }
        if self.answered < self.asked {
            let ask = Flight::Message(Message::Count(self.answered + 1));
            self.network.send((self.connection, Side::Answerer), ask, &mut self.sim);
        }
    }

    fn deliver(&mut self, faults: MessageFaults) -> bool {
        let overtakes = faults.overtake > self.sim.random.below(1000);
        let now_ms = self.sim.now_ms();
        let pauses = self.counter.as_ref().is_some_and(|counter| counter.host.is_paused(now_ms));
        let is_read = |_: &_, side| side == Side::Dialler || !pauses;
        let Some((id, side, flight)) = self.network.arrive(overtakes, is_read, &mut self.sim) else {
            return false;
        };
        let Flight::Message(message) = flight else { return true };
        self.sim.count("overtaking", u64::from(overtakes));
        if faults.loss > self.sim.random.below(1000) {
            self.sim.count("loss", 1);
            return true;
        }
        if faults.repeat > self.sim.random.below(1000) {
            self.sim.count("repeat", 1);
            self.network.again((id, side), Flight::Message(message), now_ms);
        }
        self.receive(message);
        true
    }

    fn receive(&mut self, message: Message) {
        match (message, &mut self.counter) {
            (Message::Count(number), Some(counter)) => {
                let counted = counter.count(number, FLUSHES);
                self.sim.trace.step("count", &[number, counted]);
                let answer = Flight::Message(Message::Counted(counted));
                self.network.send((self.connection, Side::Dialler), answer, &mut self.sim);
            }
            (Message::Counted(number), _) => {
                self.sim.trace.step("counted", &[number]);
                self.answered = self.answered.max(number);
            }
            _ => {}
        }
    }
}

fn seeds(count: u64, threads: usize) -> Seeds {
    Seeds {
        from: 0,
        count,
        seconds: 10,
        without: Without::default(),
        light: false,
        stop: false,
        limit: None,
        threads,
        hashes: None,
    }
}

/// What was told of each seed, in that order.
fn told<W: World>(seeds: &Seeds) -> (Vec<(u64, u64, Vec<String>)>, Tally) {
    let mut told = Vec::new();
    let tally = run::<W>(seeds, |plan, report, _| told.push((plan.seed, report.hash, report.wrongs.clone())));
    (told, tally)
}

#[test]
fn counters_that_flush_run_clean_and_reach_everything() {
    let (_, tally) = told::<Counters<true>>(&seeds(50, 1));
    assert_eq!((tally.seeds, tally.failed.len()), (50, 0), "{:?}", tally.failed);
    assert_eq!(tally.not_reached::<Counters<true>>(), Vec::<&str>::new());
    assert!(sim_kit::below_floor(Counters::<true>::FLOORS, &tally.judged, 50, 10).is_empty());
}

#[test]
fn run_finds_what_is_planted_and_tells_the_same_on_any_number_of_threads() {
    let (alone, tally) = told::<Counters<false>>(&seeds(50, 1));
    assert!(tally.failed.len() > 10, "{:?}", tally.failed);
    assert!(alone.iter().map(|(seed, ..)| *seed).eq(0..50));
    let (together, other) = told::<Counters<false>>(&seeds(50, 3));
    assert_eq!((together, other.failed, other.happened), (alone, tally.failed, tally.happened));
}

#[test]
fn run_that_stops_tells_of_no_seed_behind_the_first_that_fails() {
    let (_, all) = told::<Counters<false>>(&seeds(50, 1));
    let first = *all.failed.first().expect("one fails");
    for threads in [1, 3] {
        let (told, tally) = told::<Counters<false>>(&Seeds { stop: true, ..seeds(50, threads) });
        assert_eq!((told.len() as u64, tally.failed), (first + 1, [first].into()), "{threads} threads");
    }
}

#[test]
fn same_seed_takes_the_same_steps_and_another_takes_others() {
    let hash = |seed| play::<Counters<true>>(&Plan::of(seed, 5_000), None).hash;
    assert_eq!(hash(7), hash(7));
    assert_ne!(hash(7), hash(8));
}

#[test]
fn shrink_leaves_the_one_fault_that_it_takes() {
    let fails = |report: &Report| report.wrongs.iter().any(|wrong| wrong.starts_with("rule 1 "));
    let plan = (0..).map(|seed| Plan::of(seed, 10_000)).find(|plan| {
        let report = play::<Counters<false>>(plan, None);
        fails(&report) && report.struck > 5
    });
    let plan = plan.expect("one fails");
    let shrunk = shrink::<Counters<false>>(&plan, 300, fails).expect("it fails");
    assert_eq!(shrunk.faults().len(), 1, "{:?}", shrunk.report.story);
    assert_eq!(shrunk.plan.without.of_messages.len(), 3);
    assert!(shrunk.plan.faulty_ms < plan.faulty_ms && shrunk.runs < 300);
    let fault = format!("fault {}: machine 2 crashes", shrunk.faults()[0]);
    assert!(shrunk.report.story.iter().any(|(_, words)| words.starts_with(&fault)), "{fault}");
    let seconds = shrunk.plan.faulty_ms / 1000;
    let command = again::<Counters<false>>(&shrunk.plan);
    let begins = format!("cargo xtask sim counters --seed {} --seconds {seconds} --without ", plan.seed);
    assert!(command.starts_with(&begins) && command.ends_with("loss,overtaking,repeat"), "{command}");
}

#[test]
fn light_run_has_no_faults() {
    let report = play::<Counters<true>>(&Plan { light: true, ..Plan::of(1, 10_000) }, None);
    assert_eq!((report.struck, report.wrongs.len(), report.happened.get("loss")), (0, 0, None));
}
