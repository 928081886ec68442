//! Watch events and the kinds of watches.

use crate::{Malformed, Reader, ReplyHeader, Writer, xid};

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $code:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum $name { $($(#[$vdoc])* $variant = $code,)+ }

        impl $name {
            /// The value of this number, if there is one.
            #[must_use]
            pub const fn from_code(code: i32) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)+ _ => None }
            }

            /// The number on the wire.
            #[must_use]
            pub const fn code(self) -> i32 {
                self as i32
            }
        }
    };
}

numbered! {
    /// What happened to a node.
    EventType {
        /// Nothing: the state of the connection changed (clients only).
        None = -1,
        /// The node was created.
        NodeCreated = 1,
        /// The node was deleted.
        NodeDeleted = 2,
        /// The node's data changed.
        NodeDataChanged = 3,
        /// A child was created or deleted.
        NodeChildrenChanged = 4,
    }
}

numbered! {
    /// The state of a connection, as events carry it.
    KeeperState {
        /// No server is connected.
        Disconnected = 0,
        /// Connected to a server that is part of the ensemble.
        SyncConnected = 3,
        /// Authentication failed.
        AuthFailed = 4,
        /// Connected to a server that only reads.
        ConnectedReadOnly = 5,
        /// A SASL exchange succeeded.
        SaslAuthenticated = 6,
        /// The session is gone.
        Expired = -112,
        /// The client closed itself.
        Closed = 7,
    }
}

numbered! {
    /// How a watch added by addWatch behaves.
    WatchMode {
        /// Stays after it fired.
        Persistent = 0,
        /// Stays after it fired and covers all descendants.
        PersistentRecursive = 1,
    }
}

numbered! {
    /// Which watches checkWatches and removeWatches mean.
    WatcherType {
        /// Child watches.
        Children = 1,
        /// Data watches.
        Data = 2,
        /// Every kind.
        Any = 3,
        /// Persistent watches.
        Persistent = 4,
        /// Persistent recursive watches.
        PersistentRecursive = 5,
    }
}

/// The body of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatcherEvent<'a> {
    /// What happened.
    pub event: EventType,
    /// The connection's state: always connected, when a server says it.
    pub state: KeeperState,
    /// The node.
    pub path: &'a str,
}

impl<'a> WatcherEvent<'a> {
    /// Reads the body of a notification, as a client does.
    ///
    /// # Errors
    /// When a number is not of the protocol or the bytes end early.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(Self {
            event: EventType::from_code(reader.i32()?).ok_or(Malformed("event: an unknown type"))?,
            state: KeeperState::from_code(reader.i32()?).ok_or(Malformed("event: an unknown state"))?,
            path: reader.text()?,
        })
    }

    /// Writes a whole notification: reply header with the zxid of the change, then the body.
    pub fn write(&self, zxid: i64, writer: &mut Writer<'_>) {
        ReplyHeader { xid: xid::NOTIFICATION, zxid, err: 0 }.write(writer);
        writer.i32(self.event.code()).i32(self.state.code()).text(self.path);
    }
}
