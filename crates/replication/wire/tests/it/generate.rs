//! Messages of every kind from a seed: numbers are small, at the ends of their ranges, or anything.

use std::collections::BTreeSet;

use base::Random;
use replication_appointed::{
    Append, Appended, Config, Diverged, Epoch, EpochStart, Position, Refused, ReplicaId, Reset, Round, Seq,
    Voters,
};
use replication_controller::{
    Act, ActKind, FenceAnswer, FenceRequest, Goal, Incarnation, Known, Loss, Members, PartitionId, Promise,
    Record, Report, Task, Version, Work,
};
use replication_wire::{ControllerMessage, Lagging, NodeMessage, ReplicaMessage};

use crate::Whole;

/// How many kinds [`message`] makes.
pub(crate) const KINDS: u64 = 11;

/// A message of that kind, 0 to [`KINDS`] - 1.
pub(crate) fn message(kind: u64, random: &mut Random) -> Whole<'static> {
    match kind {
        0 => Whole::Replicas(items(random)),
        1 => Whole::Controller(ControllerMessage::Fence(list(random, fence))),
        2 => Whole::Controller(ControllerMessage::Tell(list(random, known))),
        3 => Whole::Controller(ControllerMessage::Ask(list(random, task))),
        4 => Whole::Node(NodeMessage::Announced { incarnation: Incarnation(number(random)) }),
        5 => Whole::Node(NodeMessage::Promised(list(random, answer))),
        6 => {
            let incarnation = Incarnation(number(random));
            Whole::Node(NodeMessage::Reported { incarnation, reports: list(random, report) })
        }
        7 => {
            let (partition, to) = (partition(random), replica(random));
            Whole::Node(NodeMessage::Prepared { partition, epoch: epoch(random, 1), to })
        }
        8 => Whole::Node(NodeMessage::Draining { drains: random.chance(50) }),
        9 => Whole::Node(NodeMessage::Acts(list(random, act))),
        _ => Whole::Lagging(list(random, lagging)),
    }
}

pub(crate) fn number(random: &mut Random) -> u64 {
    match random.below(8) {
        0..5 => random.below(300),
        5 => u64::MAX - random.below(3),
        6 => (1 << random.below(64)) - random.below(2),
        _ => random.number(),
    }
}

fn number32(random: &mut Random) -> u32 {
    match random.below(8) {
        0..6 => random.below(200) as u32,
        6 => u32::MAX - random.below(3) as u32,
        _ => random.number() as u32,
    }
}

/// An epoch of at least `min`.
fn epoch(random: &mut Random, min: u32) -> Epoch {
    Epoch(number32(random).max(min))
}

fn list<T>(random: &mut Random, mut make: impl FnMut(&mut Random) -> T) -> Vec<T> {
    (0..random.below(5)).map(|_| make(random)).collect()
}

fn replica(random: &mut Random) -> ReplicaId {
    ReplicaId(number32(random))
}

fn set(random: &mut Random) -> BTreeSet<ReplicaId> {
    (0..random.below(4)).map(|_| replica(random)).collect()
}

fn partition(random: &mut Random) -> PartitionId {
    PartitionId { group: [random.below(2) as u8; 16], index: number32(random) }
}

fn position(random: &mut Random, newest: Epoch) -> Position {
    Position { epoch: epoch(random, 0).min(newest), end: Seq(number(random)) }
}

fn items(random: &mut Random) -> Vec<(PartitionId, ReplicaMessage<'static>)> {
    list(random, |random| (partition(random), replica_message(random)))
}

fn replica_message(random: &mut Random) -> ReplicaMessage<'static> {
    let newest = epoch(random, 1);
    match random.below(6) {
        0..3 => {
            let append = append(random);
            let bytes: &[u8] = b"the entries of an owner, as it has encoded them";
            let bytes = bytes.get(..random.below(20) as usize).unwrap_or_default();
            let is_empty = append.to == append.after.end;
            ReplicaMessage::Append { entries: if is_empty { &[] } else { bytes }, append }
        }
        3 => {
            let (durable, start) = (Seq(number(random)), Seq(number(random)));
            let round = Round(number(random));
            ReplicaMessage::Appended(Appended { epoch: newest, durable, start, round })
        }
        4 => ReplicaMessage::Diverged(Diverged { epoch: newest, common: position(random, newest) }),
        _ => ReplicaMessage::Refused(Refused { promised: epoch(random, 2) }),
    }
}

/// An append that a leader could send: of entries of its own epoch, of earlier ones, or across epochs.
pub(crate) fn append(random: &mut Random) -> Append {
    let epoch = epoch(random, 1);
    let end = number(random).min(u64::MAX / 2);
    let mut after = Position { epoch, end: Seq(end) };
    let (mut starts, mut to) = (Vec::new(), end.saturating_add(number(random)));
    let mut epoch_start = Seq(random.below(end.max(1)));
    if end == 0 || random.chance(60) {
        after.epoch = Epoch(random.below(u64::from(epoch.0)) as u32);
        starts = epochs(random, after, epoch);
        to = starts.last().map_or(to, |last| last.start.0 + 1 + random.below(50));
        let own = starts.last().filter(|last| last.epoch == epoch);
        epoch_start = own.map_or(Seq(to.saturating_add(random.below(50))), |last| last.start);
    }
    let committed = Seq(if random.chance(70) { to.saturating_sub(random.below(9)) } else { number(random) });
    let start = Seq(number(random).min(committed.0));
    let (resets, probes) = (random.chance(20), random.chance(20));
    let resets = resets.then(|| Reset { always: random.chance(50), thinned_to: Seq(number(random)) });
    let (to, round) = (Seq(to), Round(number(random)));
    Append { epoch, epoch_start, after, to, starts, committed, start, resets, probes, round }
}

/// Epochs that begin behind `after`, none of them above `newest`.
fn epochs(random: &mut Random, after: Position, newest: Epoch) -> Vec<EpochStart> {
    let mut starts: Vec<EpochStart> = Vec::new();
    let (mut epoch, mut start) = (after.epoch.0, after.end.0 + random.below(2));
    for _ in 0..random.below(4) {
        epoch = epoch.saturating_add(1 + random.below(3) as u32);
        if epoch > newest.0 {
            break;
        }
        starts.push(EpochStart { epoch: Epoch(epoch), start: Seq(start) });
        start += 1 + random.below(200);
    }
    starts
}

fn fence(random: &mut Random) -> FenceRequest {
    FenceRequest { partition: partition(random), epoch: epoch(random, 1) }
}

pub(crate) fn known(random: &mut Random) -> Known {
    let epoch = epoch(random, 1);
    Known { partition: partition(random), version: Version(number(random)), record: record(random, epoch) }
}

fn task(random: &mut Random) -> Task {
    let epoch = epoch(random, 1).min(Epoch(u32::MAX - 1));
    let work = if random.chance(60) {
        let record = Box::new(record(random, Epoch(epoch.0 + 1)));
        Work::Change { version: Version(number(random)), record }
    } else {
        Work::HandOver { to: replica(random) }
    };
    Task { partition: partition(random), epoch, work }
}

fn answer(random: &mut Random) -> FenceAnswer {
    let epoch = epoch(random, 1).min(Epoch(u32::MAX - 1));
    let promise = if random.chance(60) {
        Promise::Given(position(random, epoch))
    } else {
        Promise::Refused(Epoch(number32(random).max(epoch.0 + 1)))
    };
    FenceAnswer { partition: partition(random), epoch, promise }
}

fn act(random: &mut Random) -> Act {
    let to = replica(random);
    let kind = if random.chance(50) { ActKind::HandOver(to) } else { ActKind::RecoverWithLoss };
    Act { partition: partition(random), kind }
}

fn lagging(random: &mut Random) -> Lagging {
    let voters = set(random).into_iter().map(|id| (id, random.chance(50))).collect();
    Lagging { partition: partition(random), epoch: epoch(random, 1), voters }
}

fn report(random: &mut Random) -> Report {
    let (epoch, leads) = (epoch(random, 1), random.chance(50));
    let promised = if leads { epoch } else { Epoch(number32(random)) };
    Report { partition: partition(random), version: Version(number(random)), epoch, promised, leads }
}

fn members(random: &mut Random) -> Members {
    let mut replicas = set(random);
    replicas.insert(replica(random));
    let durable_on = 1 + random.below(replicas.len() as u64) as usize;
    let voters = Voters::new(replicas, durable_on).expect("they can keep an entry");
    Members { voters, learners: set(random) }
}

fn record(random: &mut Random, epoch: Epoch) -> Record {
    let Members { voters, learners } = members(random);
    let config = Config { epoch, leader: replica(random), voters, learners, chosen: random.chance(50) };
    let loss =
        Loss { epoch: Epoch(number32(random).max(1)), missing: set(random), kept: position(random, epoch) };
    Record {
        config,
        preferred: list(random, replica),
        voters_min: random.chance(30).then(|| number(random) as usize),
        goal: random.chance(30).then(|| Goal { to: members(random), from: members(random) }),
        loss: random.chance(20).then_some(loss),
    }
}
