//! What edges and the core's thread exchange: a mailbox in each direction for every edge.

use std::sync::Arc;

use node_threads::{Mailbox, ThreadWaker};
use objects_replica::edge::{Answer, Request};

/// From the core's thread to an edge.
#[derive(Debug)]
pub enum ToEdge {
    /// The core says so.
    Answer(Answer),
    /// The core has ended, and another may begin: what it was asked and has not answered, nobody will. What became of a
    /// command is unknown.
    CoreEnded,
}

/// Where an edge gets its answers.
pub type EdgeMailbox = Arc<Mailbox<ToEdge>>;

/// The core's ends of all edges' mailboxes.
pub(crate) struct Edges {
    /// By edge.
    pub(crate) requests: Vec<Arc<Mailbox<Request>>>,
    /// By edge.
    pub(crate) answers: Vec<EdgeMailbox>,
}

impl Edges {
    /// Of these edges, whose requests wake the core's thread.
    pub(crate) fn new(answers: Vec<EdgeMailbox>, core: &Arc<ThreadWaker>) -> Self {
        let requests = answers.iter().map(|_| Arc::new(Mailbox::new(Arc::clone(core)))).collect();
        Self { requests, answers }
    }

    /// Whether a request waits.
    pub(crate) fn have_mail(&self) -> bool {
        self.requests.iter().any(|requests| !requests.is_empty())
    }

    /// Tells all edges that the core has ended.
    pub(crate) fn core_ended(&self) {
        self.answers.iter().for_each(|answers| answers.put(ToEdge::CoreEnded));
    }
}
