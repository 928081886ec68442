//! What edges and the core's thread exchange: a mailbox in each direction for every edge.

use std::sync::Arc;

use node_threads::{Mailbox, ThreadWaker};
use objects_replica::edge::{Answer, Request, origin_of};
use objects_state::{Outcome, Problem};

/// Where an edge gets its answers.
pub trait EdgeAnswers: Send + Sync {
    /// The core says so, in this order. `answers` is left empty.
    fn put(&self, answers: &mut Vec<Answer>);

    /// Where clients of the leader connect; nothing if it is not known, or this member leads.
    fn leader(&self, address: Option<&str>);

    /// The core has ended, and another may begin: what it was asked and has not answered, nobody will. What became of a
    /// command is unknown.
    fn core_ended(&self);
}

/// The core's ends of all edges' mailboxes.
pub(crate) struct Edges {
    /// By edge.
    pub(crate) requests: Vec<Arc<Mailbox<Request>>>,
    /// By edge.
    pub(crate) answers: Vec<Arc<dyn EdgeAnswers>>,
}

impl Edges {
    /// Of these edges, whose requests wake the core's thread.
    pub(crate) fn new(answers: Vec<Arc<dyn EdgeAnswers>>, core: &Arc<ThreadWaker>) -> Self {
        let requests = answers.iter().map(|_| Arc::new(Mailbox::new(Arc::clone(core)))).collect();
        Self { requests, answers }
    }

    /// Whether a request waits.
    pub(crate) fn have_mail(&self) -> bool {
        self.requests.iter().any(|requests| !requests.is_empty())
    }

    /// Tells all edges where clients of the leader connect.
    pub(crate) fn leader(&self, address: Option<&str>) {
        self.answers.iter().for_each(|answers| answers.leader(address));
    }

    /// Tells all edges that the core has ended.
    pub(crate) fn core_ended(&self) {
        self.answers.iter().for_each(|answers| answers.core_ended());
    }

    /// Refuses what waits: there is no core.
    pub(crate) fn refuse_all(&self, position: u64, problem: &Problem) {
        let mut requests = Vec::new();
        for (edge, answers) in self.requests.iter().zip(&self.answers) {
            edge.take_all(&mut requests);
            let mut refused: Vec<_> =
                requests.drain(..).filter_map(|request| refusal(&request, position, problem)).collect();
            if !refused.is_empty() {
                answers.put(&mut refused);
            }
        }
    }
}

/// The answer to a request that no core hears.
fn refusal(request: &Request, position: u64, problem: &Problem) -> Option<Answer> {
    if matches!(request, Request::Gone { .. }) {
        return None;
    }
    let outcome = Outcome::Refused(problem.clone());
    Some(Answer::Done { origin: origin_of(request)?, position, outcome })
}
