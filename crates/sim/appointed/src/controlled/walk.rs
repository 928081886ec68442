//! One long random order, drawn from a seed, after which all faults are healed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use replication_appointed::ReplicaId;
use replication_controller::{Event, PartitionId};

use super::packet::Packet;
use super::world::World;
use crate::violation::Violation;

/// Steps with faults.
const STEPS: u32 = 2_500;
/// Steps that the end may take.
const END_STEPS: u32 = 60_000;
/// After so long without faults each partition must have a leader.
const LED_MS: u64 = 10_000;
/// After so long without faults everything must be settled.
const END_MS: u64 = 30_000;
/// How long a controller then has to do nothing.
const REST_MS: u64 = 8_000;

/// What a walk has come to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Walked {
    /// Entries that were committed.
    pub committed: usize,
    /// Epochs that began.
    pub epochs: usize,
    /// Epochs in which a leader went on with other replicas.
    pub changes: usize,
    /// What seldom happens.
    pub figures: Figures,
    /// After how long without faults each partition had its leader.
    pub led_ms: u64,
    /// How long the end took.
    pub settled_ms: u64,
}

/// How often something happened that is rare: a rule that is never needed is not tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Appointments that accepted a loss.
    pub losses: usize,
    /// Hand-overs of which a leader said that they were prepared.
    pub hand_overs: usize,
    /// Partitions that were removed.
    pub removed: usize,
    /// Copies that were dropped.
    pub dropped: usize,
    /// Copies that were started anew after a loss.
    pub renewed: usize,
    /// Entries that were dropped until the record was read.
    pub held_back: usize,
    /// Voters that counted already and were given up.
    pub given_up: usize,
    /// Records that a leader sent to the configuration again, because the outcome was not known.
    pub rewritten: usize,
}

impl Figures {
    /// Their names, and what was counted.
    #[must_use]
    pub const fn all(&self) -> [(&'static str, usize); 8] {
        [
            ("losses accepted", self.losses),
            ("hand-overs prepared", self.hand_overs),
            ("partitions removed", self.removed),
            ("copies dropped", self.dropped),
            ("copies started anew after a loss", self.renewed),
            ("entries held back until the record was read", self.held_back),
            ("changes of voters given up", self.given_up),
            ("records sent again", self.rewritten),
        ]
    }

    /// The sum of both.
    pub const fn add(&mut self, other: &Self) {
        self.losses += other.losses;
        self.hand_overs += other.hand_overs;
        self.removed += other.removed;
        self.dropped += other.dropped;
        self.renewed += other.renewed;
        self.held_back += other.held_back;
        self.given_up += other.given_up;
        self.rewritten += other.rewritten;
    }
}

/// Walks.
///
/// # Errors
/// What must not be, and what happened before, the last of it if that is long.
pub fn walk(seed: u64) -> Result<Walked, (Violation, Vec<String>)> {
    if let Ok(walked) = walked(seed, &mut None) {
        return Ok(walked);
    }
    // The same again, with notes.
    let mut story = Some(Vec::new());
    match walked(seed, &mut story) {
        Ok(walked) => Ok(walked),
        Err(violation) => Err((violation, story.unwrap_or_default())),
    }
}

type Story = Option<Vec<String>>;

fn walked(seed: u64, story: &mut Story) -> Result<Walked, Violation> {
    let mut world = World::new(seed);
    let stepped = catch_unwind(AssertUnwindSafe(|| world.play(story)));
    stepped.unwrap_or_else(|why| {
        let said = why.downcast_ref::<String>().cloned();
        let said = said.or_else(|| why.downcast_ref::<&str>().map(|said| String::from(*said)));
        Err(Violation::Stopped(said.unwrap_or_default()))
    })
}

impl World {
    fn play(&mut self, story: &mut Story) -> Result<Walked, Violation> {
        for node in self.ids() {
            self.restart(node)?;
        }
        self.start_controller()?;
        for _ in 0..STEPS {
            self.step(story)?;
        }
        note(story, || format!("{} all is healed", self.now));
        self.heal()?;
        self.settle(story)
    }

    fn settle(&mut self, story: &mut Story) -> Result<Walked, Violation> {
        let (begun, mut led_ms) = (self.now, None);
        for step in 0..END_STEPS {
            self.step(story)?;
            if led_ms.is_none() && self.unled().is_none() {
                led_ms = Some(self.now - begun);
            }
            if step % 64 == 0 && self.packets.is_empty() && self.late.is_empty() && self.unsettled().is_none()
            {
                self.rest()?;
                let committed = self.truths.values().map(|truth| truth.committed.len()).sum();
                let epochs = self.truths.values().map(|truth| truth.leaders.len()).sum();
                let changes = self.store.said.values().filter(|config| !config.chosen).count();
                let figures = self.figures;
                let (led_ms, settled_ms) = (led_ms.unwrap_or_default(), self.now - begun);
                return Ok(Walked { committed, epochs, changes, figures, led_ms, settled_ms });
            }
            let is_late = led_ms.is_none() && self.now > begun + LED_MS;
            if is_late || self.now > begun + END_MS {
                break;
            }
        }
        note(story, || format!("{self:#?}"));
        Err(Violation::Stuck(self.unsettled().unwrap_or("it goes on for ever")))
    }

    /// Time passes and nothing happens: the controller has nothing to do, unless it gives leads back.
    fn rest(&mut self) -> Result<(), Violation> {
        let end = self.now + REST_MS;
        while self.now < end && self.settings.preferred_after_ms.is_none() {
            self.now += 100;
            for id in self.controllers.keys().copied().collect::<Vec<_>>() {
                self.ids().into_iter().for_each(|node| self.feed(id, Event::Heard { node }));
                let now = self.time();
                self.control(id, |controller| controller.tick(now));
            }
            self.ids().into_iter().try_for_each(|node| self.tick_node(node))?;
            if !self.packets.is_empty() {
                return Err(Violation::Stuck("a controller does not rest"));
            }
        }
        Ok(())
    }

    fn step(&mut self, story: &mut Story) -> Result<(), Violation> {
        let draw = self.random.below(1_000);
        match draw {
            0..450 => self.deliver(story)?,
            450..700 => {
                let (node, partition) = self.drawn(|run| !run.queue.is_empty());
                self.disk(node, partition)?;
            }
            700..740 if self.is_faulty => {
                let (node, partition) = self.drawn(|run| run.replica.is_leading());
                self.append(node, partition)?;
            }
            740..870 => self.send_some()?,
            870..980 => self.pass_time()?,
            980..995 if self.is_faulty => {
                note(story, || format!("{} a fault", self.now));
                self.fault()?;
            }
            995.. if self.is_faulty => self.act(),
            _ => {}
        }
        Ok(())
    }

    /// A replica for which that holds, or any.
    fn drawn(&mut self, wanted: impl Fn(&super::copy::Run) -> bool) -> (ReplicaId, PartitionId) {
        let mut all = Vec::new();
        for (node, state) in &self.nodes {
            for (partition, copy) in &state.copies {
                if copy.run.as_ref().is_some_and(&wanted) {
                    all.push((*node, *partition));
                }
            }
        }
        let place = self.random.below(all.len() as u64) as usize;
        all.get(place).copied().unwrap_or((ReplicaId(1), PartitionId::numbered(0)))
    }

    /// The next message that arrives. Before that one may be lost, come twice, or be late.
    fn arrives(&mut self, story: &mut Story) -> Option<Packet> {
        if self.packets.is_empty() {
            return None;
        }
        let place = self.random.below(self.packets.len() as u64) as usize;
        let packet = self.packets.swap_remove(place);
        if self.is_faulty && may_be_lost(&packet) {
            if self.random.chance(8) {
                note(story, || format!("{} lost: {packet:?}", self.now));
                return None;
            }
            if self.random.chance(8) {
                self.packets.push(packet.clone());
            }
            if self.random.chance(5) {
                self.late.push((self.now + self.random.below(1_500), packet));
                return None;
            }
        }
        note(story, || format!("{} {packet:?}", self.now));
        Some(packet)
    }

    fn deliver(&mut self, story: &mut Story) -> Result<(), Violation> {
        let Some(packet) = self.arrives(story) else { return Ok(()) };
        match packet {
            Packet::ToNode(from, to, effect) => self.deliver_to_node(from, to, effect)?,
            Packet::ToController(from, to, event) => {
                if self.controller_hears(to, from) || self.random.chance(50) {
                    self.feed(to, event);
                }
            }
            Packet::Answer(to, event) => self.feed(to, event),
            Packet::Propose(from, id, changes) => self.propose(from, id, &changes)?,
            Packet::Read(from, partitions) => self.read(from, &partitions),
            Packet::Write(from, incarnation, change) => {
                let partition = change.partition;
                let results = self.write(&[*change])?;
                let wrote =
                    results.into_iter().map(|result| Packet::Wrote(from, incarnation, partition, result));
                self.packets.extend(wrote);
            }
            Packet::Wrote(to, incarnation, partition, result) => {
                self.wrote(to, incarnation, partition, result)?;
            }
            Packet::NodeRead(from, incarnation, partitions) => {
                self.answer_node(from, incarnation, &partitions);
            }
            Packet::NodeAnswer(to, incarnation, partition, known) => {
                self.node_answer(to, incarnation, partition, known.map(|known| *known))?;
            }
            Packet::Created(to, incarnation, partition, promised) => {
                if self.node(to).incarnation == incarnation {
                    self.created(to, partition, promised)?;
                }
            }
            Packet::Replica(partition, from, to, body) => {
                self.deliver_to_replica(partition, from, to, body)?;
            }
        }
        Ok(())
    }

    fn pass_time(&mut self) -> Result<(), Violation> {
        self.now += 1 + self.random.below(30);
        let now = self.now;
        self.packets.extend(self.late.extract_if(.., |(at, _)| *at <= now).map(|(_, packet)| packet));
        for id in self.controllers.keys().copied().collect::<Vec<_>>() {
            for node in self.ids() {
                if self.controller_hears(id, node) && (!self.is_faulty || self.random.chance(90)) {
                    self.feed(id, Event::Heard { node });
                }
            }
            if self.random.chance(2) {
                self.read(id, &self.partitions());
            }
            let now = self.time();
            self.control(id, |controller| {
                if controller.next_deadline().is_some_and(|at| at <= now) {
                    controller.tick(now);
                }
            });
        }
        for node in self.ids() {
            self.tick_node(node)?;
            for partition in self.partitions() {
                if self.random.chance(3) {
                    // A record is observed, in time or late.
                    let incarnation = self.node(node).incarnation;
                    self.answer_node(node, incarnation, &[partition]);
                }
            }
        }
        Ok(())
    }

    fn tick_node(&mut self, node: ReplicaId) -> Result<(), Violation> {
        let now = self.time();
        let deadline = self.process(node).and_then(|process| process.machine.next_deadline());
        match deadline.is_some_and(|at| at <= now) {
            true => self.drive(node, |machine, copies, now| machine.tick(now, copies)),
            false => Ok(()),
        }
    }
}

/// Whether a message may be lost, or come twice, while its connection stays.
const fn may_be_lost(packet: &Packet) -> bool {
    match packet {
        Packet::Replica(..) | Packet::Created(..) => false,
        Packet::ToController(_, _, event) => {
            !matches!(event, Event::Announced { .. } | Event::Draining { .. })
        }
        _ => true,
    }
}

fn note(story: &mut Story, what: impl FnOnce() -> String) {
    if let Some(story) = story {
        story.push(what());
    }
}
