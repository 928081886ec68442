//! A local copy of a subtree.

use std::collections::BTreeMap;
use std::time::Duration;

use council_client_core::Zxid;
use council_client_core::recipes::{Cache, CacheLimits, CacheState, CachedNode, Update};

use super::RecipeError;
use super::running::Running;
use crate::Client;

/// A copy of a subtree that follows it: at each moment it is the subtree at one zxid, and it never goes back.
///
/// ```no_run
/// use std::time::Duration;
///
/// use council_client::{Options, Zxid};
/// use council_client::recipes::SubtreeCache;
///
/// let client = Options::new().renew_session(true).connect("127.0.0.1:2181")?;
/// let cache = SubtreeCache::open(&client, "/app/config")?;
/// let mut zxid = Zxid(-1);
/// while let Some(now) = cache.wait_newer(zxid, Duration::from_secs(60)) {
///     cache.with(|nodes| println!("{} nodes at zxid {now}", nodes.len()));
///     zxid = now;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # After the session has expired
/// The copy stays as it was. If the client [opens a new session](crate::Options::renew_session) the subtree is listed again
/// and the copy goes on from there; without that, [`Self::state`] is [`CacheState::Failed`]. The copy is always a little
/// behind, and while no server is connected ([`CacheState::Suspended`]) by any time: a caller that must not act on what is
/// stale reads from the server after a sync, or writes with the version that it saw.
#[derive(Debug)]
pub struct SubtreeCache {
    running: Running<Cache>,
}

impl SubtreeCache {
    /// Begins to copy the node `root` and all below it; there need not be such a node.
    ///
    /// # Errors
    /// When this host has no thread left.
    pub fn open(client: &Client, root: &str) -> Result<Self, RecipeError> {
        Self::open_with(client, root, CacheLimits::default(), |_| {})
    }

    /// As [`Self::open`], with limits, and `on_update` told of each update in the recipe's thread, in order.
    ///
    /// # Errors
    /// When this host has no thread left.
    pub fn open_with(
        client: &Client,
        root: &str,
        limits: CacheLimits,
        mut on_update: impl FnMut(&Update) + Send + 'static,
    ) -> Result<Self, RecipeError> {
        let after = move |cache: &mut Cache| {
            while let Some(update) = cache.update() {
                on_update(&update);
            }
        };
        Ok(Self { running: Running::start(client, Cache::new(root, limits), after)? })
    }

    /// The copy of one node.
    #[must_use]
    pub fn node(&self, path: &str) -> Option<CachedNode> {
        self.with(|nodes| nodes.get(path).cloned())
    }

    /// The names of a node's children, in order.
    #[must_use]
    pub fn children(&self, path: &str) -> Vec<String> {
        self.running.look(|cache| cache.children(path).map(String::from).collect())
    }

    /// Looks at the whole copy, as it is at one zxid. The copy does not change meanwhile, so this must not take long.
    pub fn with<T>(&self, look: impl FnOnce(&BTreeMap<String, CachedNode>) -> T) -> T {
        self.running.look(|cache| look(cache.nodes()))
    }

    /// The zxid that the copy is the subtree of, -1 before there is a copy.
    #[must_use]
    pub fn zxid(&self) -> Zxid {
        self.running.look(Cache::zxid)
    }

    /// Whether the copy follows the subtree.
    #[must_use]
    pub fn state(&self) -> CacheState {
        self.running.look(|cache| cache.state().clone())
    }

    /// Waits until the copy is that of a later zxid (-1: until there is one); its zxid then.
    #[must_use]
    pub fn wait_newer(&self, zxid: Zxid, time: Duration) -> Option<Zxid> {
        self.running.wait(time, |cache| Some(cache.zxid()).filter(|now| *now > zxid))
    }

    /// Waits until `wanted` is true of the copy; whether it is.
    #[must_use]
    pub fn wait_until(&self, time: Duration, wanted: impl Fn(&BTreeMap<String, CachedNode>) -> bool) -> bool {
        self.running.wait(time, |cache| wanted(cache.nodes()).then_some(())).is_some()
    }
}
