//! Connections that are not read from for a while.

use net_event_loop::ConnId;

/// Those that wait, in the order in which they go on.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    waiting: Vec<ConnId>,
    /// Connections that got nothing in this round: the next round begins with them.
    passed_over: Vec<ConnId>,
}

impl Pauses {
    /// One more waits.
    pub(crate) fn add(&mut self, conn: ConnId) {
        self.waiting.push(conn);
    }

    /// One more waits, before all that had something of this round.
    pub(crate) fn pass_over(&mut self, conn: ConnId) {
        self.passed_over.push(conn);
    }

    /// Keeps the connections for which `waits` is true, in order.
    pub(crate) fn retain(&mut self, waits: impl FnMut(&ConnId) -> bool) {
        let mut all = core::mem::take(&mut self.passed_over);
        all.append(&mut self.waiting);
        all.retain(waits);
        self.waiting = all;
    }
}
