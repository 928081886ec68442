//! A fair lock: exclusive, or shared among readers.

use std::time::Duration;

use council_client_core::recipes::{Contender, ContenderSettings, Kind, Layout, Standing};
use council_client_core::{Acl, Error};

use super::RecipeError;
use super::running::Running;
use crate::Client;

/// A lock at a node of its own. Contenders get it in the order in which they came.
///
/// ```no_run
/// use std::time::Duration;
///
/// use council_client::Client;
/// use council_client::recipes::Lock;
///
/// let client = Client::connect("127.0.0.1:2181")?;
/// let guard = Lock::new(&client, "/app/lock").acquire(Duration::from_secs(10))?;
/// // Whatever is changed under the lock takes the epoch along, and refuses a lower one than it has seen.
/// println!("locked under the epoch {}", guard.epoch());
/// assert!(guard.is_held());
/// guard.release(Duration::from_secs(10))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # After the session has expired
/// The lock is lost, and another client may hold it before this client knows. [`LockGuard::is_held`] says what was true
/// when the last message came; only the epoch, checked by the resource that the lock protects, keeps a late holder out.
#[derive(Clone, Debug)]
pub struct Lock {
    client: Client,
    path: String,
    layout: Layout,
    kind: Kind,
    data: Vec<u8>,
    acl: Vec<Acl>,
}

impl Lock {
    /// A mutex, in the layout of Curator's `InterProcessMutex`.
    #[must_use]
    pub fn new(client: &Client, path: &str) -> Self {
        Self {
            client: client.clone(),
            path: String::from(path),
            layout: Layout::Curator,
            kind: Kind::Exclusive,
            data: Vec::new(),
            acl: vec![Acl::open()],
        }
    }

    /// The half of a read/write lock that others may hold at the same time, in the layout of Curator's.
    #[must_use]
    pub fn read(client: &Client, path: &str) -> Self {
        Self { kind: Kind::Shared, ..Self::write(client, path) }
    }

    /// The exclusive half of a read/write lock, in Curator's layout.
    #[must_use]
    pub fn write(client: &Client, path: &str) -> Self {
        Self { layout: Layout::CuratorReadWrite, ..Self::new(client, path) }
    }

    /// How the nodes are named: it must be the layout of the other contenders.
    #[must_use]
    pub const fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// The data of this contender's node, for people who look at it.
    #[must_use]
    pub fn data(mut self, data: &[u8]) -> Self {
        self.data = data.to_vec();
        self
    }

    /// The ACL of this contender's node and of the parents that are made for it (open to all unless said).
    #[must_use]
    pub fn acl(mut self, acl: &[Acl]) -> Self {
        self.acl = acl.to_vec();
        self
    }

    /// Waits for the lock. A contender whose time is over leaves the queue.
    ///
    /// # Errors
    /// When the time is over, the server refuses, or the session expires and the client opens no new one.
    pub fn acquire(&self, time: Duration) -> Result<LockGuard, RecipeError> {
        let running = Running::start(&self.client, Contender::new(self.settings(false)?), |_| {})?;
        let ended = running.wait(time, |contender| match contender.standing() {
            Standing::Held { epoch } => Some(Ok(*epoch)),
            Standing::Failed(error) => Some(Err(error.clone())),
            // Held and lost before the caller looked.
            Standing::Lost { .. } => Some(Err(Error::SessionExpired)),
            _ => None,
        });
        match ended {
            Some(Ok(epoch)) => Ok(LockGuard { running, epoch }),
            Some(Err(error)) => Err(error.into()),
            None => Err(RecipeError::TimedOut),
        }
    }

    pub(super) fn settings(&self, again: bool) -> Result<ContenderSettings, RecipeError> {
        let Self { path, layout, kind, data, acl, .. } = self.clone();
        Ok(ContenderSettings { path, layout, kind, guid: super::guid()?, data, acl, again })
    }
}

/// A lock that was acquired. When it is dropped it is released in the background.
#[must_use = "the lock is released when the guard is dropped"]
#[derive(Debug)]
pub struct LockGuard {
    running: Running<Contender>,
    epoch: i64,
}

impl LockGuard {
    /// The zxid that created this contender's node. Of two holders one after the other the later has the greater one, unless
    /// both only read.
    #[must_use]
    pub const fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Whether the lock is held, as far as this client knows: no while it is not connected.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.running.look(|contender| contender.held() == Some(self.epoch))
    }

    /// Where the contender stands.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.running.look(|contender| contender.standing().clone())
    }

    /// Waits until the lock is lost for good; whether it is.
    #[must_use]
    pub fn wait_lost(&self, time: Duration) -> bool {
        let lost = |contender: &Contender| match contender.standing() {
            Standing::Lost { .. } | Standing::Failed(_) => Some(()),
            _ => None,
        };
        self.running.wait(time, lost).is_some()
    }

    /// Releases the lock, and waits until the server has confirmed it.
    ///
    /// # Errors
    /// When the time is over: it is released later then, or by the end of the session.
    pub fn release(self, time: Duration) -> Result<(), RecipeError> {
        use council_client_core::recipes::Recipe;

        self.running.release();
        self.running.wait(time, |contender| contender.is_over().then_some(())).ok_or(RecipeError::TimedOut)
    }
}
