//! Watchers that deliver events into channels.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvError, RecvTimeoutError, Sender};
use std::time::Duration;

use council_client_core::{Event, Replied, RequestId, StateChange};

use crate::delivery::state_event;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Something that can be left at nodes. Clones are the same watcher: left twice at one node, it gets an event once.
#[derive(Clone, Debug)]
pub struct Watcher {
    id: u64,
    ear: Ear,
}

/// Where events go.
#[derive(Clone, Debug)]
enum Ear {
    Events(Sender<Event>),
    /// To a recipe, which is also told which session a state belongs to.
    Recipe(Sender<Heard>),
}

/// What a recipe's watcher gets.
#[derive(Debug)]
pub(crate) enum Heard {
    Event(Event),
    State(StateChange),
    Replied(RequestId, Replied),
    /// The user has changed the recipe.
    Changed,
    /// The user is done with the recipe.
    Stop,
}

impl Watcher {
    /// A watcher, and where its events come out. They come before the reply of any operation that could show their
    /// change.
    #[must_use]
    pub fn new() -> (Self, Events) {
        let (sender, receiver) = mpsc::channel();
        (Self { id: NEXT.fetch_add(1, Ordering::Relaxed), ear: Ear::Events(sender) }, Events(receiver))
    }

    /// A watcher of a recipe.
    pub(crate) fn of_recipe(sender: Sender<Heard>) -> Self {
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), ear: Ear::Recipe(sender) }
    }

    pub(crate) fn tell(&self, event: &Event) {
        // The user may have dropped the receiver: then events are dropped.
        match &self.ear {
            Ear::Events(sender) => drop(sender.send(event.clone())),
            Ear::Recipe(sender) => drop(sender.send(Heard::Event(event.clone()))),
        }
    }

    pub(crate) fn tell_state(&self, change: StateChange) {
        match &self.ear {
            Ear::Events(_) => self.tell(&state_event(change.state)),
            Ear::Recipe(sender) => drop(sender.send(Heard::State(change))),
        }
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

    /// Waits for the next event, with a time limit.
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
