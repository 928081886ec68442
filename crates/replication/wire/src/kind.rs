//! The second byte of a message. Numbers that were given out are never used for something else.

/// Between replicas.
pub(crate) const REPLICAS: u8 = 0x01;

/// Between two services of the same kind.
pub(crate) const CALL: u8 = 0x02;
pub(crate) const ANSWER: u8 = 0x03;

/// From a controller to a node.
pub(crate) const FENCE: u8 = 0x11;
pub(crate) const TELL: u8 = 0x12;
pub(crate) const ASK: u8 = 0x13;

/// From a node to a controller.
pub(crate) const ANNOUNCED: u8 = 0x21;
pub(crate) const PROMISED: u8 = 0x22;
pub(crate) const REPORTED: u8 = 0x23;
pub(crate) const PREPARED: u8 = 0x24;
pub(crate) const DRAINING: u8 = 0x25;
pub(crate) const ACTS: u8 = 0x26;

/// From a leader to all nodes.
pub(crate) const LAGGING: u8 = 0x31;
