//! How much may wait at a member. What comes beyond is refused before it enters the log, with effect none.
//!
//! Unlike [`objects_state::limits`] they decide no result, so members may have different ones.

/// Bytes of an encoded command. A value has 1 MiB at the most; a batch of large values may have more.
pub const COMMAND_BYTES_MAX: usize = 4 << 20;
/// Commands of this member's callers that are not applied here yet.
pub const COMMANDS_MAX: usize = 50_000;
/// Their bytes.
pub const COMMAND_BYTES_WAITING_MAX: usize = 64 << 20;
/// Requests of this member's callers that wait for a ticket's end.
pub const JOINED_MAX: usize = 200_000;
/// Requests that wait for the leader to say how far the log is committed, or for a position.
pub const READS_MAX: usize = 50_000;
/// Queries that wait for a position though whoever asks does not get in: the token, or the right, may be on its way here.
pub const STRANGERS_MAX: usize = 1_000;
/// Open watches.
pub const WATCHES_MAX: usize = 50_000;
/// Watches that one object, or one session, may have.
pub const WATCHES_PER_SUBJECT_MAX: usize = 10_000;
/// Events that are kept for watches that resume.
pub const EVENTS_MAX: usize = 16_384;
/// Bytes of other members' commands that wait for the leader's disk. What comes beyond is dropped, and given again.
pub const RELAYED_BYTES_MAX: usize = 64 << 20;
/// Objects that one answer lists.
pub const LISTED_MAX: usize = 1_000;
/// Bytes of an answer that says who waits for whom, about; of an object's calls, and of its holders.
pub const WAITS_BYTES_MAX: usize = 512 << 10;
/// Bytes of an answer that tells an object's remembered events, about.
pub const HISTORY_BYTES_MAX: usize = 1 << 20;
/// Sessions of which a member remembers when it heard of them.
pub const HEARD_MAX: usize = 2 * objects_state::limits::SESSIONS_MAX as usize;
