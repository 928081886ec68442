//! What members of earlier builds could not read in the log.

use objects_state::{Authority, Command, Identity, Ranges, State};

use crate::ACCESS_LEVEL;
use crate::edge::Request;

/// The feature level from which on commands acknowledge single replies.
const RANGES_LEVEL: u32 = 2;

/// Makes every member able to read a request. Acknowledgements may be left out: the replies are kept for longer.
pub(super) fn make_readable_by_all(request: &mut Request, state: &State) {
    let level = state.feature_level();
    if let Request::Command { command, .. } = request {
        if level < RANGES_LEVEL {
            leave_out_ranges(command);
        }
        if level < ACCESS_LEVEL {
            leave_out_authority(command);
        }
    }
}

/// There are no tokens yet, and nobody's rights are looked at.
fn leave_out_authority(command: &mut Command) {
    if let Some(caller) = command.caller_mut() {
        caller.principal.authority = Authority::Member;
    }
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
