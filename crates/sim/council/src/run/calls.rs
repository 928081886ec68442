//! What clients asked for, counted by kind and answer.

use council_wire::{ErrorCode, OpCode, xid};

use crate::ensemble::Ensemble;
use crate::history::{Ask, Call, History, Outcome};

/// From how many bytes on a value counts as large.
const LARGE_MIN: usize = 10 << 10;

/// How often clients asked for what was answered in which way.
pub(super) fn count(history: &History, ensemble: &mut Ensemble) {
    let was_done = |call: &Call| call.outcome() == Outcome::Ok;
    let was_answered = |call: &Call| call.answer.is_some();
    for call in &history.calls {
        let ask = &call.ask;
        let mut count = |what, happened| ensemble.count(what, u64::from(happened));
        count("write acknowledged", ask.is_write() && was_done(call));
        count("call with unknown result", !was_answered(call));
        let is_large = matches!(ask, Ask::Set { data, .. } if data.len() >= LARGE_MIN);
        count("large value written", is_large && was_done(call));
        let read = call.answer.as_ref().map_or(0, |answer| answer.body.len());
        count("large value read", matches!(ask, Ask::Get { .. }) && read >= LARGE_MIN);
        count("read judged", ask.is_read() && was_answered(call));
        count("watches set again", matches!(ask, Ask::SetWatches { .. }) && was_answered(call));
        count("watches set again, persistent", ask.opcode() == OpCode::SetWatches2 && was_answered(call));
        count("watch added", matches!(ask, Ask::AddWatch { .. }) && was_done(call));
        count("watch removed", matches!(ask, Ask::RemoveWatches { .. }) && was_done(call));
        count("several reads at once", matches!(ask, Ask::MultiRead(_)) && was_done(call));
        count("ACL changed", matches!(ask, Ask::SetAcl { .. }) && was_done(call));
        count("refused by ACL", call.outcome() == Outcome::Refused(ErrorCode::NoAuth.code()));
        count("number below 0", call.xid < xid::SET_WATCHES && was_answered(call));
    }
}
