//! Processes that only keep connections with each other, to show how a world uses [`sim_kit::peers`]: they dial, are told who
//! is connected, lose each other and find each other again.

use std::collections::{BTreeMap, BTreeSet};

use base::{MemberId, MonoTime};
use net_peer_pairs::Lane;
use sim_kit::network::Network;
use sim_kit::peers::{
    Cluster, PairRecord, Parts, PeerMachine, PeerWorld, Peering, Sent, begin_anew, deliver, tend,
};
use sim_kit::random::Random;
use sim_kit::{Host, MessageFaults, Simulation};

struct Machine {
    host: Host,
    number: u64,
    runs: bool,
    connected: BTreeSet<u64>,
    heard: Vec<(u64, Vec<u8>)>,
}

impl PeerMachine for Machine {
    fn is_paused(&self, now_ms: u64) -> bool {
        self.host.is_paused(now_ms)
    }

    fn is_starting(&self) -> bool {
        false
    }

    fn mono(&self, now_ms: u64) -> MonoTime {
        self.host.mono(now_ms)
    }

    fn identity(&self) -> Option<(MemberId, Cluster)> {
        self.runs.then_some((MemberId(self.number), [1; 16]))
    }

    fn level(&self) -> u32 {
        1
    }
}

struct Talk {
    sim: Simulation,
    peering: Peering,
    record: PairRecord,
    machines: BTreeMap<u64, Machine>,
    processes: u64,
}

impl PeerWorld for Talk {
    type Machine = Machine;

    fn parts(&mut self) -> Parts<'_, Machine> {
        let Self { sim, peering, record, machines, .. } = self;
        Parts { peering, sim, machines, record }
    }

    fn connected(&mut self, place: u64, id: MemberId, _level: u32) {
        self.machine(place).connected.insert(id.0);
    }

    fn disconnected(&mut self, place: u64, id: MemberId) {
        self.machine(place).connected.remove(&id.0);
    }

    fn received(&mut self, _from: u64, to: u64, id: MemberId, message: Vec<u8>) {
        self.machine(to).heard.push((id.0, message));
    }
}

impl Talk {
    /// Three machines that run.
    fn of_three(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let machine = |number| {
            let host = Host::new(&mut random, true);
            let (connected, heard) = (BTreeSet::new(), Vec::new());
            (number, Machine { host, number, runs: false, connected, heard })
        };
        let machines = (1..=3).map(machine).collect();
        let peering = Peering::new(Network::new(20), true);
        let sim = Simulation::new(random);
        let mut talk = Self { sim, peering, record: PairRecord::default(), machines, processes: 0 };
        (1..=3).for_each(|place| talk.start(place));
        talk
    }

    fn machine(&mut self, place: u64) -> &mut Machine {
        self.machines.get_mut(&place).expect("it is there")
    }

    fn start(&mut self, place: u64) {
        self.processes += 1;
        self.machine(place).runs = true;
        self.peering.begin(place, self.processes);
        begin_anew(self, place, true);
    }

    fn stop(&mut self, place: u64, told: bool) {
        let machine = self.machine(place);
        machine.runs = false;
        machine.connected.clear();
        self.peering.end(place, told, &mut self.sim);
    }

    fn pass(&mut self, ms: u64) {
        let until_ms = self.sim.now_ms() + ms;
        while self.sim.now_ms() < until_ms {
            self.sim.pass(10);
            while deliver(self, MessageFaults { loss: 10, repeat: 10, overtake: 10 }) {}
            (1..=3).for_each(|place| tend(self, place));
        }
    }

    fn connected(&self, place: u64) -> Vec<u64> {
        self.machines[&place].connected.iter().copied().collect()
    }
}

#[test]
fn processes_find_each_other_and_hear_what_is_sent() {
    let mut talk = Talk::of_three(1);
    talk.pass(3_000);
    assert_eq!((1..=3).map(|place| talk.connected(place)).collect::<Vec<_>>(), [[2, 3], [1, 3], [1, 2]]);
    for _ in 0..20 {
        let sent = talk.peering.send(1, MemberId(3), Lane::Bulk, b"well?".to_vec(), &mut talk.sim);
        assert_eq!(sent, Sent::OnItsWay);
    }
    talk.pass(200);
    let heard = &talk.machines[&3].heard;
    assert!(heard.len() > 10 && heard.iter().all(|one| *one == (1, b"well?".to_vec())), "{heard:?}");
    let nobody = talk.peering.send(1, MemberId(7), Lane::Control, Vec::new(), &mut talk.sim);
    assert_eq!((nobody, talk.record.misused.len()), (Sent::NotConnected, 0));
}

#[test]
fn process_that_ends_is_missed_and_the_next_one_is_found() {
    for (seed, told) in (0..40).map(|seed| (seed, seed % 2 == 0)) {
        let mut talk = Talk::of_three(seed);
        talk.pass(3_000);
        talk.stop(2, told);
        talk.pass(if told { 1_000 } else { 7_000 });
        assert_eq!((talk.connected(1), talk.connected(3)), (vec![3], vec![1]), "seed {seed}");
        talk.start(2);
        talk.pass(3_000);
        assert_eq!((talk.connected(1), talk.connected(2)), (vec![2, 3], vec![1, 3]), "seed {seed}");
        assert_eq!(talk.record.misused, Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn pair_that_is_cut_falls_silent_and_comes_back() {
    for seed in 0..20 {
        let mut talk = Talk::of_three(seed);
        talk.pass(3_000);
        talk.peering.network.split(&[1], &[2, 3]);
        talk.pass(7_000);
        let connected = [1, 2, 3].map(|place| talk.connected(place));
        assert_eq!(connected, [vec![], vec![3], vec![2]], "seed {seed}");
        talk.peering.network.cut.clear();
        talk.pass(7_000);
        assert_eq!((talk.connected(1), talk.connected(3)), (vec![2, 3], vec![1, 2]), "seed {seed}");
        assert!(talk.sim.happened["pair silent"] >= 2 && talk.record.misused.is_empty(), "seed {seed}");
    }
}
