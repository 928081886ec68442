//! What a core has to say to its edges: a mailbox each, in order. The driver takes it after each call.

use objects_state::{Origin, Outcome, Problem};

use crate::edge::{Answer, edge_of};

/// See the module.
#[derive(Debug)]
pub(crate) struct Mailboxes {
    edges: Vec<Vec<Answer>>,
    /// The position of the state that answers are made on.
    position: u64,
}

impl Mailboxes {
    pub(crate) fn new(edges: u16, position: u64) -> Self {
        Self { edges: (0..edges).map(|_| Vec::new()).collect(), position }
    }

    pub(crate) const fn set_position(&mut self, position: u64) {
        self.position = position;
    }

    /// An edge's mailbox.
    pub(crate) fn of(&mut self, edge: u16) -> &mut Vec<Answer> {
        &mut self.edges[usize::from(edge)]
    }

    /// Puts an answer into the mailbox of that request's edge. There is none if the number is no edge's.
    pub(crate) fn tell(&mut self, origin: Origin, answer: Answer) {
        if let Some(mailbox) = self.edges.get_mut(usize::from(edge_of(origin))) {
            mailbox.push(answer);
        }
    }

    pub(crate) fn done(&mut self, origin: Origin, outcome: Outcome) {
        self.done_at(origin, self.position, outcome);
    }

    /// The same of a state that was there before.
    pub(crate) fn done_at(&mut self, origin: Origin, position: u64, outcome: Outcome) {
        self.tell(origin, Answer::Done { origin, position, outcome });
    }

    pub(crate) fn refuse(&mut self, origin: Origin, problem: Problem) {
        let problem = Problem { position: self.position, ..problem };
        self.done(origin, Outcome::Refused(problem));
    }

    /// The same for every edge.
    pub(crate) fn tell_all(&mut self, answer: &Answer) {
        self.edges.iter_mut().for_each(|mailbox| mailbox.push(answer.clone()));
    }
}
