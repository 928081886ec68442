//! What a controller tells a node.

use replication_appointed::{Epoch, ReplicaId};
use replication_controller::{Effect, FenceRequest, Known, PartitionId, Task, Version, Work};

use crate::codec::{Input, put_varint};
use crate::list::{Item, encode_parts, encode_some, take_count, take_items};
use crate::record::{self, RECORD_BYTES_MIN};
use crate::{WireError, kind};

const CHANGE: u8 = 1;
const HAND_OVER: u8 = 2;

/// From a controller to the node at the other end of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControllerMessage {
    /// Promises that are wanted. Invariant: each epoch is at least 1.
    Fence(Vec<FenceRequest>),
    /// What the configuration says. Invariants of each record: its epoch is at least 1; each set of voters has at least one
    /// replica, and an entry must be durable on at least one and at most all of them.
    Tell(Vec<Known>),
    /// What leaders are asked for. Invariants: each epoch is at least 1; the epoch of a record that is to be written is the next
    /// one, and that record is as in [`Self::Tell`].
    Ask(Vec<Task>),
}

impl ControllerMessage {
    /// The message that an effect asks for, and for which node.
    ///
    /// # Errors
    /// The effect is not about a node.
    pub fn of(effect: Effect) -> Result<(ReplicaId, Self), Effect> {
        match effect {
            Effect::SendFence { node, fences } => Ok((node, Self::Fence(fences))),
            Effect::Tell { node, known } => Ok((node, Self::Tell(known))),
            Effect::Ask { node, tasks } => Ok((node, Self::Ask(tasks))),
            other @ (Effect::Propose { .. } | Effect::Read { .. }) => Err(other),
        }
    }

    /// The effect that a node carries out.
    #[must_use]
    pub fn into_effect(self, node: ReplicaId) -> Effect {
        match self {
            Self::Fence(fences) => Effect::SendFence { node, fences },
            Self::Tell(known) => Effect::Tell { node, known },
            Self::Ask(tasks) => Effect::Ask { node, tasks },
        }
    }

    /// Gives `send` as many messages as the items need, each of at most [`BATCH_BYTES_MAX`](crate::BATCH_BYTES_MAX) bytes unless
    /// it has one item. Each may be lost by itself.
    pub fn encode_parts(&self, send: impl FnMut(&[u8])) {
        match self {
            Self::Fence(fences) => encode_parts(kind::FENCE, fences, |_| (), send),
            Self::Tell(known) => encode_parts(kind::TELL, known, |_| (), send),
            Self::Ask(tasks) => encode_parts(kind::ASK, tasks, |_| (), send),
        }
    }

    /// Appends all items as one message, however long that is.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Fence(fences) => encode_some(out, (kind::FENCE, usize::MAX), fences, |_| ()),
            Self::Tell(known) => encode_some(out, (kind::TELL, usize::MAX), known, |_| ()),
            Self::Ask(tasks) => encode_some(out, (kind::ASK, usize::MAX), tasks, |_| ()),
        };
    }

    /// What stands behind the version and the kind.
    pub(crate) fn decode(kind: u8, mut input: Input<'_>) -> Result<Self, WireError> {
        let count = take_count(&mut input)?;
        match kind {
            kind::FENCE => take_items(&mut input, count).map(Self::Fence),
            kind::TELL => take_items(&mut input, count).map(Self::Tell),
            kind::ASK => take_items(&mut input, count).map(Self::Ask),
            unknown => Err(WireError::UnknownKind(unknown)),
        }
    }
}

impl Item for FenceRequest {
    const BYTES_MIN: usize = 2;

    fn partition(&self) -> PartitionId {
        self.partition
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.epoch.0.into());
    }

    fn decode(partition: PartitionId, input: &mut Input<'_>) -> Result<Self, WireError> {
        Ok(Self { partition, epoch: input.epoch()? })
    }
}

impl Item for Known {
    const BYTES_MIN: usize = 2 + RECORD_BYTES_MIN;

    fn partition(&self) -> PartitionId {
        self.partition
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.version.0);
        record::encode(&self.record, out);
    }

    fn decode(partition: PartitionId, input: &mut Input<'_>) -> Result<Self, WireError> {
        Ok(Self { partition, version: Version(input.varint()?), record: record::decode(input)? })
    }
}

impl Item for Task {
    const BYTES_MIN: usize = 4;

    fn partition(&self) -> PartitionId {
        self.partition
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.epoch.0.into());
        match &self.work {
            Work::Change { version, record } => {
                out.push(CHANGE);
                put_varint(out, version.0);
                record::encode(record, out);
            }
            Work::HandOver { to } => {
                out.push(HAND_OVER);
                put_varint(out, to.0.into());
            }
        }
    }

    fn decode(partition: PartitionId, input: &mut Input<'_>) -> Result<Self, WireError> {
        let epoch = input.epoch()?;
        let work = match input.byte()? {
            CHANGE => decode_change(epoch, input)?,
            HAND_OVER => Work::HandOver { to: input.replica()? },
            unknown => return Err(WireError::UnknownKind(unknown)),
        };
        Ok(Self { partition, epoch, work })
    }
}

fn decode_change(epoch: Epoch, input: &mut Input<'_>) -> Result<Work, WireError> {
    let (version, record) = (Version(input.varint()?), record::decode(input)?);
    if epoch.0.checked_add(1) != Some(record.config.epoch.0) {
        return Err(WireError::Forbidden("a change of voters under an epoch that is not the next one"));
    }
    Ok(Work::Change { version, record: Box::new(record) })
}
