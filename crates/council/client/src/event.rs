//! What a watcher hears.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvError, RecvTimeoutError, Sender};
use std::time::Duration;

use council_wire::{EventType, KeeperState};

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
    pub zxid: i64,
}

impl fmt::Display for Event {
    /// As ZooKeeper's own client prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.as_deref().unwrap_or("null");
        write!(f, "WatchedEvent state:{:?} type:{:?} path:{path} zxid: {}", self.state, self.kind, self.zxid)
    }
}

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Something that can be left at nodes. Clones are the same watcher: left twice at one node it hears an event once.
#[derive(Clone, Debug)]
pub struct Watcher {
    id: u64,
    sender: Sender<Event>,
}

impl Watcher {
    /// A watcher, and where its events come out. They come before the reply of any operation that could show what
    /// they tell.
    #[must_use]
    pub fn new() -> (Self, Events) {
        let (sender, receiver) = mpsc::channel();
        (Self { id: NEXT.fetch_add(1, Ordering::Relaxed), sender }, Events(receiver))
    }

    pub(crate) fn tell(&self, event: &Event) {
        // Nobody listens any more: that is their choice.
        let _ = self.sender.send(event.clone());
    }
}

impl Eq for Watcher {}

impl PartialEq for Watcher {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// The events of one watcher, in order.
#[derive(Debug)]
pub struct Events(Receiver<Event>);

impl Events {
    /// Waits for the next event.
    ///
    /// # Errors
    /// When the watcher and all its clones are gone.
    pub fn recv(&self) -> Result<Event, RecvError> {
        self.0.recv()
    }

    /// Waits for the next event, but not for ever.
    ///
    /// # Errors
    /// When there was none, or the watcher and all its clones are gone.
    pub fn recv_timeout(&self, time: Duration) -> Result<Event, RecvTimeoutError> {
        self.0.recv_timeout(time)
    }

    /// The next event, if it is there.
    #[must_use]
    pub fn try_recv(&self) -> Option<Event> {
        self.0.try_recv().ok()
    }
}
