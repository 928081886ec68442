//! What a load is to do, in a form that all drivers understand: those here, for ZooKeeper's protocol and for live objects, and
//! those in `crates/tools/testbed/peers`: one in Go, for etcd, one in Python, for ConCoord, and one in Java, for the recipes of
//! Curator, Hazelcast and Redis. What is measured lies between two edges, at which the caller reads the servers' meters.
//!
//! Each task says in its outcome what it checked and what was wrong: a server that answers everything and keeps nothing
//! gives no figure.
//!
//! Knows no experiment, and not what runs the servers.

mod barriers;
mod driver;
mod mixed;
mod objects;
mod order;
mod outcome;
mod own;
mod performer;
mod timeline;
mod watches;

use std::io;
use std::time::Duration;

use council_client::load::{Nodes, Patience, Servers, extend_patiently};
use serde::Serialize;
use tools_testbed::meter::Edges;

pub(crate) use driver::obey;
pub use outcome::{Outcome, Slot};
pub use performer::Performer;

use order::Order;

/// Between two looks at whether a time is over.
const TURN_MAX: Duration = Duration::from_millis(100);

/// What kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Makes nodes `from` up to `keys`, nothing is measured.
    Prepare,
    /// Reads and writes of random nodes, for a time.
    Mixed,
    /// Each client works on nodes of its own, one request after the other, step by step.
    Own,
    /// All clients enter `count` double barriers one after the other, then leave them all.
    Barriers,
    /// Each client watches every client's node; each writes its own once, and all events are waited for.
    Watches,
    /// Writes at a steady pace, again and again until they are acknowledged, while servers fail.
    Timeline,
    /// Each client acquires a lock and releases it, again and again.
    LockPair,
    /// All clients want one lock: who has it releases it, and waits for it again.
    HandOff,
    /// All clients enter a double barrier and leave it, round after round, for a time.
    DoubleBarrier,
    /// All clients increment one counter.
    Increment,
    /// Each client keeps as many queries outstanding that the server may answer from an older state.
    StaleQuery,
}

/// One step of [`Kind::Own`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Makes the nodes.
    Create,
    /// Writes them.
    Set,
    /// Reads them.
    Get,
    /// Reads and writes in turn.
    Mixed,
    /// Deletes them.
    Delete,
}

impl Step {
    /// Its name, as phases and series have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Set => "set",
            Self::Get => "get",
            Self::Mixed => "mixed",
            Self::Delete => "delete",
        }
    }
}

/// A load without the addresses of the servers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Task {
    /// What kind.
    pub kind: Kind,
    /// Clients, each with a session and a connection.
    pub clients: usize,
    /// Requests that each keeps outstanding, where the pace is closed.
    pub outstanding: usize,
    /// Of a thousand requests of [`Kind::Mixed`], so many are writes.
    pub writes_per_mille: u32,
    /// Nodes that there are to be, where they are shared.
    pub keys: u32,
    /// The first of them that [`Kind::Prepare`] makes.
    pub from: u32,
    /// Bytes of each value.
    pub value_bytes: usize,
    /// Requests a second, at fixed moments, where the pace is open; else 0.
    pub per_second: f64,
    /// How many: requests of each client and step, or barriers.
    pub count: u32,
    /// What [`Kind::Own`] does.
    pub steps: Vec<Step>,
    /// Before anything counts.
    pub warm_up_ms: u64,
    /// How long is measured; of [`Kind::Own`] each step ends then, however many requests are left (0: it does not).
    pub measured_ms: u64,
    /// How long servers may be silent.
    pub patience_ms: u64,
    /// What everything random is drawn from.
    pub seed: u64,
}

impl Task {
    /// A kind of load with everything else as it mostly is.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        Self {
            kind,
            clients: 1,
            outstanding: 1,
            writes_per_mille: 0,
            keys: 1000,
            from: 0,
            value_bytes: 1024,
            per_second: 0.0,
            count: u32::MAX,
            steps: Vec::new(),
            warm_up_ms: 0,
            measured_ms: 0,
            patience_ms: 60_000,
            seed: 1,
        }
    }

    fn nodes(&self) -> Nodes {
        Nodes { count: self.keys, value_bytes: self.value_bytes }
    }
}

/// Performs a task on servers that speak ZooKeeper's protocol.
///
/// # Errors
/// A connection failed, or a server was silent for too long.
pub fn perform(
    task: &Task,
    servers: &Servers,
    patience: &Patience,
    edges: &mut Edges<'_>,
) -> io::Result<Outcome> {
    let order = &Order { task, servers, patience };
    match task.kind {
        Kind::Prepare => {
            extend_patiently(servers, task.nodes(), task.from, patience).map(|()| Outcome::default())
        }
        Kind::Mixed => mixed::perform(order, edges),
        Kind::Own => own::perform(order, edges),
        Kind::Barriers => barriers::perform(order, edges),
        Kind::Watches => watches::perform(order, edges),
        Kind::Timeline => timeline::perform(order, edges),
        Kind::LockPair | Kind::HandOff | Kind::DoubleBarrier | Kind::Increment | Kind::StaleQuery => Err(
            io::Error::other("servers of ZooKeeper's protocol have recipes only through a client of theirs"),
        ),
    }
}
