//! A session's own ephemeral nodes, listed in pieces.
//!
//! In no order, as from ZooKeeper. While a connection lists them its session makes none, so others can only delete
//! some: if the number has changed, or the tree was replaced, the list begins again, a few times in pieces and then as
//! a whole.

use council_tree::EphemeralPlace;
use council_wire::{ErrorCode, Writer};

use super::{LIST_AT, Question, RESTARTS_MAX, Step};
use crate::cost::DATA_OVERHEAD;
use crate::read::{has_prefix, set_count};

/// How far the list has come.
#[derive(Debug)]
pub(crate) struct Ephemerals {
    /// The place of the last node that was looked at.
    after: Option<EphemeralPlace>,
    listed: u32,
    /// How many there were when it began.
    own: usize,
    restarts: u8,
}

impl Ephemerals {
    pub(crate) fn begin(question: Question<'_>) -> Self {
        Self { after: None, listed: 0, own: own(question), restarts: 0 }
    }

    pub(crate) fn go_on(
        &mut self,
        question: Question<'_>,
        prefix: &str,
        frame: &mut Vec<u8>,
        work: &mut usize,
    ) -> Step {
        if self.own != own(question) || self.after.is_some_and(|place| !place.is_of(question.tree)) {
            if self.restarts == RESTARTS_MAX && *work != usize::MAX {
                return Step::Whole;
            }
            let restarts = (self.restarts + 1).min(RESTARTS_MAX);
            *self = Self { restarts, ..Self::begin(question) };
        }
        if self.after.is_none() {
            frame.truncate(LIST_AT);
            Writer::new(frame).i32(0);
        }
        for (place, path) in question.tree.ephemerals_behind(question.who.session, self.after) {
            if *work == 0 {
                return Step::More;
            }
            *work -= 1;
            self.after = Some(place);
            if has_prefix(&path, prefix) {
                if frame.len() + path.len() + DATA_OVERHEAD > question.bytes_max {
                    return Step::Over;
                }
                Writer::new(frame).text(&path);
                self.listed += 1;
            }
        }
        set_count(frame, LIST_AT, self.listed);
        Step::Done(ErrorCode::Ok)
    }
}

fn own(question: Question<'_>) -> usize {
    question.tree.session(question.who.session).map_or(0, council_tree::Session::ephemeral_count)
}
