//! What performs tasks on servers; it knows only their addresses.

use std::io;
use std::time::Duration;

use council_client::load::Patience;
use tools_testbed::meter::Edges;

use super::{Outcome, Task, driver, objects, perform};
use crate::measure::{Speaks, Stand};

/// See the module.
#[derive(Clone, Debug)]
pub struct Performer(Speaks);

impl Performer {
    /// The performer for this stand, while a fault is done to its servers.
    #[must_use]
    pub fn of(stand: &Stand) -> Self {
        Self(stand.speaks())
    }

    /// Performs a task; `only` names the one server that clients are to use.
    ///
    /// # Errors
    /// A connection failed, or a server was silent for too long.
    pub fn perform(
        &self,
        task: &Task,
        only: Option<usize>,
        patience: &Patience,
        edges: &mut Edges<'_>,
    ) -> io::Result<Outcome> {
        let patience = &Patience { silence: Duration::from_millis(task.patience_ms), ..patience.clone() };
        match &self.0 {
            Speaks::ZooKeeper(servers) => {
                let one = only.and_then(|number| servers.only(number - 1));
                perform(task, one.as_ref().unwrap_or(servers), patience, edges)
            }
            Speaks::Objects(endpoints) => {
                let one = only.and_then(|number| endpoints.get(number - 1)).map(std::slice::from_ref);
                objects::perform(task, one.unwrap_or(endpoints), patience, edges)
            }
            Speaks::Other(load, endpoints) => {
                let one = only.and_then(|number| endpoints.get(number - 1)).map(std::slice::from_ref);
                driver::perform(load, task, one.unwrap_or(endpoints).to_vec(), patience, edges)
            }
        }
    }

    /// Whether the load runs in this process.
    #[must_use]
    pub const fn is_here(&self) -> bool {
        matches!(self.0, Speaks::ZooKeeper(_) | Speaks::Objects(_))
    }
}
