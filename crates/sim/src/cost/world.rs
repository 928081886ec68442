//! The world: threads on hosts play their turns, what they tell arrives, time goes on to whatever is next. Knows no
//! protocol.

use super::client::Clients;
use super::count::{Came, Count, Part, Role};
use super::disk::Pace as DiskPace;
use super::host::{Host, State, Thread, ThreadId};
use super::member::{Arrived, Member, Told, Turn};
use super::network::{AFAR, Network};
use super::prediction::{Prediction, Spent};
use super::profile::Profile;
use super::queue::Queue;
use super::request::{Heard, RequestId, Requests};
use super::setup::{At, Place, Setup, Work};
use crate::random::Random;

/// Simulated nanoseconds within which an ensemble founds itself, a session opens, a node is made.
const PATIENCE_NS: u64 = 120_000_000_000;
/// Members have numbers of one byte, and shards are as many as `server` makes.
const SHARDS_MAX: usize = 16;

/// What happens.
#[derive(Debug)]
enum Event {
    /// A thread that was woken, or whose disk or lock is free, wants a core.
    Wake(ThreadId),
    /// A thread's turn is over; then it waits for so long.
    Done(ThreadId, u64),
    /// A member, or the load, tells somebody.
    Told(usize, Told),
    /// What another member told has arrived.
    Peer(usize, Arrived),
    /// What a client asked has arrived.
    Asked(usize, Vec<RequestId>),
    /// What a client is told has arrived.
    Heard(usize, Heard),
    /// A core that sleeps is to look at its clock.
    Deadline(usize),
    /// A request of an open pace is due.
    Due,
}

/// See the module.
pub(super) struct World {
    profile: Profile,
    setup: Setup,
    queue: Queue<Event>,
    hosts: Vec<Host>,
    threads: Vec<Thread>,
    members: Vec<Member>,
    clients: Clients,
    network: Network,
    /// By host.
    disks: Vec<DiskPace>,
    /// By member: until when its tree is written to, and for when its core's clock is set.
    locked_ns: Vec<u64>,
    deadlines_ns: Vec<u64>,
    /// For when the next request of an open pace is waited for.
    due_ns: Option<u64>,
    shards: usize,
    /// Whether the load is a thread.
    has_load: bool,
}

impl World {
    pub(super) fn new(profile: &Profile, setup: &Setup) -> Self {
        assert!(setup.members > 0 && setup.clients > 0 && setup.measured_ms > 0, "a setup of nothing");
        let mut profile = profile.clone();
        if !setup.fronts_cost {
            profile = profile.with_prices(Role::Shard, Default::default());
        }
        let mut random = Random::new(setup.seed);
        let count = (setup.members + setup.observers) as usize;
        let shards = (profile.cores - 1).clamp(1, SHARDS_MAX);
        let has_load = setup.place == Place::Shared;
        let host_of = |member: usize| if has_load { 0 } else { member };
        let hosts = if has_load { 1 } else { count };
        let (voters, learners): (Vec<u64>, Vec<u64>) =
            (1..=count as u64).partition(|id| *id <= setup.members);
        let member = |id| Member::new(id, &voters, &learners, shards as u16, setup.seed);
        let mut threads = Vec::new();
        for place in 0..count {
            let host = host_of(place);
            threads.extend((0..shards).map(|shard| Thread::new(Role::Shard, host, place, shard)));
            threads.push(Thread::new(Role::Core, host, place, 0));
            threads.push(Thread::new(Role::Journal, host, place, 0));
        }
        if has_load {
            threads.push(Thread::new(Role::Load, 0, usize::MAX, 0));
        }
        let nodes = if setup.work == Work::Watches { setup.clients as u32 } else { setup.nodes };
        Self {
            queue: Queue::new(),
            hosts: (0..hosts).map(|_| Host::new(profile.cores)).collect(),
            threads,
            members: (1..=count as u64).map(member).collect(),
            clients: Clients::new(setup, nodes, random.fork()),
            network: Network::new(hosts, &profile.network),
            disks: (0..hosts).map(|_| DiskPace::new(profile.disk.clone(), random.fork())).collect(),
            locked_ns: vec![0; count],
            deadlines_ns: vec![u64::MAX; count],
            due_ns: None,
            shards,
            has_load,
            setup: setup.clone(),
            profile,
        }
    }

    /// Founds the ensemble, makes the nodes, connects the clients, and lets them work.
    pub(super) fn play(mut self) -> Prediction {
        for member in 0..self.members.len() {
            self.ring(self.core_of(member));
        }
        self.until("serve", |world| world.members.iter().all(|member| member.core.is_serving()));
        self.connect(0);
        let requests: Vec<_> =
            std::iter::once(Requests::CONNECT).chain(self.clients.requests.creates()).collect();
        self.ask(0, requests);
        self.until("make their nodes", |world| world.clients.owed == 0 && world.is_even());
        let leader = self.leader();
        for client in 1..=self.setup.clients {
            self.connect(match self.setup.at {
                At::All => (client - 1) % self.members.len(),
                At::Leader => leader,
            });
            self.ask(client, vec![Requests::CONNECT]);
        }
        self.until("open their sessions", |world| world.clients.owed == 0 && world.is_even());
        match self.setup.work {
            Work::Mix { .. } => self.play_mix(),
            Work::Watches => self.play_watches(),
        }
    }

    fn play_mix(mut self) -> Prediction {
        self.clients.begin(self.queue.now_ns());
        self.go_on();
        let began_ns = self.queue.now_ns() + self.setup.warm_up_ms * 1_000_000;
        self.until("work", |world| world.queue.now_ns() >= began_ns);
        let before = self.spent();
        self.clients.reset();
        let ends_ns = self.queue.now_ns() + self.setup.measured_ms * 1_000_000;
        self.until("work", |world| world.queue.now_ns() >= ends_ns);
        let ends_ns = self.queue.now_ns();
        self.prediction(&before, ends_ns)
    }

    fn play_watches(mut self) -> Prediction {
        let nodes = self.setup.clients as u32;
        for client in 1..=self.setup.clients {
            let watches = (0..nodes).map(|node| self.clients.requests.watch(node)).collect();
            self.ask(client, watches);
        }
        self.until("leave their watches", |world| world.clients.owed == 0 && world.is_even());
        let before = self.spent();
        self.clients.reset();
        for client in 1..=self.setup.clients {
            let set = self.clients.requests.set(client as u32 - 1);
            self.ask(client, vec![set]);
        }
        let all = u64::from(nodes) * u64::from(nodes);
        self.until("be told", |world| world.clients.tally.events == all);
        let last_ns = self.clients.tally.last_ns;
        self.prediction(&before, last_ns)
    }

    /// Plays on until that is so.
    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let latest_ns = self.queue.now_ns() + PATIENCE_NS;
        while !is_so(self) {
            let event = self.queue.take().expect("cores look at their clocks for ever");
            self.handle(event);
            assert!(self.queue.now_ns() < latest_ns, "they do not {what} within two minutes");
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Wake(thread) => self.want(thread),
            Event::Done(thread, waits_ns) => self.done(thread, waits_ns),
            Event::Told(from, told) => self.told(from, told),
            Event::Peer(member, arrived) => {
                self.members[member].peers.push(arrived);
                self.ring(self.core_of(member));
            }
            Event::Asked(client, requests) => self.asked(client, &requests),
            Event::Heard(client, heard) => {
                self.clients.hear(client, heard, self.queue.now_ns());
                self.go_on();
            }
            Event::Deadline(member) => {
                self.deadlines_ns[member] = u64::MAX;
                self.ring(self.core_of(member));
            }
            Event::Due => self.go_on(),
        }
    }

    const fn thread_of(&self, member: usize, place: usize) -> ThreadId {
        member * (self.shards + 2) + place
    }

    const fn core_of(&self, member: usize) -> ThreadId {
        self.thread_of(member, self.shards)
    }

    const fn now_ms(&self) -> u64 {
        self.queue.now_ns() / 1_000_000
    }

    const fn front_now(&self) -> front::Now {
        let now_us = self.queue.now_ns() / 1000;
        front::Now { mono_us: now_us, wall_ms: 1_700_000_000_000 + now_us / 1000 }
    }

    /// A thread has something to do.
    fn ring(&mut self, thread: ThreadId) {
        if self.threads[thread].state == State::Asleep {
            self.threads[thread].state = State::Waking;
            self.queue.put(self.queue.now_ns() + self.profile.wake_latency_ns, Event::Wake(thread));
        }
    }

    fn want(&mut self, thread: ThreadId) {
        let Thread { state, host, came, .. } = &mut self.threads[thread];
        let host = *host;
        *state = State::Waiting;
        *came = if self.hosts[host].is_full() { Came::Switched } else { Came::Woke };
        self.hosts[host].want(thread);
        self.dispatch(host);
    }

    /// Free cores go to those that wait.
    fn dispatch(&mut self, host: usize) {
        while let Some(thread) = self.hosts[host].next() {
            self.threads[thread].slice_ns = 0;
            self.run(thread);
        }
    }

    /// A thread that has a core plays a turn.
    fn run(&mut self, id: ThreadId) {
        let now_ns = self.queue.now_ns();
        let Thread { role, host, member, shard, came, .. } = self.threads[id];
        if role == Role::Shard && self.locked_ns[member] > now_ns {
            // It waits for the tree's guard.
            self.threads[id].state = State::Blocked;
            self.hosts[host].release();
            return self.queue.put(self.locked_ns[member], Event::Wake(id));
        }
        self.threads[id].state = State::Running;
        let (now_ms, front_now) = (self.now_ms(), self.front_now());
        let turn = match role {
            Role::Shard => {
                let Member { tree, shards, .. } = &mut self.members[member];
                shards[shard].turn(came, tree, front_now)
            }
            Role::Core => self.members[member].core_turn(came, now_ms),
            Role::Journal => self.members[member].journal_turn(came),
            Role::Load => self.clients.turn(came, now_ns),
        };
        self.pay(id, turn);
    }

    /// A turn takes its time; what it tells is told on the way.
    fn pay(&mut self, id: ThreadId, turn: Turn) {
        let now_ns = self.queue.now_ns();
        let Thread { role, host, member, .. } = self.threads[id];
        let takes_ns = self.profile.price(role, &turn.count);
        let waits_ns = self.disks[host].takes(turn.asked, now_ns + takes_ns);
        for (until, told) in turn.told {
            let mut at_ns = now_ns + self.profile.price(role, &until);
            match told {
                Told::Unlocked => self.locked_ns[member] = at_ns,
                told => {
                    at_ns += if matches!(told, Told::Durable(_)) { waits_ns } else { 0 };
                    self.queue.put(at_ns, Event::Told(member, told));
                }
            }
        }
        let thread = &mut self.threads[id];
        thread.came = Came::Stayed;
        thread.cpu_ns += takes_ns;
        thread.slice_ns += takes_ns;
        thread.count += turn.count;
        self.queue.put(now_ns + takes_ns, Event::Done(id, waits_ns));
    }

    fn done(&mut self, id: ThreadId, waits_ns: u64) {
        let host = self.threads[id].host;
        if waits_ns > 0 {
            self.threads[id].state = State::Blocked;
            self.queue.put(self.queue.now_ns() + waits_ns, Event::Wake(id));
        } else if !self.has_work(id) {
            self.threads[id].state = State::Asleep;
            self.set_clock(id);
        } else if self.hosts[host].is_wanted() && self.threads[id].slice_ns >= self.profile.slice_ns {
            let thread = &mut self.threads[id];
            (thread.state, thread.came) = (State::Waiting, Came::Switched);
            self.hosts[host].want(id);
        } else {
            return self.run(id);
        }
        self.hosts[host].release();
        self.dispatch(host);
    }

    fn has_work(&self, id: ThreadId) -> bool {
        let Thread { role, member, shard, .. } = self.threads[id];
        match role {
            Role::Shard => self.members[member].shards[shard].has_work(),
            Role::Core => self.members[member].core_has_work(self.now_ms()),
            Role::Journal => self.members[member].journal_has_work(),
            Role::Load => self.clients.has_work(self.queue.now_ns()),
        }
    }

    /// Whoever falls asleep is woken when something is due.
    fn set_clock(&mut self, id: ThreadId) {
        let Thread { role, member, .. } = self.threads[id];
        match role {
            Role::Core => {
                let at_ns = self.members[member].core.next_deadline_ms() * 1_000_000;
                if at_ns < self.deadlines_ns[member] {
                    self.deadlines_ns[member] = at_ns;
                    self.queue.put(at_ns, Event::Deadline(member));
                }
            }
            Role::Load => self.wait_for_due(),
            Role::Shard | Role::Journal => {}
        }
    }

    fn told(&mut self, from: usize, told: Told) {
        let now_ns = self.queue.now_ns();
        let journal = self.shards + 1;
        match told {
            Told::Core { shard, messages } => {
                self.members[from].commands.push((shard, messages));
                self.ring(self.core_of(from));
            }
            Told::Client { client, heard } => self.tell_client(from, client, heard),
            Told::Shard { shard, items } => {
                self.members[from].shards[shard].tell(items);
                self.ring(self.thread_of(from, shard));
            }
            Told::Journal(effects) => {
                self.members[from].effects.extend(effects);
                self.ring(self.thread_of(from, journal));
            }
            Told::Durable(event) => {
                self.members[from].answers.push(event);
                self.ring(self.core_of(from));
            }
            Told::Peer { to, messages, bytes } => {
                let to = to as usize - 1;
                let (here, there) = (self.host_of(from), self.host_of(to));
                let at_ns = self.network.transfer(here, there, bytes, now_ns);
                let arrived = Arrived { from: self.members[from].id, messages, bytes };
                self.queue.put(at_ns, Event::Peer(to, arrived));
            }
            Told::Requests { client, requests } => self.asked(client, &requests),
            Told::Unlocked => {}
        }
    }

    fn host_of(&self, member: usize) -> usize {
        self.threads[self.core_of(member)].host
    }

    fn tell_client(&mut self, from: usize, client: usize, heard: Heard) {
        if self.has_load {
            self.clients.arrive(client, heard);
            return self.ring(self.threads.len() - 1);
        }
        let (now_ns, bytes) = (self.queue.now_ns(), heard.bytes);
        let at_ns = match self.setup.fronts_cost {
            true => self.network.transfer(self.host_of(from), AFAR, bytes, now_ns),
            false => now_ns,
        };
        self.queue.put(at_ns, Event::Heard(client, heard));
    }

    /// Clients ask for what is due.
    fn go_on(&mut self) {
        if self.has_load {
            return self.ring(self.threads.len() - 1);
        }
        for (client, requests) in self.clients.due(self.queue.now_ns()) {
            self.send(client, requests);
        }
        self.wait_for_due();
    }

    /// One event for the next request of an open pace.
    fn wait_for_due(&mut self) {
        let next_ns = self.clients.next_due_ns();
        if next_ns != self.due_ns
            && let Some(at_ns) = next_ns
        {
            self.due_ns = next_ns;
            self.queue.put(at_ns, Event::Due);
        }
    }

    /// A client asks out of turn.
    fn ask(&mut self, client: usize, requests: Vec<RequestId>) {
        self.clients.asks(client, requests.len(), self.queue.now_ns());
        self.send(client, requests);
    }

    fn send(&mut self, client: usize, requests: Vec<RequestId>) {
        let now_ns = self.queue.now_ns();
        let bytes = requests.iter().map(|request| self.clients.requests.bytes(*request).len()).sum();
        let host = self.host_of(self.clients.all[client].member);
        let at_ns = match self.setup.fronts_cost && !self.has_load {
            true => self.network.transfer(AFAR, host, bytes, now_ns),
            false => now_ns,
        };
        self.queue.put(at_ns, Event::Asked(client, requests));
    }

    fn asked(&mut self, client: usize, requests: &[RequestId]) {
        let client = &self.clients.all[client];
        let (member, shard) = (client.member, client.shard);
        let bytes = requests.iter().map(|request| self.clients.requests.bytes(*request));
        self.members[member].shards[shard].arrive(client.socket, bytes);
        self.ring(self.thread_of(member, shard));
    }

    /// One more client, at that member.
    fn connect(&mut self, member: usize) {
        let (client, now) = (self.clients.all.len(), self.front_now());
        let shard = client / self.members.len() % self.shards;
        let socket = self.members[member].shards[shard].connect(client, now);
        self.clients.add(member, shard, socket);
    }

    fn is_even(&self) -> bool {
        let applied = |member: &Member| member.core.applied_index();
        let first = applied(&self.members[0]);
        self.members.iter().all(|member| applied(member) == first)
    }

    fn leader(&self) -> usize {
        let leads = |member: &Member| member.core.leader() == Some(member.id);
        self.members.iter().position(leads).expect("somebody leads")
    }

    fn part_of(&self, member: usize, leader: usize) -> Part {
        match member {
            usize::MAX => Part::Client,
            member if member == leader => Part::Leader,
            member if member < self.setup.members as usize => Part::Follower,
            _ => Part::Observer,
        }
    }

    /// What every thread has spent and done so far, when it is, and flushes.
    fn spent(&self) -> Before {
        Before {
            at_ns: self.queue.now_ns(),
            threads: self.threads.iter().map(|thread| (thread.cpu_ns, thread.count)).collect(),
            flushes: self.members.iter().map(Member::flushes).sum(),
        }
    }

    fn prediction(self, before: &Before, ends_ns: u64) -> Prediction {
        let (after, leader) = (self.spent(), self.leader());
        let mut spent: Vec<Spent> = Vec::new();
        let mut busy_ns = 0;
        for (id, thread) in self.threads.iter().enumerate() {
            let (part, role) = (self.part_of(thread.member, leader), thread.role);
            let cpu_ns = after.threads[id].0 - before.threads[id].0;
            let count = after.threads[id].1 - before.threads[id].1;
            busy_ns += cpu_ns;
            match spent.iter_mut().find(|spent| (spent.part, spent.role) == (part, role)) {
                Some(spent) => {
                    spent.threads += 1;
                    spent.cpu_ns += cpu_ns;
                    spent.count += count;
                }
                None => spent.push(Spent { part, role, threads: 1, cpu_ns, count }),
            }
        }
        let tally = self.clients.tally;
        Prediction {
            operations: tally.operations,
            errors: tally.errors,
            events: tally.events,
            cut_off: self.members.iter().flat_map(|member| &member.shards).map(|shard| shard.cut_off).sum(),
            elapsed_ns: ends_ns - before.at_ns,
            latency: tally.latency,
            flushes: after.flushes - before.flushes,
            cores: self.hosts.len() * self.profile.cores,
            busy_ns,
            spent,
        }
    }
}

/// See [`World::spent`].
struct Before {
    at_ns: u64,
    threads: Vec<(u64, Count)>,
    flushes: u64,
}
