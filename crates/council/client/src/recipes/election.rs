//! Leader election.

use std::time::Duration;

use council_client_core::Acl;
use council_client_core::recipes::{Contender, Layout, Recipe, Standing};

use super::running::Running;
use super::{Lock, RecipeError};
use crate::Client;

/// A candidate for leadership, and the leader when its turn has come. A candidate that has lost leadership, or its place
/// among those that wait, goes to the end of the queue.
///
/// ```no_run
/// use std::time::Duration;
///
/// use council_client::Options;
/// use council_client::recipes::Election;
///
/// let client = Options::new().renew_session(true).connect("127.0.0.1:2181")?;
/// let election = Election::enter(&client, "/app/leader", b"broker-7")?;
/// while let Some(epoch) = election.wait_leader(Duration::from_secs(60)) {
///     // Everything that the leader does carries the epoch; resources refuse an epoch below the greatest seen.
///     println!("leader under the epoch {epoch}");
///     election.wait_change(Duration::from_secs(60));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # After the session has expired
/// The leader is [`Standing::Lost`], and another one may have been elected before this client knows. If the client
/// [opens a new session](crate::Options::renew_session) it is a candidate again, and its next epoch is a greater one; without
/// that, the election is [`Standing::Failed`]. A leader that acts on what others share must send its epoch with what it does.
#[derive(Debug)]
pub struct Election {
    running: Running<Contender>,
}

impl Election {
    /// Becomes a candidate, in the layout of Curator's `LeaderLatch`. `id` is the data of its node.
    ///
    /// # Errors
    /// When this host has no thread left.
    pub fn enter(client: &Client, path: &str, id: &[u8]) -> Result<Self, RecipeError> {
        Self::enter_as(client, path, id, Layout::CuratorLatch, &[Acl::open()])
    }

    /// As [`Self::enter`], in another layout: [`Layout::Curator`] is that of `LeaderSelector`, [`Layout::Kazoo`] that of
    /// kazoo's `Election`.
    ///
    /// # Errors
    /// When this host has no thread left.
    pub fn enter_as(
        client: &Client,
        path: &str,
        id: &[u8],
        layout: Layout,
        acl: &[Acl],
    ) -> Result<Self, RecipeError> {
        let lock = Lock::new(client, path).layout(layout).data(id).acl(acl);
        Ok(Self { running: Running::start(client, Contender::new(lock.settings(true)?), |_| {})? })
    }

    /// The epoch, if this is the leader as far as it knows: not while it is not connected.
    #[must_use]
    pub fn leader_epoch(&self) -> Option<i64> {
        self.running.look(Contender::held)
    }

    /// Where the candidate stands.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.running.look(|contender| contender.standing().clone())
    }

    /// Waits until this is the leader; its epoch. `None` when the time is over or nothing will come of it.
    #[must_use]
    pub fn wait_leader(&self, time: Duration) -> Option<i64> {
        let ended = |contender: &Contender| match contender.is_over() {
            true => Some(None),
            false => contender.held().map(Some),
        };
        self.running.wait(time, ended).flatten()
    }

    /// Waits until the candidate stands elsewhere than at the time of the call; where it stands then.
    pub fn wait_change(&self, time: Duration) -> Standing {
        let before = self.standing();
        let changed =
            |contender: &Contender| (*contender.standing() != before).then(|| contender.standing().clone());
        self.running.wait(time, changed).unwrap_or_else(|| self.standing())
    }

    /// Withdraws the candidate, and waits until the server has confirmed it.
    ///
    /// # Errors
    /// When the time is over: the request goes to the server later, or the session ends.
    pub fn resign(self, time: Duration) -> Result<(), RecipeError> {
        self.running.release();
        self.running.wait(time, |contender| contender.is_over().then_some(())).ok_or(RecipeError::TimedOut)
    }
}
