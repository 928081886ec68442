//! The types of users: which there are, their versions, and the modules that these are made of. All of it is records.
//!
//! A module comes in pieces (`upload.rs`). A version joins a module with a description, and perhaps a source (`put.rs`). It
//! runs nothing before the members' verdict is applied (`verdict.rs`). One whose creations kill members creates no objects any
//! more, until somebody releases it (`stopped.rs`).

mod check;
mod description;
mod known;
mod put;
mod section;
mod shown;
mod stopped;
mod upload;
mod verdict;

use crate::codec::{Cursor, Field, Malformed, record};
use crate::command::TypeId;
use crate::group::Core;
use crate::guest::{Version, VersionHash};
use crate::key::{self, kind};
use crate::limits::{USER_TYPE_MAX, USER_TYPE_MIN};
use crate::object::MethodKind;
use crate::problem::{Problem, Slug};

pub(crate) use check::{is_rejected, is_upload, sound};
pub(crate) use description::BYTES_LEVEL;
pub(crate) use known::{forget_known, remember, runs};
pub(crate) use put::{New, delete, forget_rejected, put};
pub use section::custom_section;
pub(crate) use shown::info;
pub use shown::{TypeInfo, VersionInfo};
pub(crate) use stopped::{check as check_creations, release, stop as stop_creations};
pub(crate) use upload::{Piece, expire, piece};
pub(crate) use verdict::{ready, verdict};

/// The custom section of a module that holds its description.
pub const DESCRIPTION_SECTION: &str = "diwan.type";

record! {
    /// What types of users take together.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Totals {
        /// The number that was given last; 0 before the first.
        pub(crate) last: u8,
        /// Versions that are not ready yet.
        pub(crate) preparing: u32,
        pub(crate) versions: u32,
        /// Modules that no version uses.
        pub(crate) uploads: u32,
        /// Bytes of all modules, of unfinished ones those that they are to have.
        pub(crate) module_bytes: u64,
        /// Bytes of all objects' pages.
        pub(crate) memory_bytes: u64,
    }
}

record! {
    /// A type.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct UserType {
        pub(crate) name: String,
        /// The version of new objects, once one is ready.
        pub(crate) current: Option<VersionHash>,
    }
}

/// How far a version has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Preparing,
    Ready,
    /// With the rule that it breaks, and until when that is remembered.
    Rejected(String, i64),
    /// It was ready, and a member's build rejects it now, with that rule: its objects keep their state and run nothing.
    Closed(String),
}

/// What a closed version's record begins with.
const CLOSED: u8 = 3;

impl Field for Standing {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Preparing => out.push(0),
            Self::Ready => out.push(1),
            Self::Rejected(detail, until_ms) => {
                out.push(2);
                detail.put(out);
                until_ms.put(out);
            }
            Self::Closed(detail) => {
                out.push(CLOSED);
                detail.put(out);
            }
        }
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        match cursor.u8()? {
            0 => Ok(Self::Preparing),
            1 => Ok(Self::Ready),
            2 => Ok(Self::Rejected(Field::take(cursor)?, Field::take(cursor)?)),
            CLOSED => Ok(Self::Closed(Field::take(cursor)?)),
            _ => Err(Malformed("version: an unknown standing")),
        }
    }
}

record! {
    /// A version: what calls ask of it. The rest is its [`VersionText`].
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct VersionRecord {
        pub(crate) standing: Standing,
        /// The hash of its module.
        pub(crate) module: [u8; 32],
        /// The position at which it came.
        pub(crate) since: u64,
        /// Whether it wants to know of the end of sessions that have called it.
        pub(crate) hears_sessions: bool,
        /// Names the form in which its memory keeps the state: versions of one layout take over each other's memory as it is.
        pub(crate) layout: Option<String>,
        /// Objects of this version.
        pub(crate) objects: u64,
    }
}

record! {
    /// What is read of a version when it is shown or prepared.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct VersionText {
        /// As it came.
        pub(crate) description: String,
        /// What the runner says of its source, once it has loaded that.
        pub(crate) described: Option<String>,
        pub(crate) source: Option<Vec<u8>>,
    }
}

impl VersionText {
    /// What people are told.
    pub(crate) fn shown(self) -> String {
        self.described.unwrap_or(self.description)
    }
}

impl Field for MethodKind {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(match self {
            Self::Query => 0,
            Self::Command => 1,
            Self::Blocking => 2,
            Self::Either => 3,
        });
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        match cursor.u8()? {
            0 => Ok(Self::Query),
            1 => Ok(Self::Command),
            2 => Ok(Self::Blocking),
            _ => Err(Malformed("method: an unknown kind")),
        }
    }
}

/// What is known of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AboutMethod {
    pub(crate) kind: MethodKind,
    /// Its arguments and its result are bytes, no JSON.
    pub(crate) is_of_bytes: bool,
}

/// What is added to the kind of a method that takes and gives bytes.
const OF_BYTES: u8 = 16;

impl Field for AboutMethod {
    fn put(&self, out: &mut Vec<u8>) {
        self.kind.put(out);
        if let Some(last) = out.last_mut().filter(|_| self.is_of_bytes) {
            *last += OF_BYTES;
        }
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let byte = cursor.u8()?;
        let is_of_bytes = byte >= OF_BYTES;
        let kind = crate::codec::decoded(&[if is_of_bytes { byte - OF_BYTES } else { byte }])?;
        Ok(Self { kind, is_of_bytes })
    }
}

/// The feature level from which on who creates an object is told why there is no version for it.
pub(crate) const REASONS_LEVEL: u32 = 8;

/// Whether a number is one of users' types.
pub(crate) const fn is_user(kind: TypeId) -> bool {
    kind.0 >= USER_TYPE_MIN && kind.0 <= USER_TYPE_MAX
}

pub(crate) fn totals(core: &Core) -> Totals {
    core.read(&key::type_totals()).unwrap_or_default()
}

pub(crate) fn update_totals(core: &mut Core, change: impl FnOnce(&mut Totals)) {
    let mut totals = totals(core);
    change(&mut totals);
    core.write(key::type_totals(), &totals);
}

pub(crate) fn find(core: &Core, kind: TypeId) -> Option<UserType> {
    if is_user(kind) { core.read(&key::user_type(kind)) } else { None }
}

/// Whether there is a type of users of that number.
pub(crate) fn is_there(core: &Core, kind: TypeId) -> bool {
    let is_known = || known::types(core)?.iter().any(|(_, known)| *known == kind).then_some(());
    is_user(kind) && (is_known().is_some() || core.store.get(&key::user_type(kind)).is_some())
}

/// All types, in the order of their numbers.
pub(crate) fn all(core: &Core) -> impl Iterator<Item = (TypeId, UserType)> + '_ {
    core.store
        .prefix(&[kind::TYPE])
        .filter_map(|(key, value)| Some((TypeId(*key.get(1)?), crate::codec::decoded(value).ok()?)))
}

pub(crate) fn named(core: &Core, name: &str) -> Option<TypeId> {
    if let Some(types) = known::types(core) {
        let place = types.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        return Some(types[place].1);
    }
    // A type's record begins with its name.
    let is_it = |record: &[u8]| Cursor::new(record).text() == Ok(name);
    let found = core.store.prefix(&[kind::TYPE]).find(|(_, record)| is_it(record));
    found.and_then(|(key, _)| Some(TypeId(*key.get(1)?)))
}

pub(crate) fn version(core: &Core, kind: TypeId, hash: VersionHash) -> Option<VersionRecord> {
    core.read(&key::version(kind, hash))
}

/// A version that objects may have.
///
/// # Errors
/// There is none, or it is not ready.
pub(crate) fn ready_version(core: &Core, kind: TypeId, hash: VersionHash) -> Result<VersionRecord, Problem> {
    let found = version(core, kind, hash).ok_or_else(|| no_such_version(hash))?;
    match &found.standing {
        Standing::Ready => Ok(found),
        Standing::Preparing => Err(not_ready()),
        Standing::Rejected(detail, _) => Err(rejected(detail)),
        Standing::Closed(detail) => Err(closed(detail)),
    }
}

/// The version of new objects of a type.
///
/// # Errors
/// None is ready. If none is under way either, with what became of the newest.
pub(crate) fn version_of_new(core: &Core, kind: TypeId, known: &UserType) -> Result<VersionHash, Problem> {
    if let Some(current) = known.current {
        return Ok(current);
    }
    let newest = versions(core, kind).map(|(_, found)| found).max_by_key(|found| found.since);
    let is_under_way = || versions(core, kind).any(|(_, found)| found.standing == Standing::Preparing);
    match newest.filter(|_| core.meta.feature_level >= REASONS_LEVEL && !is_under_way()) {
        Some(VersionRecord { standing: Standing::Rejected(detail, _), .. }) => Err(rejected(&detail)),
        Some(VersionRecord { standing: Standing::Closed(detail), .. }) => Err(closed(&detail)),
        _ => Err(not_ready()),
    }
}

/// A version whose objects may be run. Costs a look at one byte.
///
/// # Errors
/// It is closed.
pub(crate) fn check_open(core: &Core, kind: TypeId, hash: VersionHash) -> Result<(), Problem> {
    if known::known(core, kind, hash).is_some_and(|known| !known.is_closed) {
        return Ok(());
    }
    let key = key::version(kind, hash);
    if core.store.get(&key).is_none_or(|record| record.first() != Some(&CLOSED)) {
        return Ok(());
    }
    match core.read::<VersionRecord>(&key).map(|found| found.standing) {
        Some(Standing::Closed(detail)) => Err(closed(&detail)),
        _ => Ok(()),
    }
}

/// Versions of a type, by their hashes.
pub(crate) fn versions(core: &Core, kind: TypeId) -> impl Iterator<Item = (VersionHash, VersionRecord)> + '_ {
    core.store.prefix(&key::versions(kind)).filter_map(|(key, value)| {
        Some((VersionHash(*key.last_chunk()?), crate::codec::decoded(value).ok()?))
    })
}

/// What a version says of itself: JSON.
pub(crate) fn description(core: &Core, kind: TypeId, version: VersionHash) -> String {
    let text: Option<VersionText> = core.read(&key::version_text(kind, version));
    text.map_or_else(|| String::from("null"), VersionText::shown)
}

/// What a method of a version is.
pub(crate) fn method(
    core: &Core,
    kind: TypeId,
    version: VersionHash,
    name: &str,
) -> Result<AboutMethod, Problem> {
    let about = match known::known(core, kind, version) {
        Some(known) => known::method(known, name),
        None => core.read(&key::method(kind, version, name)),
    };
    about.ok_or_else(|| Problem::new(Slug::NoSuchMethod, format!("the type has no method `{name}`")))
}

/// Whether a method of a version takes and gives bytes.
pub(crate) fn is_of_bytes(core: &Core, kind: TypeId, version: VersionHash, name: &str) -> bool {
    has_bytes(core, kind, version) && method(core, kind, version, name).is_ok_and(|about| about.is_of_bytes)
}

/// Whether some methods of a version do.
pub(crate) fn has_bytes(core: &Core, kind: TypeId, version: VersionHash) -> bool {
    match known::known(core, kind, version) {
        Some(known) => known.has_bytes,
        None => core.store.get(&key::of_bytes(kind, version)).is_some(),
    }
}

/// Whether a version wants to know of the end of sessions that have called it.
pub(crate) fn hears_sessions(core: &Core, kind: TypeId, hash: VersionHash) -> bool {
    match known::known(core, kind, hash) {
        Some(known) => known.hears_sessions,
        None => version(core, kind, hash).is_some_and(|found| found.hears_sessions),
    }
}

/// Whether both versions say that memory keeps the state in the same form. What a runner loads is in its memory, too, so sources
/// share none.
pub(crate) fn share_layout(core: &Core, kind: TypeId, one: VersionHash, other: VersionHash) -> bool {
    let layout_of = |hash| {
        let text: VersionText = core.read(&key::version_text(kind, hash))?;
        let layout = version(core, kind, hash)?.layout?;
        (text.source.is_none() && !layout.is_empty()).then_some(layout)
    };
    layout_of(one).is_some_and(|layout| layout_of(other) == Some(layout))
}

/// Another object has a version, or one has it no more.
pub(crate) fn count_object(core: &mut Core, kind: TypeId, hash: VersionHash, by: i64) {
    if let Some(mut found) = version(core, kind, hash) {
        found.objects = found.objects.saturating_add_signed(by);
        core.write(key::version(kind, hash), &found);
    }
}

/// Has the engine begin to make a version ready.
pub(crate) fn prepare(core: &Core, kind: TypeId, hash: VersionHash, module: [u8; 32]) {
    let bytes = upload::bytes(core, module);
    let text: Option<VersionText> = core.read(&key::version_text(kind, hash));
    let source = text.and_then(|text| text.source);
    core.engine.get().prepare(&Version { hash, module: &bytes, source: source.as_deref() });
}

/// Has the engine begin to make all versions ready.
pub(crate) fn prepare_all(core: &Core) {
    for (kind, _) in all(core) {
        for (hash, found) in versions(core, kind) {
            if !matches!(found.standing, Standing::Rejected(..)) {
                prepare(core, kind, hash, found.module);
            }
        }
    }
}

pub(crate) fn no_such_version(hash: VersionHash) -> Problem {
    Problem::new(Slug::NoSuchType, format!("the type has no version {hash}"))
}

pub(crate) fn not_ready() -> Problem {
    let problem = Problem::new(Slug::TypeNotReady, "the members still compile the type");
    Problem { retry_after_ms: Some(100), ..problem }
}

pub(crate) fn closed(detail: &str) -> Problem {
    let what =
        "the version is closed, its objects keep their state and run nothing: a member's build rejects it";
    Problem::new(Slug::Quarantined, format!("{what}: {detail}"))
}

pub(crate) fn rejected(detail: &str) -> Problem {
    Problem::new(Slug::TypeRejected, detail)
}
