//! What a member needs to know to take its seat.

use base::MemberId;

/// Settings of the engine, in ticks of the member's clock.
#[derive(Clone, Debug)]
pub struct Config {
    /// This member.
    pub id: MemberId,
    /// Ticks without a word from the leader before a follower campaigns: the lower end of the range that the seed
    /// draws from; the upper end is twice that.
    pub election_ticks: usize,
    /// Ticks between a leader's heartbeats.
    pub heartbeat_ticks: usize,
    /// Bytes of entries in one append message.
    pub append_bytes_max: u64,
    /// Append messages under way to one follower. Together with their size it bounds what a member that comes back after
    /// a pause is sent at once: making that up holds up everybody else's writes.
    pub appends_in_flight_max: usize,
    /// Bytes of entries proposed and not yet committed, beyond which proposals are refused.
    pub uncommitted_bytes_max: u64,
    /// What the election timeouts are drawn from.
    pub seed: u64,
}

impl Config {
    /// The settings of an ordinary member.
    #[must_use]
    pub const fn new(id: MemberId, seed: u64) -> Self {
        Self {
            id,
            election_ticks: 10,
            heartbeat_ticks: 2,
            append_bytes_max: 64 << 10,
            appends_in_flight_max: 16,
            uncommitted_bytes_max: 256 << 20,
            seed,
        }
    }
}
