//! What happens only to several brokers: links that are cut, disks that are wiped, orderly stops, and what administrators want.
//!
//! # Wiped disks
//! A broker whose disk was wiped must not start under its number: it would vote with an empty log (L33). Then it gets another number,
//! and an administrator has it take over the replicas of the one before. The next disk is wiped once the council names that one nowhere
//! any more, and no broker that stood still can make a topic with that one; and each partition has three replicas at least. So no more than a minority of the replicas of a partition is ever lost,
//! and nothing that was acknowledged may be.

use std::collections::BTreeSet;

use log_metadata::{PartitionNode, TopicNode, paths};
use sim_kit::random::Random;

use super::{LogWorld, Phase};
use crate::broker::{Machine, Stop};
use crate::user::{Mover, NUMBERS_EACH, Wish};

/// How long a broker that is asked to stop may take to hand over what it leads, and how long it lingers then, milliseconds.
const HAND_OVER_MS: u64 = 10_000;
const LINGER_MS: u64 = 250;
/// The longest time for which links are cut, milliseconds.
const CUT_MS_MAX: u64 = 10_000;
/// When all brokers know that a number is gone, milliseconds: until then one that stood still may give it a topic's replica.
const KNOWN_MS: u64 = 15_000;
/// How often it is looked whether a cancelled change wants replicas under former numbers, milliseconds.
const FORMERS_MS: u64 = 100;

impl LogWorld {
    pub(super) fn cluster_faults(&mut self) {
        let often = self.setting.faults.cluster.clone();
        if let Some(mut chance) = self.sim.strike(often.cut) {
            self.cut_links(&mut chance);
        }
        if let Some(mut chance) = self.sim.strike(often.wipe) {
            self.wipe(&mut chance);
        }
        if let Some(mut chance) = self.sim.strike(often.stop) {
            let at = self.any_broker(&mut chance);
            self.ask_to_stop(at);
        }
        if let Some(mut chance) = self.sim.strike(often.reassign) {
            self.reassign(&mut chance);
        }
        if self.sim.strike(often.elect).is_some() {
            self.sim.tell("preferred leaders wanted", format_args!("preferred replicas are to lead"));
            self.mover.want(Wish::Preferred);
        }
    }

    /// Nothing goes between one broker and another, or all others.
    fn cut_links(&mut self, chance: &mut Random) {
        let all = self.brokers.len();
        let (at, long_ms) = (self.any_broker(chance), 100 + chance.below(CUT_MS_MAX));
        let until_ms = self.sim.now_ms() + long_ms;
        let only_from = chance.chance(20).then_some(at);
        let first = (at + 1 + chance.below(all as u64 - 1) as usize) % all;
        let others: Vec<usize> = match chance.chance(50) {
            true => vec![first],
            false => (0..all).filter(|other| *other != at).collect(),
        };
        let how = if only_from.is_some() { "from" } else { "with" };
        let named: Vec<usize> = others.iter().map(|other| other + 1).collect();
        self.sim.tell(
            "links cut",
            format_args!("the links {how} broker {} to {named:?} are cut for {long_ms} ms", at + 1),
        );
        self.brokers[at].is_apart(until_ms);
        for other in others {
            self.brokers[other].is_apart(until_ms);
            self.peers.cut(at, other, only_from, until_ms);
        }
    }

    fn wipe(&mut self, chance: &mut Random) {
        let at = self.any_broker(chance);
        let restart_at_ms = self.sim.now_ms() + chance.below(3_000);
        let now_ms = self.sim.now_ms();
        let is_repairing = self.brokers.iter().any(|broker| broker.is_wiped || broker.replaces.is_some());
        let is_new = self.brokers.iter().any(|broker| now_ms < broker.known_from_ms);
        // A broker that has not claimed its number yet has nothing to lose.
        let directory = paths::directory(self.brokers[at].node_id());
        let has_claimed = self.council.data(&directory).is_some_and(|data| !data.is_empty());
        if is_repairing
            || is_new
            || self.a_former_number().is_some()
            || !has_claimed
            || !self.each_has_three_replicas()
        {
            return;
        }
        self.sim.tell("disk wiped", format_args!("the disk of broker {} is wiped", at + 1));
        self.kill(at, restart_at_ms);
        self.brokers[at].wipe(chance);
    }

    /// A broker with a wiped disk was refused, as it must be: it begins as another one.
    pub(super) fn begin_anew(&mut self, at: usize) {
        let machine = &mut self.brokers[at];
        let node_id = machine.node_id() + NUMBERS_EACH as i32;
        machine.renumber(node_id);
        machine.known_from_ms = self.sim.now_ms() + KNOWN_MS;
        self.sim.tell(
            "wiped broker refused",
            format_args!("broker {} has another disk than it had, and becomes broker {node_id}", at + 1),
        );
    }

    fn ask_to_stop(&mut self, at: usize) {
        let now_ms = self.sim.now_ms();
        let Some(process) = self.brokers[at].process.as_ref().filter(|process| process.is_serving()) else {
            return;
        };
        if self.brokers[at].stop.is_none() {
            process.drain();
            let stop = Stop { by_ms: now_ms + HAND_OVER_MS, is_handed_over: process.to_hand_over() == 0 };
            self.brokers[at].stop = Some(stop);
            self.sim.tell("broker asked to stop", format_args!("broker {} is asked to stop", at + 1));
        }
    }

    /// Orderly stops go on.
    pub(super) fn stops_go_on(&mut self) {
        let now_ms = self.sim.now_ms();
        for at in 0..self.brokers.len() {
            let machine = &mut self.brokers[at];
            let Some(stop) = machine.stop else { continue };
            if now_ms >= stop.by_ms {
                self.kill(at, now_ms);
                continue;
            }
            let left = machine.process.as_ref().map_or(0, crate::broker::Process::to_hand_over);
            if left == 0 && !stop.is_handed_over {
                let by_ms = now_ms + LINGER_MS;
                machine.stop = Some(Stop { by_ms, is_handed_over: true });
                self.sim.tell("lead handed over", format_args!("broker {} leads nothing any more", at + 1));
            } else if stop.is_handed_over {
                machine.stop = Some(Stop { by_ms: stop.by_ms.min(now_ms + LINGER_MS), ..stop });
            }
        }
    }

    /// Somebody wants other replicas for a partition, or those that it had.
    fn reassign(&mut self, chance: &mut Random) {
        let partitions = self.partitions_in_council();
        let Some((name, index, partition)) =
            partitions.get(chance.below(partitions.len().max(1) as u64) as usize)
        else {
            return;
        };
        let mut ids: Vec<i32> = self.brokers.iter().map(crate::broker::Machine::node_id).collect();
        let mut count = partition.replicas.len().min(ids.len());
        // Not fewer than a wiped disk leaves enough of.
        if self.setting.faults.cluster.wipe == 0 && chance.chance(40) {
            count = 1 + chance.below(ids.len().min(3) as u64) as usize;
        }
        let mut wanted = Vec::new();
        while wanted.len() < count {
            wanted.push(ids.swap_remove(chance.below(ids.len() as u64) as usize));
        }
        let wanted = (!chance.chance(10)).then_some(wanted);
        self.sim.tell("replicas wanted", format_args!("{name}-{index} is to have the replicas {wanted:?}"));
        self.mover.want(Wish::Replicas(name.clone(), *index, wanted));
    }

    /// A broker that has begun anew takes over what the council says of its former number.
    pub(super) fn replace_wiped(&mut self) {
        let Some(at) = self.brokers.iter().position(|broker| broker.replaces.is_some()) else {
            return self.look_for_former_numbers();
        };
        let (Some(former), id) = (self.brokers[at].replaces, self.brokers[at].node_id()) else { return };
        if !self.mover.is_idle() {
            return;
        }
        let partitions = self.partitions_in_council();
        let named: Vec<_> =
            partitions.into_iter().filter(|(_, _, partition)| names(partition, former)).collect();
        if named.is_empty() {
            self.brokers[at].replaces = None;
            let words = format_args!("broker {id} has taken the place of {former} everywhere");
            return self.sim.tell("wiped broker replaced", words);
        }
        for (name, index, partition) in named {
            let goal = partition.rest.goal.as_ref();
            let wanted: Vec<i32> = match goal {
                Some(goal) => goal.to.voters.iter().copied().collect(),
                None => partition.replicas.clone(),
            };
            if wanted.contains(&former) && wanted.contains(&id) {
                // No person wants both: brokers have begun by themselves what waits for one that does not come back.
                let what = format!("{name}-{index} gets a replica on {id} beside the one on {former}");
                self.history.wrong(72, format!("{what}, which is gone: {partition:?}"));
            }
            // A change that replaces it already is let be.
            if wanted.contains(&former) {
                let present = wanted.iter().map(|of| self.present_number(*of)).collect();
                self.mover.want(Wish::Replicas(name, index, Some(present)));
            }
        }
    }

    /// A change that is cancelled goes back to the replicas that there were when it began: they may be under former numbers of brokers
    /// that have taken over everything since.
    fn look_for_former_numbers(&mut self) {
        let was_renumbered = |broker: &Machine| broker.node_id() > NUMBERS_EACH as i32;
        let now_ms = self.sim.now_ms();
        if now_ms < self.formers_due_ms || !self.brokers.iter().any(was_renumbered) || !self.mover.is_idle() {
            return;
        }
        self.formers_due_ms = now_ms + FORMERS_MS;
        let Some(former) = self.a_former_number() else { return };
        self.brokers[machine_of(former)].replaces = Some(former);
        self.sim.tell(
            "former number named",
            format_args!("replicas are wanted on broker {former}, which is gone"),
        );
    }

    /// A number in the council that its broker has no more.
    fn a_former_number(&self) -> Option<i32> {
        let mut named =
            self.partitions_in_council().into_iter().flat_map(|(_, _, partition)| all_named(&partition));
        named.find(|id| self.present_number(*id) != *id)
    }

    /// The number of the broker by now that had that one.
    fn present_number(&self, id: i32) -> i32 {
        self.brokers.get(machine_of(id)).map_or(id, Machine::node_id)
    }

    /// Whether nothing is left that an administrator has to do.
    pub(super) fn is_repaired(&self) -> bool {
        self.mover.is_idle()
            && self.brokers.iter().all(|broker| !broker.is_wiped && broker.replaces.is_none())
    }

    /// What is left of former numbers of brokers, in words.
    pub(super) fn unrepaired(&self) -> Vec<String> {
        let formers: Vec<i32> = self.brokers.iter().filter_map(|broker| broker.replaces).collect();
        let is_left = |partition: &PartitionNode| formers.iter().any(|former| names(partition, *former));
        let all = self.partitions_in_council().into_iter().filter(|(_, _, partition)| is_left(partition));
        all.map(|(name, index, partition)| format!("{name}-{index} is still {partition:?}")).collect()
    }

    fn each_has_three_replicas(&self) -> bool {
        let all = self.partitions_in_council();
        all.iter().all(|(_, _, partition)| {
            let goal = partition.rest.goal.as_ref().map_or(usize::MAX, |goal| goal.to.voters.len());
            let voters = partition.replicas.len() - partition.rest.learners.len();
            voters.min(goal) >= 3
        })
    }

    /// All partitions, as the council says.
    fn partitions_in_council(&self) -> Vec<(String, i32, PartitionNode)> {
        let mut all = Vec::new();
        for (name, data) in self.council.children(paths::TOPICS) {
            let topic = TopicNode::read(data).map_or_else(|_| Vec::new(), |topic| topic.partitions);
            all.extend((0..).zip(topic).map(|(index, partition)| (name.to_owned(), index, partition)));
        }
        all
    }

    pub(super) fn mover_step(&mut self) {
        if self.phase != Phase::Over {
            self.replace_wiped();
        }
        let mut mover = std::mem::take::<Mover>(&mut self.mover);
        self.with(|around| mover.step(around));
        self.mover = mover;
    }
}

/// Whether a broker has something to say in a partition.
fn names(partition: &PartitionNode, id: i32) -> bool {
    all_named(partition).contains(&id)
}

/// All brokers that have something to say in a partition, or shall have.
fn all_named(partition: &PartitionNode) -> BTreeSet<i32> {
    let goal = partition.rest.goal.as_ref();
    let wanted = goal.into_iter().flat_map(|goal| goal.to.voters.union(&goal.to.learners));
    wanted
        .chain(&partition.replicas)
        .copied()
        .chain((partition.leader >= 0).then_some(partition.leader))
        .collect()
}

/// The place of the machine whose broker has, or had, that number.
fn machine_of(id: i32) -> usize {
    usize::try_from(id - 1).unwrap_or(0) % NUMBERS_EACH
}
