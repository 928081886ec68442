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

/// How long the id of a session that has ended opens no other.
pub const ENDED_SESSION_MS: i64 = 600_000;
/// Such ids of a group; of more the oldest may be used again.
pub const ENDED_SESSIONS_MAX: u64 = 100_000;

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
/// Bytes of an export, about: it fits into the body of a request.
pub const EXPORT_BYTES_MAX: usize = (4 << 20) - (64 << 10);
/// Calls of an import.
pub const IMPORT_CALLS_MAX: usize = 20_000;
/// Bytes that an import writes, with what each record takes.
pub const IMPORT_WRITTEN_MAX: usize = 64 << 20;
/// Items of all calls of an import together: what it takes of the group's time.
pub const IMPORT_ITEMS_MAX: usize = 100_000;

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

/// Types of users, whose numbers begin at [`USER_TYPE_MIN`].
pub const USER_TYPES_MAX: usize = 190;
/// The first number of a type of users.
pub const USER_TYPE_MIN: u8 = 64;
/// The last one.
pub const USER_TYPE_MAX: u8 = 253;
/// Bytes of a type's name.
pub const TYPE_NAME_BYTES_MAX: usize = 64;
/// Versions of all types.
pub const VERSIONS_MAX: u32 = 1_000;
/// Bytes of a module.
pub const MODULE_BYTES_MAX: u64 = 16 << 20;
/// Bytes of a piece in which a module comes; only the last one is shorter.
pub const PIECE_BYTES: usize = 256 << 10;
/// Bytes of all modules of a group, those that are being uploaded included.
pub const MODULES_BYTES_MAX: u64 = 512 << 20;
/// Uploads that no version uses yet.
pub const UPLOADS_MAX: u32 = 16;
/// For how long an upload is kept behind its last piece, and a version that was rejected.
pub const UPLOAD_MS: i64 = 600_000;
/// Bytes of the source that a runner loads.
pub const SOURCE_BYTES_MAX: usize = 1 << 20;
/// Bytes of a type's description.
pub const DESCRIPTION_BYTES_MAX: usize = 64 << 10;
/// Methods of a type of users.
pub const METHODS_MAX: usize = 256;
/// Pages of one object of a user's type that differ from its version's image: 64 MiB.
pub const PAGES_PER_OBJECT_MAX: u32 = (64 << 20) / 4_096;
/// Bytes of such pages of all objects.
pub const MEMORY_BYTES_MAX: u64 = 1 << 30;
/// Timers of one object of a user's type.
pub const TIMERS_PER_OBJECT_MAX: u32 = 1_000;
/// Waiting calls of a session with which it may begin another wait at an object of a user's type; and such objects that are
/// told of its end. Each of them is run at the position at which the session ends.
pub const USER_RUNS_PER_SESSION_MAX: u32 = 100;
/// Messages between objects that wait in a group.
pub const MESSAGES_MAX: u64 = 10_000;
/// Bytes of their arguments.
pub const MESSAGE_BYTES_MAX: u64 = 16 << 20;
/// Messages that may lead to one another: objects that answer each other for ever would fill the log.
pub const MESSAGE_HOPS_MAX: u32 = 32;
/// Messages that one tick delivers.
pub const MESSAGES_PER_TICK: usize = 50;
/// Fuel that a run of a module takes where commands are applied: about 0.2 ms. One that takes more goes on beside.
pub const SLICE_FUEL: u64 = 2_000_000;
/// How much more a query may take where commands are applied for each page of its object, before it goes on beside: about as long as
/// copying the page takes. It decides no result.
pub const QUERY_FUEL_PER_PAGE: u64 = 12_000;
/// What a part of a tick may take with runs of modules, and the calls of a batch, in about bytes: ten slices.
pub const SLICES_SPENT_MAX: usize = 2_000_000;
/// Runs of modules that are under way at a time beside the commands of a group. Each has a copy of its object.
pub const LONG_RUNS_MAX: usize = 256;
/// Fuel of a run that nobody called: a session's end may begin two hundred of them at one position.
pub const UNCALLED_FUEL_MAX: u64 = 20_000_000;
/// What the calls of a batch may take together, and the runs of a tick, in about bytes: twice as much as one call by default.
/// The call that goes beyond is the last one.
pub const SPENT_MAX: usize = 40_000_000;
/// For how long the memory is kept that an object had before it was migrated.
pub const IMAGE_MS: i64 = 24 * 3_600_000;
/// For how long a timer of an object is put off that runs nothing.
pub const PUT_OFF_MS: i64 = 60_000;
/// Bytes of the reason for which an object is in quarantine.
pub const REASON_BYTES_MAX: usize = 1_024;
/// Runs of modules that a tick begins for deadlines; the leader proposes another one if more are due.
pub const RUNS_PER_TICK: u32 = 50;
/// Tokens of a group.
pub const TOKENS_MAX: usize = 1_000;
/// The shortest life of a token that ends.
pub const TOKEN_MS_MIN: i64 = 1_000;
/// The longest: ten years.
pub const TOKEN_MS_MAX: i64 = 10 * 366 * 24 * 3_600_000;
/// Bytes of the name of a token's principal.
pub const TOKEN_NAME_BYTES_MAX: usize = 64;
/// Principals that have rights.
pub const PRINCIPALS_MAX: usize = 1_000;
/// Rights of a principal, each on the objects of a pattern.
pub const GRANTS_PER_PRINCIPAL_MAX: usize = 64;
/// Their bytes, as they are kept.
pub const GRANT_BYTES_PER_PRINCIPAL_MAX: usize = 16 << 10;
/// Methods that one of them names.
pub const METHODS_PER_GRANT_MAX: usize = 32;
/// Waiting calls of a principal that are found by it: they may all end at one position.
pub const TICKETS_PER_PRINCIPAL_MAX: u32 = 10_000;
/// Roles of a group.
pub const ROLES_MAX: usize = 64;
/// Roles of a principal.
pub const ROLES_PER_PRINCIPAL_MAX: usize = 16;
/// Quotas of principals and namespaces.
pub const QUOTAS_MAX: usize = 1_000;
/// What a quota may allow at the most, of whatever it is.
pub const QUOTA_MAX: u64 = 1 << 50;
/// Calls that a quota may let in within a second.
pub const CALLS_PER_SECOND_MAX: u64 = 1_000_000;
/// Bytes of a namespace's name.
pub const NAMESPACE_BYTES_MAX: usize = 63;
/// Records that a tick counts for new quotas of namespaces; the object that goes beyond is counted as a whole.
pub const COUNTED_PER_TICK: usize = 10_000;
/// A call that adds no entry, and at most so many bytes, may use the reserve behind a quota of bytes.
pub const QUOTA_SMALL_BYTES: u64 = 64;
/// The reserve is this part of the quota,
pub const QUOTA_RESERVE_SHARE: u64 = 16;
/// and so many bytes besides.
pub const QUOTA_RESERVE_BYTES: u64 = 4_096;
/// Bytes of an event's topic, and of a module's own code of a refusal.
pub const TOPIC_BYTES_MAX: usize = 255;
