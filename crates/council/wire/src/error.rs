//! Error codes that a reply carries, and the one error of decoding.

use core::fmt;

/// Bytes that are not the record they should be. The peer is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(
    /// What was being read when it went wrong.
    pub &'static str,
);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed {}", self.0)
    }
}

impl core::error::Error for Malformed {}

macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $label:literal;)+) => {
        /// The error codes of ZooKeeper's protocol (`KeeperException.Code`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(i32)]
        pub enum ErrorCode { $($(#[$doc])* $name = $code,)+ }

        impl ErrorCode {
            /// Every code, in the order of the protocol's own list.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The code of this number, if the protocol has one.
            #[must_use]
            pub const fn from_code(code: i32) -> Option<Self> {
                match code { $($code => Some(Self::$name),)+ _ => None }
            }

            /// The name that ZooKeeper's tools print.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $label,)+ }
            }
        }
    };
}

error_codes! {
    /// Everything is well.
    Ok = 0, "Ok";
    /// The server failed, and no other code fits.
    SystemError = -1, "SystemError";
    /// An operation of a multi that was not run, because an earlier or later one failed.
    RuntimeInconsistency = -2, "RuntimeInconsistency";
    /// Data on the server contradicts itself.
    DataInconsistency = -3, "DataInconsistency";
    /// The connection was lost (clients report it; servers never send it).
    ConnectionLoss = -4, "ConnectionLoss";
    /// A request could not be decoded.
    MarshallingError = -5, "MarshallingError";
    /// The operation does not exist or is switched off.
    Unimplemented = -6, "Unimplemented";
    /// The operation took too long.
    OperationTimeout = -7, "OperationTimeout";
    /// An argument is not valid.
    BadArguments = -8, "BadArguments";
    /// The session is not known.
    UnknownSession = -12, "UnknownSession";
    /// No quorum of the new configuration is connected.
    NewConfigNoQuorum = -13, "NewConfigNoQuorum";
    /// Another membership change is under way.
    ReconfigInProgress = -14, "ReconfigInProgress";
    /// The start of the range of errors that are sent to clients.
    ApiError = -100, "APIError";
    /// The node does not exist.
    NoNode = -101, "NoNode";
    /// The client may not do that.
    NoAuth = -102, "NoAuth";
    /// The version given is not the node's.
    BadVersion = -103, "BadVersion";
    /// Ephemeral nodes have no children.
    NoChildrenForEphemerals = -108, "NoChildrenForEphemerals";
    /// The node exists already.
    NodeExists = -110, "NodeExists";
    /// The node has children.
    NotEmpty = -111, "NotEmpty";
    /// The session has expired.
    SessionExpired = -112, "SessionExpired";
    /// A callback was not valid (clients only).
    InvalidCallback = -113, "InvalidCallback";
    /// The ACL is not valid.
    InvalidAcl = -114, "InvalidACL";
    /// Authentication failed.
    AuthFailed = -115, "AuthFailed";
    /// The session has moved to another server (never sent to a client).
    SessionMoved = -118, "SessionMoved";
    /// The server is read-only.
    NotReadOnly = -119, "NotReadOnly";
    /// A local session cannot own ephemeral nodes.
    EphemeralOnLocalSession = -120, "EphemeralOnLocalSession";
    /// There is no such watcher.
    NoWatcher = -121, "NoWatcher";
    /// The request timed out (clients only).
    RequestTimeout = -122, "RequestTimeout";
    /// Membership changes are switched off.
    ReconfigDisabled = -123, "ReconfigDisabled";
    /// The session was closed because the server demands authentication.
    SessionClosedRequireSaslAuth = -124, "SessionClosedRequireSaslAuth";
    /// A quota would be exceeded.
    QuotaExceeded = -125, "QuotaExceeded";
    /// The server throttled the operation.
    ThrottledOp = -127, "ThrottledOp";
}

impl ErrorCode {
    /// The number on the wire.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.code())
    }
}
