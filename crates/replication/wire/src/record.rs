//! What the configuration keeps of a partition, as a controller tells it.
//!
//! Sets of replicas are written in rising order, each number as its distance from the one before; a distance of 0 would be a
//! replica that stands there twice, and is refused.

use std::collections::BTreeSet;

use replication_appointed::{Config, ReplicaId, Voters};
use replication_controller::{Goal, Loss, Members, Record};

use crate::WireError;
use crate::codec::{Input, put_position, put_varint};

/// Bits of the first byte.
const CHOSEN: u8 = 1;
const VOTERS_MIN: u8 = 2;
const GOAL: u8 = 4;
const LOSS: u8 = 8;
const FLAGS: u8 = CHOSEN | VOTERS_MIN | GOAL | LOSS;

/// Bytes of the shortest record: flags, epoch, leader, one voter and its count, on how many, no learner, nobody preferred.
pub(crate) const RECORD_BYTES_MIN: usize = 8;

/// Invariants of a record on the wire: `config.epoch` is at least 1; each set of voters has at least one replica and names none
/// twice, and an entry must be durable on at least one and at most all of them; no set names a replica twice.
pub(crate) fn encode(record: &Record, out: &mut Vec<u8>) {
    let Record { config, preferred, voters_min, goal, loss } = record;
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let chosen = flag(config.chosen, CHOSEN);
    let present =
        flag(voters_min.is_some(), VOTERS_MIN) | flag(goal.is_some(), GOAL) | flag(loss.is_some(), LOSS);
    out.push(chosen | present);
    put_varint(out, config.epoch.0.into());
    put_varint(out, config.leader.0.into());
    put_members(out, &config.voters, &config.learners);
    put_varint(out, preferred.len() as u64);
    preferred.iter().for_each(|id| put_varint(out, id.0.into()));
    if let Some(voters_min) = voters_min {
        put_varint(out, *voters_min as u64);
    }
    if let Some(Goal { to, from }) = goal {
        put_members(out, &to.voters, &to.learners);
        put_members(out, &from.voters, &from.learners);
    }
    if let Some(Loss { epoch, missing, kept }) = loss {
        put_varint(out, epoch.0.into());
        put_set(out, missing);
        put_position(out, *kept);
    }
}

pub(crate) fn decode(input: &mut Input<'_>) -> Result<Record, WireError> {
    let flags = input.byte()?;
    if flags & !FLAGS != 0 {
        return Err(WireError::Forbidden("a record with unknown parts"));
    }
    let has = |flag: u8| flags & flag != 0;
    let (epoch, leader) = (input.epoch()?, input.replica()?);
    let Members { voters, learners } = take_members(input)?;
    let config = Config { epoch, leader, voters, learners, chosen: has(CHOSEN) };
    let count = input.count(1)?;
    let preferred = (0..count).map(|_| input.replica()).collect::<Result<_, _>>()?;
    let voters_min = if has(VOTERS_MIN) { Some(take_size(input)?) } else { None };
    let goal = match has(GOAL) {
        true => Some(Goal { to: take_members(input)?, from: take_members(input)? }),
        false => None,
    };
    let loss = match has(LOSS) {
        true => Some(Loss { epoch: input.epoch()?, missing: take_set(input)?, kept: input.position()? }),
        false => None,
    };
    Ok(Record { config, preferred, voters_min, goal, loss })
}

fn put_members(out: &mut Vec<u8>, voters: &Voters, learners: &BTreeSet<ReplicaId>) {
    put_set(out, voters.replicas());
    put_varint(out, voters.durable_on() as u64);
    put_set(out, learners);
}

fn take_members(input: &mut Input<'_>) -> Result<Members, WireError> {
    let replicas = take_set(input)?;
    let voters = Voters::new(replicas, take_size(input)?);
    let voters = voters.map_err(|_| WireError::Forbidden("voters that could not keep what is committed"))?;
    Ok(Members { voters, learners: take_set(input)? })
}

fn put_set(out: &mut Vec<u8>, set: &BTreeSet<ReplicaId>) {
    put_varint(out, set.len() as u64);
    let mut before = 0;
    for id in set {
        put_varint(out, (id.0 - before).into());
        before = id.0;
    }
}

fn take_set(input: &mut Input<'_>) -> Result<BTreeSet<ReplicaId>, WireError> {
    let count = input.count(1)?;
    let (mut set, mut before) = (BTreeSet::new(), 0u32);
    for _ in 0..count {
        before = before.checked_add(input.varint32()?).ok_or(WireError::Number)?;
        if !set.insert(ReplicaId(before)) {
            return Err(WireError::Forbidden("a replica that stands twice in a set"));
        }
    }
    Ok(set)
}

fn take_size(input: &mut Input<'_>) -> Result<usize, WireError> {
    usize::try_from(input.varint()?).map_err(|_| WireError::Number)
}
