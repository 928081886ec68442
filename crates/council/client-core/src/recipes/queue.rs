//! One request at a time: what is asked, and which reply is waited for. Their number identifies replies to requests
//! from before a broken connection.

use super::{Ask, RequestId};
use crate::request::{Replied, Request};

/// See the module. `S` is what the reply is for.
#[derive(Debug)]
pub(super) struct OneAtATime<S> {
    next_id: u64,
    unsent: Option<Ask>,
    awaited: Option<(RequestId, S)>,
}

impl<S> Default for OneAtATime<S> {
    fn default() -> Self {
        Self { next_id: 0, unsent: None, awaited: None }
    }
}

impl<S> OneAtATime<S> {
    /// Asks, in place of what was asked before.
    pub(super) fn ask(&mut self, step: S, request: Request) {
        let id = RequestId(self.next_id);
        self.next_id += 1;
        self.unsent = Some(Ask { id, request });
        self.awaited = Some((id, step));
    }

    /// What is to be submitted now.
    pub(super) const fn next(&mut self) -> Option<Ask> {
        self.unsent.take()
    }

    /// What the reply is for, if it is waited for.
    pub(super) fn take(&mut self, id: RequestId, replied: Replied) -> Option<(S, Replied)> {
        let (_, step) = self.awaited.take_if(|(awaited, _)| *awaited == id)?;
        Some((step, replied))
    }

    /// Waits for nothing any more. A request that was submitted may still take effect.
    pub(super) fn forget(&mut self) {
        (self.unsent, self.awaited) = (None, None);
    }
}
