//! Consumer groups: members of both protocols as bytes, and what they commit.

mod classic;
mod commits;
mod consumer;
mod subscription;

use core::fmt::Debug;

use super::{Around, Link};
pub(crate) use classic::ClassicMember;
pub(crate) use commits::OffsetReader;
pub(crate) use consumer::ConsumerMember;

use super::operator::GROUP_TOPIC;
use crate::history::{Place, Register};

/// A group whose members speak the classic protocol, and one whose members speak that of KIP-848.
pub(crate) const GROUPS: [&str; 2] = ["classic", "consumer"];
/// The coordinator is not there for now.
pub(in crate::user) const COORDINATOR_RETRIABLE: [i16; 6] = [7, 14, 15, 16, 3, 5];
const REBALANCE_IN_PROGRESS: i16 = 27;
const UNKNOWN_MEMBER_ID: i16 = 25;
const FENCED_INSTANCE_ID: i16 = 82;

/// A member of one of the groups.
pub(crate) enum GroupMember {
    Classic(ClassicMember),
    Consumer(ConsumerMember),
}

impl GroupMember {
    pub(crate) fn step(&mut self, around: &mut Around<'_>) {
        if !around.topics.ids.contains_key(GROUP_TOPIC) {
            return;
        }
        match self {
            Self::Classic(member) => member.step(around),
            Self::Consumer(member) => member.step(around),
        }
    }

    const fn group(&self) -> &'static str {
        match self {
            Self::Classic(_) => GROUPS[0],
            Self::Consumer(_) => GROUPS[1],
        }
    }

    /// How it stands, in words.
    pub(crate) fn standing(&self) -> String {
        let standing = match self {
            Self::Classic(member) => member.standing(),
            Self::Consumer(member) => member.standing(),
        };
        format!("{}: {standing}", self.group())
    }

    /// What it owns, if it is at rest.
    fn rests_with(&self) -> Option<Vec<Place>> {
        match self {
            Self::Classic(member) => member.rests_with(),
            Self::Consumer(member) => member.rests_with(),
        }
    }
}

/// How a member stands, in words: its number and until when it rests, its stage, its generation or epoch, and what it owns.
fn standing<'a, C>(
    (number, rests_until_ms): (u32, u64),
    stage: &dyn Debug,
    epoch: i32,
    owned: impl IntoIterator<Item = &'a Place>,
    link: &Link<C>,
) -> String {
    let partitions: Vec<i32> = owned.into_iter().map(|place| place.partition).collect();
    let under_way = link.outstanding();
    format!(
        "member {number} ({under_way} under way, rests until {rests_until_ms}) is {stage:?} in {epoch} with {partitions:?}"
    )
}

/// Whether the members of each group are at rest, and own each partition of the groups' topic once.
pub(crate) fn are_at_rest(members: &[GroupMember], around: &Around<'_>) -> bool {
    let Some(topic) = around.topics.ids.get(GROUP_TOPIC).copied() else { return false };
    GROUPS.iter().all(|group| {
        let owned: Vec<_> =
            members.iter().filter(|member| member.group() == *group).map(GroupMember::rests_with).collect();
        if owned.is_empty() {
            return true;
        }
        let is_at_rest = owned.iter().all(Option::is_some);
        let mut owned: Vec<_> =
            owned.into_iter().flatten().flatten().filter(|place| place.topic == topic).collect();
        owned.sort_unstable();
        is_at_rest && owned == places(around, topic)
    })
}

fn places(around: &Around<'_>, topic: [u8; 16]) -> Vec<Place> {
    (0..around.topics.partitions).map(|partition| Place { topic, partition }).collect()
}

/// All registers of all groups.
fn registers(around: &Around<'_>) -> Vec<Register> {
    let Some(topic) = around.topics.ids.get(GROUP_TOPIC).copied() else { return Vec::new() };
    let of = |group| places(around, topic).into_iter().map(move |place| Register { group, place });
    GROUPS.into_iter().flat_map(of).collect()
}
