//! Recipes: what users build from znodes, as state machines over the requests, replies and events of one client. They
//! send nothing themselves and know no time: the driver that runs them, in production or in a simulation, moves their
//! requests and inputs.
//!
//! Each recipe has one watcher; its requests with `watch` leave that one. All inputs of a recipe come in the order in which
//! the client told them. A recipe asks only while it is connected, and asks again after each reconnection: what it asked
//! before may or may not have taken effect, and it finds out by reading.

mod cache;
mod contender;
mod layout;
mod membership;
mod presence;
mod queue;
mod update;

use council_wire::{KeeperState, SessionId};

use crate::Error;
use crate::data_client::RequestId;
use crate::event::Event;
use crate::handler::StateChange;
use crate::request::{Replied, Request};

pub use cache::{Cache, CacheLimits, CacheState, CachedNode, Update};
pub use contender::{Contender, ContenderSettings, Standing};
pub use layout::{Kind, Layout};
pub use membership::{Member, Membership};
pub use presence::{Presence, PresenceState};
pub use update::{Compute, NodeUpdate, Outcome};

/// A recipe as a state machine.
pub trait Recipe {
    /// Takes what has happened.
    fn tell(&mut self, input: Input);

    /// The next request to be submitted.
    fn next(&mut self) -> Option<Ask>;

    /// Whether nothing more will happen: the recipe has let go of all that it held, or its client is of no more use.
    fn is_over(&self) -> bool;
}

/// A request of a recipe, with the recipe's own number for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Comes back with the reply.
    pub id: RequestId,
    /// What is asked.
    pub request: Request,
}

/// What happened, to a recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A server is connected, under this session.
    Connected {
        /// The id of the session.
        session: SessionId,
    },
    /// No server is connected. The session may or may not have expired.
    Disconnected,
    /// The session has expired; another one may follow.
    Expired,
    /// The client is of no more use.
    Over(Error),
    /// Something happened to a node that the recipe watches.
    Event(Event),
    /// How a request ended.
    Replied(RequestId, Replied),
    /// The user is done with the recipe: it lets go of what it holds, and is over then.
    Release,
}

impl Input {
    /// A change of the connection's state. `is_over` says whether the client goes on after it.
    #[must_use]
    pub fn of_state(change: StateChange, is_over: bool) -> Self {
        match change.state {
            KeeperState::SyncConnected | KeeperState::ConnectedReadOnly | KeeperState::SaslAuthenticated => {
                Self::Connected { session: change.session }
            }
            KeeperState::Disconnected => Self::Disconnected,
            KeeperState::Expired if is_over => Self::Over(Error::SessionExpired),
            KeeperState::Expired => Self::Expired,
            KeeperState::AuthFailed => Self::Over(Error::AuthFailed),
            KeeperState::Closed => Self::Over(Error::Closed),
        }
    }
}

/// The path of a child.
fn child(parent: &str, name: &str) -> String {
    format!("{}/{name}", parent.trim_end_matches('/'))
}

/// The ancestors of a path below the root, the highest first, then the path itself.
fn lineage(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.char_indices().filter(|(at, character)| *at > 0 && *character == '/').map(|(at, _)| at);
    ends.chain((path != "/").then_some(path.len())).filter_map(|end| path.get(..end))
}

/// The parent of a path.
fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(at) if at > 0 => path.get(..at).unwrap_or("/"),
        _ => "/",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lineage_begins_below_the_root() {
        assert_eq!(lineage("/a/b/c").collect::<Vec<_>>(), ["/a", "/a/b", "/a/b/c"]);
        assert_eq!(lineage("/").count(), 0);
        assert_eq!((child("/", "a"), child("/a", "b")), ("/a".into(), "/a/b".into()));
        assert_eq!((parent("/a"), parent("/a/b")), ("/", "/a"));
    }
}
