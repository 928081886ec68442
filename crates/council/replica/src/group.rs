//! The group of replicas as the council's components see it, and what waits in it for a read index.

use council_frontend::ToCore;
use council_wire::SessionId;

use crate::message::CouncilMessage;

/// The group as the council's components are lent it.
pub(crate) type Group = consensus_replica::Group<CouncilMessage, Waiter>;

/// What waits until everything is applied that was committed when it came.
#[derive(Debug)]
pub(crate) enum Waiter {
    /// The next waiting `sync` of that session's connection, by its generation.
    Sync(SessionId, u32),
    /// A client whose session is not known here: another member may have opened it a moment ago.
    Connect(u16, ToCore),
}
