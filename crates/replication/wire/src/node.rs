//! What a node tells a controller.

use replication_appointed::{Epoch, ReplicaId};
use replication_controller::{
    Act, ActKind, Event, FenceAnswer, Incarnation, PartitionId, Promise, Report, Version,
};

use crate::codec::{Input, put_position, put_varint};
use crate::list::{Item, encode_parts, encode_some, take_count, take_items};
use crate::{VERSION, WireError, kind, partition};

const HAND_OVER: u8 = 1;
const RECOVER_WITH_LOSS: u8 = 2;
const GIVEN: u8 = 1;
const REFUSED: u8 = 2;

/// From a node to a controller. Which node that is the connection says, never the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeMessage {
    /// Which process it is: the first message on a connection.
    Announced {
        /// The process.
        incarnation: Incarnation,
    },
    /// Answers to fences. Invariants: each epoch is at least 1; a log whose promise is given is not of a later epoch; a refusal
    /// names a higher epoch.
    Promised(Vec<FenceAnswer>),
    /// What replicas do. Invariants: each epoch is at least 1; a replica that leads has promised the epoch that it leads. Without
    /// reports it is a sign of life.
    Reported {
        /// The process.
        incarnation: Incarnation,
        /// What its replicas do.
        reports: Vec<Report>,
    },
    /// A leader appends nothing, and the next leader has everything. Invariant: `epoch` is at least 1.
    Prepared {
        /// The partition.
        partition: PartitionId,
        /// Which the leader leads.
        epoch: Epoch,
        /// The next leader.
        to: ReplicaId,
    },
    /// It wants to lead nothing, or again.
    Draining {
        /// Whether it drains.
        drains: bool,
    },
    /// Somebody at this node asks for these acts.
    Acts(Vec<Act>),
}

impl NodeMessage {
    /// What the controller is told if the connection on which this came is that node's.
    #[must_use]
    pub fn into_event(self, node: ReplicaId) -> Event {
        match self {
            Self::Announced { incarnation } => Event::Announced { node, incarnation },
            Self::Promised(answers) => Event::Promised { node, answers },
            Self::Reported { incarnation, reports } => Event::Reported { node, incarnation, reports },
            Self::Prepared { partition, epoch, to } => Event::Prepared { node, partition, epoch, to },
            Self::Draining { drains } => Event::Draining { node, drains },
            Self::Acts(acts) => Event::Acts { node, acts },
        }
    }

    /// Gives `send` as many messages as the items need, each of at most [`BATCH_BYTES_MAX`](crate::BATCH_BYTES_MAX) bytes. Each
    /// may be lost by itself.
    pub fn encode_parts(&self, mut send: impl FnMut(&[u8])) {
        match self {
            Self::Promised(answers) => encode_parts(kind::PROMISED, answers, |_| (), send),
            Self::Reported { incarnation, reports } => {
                encode_parts(kind::REPORTED, reports, |out| put_varint(out, incarnation.0), send);
            }
            Self::Acts(acts) => encode_parts(kind::ACTS, acts, |_| (), send),
            Self::Announced { .. } | Self::Prepared { .. } | Self::Draining { .. } => {
                let mut out = Vec::new();
                self.encode(&mut out);
                send(&out);
            }
        }
    }

    /// Appends all items as one message, however long that is.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Announced { incarnation } => {
                out.extend_from_slice(&[VERSION, kind::ANNOUNCED]);
                put_varint(out, incarnation.0);
            }
            Self::Promised(answers) => {
                encode_some(out, (kind::PROMISED, usize::MAX), answers, |_| ());
            }
            Self::Reported { incarnation, reports } => {
                let head = |out: &mut Vec<u8>| put_varint(out, incarnation.0);
                encode_some(out, (kind::REPORTED, usize::MAX), reports, head);
            }
            Self::Prepared { partition, epoch, to } => {
                out.extend_from_slice(&[VERSION, kind::PREPARED]);
                partition::encode(*partition, None, out);
                put_varint(out, epoch.0.into());
                put_varint(out, to.0.into());
            }
            Self::Draining { drains } => {
                out.extend_from_slice(&[VERSION, kind::DRAINING, u8::from(*drains)]);
            }
            Self::Acts(acts) => {
                encode_some(out, (kind::ACTS, usize::MAX), acts, |_| ());
            }
        }
    }

    /// What stands behind the version and the kind.
    pub(crate) fn decode(kind: u8, mut input: Input<'_>) -> Result<Self, WireError> {
        let message = match kind {
            kind::ANNOUNCED => Self::Announced { incarnation: Incarnation(input.varint()?) },
            kind::PROMISED => {
                let count = take_count(&mut input)?;
                Self::Promised(take_items(&mut input, count)?)
            }
            kind::REPORTED => {
                let (count, incarnation) = (take_count(&mut input)?, Incarnation(input.varint()?));
                Self::Reported { incarnation, reports: take_items(&mut input, count)? }
            }
            kind::PREPARED => {
                let (partition, epoch) = (partition::decode(None, &mut input)?, input.epoch()?);
                Self::Prepared { partition, epoch, to: input.replica()? }
            }
            kind::DRAINING => Self::Draining { drains: input.flag()? },
            kind::ACTS => {
                let count = take_count(&mut input)?;
                Self::Acts(take_items(&mut input, count)?)
            }
            unknown => return Err(WireError::UnknownKind(unknown)),
        };
        input.finish()?;
        Ok(message)
    }
}

impl Item for Act {
    const BYTES_MIN: usize = 2;

    fn partition(&self) -> PartitionId {
        self.partition
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self.kind {
            ActKind::HandOver(to) => {
                out.push(HAND_OVER);
                put_varint(out, to.0.into());
            }
            ActKind::RecoverWithLoss => out.push(RECOVER_WITH_LOSS),
        }
    }

    fn decode(partition: PartitionId, input: &mut Input<'_>) -> Result<Self, WireError> {
        let kind = match input.byte()? {
            HAND_OVER => ActKind::HandOver(input.replica()?),
            RECOVER_WITH_LOSS => ActKind::RecoverWithLoss,
            unknown => return Err(WireError::UnknownKind(unknown)),
        };
        Ok(Self { partition, kind })
    }
}

impl Item for FenceAnswer {
    const BYTES_MIN: usize = 4;

    fn partition(&self) -> PartitionId {
        self.partition
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.epoch.0.into());
        match self.promise {
            Promise::Given(position) => {
                out.push(GIVEN);
                put_position(out, position);
            }
            Promise::Refused(promised) => {
                out.push(REFUSED);
                put_varint(out, promised.0.into());
            }
        }
    }

    fn decode(partition: PartitionId, input: &mut Input<'_>) -> Result<Self, WireError> {
        let epoch = input.epoch()?;
        let promise = match input.byte()? {
            GIVEN => Promise::Given(input.position()?),
            REFUSED => Promise::Refused(input.epoch()?),
            unknown => return Err(WireError::UnknownKind(unknown)),
        };
        match promise {
            Promise::Given(position) if position.epoch > epoch => {
                Err(WireError::Forbidden("a promise of an epoch below that of the log"))
            }
            Promise::Refused(promised) if promised <= epoch => {
                Err(WireError::Forbidden("a refusal without a higher promise"))
            }
            promise => Ok(Self { partition, epoch, promise }),
        }
    }
}

impl Item for Report {
    const BYTES_MIN: usize = 5;

    fn partition(&self) -> PartitionId {
        self.partition
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.version.0);
        put_varint(out, self.epoch.0.into());
        out.push(u8::from(self.leads));
        put_varint(out, self.promised.0.into());
    }

    fn decode(partition: PartitionId, input: &mut Input<'_>) -> Result<Self, WireError> {
        let (version, epoch, leads) = (Version(input.varint()?), input.epoch()?, input.flag()?);
        let promised = Epoch(input.varint32()?);
        if leads && promised != epoch {
            return Err(WireError::Forbidden("a leader that has not promised its own epoch"));
        }
        Ok(Self { partition, version, epoch, promised, leads })
    }
}
