//! What a member needs to know to take its seat.

/// A member's id: not 0, never reused, not its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u64);

impl MemberId {
    /// Marks the sender of a message that has no id yet; the rest is its number.
    const BLANK: u64 = 1 << 63;

    /// What stands for the member of that number before it has an id.
    #[must_use]
    pub const fn blank(number: MemberNumber) -> Self {
        Self(Self::BLANK | number.0 as u64)
    }

    /// Whether it stands for a member that has no id yet.
    #[must_use]
    pub const fn is_blank(self) -> bool {
        self.0 & Self::BLANK != 0
    }

    /// The member's number: the low byte of its id.
    #[must_use]
    pub const fn number(self) -> MemberNumber {
        MemberNumber((self.0 & 0xff) as u8)
    }
}

/// A member's number in the configuration. Its disk may be replaced, and its id with it; the number stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberNumber(pub u8);

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
