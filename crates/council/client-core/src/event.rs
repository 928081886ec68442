//! What a watcher gets.

use std::fmt;

use council_wire::{EventType, KeeperState, Zxid};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// Nothing happened to a node: the state of the connection changed.
    None,
    /// The node was created.
    NodeCreated,
    /// The node was deleted.
    NodeDeleted,
    /// The node's data changed.
    NodeDataChanged,
    /// A child was created or deleted.
    NodeChildrenChanged,
    /// The watcher was taken off the node's data.
    DataWatchRemoved,
    /// The watcher was taken off the node's children.
    ChildWatchRemoved,
    /// The persistent watcher was taken off.
    PersistentWatchRemoved,
}

impl From<EventType> for EventKind {
    fn from(event: EventType) -> Self {
        match event {
            EventType::None => Self::None,
            EventType::NodeCreated => Self::NodeCreated,
            EventType::NodeDeleted => Self::NodeDeleted,
            EventType::NodeDataChanged => Self::NodeDataChanged,
            EventType::NodeChildrenChanged => Self::NodeChildrenChanged,
        }
    }
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The state of the connection.
    pub state: KeeperState,
    /// The node, as the client knows it; `None` when the connection's state changed.
    pub path: Option<String>,
    /// The transaction that caused it, or -1 where none is known.
    pub zxid: Zxid,
}

impl fmt::Display for Event {
    /// As ZooKeeper's own client prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.as_deref().unwrap_or("null");
        write!(
            f,
            "WatchedEvent state:{:?} type:{:?} path:{path} zxid: {}",
            self.state, self.kind, self.zxid.0
        )
    }
}
