//! What members of earlier builds could not read in the log.

use objects_state::{Command, Identity, Ranges, State};

use crate::edge::Request;

/// The feature level from which on commands acknowledge single replies.
const RANGES_LEVEL: u32 = 2;

/// A request that every member can read. Acknowledgements may be left out: the replies are kept for longer.
pub(super) fn readable_by_all(mut request: Request, state: &State) -> Request {
    if let Request::Command { command, .. } = &mut request
        && state.feature_level() < RANGES_LEVEL
    {
        leave_out_ranges(command);
    }
    request
}

fn leave_out_ranges(command: &mut Command) {
    let caller = match command {
        Command::Call(call) => &mut call.caller,
        Command::Batch(batch) => &mut batch.caller,
        Command::Create { caller, .. } | Command::Delete { caller, .. } => caller,
        _ => return,
    };
    if let Identity::Session { above, .. } = &mut caller.identity {
        *above = Ranges::new();
    }
}
