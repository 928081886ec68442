//! Why a node may not get a replica or a leader.

use core::fmt;

use crate::model::Model;
use crate::node::NodeState;
use crate::resource::Resource;
use crate::zones::{ZoneLimits, voters_in};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Obstacle {
    /// It has a replica of the partition.
    HasReplica,
    /// It does not work.
    Gone,
    /// Everything is to leave it.
    Draining,
    /// An operator excluded it.
    Excluded,
    /// The replica would take disk space that is to stay free.
    NoDiskSpace,
    /// The replica would take memory that is to stay free.
    NoMemory,
    /// Its zone has as many replicas of the partition as it may have.
    ZoneHasEnough,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HasReplica => "it has a replica of the partition already",
            Self::Gone => "it is gone",
            Self::Draining => "it is draining",
            Self::Excluded => "it is excluded",
            Self::NoDiskSpace => "it has too little free disk space",
            Self::NoMemory => "it has too little free memory",
            Self::ZoneHasEnough => "its zone has enough replicas of the partition",
        })
    }
}

/// What a target has to fulfil.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demands<'a> {
    /// How much disk and memory stay free, in percent.
    pub(crate) headroom_percent: u32,
    /// How many replicas a zone may have; `None` if a replica in the wrong zone is better than none.
    pub(crate) zones: Option<&'a ZoneLimits>,
}

/// Why a node may not get a replica, which comes from `from` if it is moved.
pub(crate) fn obstacle(
    model: &Model,
    partition: usize,
    from: Option<usize>,
    to: usize,
    demands: Demands<'_>,
) -> Option<Obstacle> {
    let of = &model.partitions[partition];
    if of.voters.contains(&to) || of.learners.contains(&to) {
        return Some(Obstacle::HasReplica);
    }
    state_obstacle(model, to)
        .or_else(|| room_obstacle(model, partition, to, demands.headroom_percent))
        .or_else(|| zone_obstacle(model, partition, from, to, demands.zones?))
}

/// Why a node may get nothing at all.
pub(crate) fn state_obstacle(model: &Model, to: usize) -> Option<Obstacle> {
    let node = &model.nodes[to];
    match node.state {
        NodeState::Gone => Some(Obstacle::Gone),
        NodeState::Draining => Some(Obstacle::Draining),
        NodeState::Serving => node.is_excluded.then_some(Obstacle::Excluded),
    }
}

fn room_obstacle(model: &Model, partition: usize, to: usize, headroom_percent: u32) -> Option<Obstacle> {
    let (needs, node) = (&model.partitions[partition].follow, &model.nodes[to]);
    let fits = |resource| node.room(resource, headroom_percent).is_none_or(|room| needs[resource] <= room);
    if !fits(Resource::Disk) {
        Some(Obstacle::NoDiskSpace)
    } else if !fits(Resource::Memory) {
        Some(Obstacle::NoMemory)
    } else {
        None
    }
}

/// Why the zone of a node may not get a replica.
pub(crate) fn zone_obstacle(
    model: &Model,
    partition: usize,
    from: Option<usize>,
    to: usize,
    limits: &ZoneLimits,
) -> Option<Obstacle> {
    let zone = model.nodes[to].zone;
    let serves = |node: usize| model.nodes[node].state == NodeState::Serving;
    // A move inside a zone changes nothing for the zone, even if that has too many.
    if from.is_some_and(|from| serves(from) && model.nodes[from].zone == zone) {
        return None;
    }
    let would_have = voters_in(model, partition, zone, from) + 1;
    (would_have > limits.limit(model.partitions[partition].wanted)).then_some(Obstacle::ZoneHasEnough)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::model;

    fn to(model: &Model, from: Option<usize>, to: usize) -> Option<Obstacle> {
        let zones = ZoneLimits::possible(model);
        obstacle(model, 0, from, to, Demands { headroom_percent: 20, zones: Some(&zones) })
    }

    #[test]
    fn each_obstacle_is_found() {
        let mut model = model(&[0, 0, 1, 2, 2, 2], &[&[0, 2]]);
        model.nodes[3].state = NodeState::Draining;
        model.nodes[4].is_excluded = true;
        assert_eq!(to(&model, None, 0), Some(Obstacle::HasReplica));
        assert_eq!(to(&model, None, 1), Some(Obstacle::ZoneHasEnough));
        assert_eq!(to(&model, None, 3), Some(Obstacle::Draining));
        assert_eq!(to(&model, None, 4), Some(Obstacle::Excluded));
        assert_eq!(to(&model, None, 5), None);
        model.nodes[3].state = NodeState::Gone;
        model.nodes[5].used[Resource::Disk] = 701;
        assert_eq!(to(&model, None, 3), Some(Obstacle::Gone));
        assert_eq!(to(&model, None, 5), Some(Obstacle::NoDiskSpace), "800 of 1,000 bytes may be used");
    }

    #[test]
    fn move_inside_a_zone_and_into_the_zone_that_it_leaves_are_possible() {
        let model = model(&[0, 0, 1], &[&[0, 2]]);
        assert_eq!(to(&model, Some(0), 1), None);
        assert_eq!(to(&model, Some(2), 1), Some(Obstacle::ZoneHasEnough));
    }
}
