//! The state of a session, and what it takes to go on with one from elsewhere.

use council_wire::SessionId;

/// Where a session stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionState {
    /// No server is connected; one is looked for.
    #[default]
    Connecting,
    /// Connected.
    Connected,
    /// Connected to a server that only reads.
    ConnectedReadOnly,
    /// Over: a server did not accept an identity.
    AuthFailed,
    /// Over: it has expired.
    Expired,
    /// Over: it was closed.
    Closed,
}

impl SessionState {
    /// Whether a server is connected.
    #[must_use]
    pub const fn is_connected(self) -> bool {
        matches!(self, Self::Connected | Self::ConnectedReadOnly)
    }

    /// Whether nothing more will happen.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::AuthFailed | Self::Expired | Self::Closed)
    }
}

/// What it takes to go on with a session from elsewhere.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Ticket {
    /// The session's id.
    pub session: SessionId,
    /// Its password.
    pub password: [u8; 16],
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("session", &self.session).finish_non_exhaustive()
    }
}
