//! Any message, as it arrives.

use crate::codec::Input;
use crate::{Call, ControllerMessage, Lagging, NodeMessage, Replicas, VERSION, WireError, kind};

/// Any message. Whether the sender may send such a one is the receiver's to judge.
#[derive(Clone, Debug)]
pub enum Message<'a> {
    /// Between replicas, of any number of partitions.
    Replicas(Replicas<'a>),
    /// Between two services.
    Call(Call<'a>),
    /// From a controller to a node.
    Controller(ControllerMessage),
    /// From a node to a controller.
    Node(NodeMessage),
    /// From a leader to all nodes.
    Lagging(Vec<Lagging>),
}

impl<'a> Message<'a> {
    /// Reads one message. Of [`Replicas`] the items are read later, one at a time.
    ///
    /// # Errors
    /// The sender is at fault, or is of a later build: the receiver closes the connection.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut input = Input::new(bytes);
        let version = input.byte()?;
        if version != VERSION {
            return Err(WireError::UnknownVersion(version));
        }
        match input.byte()? {
            kind::REPLICAS => Replicas::decode(input).map(Self::Replicas),
            kind @ (kind::CALL | kind::ANSWER) => Call::decode(kind == kind::ANSWER, input).map(Self::Call),
            kind @ (kind::FENCE | kind::TELL | kind::ASK) => {
                ControllerMessage::decode(kind, input).map(Self::Controller)
            }
            kind::LAGGING => Lagging::decode(input).map(Self::Lagging),
            kind => NodeMessage::decode(kind, input).map(Self::Node),
        }
    }
}
