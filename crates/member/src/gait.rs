//! How fast a member that lags takes in the log. Whoever comes back after seconds, before what it missed is in a snapshot
//! only, is sent it as fast as it answers; taken in as fast, it would have processors and disks for itself for a while,
//! and where others share them (or the leader's network) their clients would feel it.
//!
//! So it goes in steps, each a little longer than the one before: a short lag is made up gently, a long one is made up all
//! the same, whatever comes meanwhile. Nothing overtakes: as long as anything is held, what follows it is, too. What is
//! held is bounded by what a leader has under way to one member.

use std::collections::VecDeque;

use council::Message;

use crate::core::Core;

/// Entries by which a member lags that has caught up again.
const CLOSE_ENTRIES: u64 = 50;
/// From one step to the next.
const STEP_MS: u64 = 16;
/// Of the first step: 16 MiB a second.
const STEP_BYTES: usize = 256 << 10;
/// By which part of itself a step is longer than the one before: after two seconds it is ten times as long.
const GROWTH: usize = 50;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Gait {
    held: VecDeque<Message>,
    lags: bool,
    step_bytes: usize,
    next_ms: u64,
}

impl Gait {
    /// When the next step is due.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        (!self.held.is_empty()).then_some(self.next_ms)
    }
}

impl Core {
    /// Has the leader's entries wait for their step if this member lags, or others wait already. Gives back what is to be
    /// taken in at once.
    pub(crate) fn hold_back(&mut self, message: Message) -> Option<Message> {
        let Some(append) = message.append() else { return Some(message) };
        let behind = append.commit.saturating_sub(self.council.last_index());
        let gait = &mut self.gait;
        gait.lags = behind > if gait.lags { CLOSE_ENTRIES } else { self.config.lag_entries };
        if !gait.lags && gait.held.is_empty() {
            return Some(message);
        }
        gait.held.push_back(message);
        self.stride();
        None
    }

    /// Takes the next step, if it is due.
    pub(crate) fn stride(&mut self) {
        let now_ms = self.now.mono_ms;
        if self.gait.held.is_empty() || now_ms < self.gait.next_ms {
            return;
        }
        let gait = &mut self.gait;
        let longer = gait.step_bytes + gait.step_bytes / GROWTH;
        gait.step_bytes = if gait.lags { longer.max(STEP_BYTES) } else { usize::MAX };
        gait.next_ms = now_ms + STEP_MS;
        let mut left = gait.step_bytes;
        while left > 0
            && let Some(message) = self.gait.held.pop_front()
        {
            left = left.saturating_sub(message.append().map_or(0, |append| append.bytes));
            // Only a heartbeat can show that this member's disk has lost something.
            let _ = self.council.step(message);
        }
        if !self.gait.lags {
            self.gait.step_bytes = 0;
        }
    }
}
