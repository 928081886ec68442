//! Compare-and-set.

use council_client_core::recipes::{NodeUpdate, Outcome};
use council_client_core::{Acl, Error};

use super::running::run_here;
use crate::Client;

impl Client {
    /// Reads a node, computes its new data, and writes that if the node has not changed since. Otherwise it tries
    /// again. `compute` gets `None` if there is no node: it is then created, open to all. Waits for the end.
    ///
    /// ```no_run
    /// use council_client::Client;
    /// use council_client::recipes::Outcome;
    ///
    /// let client = Client::connect("127.0.0.1:2181")?;
    /// // A counter as kazoo's: a number as text.
    /// let next = |old: Option<&[u8]>| {
    ///     let old = old.and_then(|old| std::str::from_utf8(old).ok()?.parse().ok()).unwrap_or(0_i64);
    ///     Some((old + 1).to_string().into_bytes())
    /// };
    /// match client.update("/app/counter", next) {
    ///     Outcome::Written(data, stat) => println!("{data:?} is version {}", stat.version),
    ///     // The connection broke while it was written: it counts once, or not at all.
    ///     Outcome::Unknown => println!("read it again"),
    ///     other => println!("{other:?}"),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A read that fails with the connection is repeated on the next one, also under a new session; a write is not.
    pub fn update(
        &self,
        path: &str,
        compute: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>> + Send + 'static,
    ) -> Outcome {
        let update = run_here(self, NodeUpdate::new(path, &[Acl::open()], Box::new(compute)));
        update.outcome().cloned().unwrap_or(Outcome::Failed(Error::Closed))
    }
}
