//! What other brokers tell.

use base::Now;
use bytes::Bytes;
use replication_appointed::{Answer, BadAppend, ReplicaId};
use replication_controller::PartitionId as ReplicatedId;
use replication_node::{Admission, Reply};
use replication_wire::{Call, Message, ReplicaMessage, WireError};

use super::{Replication, controller_id};
use crate::node::Node;
use crate::partitions::partition_of;

/// What the service of another broker asks the one here, or answers to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PeerCall {
    pub(crate) from: i32,
    pub(crate) id: u64,
    pub(crate) is_answer: bool,
    pub(crate) bytes: Bytes,
}

/// Why the connection to a broker is to be closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMessage {
    /// It is none of ours.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// No leader sends that.
    #[error("{}", .0.0)]
    Append(BadAppend),
    /// It calls for something that no broker does.
    #[error("it calls for something that no broker does")]
    Call,
    /// It names more partitions that are not known here than may be read.
    #[error("it names too many partitions that are not known here")]
    Unknown,
}

impl Replication {
    /// Takes a message of another broker.
    ///
    /// # Errors
    /// Its connection is to be closed. What came before the part at fault was taken.
    pub(crate) fn received(
        &mut self,
        node: &mut Node,
        from: ReplicaId,
        bytes: &Bytes,
        now: Now,
    ) -> Result<(), BadMessage> {
        if !self.peers.contains_key(&from) {
            return Ok(());
        }
        self.heard(node, from, now);
        let taken = self.take_message(node, from, bytes, now);
        self.carry_out(node, now);
        taken
    }

    fn take_message(
        &mut self,
        node: &mut Node,
        from: ReplicaId,
        bytes: &Bytes,
        now: Now,
    ) -> Result<(), BadMessage> {
        match Message::decode(bytes)? {
            Message::Replicas(mut items) => items.try_for_each(|item| {
                let (partition, message) = item?;
                self.replica_told(node, (from, partition), message, bytes, now)
            }),
            Message::Call(Call { id, is_answer, bytes: of_service }) => {
                let of_service = bytes.slice_ref(of_service);
                self.calls.push(PeerCall { from: from.0.cast_signed(), id, is_answer, bytes: of_service });
                Ok(())
            }
            Message::Controller(message) => {
                let effect = message.into_effect(self.own);
                self.machine.handle(controller_id(from), effect, now.mono(), &mut node.partitions);
                Ok(())
            }
            Message::Lagging(lagging) => {
                node.in_sync.told(from, lagging);
                Ok(())
            }
            Message::Node(message) => {
                self.told(node, from, message, now);
                Ok(())
            }
        }
    }

    /// Takes what services of other brokers ask and answer, in order.
    pub(crate) fn take_calls(&mut self) -> Vec<PeerCall> {
        std::mem::take(&mut self.calls)
    }

    /// A replica of a partition tells something to the one that is here.
    fn replica_told(
        &mut self,
        node: &mut Node,
        (from, partition): (ReplicaId, ReplicatedId),
        message: ReplicaMessage<'_>,
        bytes: &Bytes,
        now: Now,
    ) -> Result<(), BadMessage> {
        let reply = match message {
            ReplicaMessage::Append { append, entries } => {
                match self.machine.admit(partition, from, append.epoch, now.mono()) {
                    Admission::Later => return Ok(()),
                    Admission::Close => return Err(BadMessage::Unknown),
                    Admission::Take => {}
                }
                let slot = partition_of(partition).and_then(|id| node.partitions.slot_of(id));
                let Some(slot) = slot else { return Ok(()) };
                let entries = bytes.slice_ref(entries);
                let received = node.partitions.receive(slot, from, (&append, &entries), now);
                let answer = received.map_err(BadMessage::Append)?.map(reply_of);
                answer.into_iter().for_each(|reply| self.reply(from, &[(partition, reply)]));
                self.machine.follow_up(partition, now.mono(), &mut node.partitions);
                return Ok(());
            }
            ReplicaMessage::Appended(answer) => Reply::Appended(answer),
            ReplicaMessage::Diverged(answer) => Reply::Diverged(answer),
            ReplicaMessage::Refused(answer) => Reply::Refused(answer),
        };
        self.machine.answered(partition, from, reply, now.mono(), &mut node.partitions);
        Ok(())
    }
}

fn reply_of(answer: Answer) -> Reply {
    match answer {
        Answer::Diverged(answer) => Reply::Diverged(answer),
        Answer::Refused(answer) => Reply::Refused(answer),
    }
}
