//! Who does what: an ensemble, its clients, and what these ask for. Knows no hardware.

/// Where members and clients are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Each member on a host of its own, clients elsewhere, where they cost nothing.
    Own,
    /// All members and one load generator share one host, as `lab`'s bench has it.
    Shared,
}

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Each client keeps so many outstanding.
    Closed {
        /// Requests outstanding of each client.
        outstanding: usize,
    },
    /// So many a second in all, at fixed moments, of the clients in turn. Latency counts from when one was due.
    Open {
        /// Requests a second.
        per_second: f64,
    },
}

/// What clients ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// getData and setData of random nodes.
    Mix {
        /// Of a thousand requests, so many are writes.
        writes_per_mille: u32,
    },
    /// Each client has a node, watches every client's, and sets its own once; what is counted is watch events.
    Watches,
}

/// Which members clients are connected to, in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Every one.
    All,
    /// The one that leads.
    Leader,
}

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Members that vote.
    pub members: u64,
    /// Members that do not.
    pub observers: u64,
    /// Where they are.
    pub place: Place,
    /// Clients, each with a session.
    pub clients: usize,
    /// Where those are connected.
    pub at: At,
    /// Whether talking to clients costs members anything: without it what is left is the broadcast alone.
    pub fronts_cost: bool,
    /// When they ask.
    pub pace: Pace,
    /// For what.
    pub work: Work,
    /// Nodes that there are.
    pub nodes: u32,
    /// Bytes of each one's value.
    pub value_bytes: usize,
    /// How long the load runs before anything is counted, simulated milliseconds.
    pub warm_up_ms: u64,
    /// How long it is counted.
    pub measured_ms: u64,
    /// What chance is drawn from.
    pub seed: u64,
}

impl Setup {
    /// A closed load of 1 KiB values on a thousand nodes, each member on a host of its own.
    #[must_use]
    pub const fn new(members: u64, clients: usize, outstanding: usize, writes_per_mille: u32) -> Self {
        Self {
            members,
            observers: 0,
            place: Place::Own,
            clients,
            at: At::All,
            fronts_cost: true,
            pace: Pace::Closed { outstanding },
            work: Work::Mix { writes_per_mille },
            nodes: 1000,
            value_bytes: 1024,
            warm_up_ms: 200,
            measured_ms: 500,
            seed: 1,
        }
    }

    /// The same, all on one host with the load.
    #[must_use]
    pub const fn shared(mut self) -> Self {
        self.place = Place::Shared;
        self
    }
}
