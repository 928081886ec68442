//! A picture of a core, for metrics and people.

use base::MonoTime;
use consensus_raft::{LogIndex, Membership, Progress, Term};
use consensus_replica::{LastSnapshot, MemberId};

/// See the module. Counts are since the start.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct CoreStatus {
    pub term: Term,
    pub leader: Option<MemberId>,
    pub leading: bool,
    pub serving: bool,
    pub lease_until: MonoTime,
    pub membership: Membership,
    pub progress: Vec<Progress>,
    pub applied_index: LogIndex,
    /// The number of this process among those of its member.
    pub incarnation: u64,
    /// Commands of this member's callers that are not applied here.
    pub commands_waiting: usize,
    pub command_bytes_waiting: usize,
    /// Requests that wait for the end of a ticket.
    pub requests_joined: usize,
    /// Requests that wait for the leader, or for a position.
    pub requests_waiting: usize,
    pub watches: usize,
    /// Sessions whose deadlines this leader keeps.
    pub sessions_tracked: usize,
    /// Entries that this leader proposed, and their commands.
    pub entries: u64,
    pub commands: u64,
    /// How often this member asked, or was asked, of whom it has heard.
    pub rounds: u64,
    /// Sessions that this leader found silent.
    pub condemned: u64,
    /// Time that sessions were forgiven because this process stood still.
    pub forgiven_ms: u64,
    pub writable: bool,
    pub refused_messages: u64,
    pub leads_won: u64,
    pub leads_transferred: u64,
    pub states_replaced: u64,
    pub disk_stalled_ms: u64,
    pub snapshotting: bool,
    pub last_snapshot: Option<LastSnapshot>,
}
