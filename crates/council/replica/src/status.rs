//! What a core tells of itself when asked.

use base::MonoTime;
use consensus_raft::{LogIndex, Term};
use consensus_replica::{LastSnapshot, MemberId, Tenure};
use council_frontend::{Namespaces, Tally};
use council_wire::Zxid;

/// A picture of a core, for four-letter words and metrics.
#[derive(Clone, Debug, Default)]
pub struct CoreStatus {
    /// The last transaction applied.
    pub last_zxid: Zxid,
    /// The engine's term.
    pub term: Term,
    /// Whether clients are served here: everything acknowledged before the present term is applied.
    pub serving: bool,
    /// Whether this member leads and has applied its own first transaction.
    pub leading: bool,
    /// Who leads, as far as is known here.
    pub leader: Option<MemberId>,
    /// Who votes and who learns, as far as it is applied here.
    pub membership: consensus_raft::Membership,
    /// Until when this member may serve clients without another word of its leader, on its own clock.
    pub lease_until: MonoTime,
    /// How far the other members have come; known to a leader alone.
    pub progress: Vec<consensus_raft::Progress>,
    /// Bytes of clients' commands that are kept until they are applied.
    pub pending_bytes: usize,
    /// Sessions of the whole ensemble.
    pub sessions: usize,
    /// Sessions held by connections of this member.
    pub attached: usize,
    /// The index of the last entry applied.
    pub applied_index: LogIndex,
    /// Whether that entry is the last of which anything is applied: the next has not been begun.
    pub between_entries: bool,
    /// Commands that wait to be proposed.
    pub waiting: usize,
    /// Entries proposed since the start.
    pub entries: u64,
    /// Commands proposed since the start.
    pub commands: u64,
    /// Bytes of commands proposed since the start.
    pub command_bytes: u64,
    /// Commands that came twice, late or under an old generation, and were dropped.
    pub dropped: u64,
    /// Sessions that this member, leading, decided to end because of their silence, since the start.
    pub condemned: u64,
    /// Sessions expired since the start.
    pub expired: u64,
    /// How often a client that took its session up here was beaten by another connection of it.
    pub attach_races: u64,
    /// Whether this member's seat is still its own.
    pub tenure: Tenure,
    /// Messages of other members that were refused because no member that works sends them.
    pub refused_messages: u64,
    /// Up to which index a leader counts on this member's log while it is shorter; 0 for nothing. Its disk has lost what
    /// it had acknowledged, or that leader is wrong: this member gives no vote meanwhile.
    pub lacks_index: LogIndex,
    /// How often this member has taken the lead.
    pub leads_won: u64,
    /// How often its tree was replaced by another member's.
    pub trees_replaced: u64,
    /// For how long this member's disk has held up what the others' have done, milliseconds.
    pub disk_stalled_ms: u64,
    /// How often this member has handed the lead to another.
    pub leads_transferred: u64,
    /// Milliseconds by which sessions were forgiven because this process stood still.
    pub forgiven_ms: u64,
    /// Bytes written, by the first name of the path.
    pub writes: Namespaces,
    /// Writes refused for a hard quota, by the first name of the path: only how many there were counts.
    pub quota_refusals: Namespaces,
    /// From a command's stamp by the leader until it is applied here, milliseconds of the wall clock.
    pub propagation_ms: Tally,
    /// Whether a snapshot is being scanned.
    pub snapshotting: bool,
    /// The last snapshot made durable in this life.
    pub last_snapshot: Option<LastSnapshot>,
    /// Whether the disk has room for writes.
    pub writable: bool,
}
