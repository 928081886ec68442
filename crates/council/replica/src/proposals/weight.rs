//! What a command costs from the log to the tree, in units of about one byte that is written, sent and applied: a few
//! nanoseconds. An estimate by form and length, the same wherever the command waits.

use council_tree::{Command, Operation, Tree};
use council_wire::OpCode;

/// What weighs more is heavy: it is proposed alone, and takes several milliseconds to apply.
pub(super) const HEAVY: u64 = 1 << 20;
/// What each costs, however short it is.
const EACH: u64 = 256;
/// A command no longer than this is one operation or a few.
const SHORT_BYTES: usize = 1024;
/// What one byte of many operations costs: each of them is looked up, checked and answered.
const MANY_OPERATIONS: usize = 4;
/// What it costs to remove one ephemeral node.
const EPHEMERAL: u64 = 128;

/// See the module.
pub(crate) fn weight_of(command: &[u8]) -> u64 {
    EACH + weighted(command.len() > SHORT_BYTES && has_many_operations(command), command.len()) as u64
}

/// The same with what a session leaves to be removed, where it ends.
pub(crate) fn weight_in(command: &[u8], tree: &Tree) -> u64 {
    weight_of(command) + weight_of_end(command, tree)
}

fn weight_of_end(command: &[u8], tree: &Tree) -> u64 {
    if !Command::ends_session(command) {
        return 0;
    }
    match Command::decode(command).map(|command| command.operation) {
        Ok(Operation::CloseSession { session } | Operation::Expire { session, .. }) => {
            EPHEMERAL * tree.session(session).map_or(0, |session| session.ephemeral_count() as u64)
        }
        _ => 0,
    }
}

fn has_many_operations(command: &[u8]) -> bool {
    Command::decode(command).is_ok_and(|command| is_of_many(&command.operation))
}

const fn is_of_many(operation: &Operation<'_>) -> bool {
    matches!(operation, Operation::Client { opcode: OpCode::Multi | OpCode::SetAcl, .. })
}

/// What applying a command of that length costs.
pub(crate) const fn weight_to_apply(operation: &Operation<'_>, bytes: usize) -> usize {
    weighted(is_of_many(operation), bytes)
}

const fn weighted(is_of_many: bool, bytes: usize) -> usize {
    if is_of_many { bytes.saturating_mul(MANY_OPERATIONS) } else { bytes }
}
