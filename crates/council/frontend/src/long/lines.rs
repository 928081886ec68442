//! Which long request gets the next turn.

use std::collections::VecDeque;

use net_event_loop::ConnId;

/// Connections with long requests.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Those that get turns, in order.
    pub(crate) ready: VecDeque<ConnId>,
    /// The connection whose long reply is being made, or whose watches are being set.
    writer: Option<ConnId>,
    /// Those that wait for it to end.
    behind_writer: VecDeque<ConnId>,
    /// Those that wait until there is room for what is not sent yet, or until something may be read as a whole again.
    pub(crate) waiting: Vec<ConnId>,
    /// When that is, on the clock that never goes back.
    pub(crate) whole_after_us: u64,
}

impl Lines {
    /// Whether this one may make its reply now; otherwise it gets its turn later.
    pub(crate) fn lets(&mut self, conn: ConnId) -> bool {
        match self.writer {
            Some(writer) if writer != conn => {
                self.behind_writer.push_back(conn);
                false
            }
            _ => {
                self.writer = Some(conn);
                true
            }
        }
    }

    /// The connection makes no reply any more: the next one may.
    pub(crate) fn leave(&mut self, conn: ConnId) {
        if self.writer.is_none_or(|writer| writer == conn) {
            self.writer = None;
            self.ready.extend(self.behind_writer.pop_front());
        }
    }
}
