//! The last lines that modules wrote. For the member's own log: nothing reads them that decides anything.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::limits::LOG_LINES_MAX;

#[derive(Default)]
pub(crate) struct Log {
    lines: Mutex<VecDeque<String>>,
}

impl Log {
    pub(crate) fn push(&self, line: String) {
        let mut lines = self.lines.lock();
        if lines.len() == LOG_LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// The lines since the last time.
    pub(crate) fn take(&self) -> Vec<String> {
        self.lines.lock().drain(..).collect()
    }
}
