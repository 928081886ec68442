//! Why bytes are no message.

/// Why bytes are no message. The sender is at fault: the receiver closes the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A later build sends messages of this version.
    #[error("a message of the unknown version {0}")]
    UnknownVersion(u8),
    /// There is no message, or no item of a message, of this kind.
    #[error("a message of the unknown kind {0:#04x}")]
    UnknownKind(u8),
    /// The bytes end within the message, or a count is more than they could hold.
    #[error("a message that is cut short")]
    Cut,
    /// Bytes follow the message.
    #[error("a message with bytes behind its end")]
    Trailing,
    /// A number has more bits than its type, or more bytes than it needs.
    #[error("a number that is too large, or longer than it must be")]
    Number,
    /// A value, or a pair of values, that no sender has.
    #[error("a message that no node sends: {0}")]
    Forbidden(&'static str),
}
