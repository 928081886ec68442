//! Who reads: what a read is to know of its client.

use council_tree::{Identities, Policy};
use council_wire::SessionId;

use crate::config::FrontConfig;

/// Who reads.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// Its session, for the ephemeral nodes that are its own.
    pub session: SessionId,
    /// Its identities when it sent the request.
    pub identities: Identities<'a>,
    /// Whether permissions are looked at.
    pub policy: Policy,
}

/// Who asks, for a borrow of the connection's identities alone.
pub(crate) fn asker<'c>(config: &FrontConfig, session: SessionId, identities: Identities<'c>) -> Asker<'c> {
    Asker { session, identities, policy: config.policy }
}
