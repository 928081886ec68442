//! Nodes that keep their word, a configuration, and a clock. Messages are carried out in their order unless a test takes them.

use std::collections::{BTreeMap, BTreeSet};

use base::MonoTime;
use replication_appointed::{Config, Epoch, Position, ReplicaId, Seq, Voters};
use replication_controller::{
    Change, Controller, Effect, Event, FenceAnswer, Incarnation, Known, Members, PartitionId, Promise,
    Record, Report, Settings, Task, Version, Work, Written,
};

pub(crate) const P: PartitionId = PartitionId::numbered(1);

pub(crate) fn node(id: u32) -> ReplicaId {
    ReplicaId(id)
}

pub(crate) fn voters(ids: &[u32], durable_on: usize) -> Voters {
    Voters::new(ids.iter().copied().map(ReplicaId), durable_on).expect("a constant that is fine")
}

pub(crate) fn members(ids: &[u32], durable_on: usize, learners: &[u32]) -> Members {
    let learners = learners.iter().copied().map(ReplicaId).collect();
    Members { voters: voters(ids, durable_on), learners }
}

/// The first of the replicas leads.
pub(crate) fn record(ids: &[u32], durable_on: usize) -> Record {
    let config = Config {
        epoch: Epoch(1),
        leader: node(ids[0]),
        voters: voters(ids, durable_on),
        learners: BTreeSet::new(),
        chosen: true,
    };
    Record { preferred: ids.iter().copied().map(ReplicaId).collect(), ..Record::new(config) }
}

/// See the module.
pub(crate) struct Bench {
    pub(crate) controller: Controller,
    pub(crate) settings: Settings,
    pub(crate) now: u64,
    pub(crate) store: BTreeMap<PartitionId, (Version, Record)>,
    pub(crate) alive: BTreeMap<ReplicaId, Incarnation>,
    pub(crate) promised: BTreeMap<(ReplicaId, PartitionId), Epoch>,
    pub(crate) ends: BTreeMap<(ReplicaId, PartitionId), u64>,
    pub(crate) leads: BTreeMap<PartitionId, (ReplicaId, Epoch)>,
    /// Leaders do not prepare hand-overs.
    pub(crate) is_stubborn: bool,
    /// Effects that were carried out.
    pub(crate) done: Vec<Effect>,
}

impl Bench {
    /// Nodes 1 to 5 are alive, and all leaders lead.
    pub(crate) fn new(records: impl IntoIterator<Item = (PartitionId, Record)>) -> Self {
        Self::with(Settings::default(), records)
    }

    pub(crate) fn with(settings: Settings, records: impl IntoIterator<Item = (PartitionId, Record)>) -> Self {
        let mut bench = Self {
            controller: Controller::new(settings, MonoTime::ZERO),
            settings,
            now: 0,
            store: BTreeMap::new(),
            alive: (1..=5).map(|id| (node(id), Incarnation(1))).collect(),
            promised: BTreeMap::new(),
            ends: BTreeMap::new(),
            leads: BTreeMap::new(),
            is_stubborn: false,
            done: Vec::new(),
        };
        for (id, record) in records {
            bench.leads.insert(id, (record.config.leader, record.config.epoch));
            bench.store.insert(id, (Version(1), record));
        }
        bench.restart_controller();
        bench.run();
        bench.done.clear();
        bench
    }

    /// The controller dies, and another one begins.
    pub(crate) fn restart_controller(&mut self) {
        self.controller = Controller::new(self.settings, self.time());
        for id in self.store.keys().copied().collect::<Vec<_>>() {
            self.observe(id);
        }
        for (node, incarnation) in self.alive.clone() {
            self.tell(Event::Announced { node, incarnation });
        }
    }

    pub(crate) fn time(&self) -> MonoTime {
        MonoTime::of_ms(self.now)
    }

    pub(crate) fn tell(&mut self, event: Event) {
        self.controller.handle(event, self.time());
    }

    /// Carries out all effects, and those that follow, without time passing.
    pub(crate) fn run(&mut self) {
        for _ in 0..1_000 {
            let effects = self.controller.take_effects();
            if effects.is_empty() {
                return;
            }
            effects.into_iter().for_each(|effect| self.carry_out(effect));
        }
        panic!("the controller does not come to rest");
    }

    /// Time passes, in which nodes that are alive are heard from.
    pub(crate) fn pass(&mut self, ms: u64) {
        let end = self.now + ms;
        while self.now < end {
            self.now = (self.now + 50).min(end);
            for node in self.alive.keys().copied().collect::<Vec<_>>() {
                self.tell(Event::Heard { node });
                self.say_again(node);
            }
            if self.controller.next_deadline().is_some_and(|at| at <= self.time()) {
                self.controller.tick(self.time());
            }
            self.run();
        }
    }

    pub(crate) fn die(&mut self, id: u32) {
        self.alive.remove(&node(id));
        self.leads.retain(|_, (leader, _)| *leader != node(id));
        self.tell(Event::Broken { node: node(id) });
    }

    pub(crate) fn come_back(&mut self, id: u32, incarnation: u64) {
        self.alive.insert(node(id), Incarnation(incarnation));
        self.leads.retain(|_, (leader, _)| *leader != node(id));
        self.tell(Event::Announced { node: node(id), incarnation: Incarnation(incarnation) });
    }

    pub(crate) fn carry_out(&mut self, effect: Effect) {
        self.done.push(effect.clone());
        match effect {
            Effect::SendFence { node, fences } if self.alive.contains_key(&node) => {
                let answers =
                    fences.iter().map(|fence| self.fence(node, fence.partition, fence.epoch)).collect();
                self.tell(Event::Promised { node, answers });
            }
            Effect::Tell { node, known } if self.alive.contains_key(&node) => {
                let incarnation = self.alive[&node];
                let reports = known.iter().map(|known| self.report(node, known)).collect();
                self.tell(Event::Reported { node, incarnation, reports });
            }
            Effect::Ask { node, tasks } if self.alive.contains_key(&node) => {
                tasks.into_iter().for_each(|task| self.work(node, task));
            }
            Effect::Propose { id, changes } => {
                let results = self.write(&changes);
                self.tell(Event::Proposed { id, results });
            }
            Effect::Read { partitions } => partitions.into_iter().for_each(|id| self.observe(id)),
            _ => {}
        }
    }

    pub(crate) fn observe(&mut self, id: PartitionId) {
        let (version, record) = self.store[&id].clone();
        self.tell(Event::Configured(Box::new(Known { partition: id, version, record })));
    }

    pub(crate) fn write(&mut self, changes: &[Change]) -> Vec<Written> {
        let is_current = |change: &Change| self.store[&change.partition].0 == change.version;
        if !changes.iter().all(is_current) {
            let result = |change| if is_current(change) { Written::Untried } else { Written::Conflict };
            return changes.iter().map(result).collect();
        }
        let mut results = Vec::new();
        for change in changes {
            let version = Version(change.version.0 + 1);
            self.store.insert(change.partition, (version, change.record.clone()));
            results.push(Written::Yes(version));
        }
        results
    }

    pub(crate) fn fence(&mut self, node: ReplicaId, partition: PartitionId, epoch: Epoch) -> FenceAnswer {
        let promised = self.promised.entry((node, partition)).or_insert(Epoch(1));
        if *promised > epoch {
            return FenceAnswer { partition, epoch, promise: Promise::Refused(*promised) };
        }
        *promised = epoch;
        if self.leads.get(&partition).is_some_and(|(leader, led)| *leader == node && *led < epoch) {
            self.leads.remove(&partition);
        }
        let end = Seq(self.ends.get(&(node, partition)).copied().unwrap_or_default());
        let position = Position { epoch: Epoch(1), end };
        FenceAnswer { partition, epoch, promise: Promise::Given(position) }
    }

    fn report(&mut self, node: ReplicaId, known: &Known) -> Report {
        let (partition, version) = (known.partition, known.version);
        let config = &known.record.config;
        let promised = *self.promised.entry((node, partition)).or_insert(Epoch(1));
        if config.leader == node && config.chosen && promised == config.epoch && config.epoch > Epoch(1) {
            self.leads.insert(partition, (node, config.epoch));
        }
        let leads = self.leads.get(&partition) == Some(&(node, config.epoch));
        Report { partition, version, epoch: config.epoch, promised, leads }
    }

    /// A node says what a controller has to hear.
    fn say_again(&mut self, node: ReplicaId) {
        let incarnation = self.alive[&node];
        let mine = self.store.iter().filter(|(_, known)| known.1.members().nodes().contains(&node));
        let urgent = mine.filter(|(id, (_, record))| {
            let config = &record.config;
            let promised = self.promised.get(&(node, **id)).copied().unwrap_or(Epoch(1));
            promised > config.epoch
                || (config.leader == node && self.leads.get(id) != Some(&(node, config.epoch)))
        });
        let known: Vec<Known> = urgent
            .map(|(id, (version, record))| Known {
                partition: *id,
                version: *version,
                record: record.clone(),
            })
            .collect();
        let reports: Vec<Report> = known.iter().map(|known| self.report(node, known)).collect();
        if !reports.is_empty() {
            self.tell(Event::Reported { node, incarnation, reports });
        }
    }

    fn work(&mut self, node: ReplicaId, task: Task) {
        let Task { partition, epoch, work } = task;
        if self.leads.get(&partition) != Some(&(node, epoch)) {
            return;
        }
        match work {
            Work::Change { .. } if self.is_stubborn => {}
            Work::Change { version, record } => {
                let (record, next) = (*record.clone(), record.config.epoch);
                let change = Change { partition, version, record };
                if let [Written::Yes(_)] = self.write(&[change])[..] {
                    self.leads.insert(partition, (node, next));
                    self.promised.insert((node, partition), next);
                    self.observe(partition);
                }
            }
            Work::HandOver { to } if !self.is_stubborn => {
                let end = self.ends.get(&(node, partition)).copied().unwrap_or_default();
                self.ends.insert((to, partition), end);
                self.tell(Event::Prepared { node, partition, epoch, to });
            }
            Work::HandOver { .. } => {}
        }
    }

    pub(crate) fn config(&self) -> &Config {
        &self.store[&P].1.config
    }

    /// Who leads by the configuration and in truth.
    pub(crate) fn leader(&self, id: PartitionId) -> Option<u32> {
        let config = &self.store[&id].1.config;
        (self.leads.get(&id) == Some(&(config.leader, config.epoch))).then_some(config.leader.0)
    }

    pub(crate) fn fences(&self) -> Vec<(u32, Epoch)> {
        let all = self.done.iter().filter_map(|effect| match effect {
            Effect::SendFence { node, fences } => Some((node.0, fences[0].epoch)),
            _ => None,
        });
        all.collect()
    }
}
