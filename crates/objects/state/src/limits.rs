//! How much of everything there may be. Each limit is checked before a command has any effect.
//!
//! They are constants and no configuration: results depend on them, so all members of a group must have the same. A
//! build that changes one raises the feature level.

/// Calls that wait for one object.
pub const TICKETS_PER_OBJECT_MAX: u32 = 10_000;
/// Calls of one session that wait.
pub const TICKETS_PER_SESSION_MAX: u32 = 1_000;
/// Calls of a group that wait.
pub const TICKETS_MAX: u64 = 200_000;
/// Bytes that the waiting calls of one object carry (items that wait for room in a queue).
pub const TICKET_BYTES_PER_OBJECT_MAX: u64 = 64 << 20;
/// The longest wait, and that of a call that names none.
pub const WAIT_MS_MAX: i64 = 3_600_000;

/// Open sessions of a group.
pub const SESSIONS_MAX: u64 = 100_000;
/// What one session may hold or wait for: locks, permits, leases, memberships. All of it goes at one position when the
/// session ends, so that must take no longer than a tick with all the deadlines that it may have.
pub const HOLDINGS_PER_SESSION_MAX: u32 = 2_000;
/// Requests of one session whose replies are not acknowledged.
pub const REQUESTS_PER_SESSION_MAX: u32 = 64;
/// The shortest time to live of a session.
pub const SESSION_TTL_MS_MIN: i64 = 1_000;
/// The longest time to live of a session.
pub const SESSION_TTL_MS_MAX: i64 = 600_000;

/// Remembered idempotency keys of a group.
pub const KEYS_MAX: u64 = 1_000_000;
/// Bytes of an idempotency key, of a principal, of a session's name.
pub const KEY_BYTES_MAX: usize = 255;
/// How long a key is remembered after its call has ended.
pub const KEY_MS: i64 = 600_000;

/// Bytes of an object's name.
pub const NAME_BYTES_MAX: usize = 255;
/// Bytes of a map's key, of the name of a condition, a member, a candidate, an owner.
pub const ENTRY_KEY_BYTES_MAX: usize = 4_096;
/// Bytes of a value, in its canonical text.
pub const VALUE_BYTES_MAX: usize = 1 << 20;
/// Bytes of the arguments of a call: a value and what belongs to it.
pub const ARGUMENT_BYTES_MAX: usize = VALUE_BYTES_MAX + (64 << 10);
/// Bytes of a result that lists what there is; at least one item is always given.
pub const REPLY_BYTES_MAX: usize = 1 << 20;
/// Items that one call reads, takes or changes.
pub const ITEMS_PER_CALL_MAX: i64 = 1_000;
/// Items of a reading call that does not say how many it wants.
pub const ITEMS_PER_CALL: i64 = 100;
/// Entries that an object may be configured to hold.
pub const ENTRIES_MAX: i64 = 1_000_000;
/// Bytes that an object may be configured to hold.
pub const OBJECT_BYTES_MAX: i64 = 1 << 30;
/// Entries of a map, set, queue or stack that was not configured.
pub const ENTRIES: i64 = 100_000;
/// Bytes of a map or log that was not configured.
pub const OBJECT_BYTES: i64 = 64 << 20;
/// Keys of one rate limiter that are in use. A `configure` looks at each of them.
pub const RATE_KEYS_MAX: i64 = 10_000;
/// Calls of one batch.
pub const BATCH_MAX: usize = 100;

/// Deadlines that one tick handles; the leader proposes another one if more are due.
pub const DEADLINES_PER_TICK: usize = 1_000;
/// Waits of callers that are gone with their member's process which one tick cancels.
pub const ORPHANS_PER_TICK: usize = 200;
/// Records of dead objects that each command removes.
pub const SWEPT_PER_COMMAND: usize = 64;
/// Records of dead objects that a tick removes.
pub const SWEPT_PER_TICK: usize = 2_000;

/// How many times newcomers pass a waiter of an unfair lock.
pub const PASSED_MAX: u64 = 16;
