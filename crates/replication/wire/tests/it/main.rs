//! Messages of every kind: they come back, and nothing else is taken for one.
//!
//! The messages are made from seeds ([`generate`]). A failure names the seed or the bytes.

mod generate;
mod golden;
mod hostile;
mod limits;
mod round_trip;

use replication_controller::PartitionId;
use replication_wire::{
    Call, ControllerMessage, Lagging, Message, NodeMessage, ReplicaMessage, ReplicasWriter, WireError,
};

/// A message with all of its items.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Whole<'a> {
    Replicas(Vec<(PartitionId, ReplicaMessage<'a>)>),
    Call(Call<'a>),
    Controller(ControllerMessage),
    Node(NodeMessage),
    Lagging(Vec<Lagging>),
}

impl<'a> Whole<'a> {
    fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        Ok(match Message::decode(bytes)? {
            Message::Replicas(items) => Self::Replicas(items.collect::<Result<_, _>>()?),
            Message::Call(call) => Self::Call(call),
            Message::Controller(message) => Self::Controller(message),
            Message::Node(message) => Self::Node(message),
            Message::Lagging(items) => Self::Lagging(items),
        })
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Replicas(items) => {
                let mut writer = ReplicasWriter::new(&mut out, usize::MAX);
                for (partition, message) in items {
                    writer.put(*partition, message).expect("there is no limit");
                }
                assert_eq!(writer.count() as usize, items.len());
            }
            Self::Call(call) => call.encode(&mut out),
            Self::Controller(message) => message.encode(&mut out),
            Self::Node(message) => message.encode(&mut out),
            Self::Lagging(items) => Lagging::encode(items, &mut out),
        }
        out
    }
}

fn decode(bytes: &[u8]) -> Result<Whole<'_>, WireError> {
    Whole::decode(bytes)
}
