//! What a group may use while it acts.

use base::{MonoTime, Random, WallTime};
use log_wire::ErrorCode;

use crate::{Answer, GroupLimits, Text, Ticket};

/// What a turn of a group may use, and where its answers go.
pub(crate) struct Turn<'a> {
    pub(crate) now: MonoTime,
    pub(crate) wall: WallTime,
    pub(crate) limits: &'a GroupLimits,
    pub(crate) random: &'a mut Random,
    pub(crate) replies: &'a mut Vec<(Ticket, Answer)>,
}

impl Turn<'_> {
    pub(crate) fn reply(&mut self, ticket: Ticket, answer: Answer) {
        self.replies.push((ticket, answer));
    }

    pub(crate) fn fail(&mut self, ticket: Ticket, code: ErrorCode) {
        self.reply(ticket, Answer::Failed(code));
    }

    /// An id that no member has: it begins with `prefix`.
    pub(crate) fn fresh_id(&mut self, prefix: &str) -> Text {
        format!("{prefix}-{:016x}{:016x}", self.random.number(), self.random.number()).into()
    }
}
