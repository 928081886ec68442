//! Why a connection is closed from this side.

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// A request is longer than it may be: `socket.request.max.bytes`, and `sasl.server.max.receive.size` for strangers.
    LongRequest,
    /// A request that cannot be read, or of an API or version that is not served.
    BadRequest,
    /// Nothing was asked and nothing answered for `connections.max.idle.ms`.
    Idle,
    /// Its request did not arrive while others waited for room.
    SlowRequest,
    /// It took its answers slowly while others waited for room.
    SlowReader,
    /// It did not prove who it is in time.
    SlowAuthentication,
    /// It proved nothing, or asked for what strangers get no answer to.
    Authentication,
    /// It did not authenticate again in time: `connections.max.reauth.ms`.
    Expired,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::LongRequest,
        Self::BadRequest,
        Self::Idle,
        Self::SlowRequest,
        Self::SlowReader,
        Self::SlowAuthentication,
        Self::Authentication,
        Self::Expired,
    ];

    /// Its name in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LongRequest => "long_request",
            Self::BadRequest => "bad_request",
            Self::Idle => "idle",
            Self::SlowRequest => "slow_request",
            Self::SlowReader => "slow_reader",
            Self::SlowAuthentication => "slow_authentication",
            Self::Authentication => "authentication",
            Self::Expired => "expired",
        }
    }

    /// What happened, for the log.
    #[must_use]
    pub const fn tell(self) -> &'static str {
        match self {
            Self::LongRequest => "a request is longer than it may be; hint: see `socket.request.max.bytes`",
            Self::BadRequest => "a request cannot be read, or is of a version that is not served",
            Self::Idle => "it was silent for `connections.max.idle.ms`",
            Self::SlowRequest => "its request did not arrive while others waited for room",
            Self::SlowReader => "it took its answers slowly while others waited for room",
            Self::SlowAuthentication => "it did not authenticate in time",
            Self::Authentication => "it could not be authenticated",
            Self::Expired => "it did not authenticate again in time; hint: see `connections.max.reauth.ms`",
        }
    }
}
