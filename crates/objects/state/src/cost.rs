//! What a command will cost to apply, in about bytes, before it is applied.
//!
//! A command is charged its own bytes, what it may write or answer, and those whom it may end: the waiting calls of an
//! object that is deleted, all that a session has. Each of these is bounded by a limit, so no command costs more than
//! about a tick does.

use crate::access;
use crate::asked;
use crate::command::Command;
use crate::key;
use crate::limits::{
    COUNTED_PER_TICK, DEADLINES_PER_TICK, MODULE_BYTES_MAX, REPLY_BYTES_MAX, TICKETS_PER_PRINCIPAL_MAX,
};
use crate::object::Header;
use crate::rights::AccessChange;
use crate::state::State;
use crate::types;

/// Beside its bytes: the records that an ordinary command changes.
const COMMAND_COST: u64 = 1_000;
/// Ending or granting one waiting call, or losing one holding.
const END_COST: u64 = 1_000;
/// One run of a module, as most are.
const RUN_COST: u64 = 5_000;

impl State {
    /// About how much applying a command will cost. The state may have changed when it is applied.
    #[must_use]
    pub fn cost(&self, command: &Command) -> u64 {
        let ends = match command {
            Command::Delete { object, .. } => {
                let header: Option<Header> = self.core.read(&key::object(object));
                header.map_or(0, |header| u64::from(header.tickets))
            }
            Command::CloseSession { session, .. } | Command::ExpireSession { session, .. } => {
                self.session(*session).map_or(0, |session| {
                    u64::from(session.holdings)
                        + u64::from(session.tickets)
                        + u64::from(session.unacknowledged)
                })
            }
            Command::Tick => DEADLINES_PER_TICK as u64,
            Command::Access { change, .. } => self.may_end(change),
            _ => 0,
        };
        let carried = match command {
            Command::Call(call) => call.invocation.args.len(),
            Command::Batch(batch) => {
                let bytes = batch.invocations.iter().map(|invocation| invocation.args.len());
                bytes.sum::<usize>() + REPLY_BYTES_MAX / 16 * batch.invocations.len()
            }
            Command::Create { args, .. } => args.len(),
            Command::TypePiece { bytes, .. } => bytes.len(),
            Command::TypePut { source, description, .. } => {
                source.as_ref().map_or(0, Vec::len) + description.len()
            }
            _ => 0,
        };
        COMMAND_COST + 4 * carried as u64 + END_COST * ends + self.of_modules(command)
    }

    /// Waiting calls that a change of rights looks at.
    fn may_end(&self, change: &AccessChange) -> u64 {
        match change {
            AccessChange::RevokePrincipal { principal } | AccessChange::Deny { principal, .. }
                if access::may_concern_all(principal) =>
            {
                self.counts()[2]
            }
            AccessChange::RevokePrincipal { principal } | AccessChange::Deny { principal, .. } => {
                u64::from(asked::count_of(&self.core, principal))
            }
            AccessChange::RevokeToken { .. } => u64::from(TICKETS_PER_PRINCIPAL_MAX),
            AccessChange::Set { closed: true } | AccessChange::Role { .. } => self.counts()[2],
            AccessChange::Roles { principal, .. } if !access::may_concern_all(principal) => {
                u64::from(asked::count_of(&self.core, principal))
            }
            AccessChange::Roles { .. } => self.counts()[2],
            AccessChange::Quota { .. } => self.looks_at(),
            _ => 0,
        }
    }

    /// What a new quota counts: sessions and waiting calls, or records. To look at one takes a tenth of ending it.
    fn looks_at(&self) -> u64 {
        let [_, sessions, tickets, _] = self.counts();
        (sessions + tickets).max(COUNTED_PER_TICK as u64) / 10
    }

    /// What modules take: their runs, and the bytes of whole ones.
    fn of_modules(&self, command: &Command) -> u64 {
        match command {
            Command::Call(call) if types::is_user(call.object.kind) => RUN_COST,
            Command::Batch(batch) if types::is_user(batch.object.kind) => {
                RUN_COST * batch.invocations.len() as u64
            }
            Command::Create { object, .. } if types::is_user(object.kind) => RUN_COST,
            Command::Migrate { .. } => 2 * RUN_COST,
            // The last piece has the whole module hashed.
            Command::TypePiece { size, offset, bytes, .. }
                if offset.saturating_add(bytes.len() as u64) >= *size =>
            {
                *size
            }
            Command::TypePut { .. } => MODULE_BYTES_MAX / 4,
            Command::Rollback { .. } => 3 * RUN_COST,
            // Who is not done compiling waits.
            Command::TypeReady { .. } => MODULE_BYTES_MAX,
            _ => 0,
        }
    }
}
