//! A group of any type: what a coordinator does with each of them alike.
//!
//! Another type of group is another variant here, with its own keys in [`Key::group`], and its requests in `dispatch`. Every
//! request for a group of another type has an error code of its own: see there.

use base::WallTime;

use crate::classic::{ClassicGroup, Phase};
use crate::codec::{Key, Value};
use crate::consumer::ConsumerGroup;
use crate::consumer_protocol::PROTOCOL_TYPE;
use crate::deadlines::Deadlines;
use crate::turn::Turn;
use crate::{Text, Ticket};

/// A group.
#[derive(Clone, Debug)]
pub(crate) enum Group {
    /// Of the classic protocol.
    Classic(ClassicGroup),
    /// Of KIP-848.
    Consumer(ConsumerGroup),
}

impl Group {
    /// Does what is due.
    pub(crate) fn expire(&mut self, turn: &mut Turn<'_>) {
        match self {
            Self::Classic(group) => group.expire(turn),
            Self::Consumer(group) => group.expire(turn),
        }
    }

    /// Takes the records that have changed.
    pub(crate) fn take_changes(&mut self, name: &Text) -> Vec<(Key, Option<Value>)> {
        match self {
            Self::Classic(group) => {
                let changed = std::mem::take(&mut group.dirty);
                let record = || (Key::Group(name.clone()), Some(Value::Group(group.stored())));
                changed.then(record).into_iter().collect()
            }
            Self::Consumer(group) => group.take_changes(name),
        }
    }

    pub(crate) const fn deadlines(&mut self) -> &mut Deadlines {
        match self {
            Self::Classic(group) => &mut group.deadlines,
            Self::Consumer(group) => &mut group.deadlines,
        }
    }

    /// Looks at all deadlines anew.
    pub(crate) fn set_deadlines(&mut self) {
        match self {
            Self::Classic(group) => group.set_deadlines(),
            Self::Consumer(group) => group.set_deadlines(),
        }
    }

    /// Looks at the deadline of one member anew.
    pub(crate) fn set_deadline(&mut self, member: &Text) {
        let at = match self {
            Self::Classic(group) => group.deadline_of(member),
            Self::Consumer(group) => group.deadline_of(member),
        };
        self.deadlines().set(member, at);
    }

    /// The keys of its records.
    pub(crate) fn keys(&self, name: &Text) -> Vec<Key> {
        match self {
            Self::Classic(_) => vec![Key::Group(name.clone())],
            Self::Consumer(group) => group.keys(name),
        }
    }

    /// Every request that waits in the group.
    pub(crate) fn waiting(&self) -> Vec<Ticket> {
        match self {
            Self::Classic(group) => group.waiting(),
            Self::Consumer(_) => Vec::new(),
        }
    }

    /// Whether nobody is in the group, and nobody is expected.
    pub(crate) fn is_abandoned(&self) -> bool {
        match self {
            Self::Classic(group) => group.members.is_empty() && group.expected.is_empty(),
            Self::Consumer(group) => group.members.is_empty(),
        }
    }

    /// Whether nobody is in the group.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Classic(group) => group.phase == Phase::Empty,
            Self::Consumer(group) => group.members.is_empty(),
        }
    }

    pub(crate) const fn empty_since(&self) -> WallTime {
        match self {
            Self::Classic(group) => group.empty_since,
            Self::Consumer(group) => group.empty_since,
        }
    }

    /// Kafka's name of its type.
    pub(crate) const fn group_type(&self) -> &'static str {
        match self {
            Self::Classic(_) => "classic",
            Self::Consumer(_) => "consumer",
        }
    }

    /// Kafka's name of its state.
    pub(crate) fn state(&self) -> &'static str {
        match self {
            Self::Classic(group) => group.state(),
            Self::Consumer(group) => group.state(),
        }
    }

    pub(crate) fn protocol_type(&self) -> Text {
        match self {
            Self::Classic(group) => group.protocol_type.clone(),
            Self::Consumer(_) => PROTOCOL_TYPE.into(),
        }
    }

    /// Whether the group certainly does not read the topic, so that its offsets there may expire although it has members. Of a
    /// group that is not of consumers nobody knows what it reads.
    pub(crate) fn has_dropped(&self, topic: &str) -> bool {
        match self {
            Self::Classic(group) => {
                group.phase == Phase::Stable
                    && &*group.protocol_type == PROTOCOL_TYPE
                    && !group.subscribes(topic)
            }
            Self::Consumer(group) => !group.subscribes(topic),
        }
    }
}
