//! Commands that wait for their turn, by session: deficit round robin, in which a session that had nothing waiting comes
//! before those that have piled something up (the sparse flows of RFC 8290).
//!
//! Sparse sessions and the others get an equal share when there is work for both, so none waits for ever. Sessions whose
//! next command is heavy wait in a list of their own; [`super::rest`] says when the next of them has its turn.

use std::collections::VecDeque;

use council_wire::SessionId;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::weight::HEAVY;

/// What a session may put forward in one turn.
const QUANTUM: u64 = 64 << 10;

/// A command that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) command: Box<[u8]>,
    pub(super) weight: u64,
    /// Whether it comes from a client of this member.
    pub(super) is_own: bool,
}

impl Waiting {
    const fn is_heavy(&self) -> bool {
        self.weight > HEAVY
    }
}

/// What waits of one session, in order; never empty between calls.
#[derive(Debug, Default)]
struct Flow {
    queue: VecDeque<Waiting>,
    /// What it may put forward before it is another's turn.
    deficit: u64,
}

impl Flow {
    fn is_heavy(&self) -> bool {
        self.queue.front().is_some_and(Waiting::is_heavy)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Flows {
    flows: HashMap<SessionId, Flow, FixedState>,
    sparse: VecDeque<SessionId>,
    bulky: VecDeque<SessionId>,
    /// Those whose next command is heavy; no other list holds them.
    heavy: VecDeque<SessionId>,
    /// What sparse sessions may put forward before it is a bulky one's turn.
    sparse_deficit: u64,
    bytes: usize,
    own_commands: usize,
}

impl Flows {
    pub(super) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Bytes of all commands that wait.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many of them come from clients of this member.
    pub(super) const fn own_commands(&self) -> usize {
        self.own_commands
    }

    pub(super) fn push(&mut self, session: SessionId, waiting: Waiting) {
        self.bytes += waiting.command.len();
        self.own_commands += usize::from(waiting.is_own);
        let list = if waiting.is_heavy() { &mut self.heavy } else { &mut self.sparse };
        let flow = self.flows.entry(session).or_insert_with(|| {
            list.push_back(session);
            Flow { queue: VecDeque::new(), deficit: QUANTUM }
        });
        flow.queue.push_back(waiting);
    }

    /// Whether a session's next command is heavy.
    pub(super) fn has_heavy(&self) -> bool {
        !self.heavy.is_empty()
    }

    /// Takes out the heavy command whose turn it is.
    pub(super) fn next_heavy(&mut self) -> Option<Waiting> {
        let session = self.heavy.pop_front()?;
        let waiting = self.take_out(session)?;
        self.line_up(session);
        Some(waiting)
    }

    /// Takes out the command whose turn it is among those that are not heavy. If `may_be_bulky` is false, a bulky session
    /// has its turn only when sparse ones have used up theirs.
    pub(super) fn next(&mut self, may_be_bulky: bool) -> Option<Waiting> {
        let session = self.choose()?;
        let is_sparse = self.takes_sparse();
        if !may_be_bulky && !is_sparse && self.sparse.is_empty() {
            return None;
        }
        let waiting = self.take_out(session)?;
        if is_sparse {
            self.sparse_deficit = self.sparse_deficit.saturating_sub(waiting.weight);
        }
        let flow = self.flows.get_mut(&session);
        let stays = flow.is_some_and(|flow| {
            flow.deficit -= waiting.weight;
            !flow.is_heavy()
        });
        if !stays {
            if is_sparse { &mut self.sparse } else { &mut self.bulky }.pop_front();
            self.line_up(session);
        }
        Some(waiting)
    }

    /// Takes a session's first command out, and the session if it was the last.
    fn take_out(&mut self, session: SessionId) -> Option<Waiting> {
        let flow = self.flows.get_mut(&session)?;
        let waiting = flow.queue.pop_front()?;
        if flow.queue.is_empty() {
            self.flows.remove(&session);
        }
        self.bytes -= waiting.command.len();
        self.own_commands -= usize::from(waiting.is_own);
        Some(waiting)
    }

    /// A session that is in no list, and has something waiting, goes to the end of one.
    fn line_up(&mut self, session: SessionId) {
        if let Some(flow) = self.flows.get(&session) {
            if flow.is_heavy() { &mut self.heavy } else { &mut self.bulky }.push_back(session);
        }
    }

    fn takes_sparse(&self) -> bool {
        !self.sparse.is_empty() && (self.sparse_deficit > 0 || self.bulky.is_empty())
    }

    /// The session whose turn it is, at the head of its list and with enough left for its first command.
    fn choose(&mut self) -> Option<SessionId> {
        loop {
            let is_sparse = self.takes_sparse();
            let list = if is_sparse { &mut self.sparse } else { &mut self.bulky };
            let session = *list.front()?;
            let flow = self.flows.get_mut(&session)?;
            if flow.queue.front().is_some_and(|waiting| waiting.weight <= flow.deficit) {
                return Some(session);
            }
            // Its turn is over; the next one comes behind all others'.
            list.pop_front();
            if !is_sparse {
                flow.deficit += QUANTUM;
            }
            if !is_sparse || self.bulky.is_empty() {
                self.sparse_deficit = QUANTUM;
            }
            self.bulky.push_back(session);
        }
    }

    /// Takes out what comes from clients of this member, in the order of each session.
    pub(super) fn take_own(&mut self) -> Vec<Box<[u8]>> {
        let mut own = Vec::new();
        self.keep_only(|waiting| {
            if waiting.is_own {
                own.push(std::mem::take(&mut waiting.command));
            }
            !waiting.is_own
        });
        own
    }

    /// Drops what comes from other members.
    pub(super) fn drop_relayed(&mut self) {
        self.keep_only(|waiting| waiting.is_own);
    }

    /// Drops what comes from other members of one session and is `late`.
    pub(super) fn drop_relayed_of(&mut self, session: SessionId, late: impl Fn(&[u8]) -> bool) {
        let Some(flow) = self.flows.get_mut(&session) else { return };
        let (before, was_heavy) = (flow.queue.len(), flow.is_heavy());
        let mut bytes = 0;
        flow.queue.retain(|waiting| {
            let stays = waiting.is_own || !late(&waiting.command);
            bytes += if stays { 0 } else { waiting.command.len() };
            stays
        });
        let (left, is_heavy) = (flow.queue.len(), flow.is_heavy());
        if left == before {
            return;
        }
        self.bytes -= bytes;
        if left == 0 {
            self.flows.remove(&session);
        }
        if left == 0 || is_heavy != was_heavy {
            [&mut self.sparse, &mut self.bulky, &mut self.heavy]
                .into_iter()
                .for_each(|list| list.retain(|listed| *listed != session));
            self.line_up(session);
        }
    }

    fn keep_only(&mut self, mut keeps: impl FnMut(&mut Waiting) -> bool) {
        let Self { flows, sparse, bulky, heavy, .. } = self;
        let mut moved = Vec::new();
        for list in [sparse, bulky, heavy] {
            list.retain(|session| {
                let Some(flow) = flows.get_mut(session) else { return false };
                let was_heavy = flow.is_heavy();
                flow.queue.retain_mut(&mut keeps);
                if flow.queue.is_empty() {
                    flows.remove(session);
                    return false;
                }
                let stays = flow.is_heavy() == was_heavy;
                if !stays {
                    moved.push(*session);
                }
                stays
            });
        }
        moved.into_iter().for_each(|session| self.line_up(session));
        let left = || self.flows.values().flat_map(|flow| &flow.queue);
        self.bytes = left().map(|waiting| waiting.command.len()).sum();
        self.own_commands = left().filter(|waiting| waiting.is_own).count();
    }
}
