//! The client that reads, as far as a read must know it.

use council_tree::{Identities, Policy};
use council_wire::SessionId;

use crate::config::FrontConfig;

/// The client that reads.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// Its session, for the ephemeral nodes that are its own.
    pub session: SessionId,
    /// Its identities when it sent the request.
    pub identities: Identities<'a>,
    /// Whether permissions are looked at.
    pub policy: Policy,
}

/// The client that asks. Borrows only the connection's identities.
pub(crate) fn asker<'c>(config: &FrontConfig, session: SessionId, identities: Identities<'c>) -> Asker<'c> {
    Asker { session, identities, policy: config.policy }
}
