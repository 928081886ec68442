//! Refusals: what a call is answered that has no result. They are deterministic and part of the replicated state, for a
//! repeated request is answered the same bytes.
//!
//! A problem is `application/problem+json` (RFC 9457). Which HTTP status goes with it is data here; nothing in this
//! crate knows HTTP.

use crate::codec::{Cursor, Field, Malformed};
use crate::reply::Reply;

/// Whether the call may have had an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideEffect {
    /// It had none and never will.
    None,
    /// It may have, or may still.
    Unknown,
}

/// What the caller may do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Try again at once.
    Now,
    /// Try again later.
    Later,
    /// Repeat it under the same request number or key.
    SameKey,
    /// Trying again is of no use.
    No,
}

macro_rules! slugs {
    ($($(#[$meta:meta])* $slug:ident = $code:literal, $name:literal, $status:literal, $retry:ident;)*) => {
        /// The name of a refusal.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Slug { $($(#[$meta])* $slug,)* }

        impl Slug {
            /// Its name on the wire.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$slug => $name,)* }
            }

            /// The status of an HTTP response that carries it.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$slug => $status,)* }
            }

            /// What the caller may do about it.
            #[must_use]
            pub const fn retry(self) -> Retry {
                match self { $(Self::$slug => Retry::$retry,)* }
            }

            const fn code(self) -> u8 {
                match self { $(Self::$slug => $code,)* }
            }

            const fn of_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$slug),)* _ => None }
            }
        }
    };
}

slugs! {
    /// An argument is missing, unknown, or of the wrong kind.
    BadArgument = 1, "bad-argument", 400, No;
    /// The caller may not do this.
    Forbidden = 2, "forbidden", 403, No;
    /// A command was sent as a query.
    NotAQuery = 3, "not-a-query", 405, No;
    /// There is no such type.
    NoSuchType = 4, "no-such-type", 404, No;
    /// There is no such object.
    NoSuchObject = 5, "no-such-object", 404, No;
    /// The type has no such method.
    NoSuchMethod = 6, "no-such-method", 404, No;
    /// No call waits, or is remembered, under this ticket.
    NoSuchTicket = 7, "no-such-ticket", 404, No;
    /// The session is gone, or never was.
    SessionExpired = 8, "session-expired", 410, No;
    /// The object was deleted.
    ObjectDeleted = 9, "object-deleted", 410, No;
    /// There is another object, or session, of that name.
    Exists = 10, "exists", 409, No;
    /// The caller does not hold it.
    NotOwner = 11, "not-owner", 409, No;
    /// The call was granted before it was cancelled.
    AlreadyGranted = 12, "already-granted", 409, No;
    /// The request's reply was acknowledged and is forgotten.
    RequestForgotten = 13, "request-forgotten", 409, No;
    /// The call would wait for what its own session holds.
    WouldDeadlock = 14, "would-deadlock", 409, No;
    /// A party of the barrier's generation is lost.
    Broken = 15, "broken", 409, No;
    /// Another member has this name.
    NameTaken = 16, "name-taken", 409, No;
    /// The caller's grant is not the latest one.
    StaleFence = 17, "stale-fence", 412, No;
    /// The object is another incarnation than the call names.
    WrongIncarnation = 18, "wrong-incarnation", 412, No;
    /// The arguments, a value or the results are too long.
    TooLarge = 19, "too-large", 413, No;
    /// The key was used for another call.
    KeyReused = 20, "key-reused", 422, No;
    /// No room for the item, and the call does not wait.
    QueueFull = 21, "queue-full", 429, Later;
    /// Too many calls wait.
    WaitersFull = 22, "waiters-full", 429, Later;
    /// Too many sessions are open.
    SessionsFull = 23, "sessions-full", 429, Later;
    /// Another limit is reached.
    Quota = 24, "quota", 429, Later;
    /// The owner has acquired the lock as often as it may.
    ReentryLimit = 25, "reentry-limit", 409, No;
    /// The result would leave the integers of 64 bits.
    Overflow = 26, "overflow", 409, No;
    /// The result would leave the object's bounds.
    OutOfRange = 27, "out-of-range", 409, No;
    /// More would be given back than there is.
    OverRelease = 28, "over-release", 409, No;
    /// The session does not hold so many.
    NotHeld = 29, "not-held", 409, No;
    /// The latch is not open.
    NotOpen = 30, "not-open", 409, No;
    /// The object holds as much as it may.
    Full = 31, "full", 409, Later;
    /// The caller has no lease of the item.
    NotLeased = 32, "not-leased", 409, No;
    /// The entries are not there any more.
    Trimmed = 33, "trimmed", 409, No;
    /// It is more than is ever granted.
    Never = 34, "never", 409, No;
    /// The member knows of no leader, or has no lease from it.
    NoLeader = 35, "no-leader", 503, Now;
    /// Whether the command took effect is not known. The same key finds out.
    OutcomeUnknown = 36, "outcome-unknown", 504, SameKey;
    /// The disk has no room for commands.
    DiskFull = 37, "disk-full", 503, Later;
    /// The caller is not who it says, or says nothing.
    Unauthenticated = 38, "unauthenticated", 401, No;
    /// Too much is under way at this member.
    Rate = 39, "rate", 429, Later;
    /// The object's module refused the call, under a code of its own.
    GuestError = 40, "guest-error", 422, No;
    /// The object's module trapped, or did what it may not.
    GuestTrap = 41, "guest-trap", 500, No;
    /// The call took more computation than one may.
    OutOfFuel = 42, "out-of-fuel", 500, No;
    /// The object needs more memory than it may have.
    OutOfMemory = 43, "out-of-memory", 500, No;
    /// The call went deeper than it may.
    StackExhausted = 44, "stack-exhausted", 500, No;
    /// The module cannot be a type.
    TypeRejected = 45, "type-rejected", 422, No;
    /// The type's version is still compiled, or not all members know types of users yet.
    TypeNotReady = 46, "type-not-ready", 503, Later;
    /// Objects have the version.
    InUse = 47, "in-use", 409, No;
    /// The bytes of the module are not here.
    NoSuchModule = 48, "no-such-module", 409, Now;
    /// The new version refused the object's state.
    NotMigrated = 49, "not-migrated", 409, No;
    /// The object is in quarantine, or its version is closed: it runs nothing, and keeps its state.
    Quarantined = 60, "quarantined", 503, No;
    /// The object is in a slot of another group.
    WrongGroup = 61, "wrong-group", 421, Now;
    /// The arguments are JSON, and the method takes bytes. Only members' edges say so: no reply is kept that has it.
    BadCodec = 62, "bad-codec", 415, No;
}

/// One refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its name.
    pub slug: Slug,
    /// What was wrong, for people.
    pub detail: String,
    /// Where in the arguments, as a JSON pointer.
    pub pointer: Option<String>,
    /// When to try again.
    pub retry_after_ms: Option<u64>,
    /// The position of the command that was refused; of a query that of the state.
    pub position: u64,
    /// The result of a call that was granted before it was cancelled.
    pub result: Option<String>,
    /// Whether there may be an effect, now or later.
    pub effect: SideEffect,
    /// The own code of a module that refused the call: of a [`Slug::GuestError`] alone.
    pub code: Option<Box<str>>,
}

impl Problem {
    /// A refusal without effect, at position 0.
    #[must_use]
    pub fn new(slug: Slug, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let (pointer, retry_after_ms, result, code) = (None, None, None, None);
        Self { slug, detail, pointer, retry_after_ms, position: 0, result, effect: SideEffect::None, code }
    }

    pub(crate) fn argument(name: &str, detail: impl Into<String>) -> Self {
        let pointer = Some(if name.is_empty() { String::new() } else { format!("/{name}") });
        Self { pointer, ..Self::new(Slug::BadArgument, detail) }
    }

    /// A refusal that cannot be remembered: a copy of the command that comes later in the log may be carried out.
    pub(crate) fn not_remembered(slug: Slug, detail: &str) -> Self {
        Self { effect: SideEffect::Unknown, ..Self::new(slug, detail) }
    }

    /// What the caller may do about it.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        match self.effect {
            SideEffect::None => self.slug.retry(),
            SideEffect::Unknown => Retry::SameKey,
        }
    }

    /// The body of a response. Equal problems have equal bytes.
    #[must_use]
    pub fn to_json(&self) -> String {
        let retry = match self.retry() {
            Retry::Now => "now",
            Retry::Later => "later",
            Retry::SameKey => "same-key",
            Retry::No => "no",
        };
        let effect = if self.effect == SideEffect::None { "none" } else { "unknown" };
        let mut reply = Reply::new()
            .text("type", &format!("urn:diwan:problem:{}", self.slug.name()))
            .int("status", i64::from(self.slug.status()))
            .text("detail", &self.detail)
            .text("effect", effect)
            .text("retry", retry);
        if let Some(code) = &self.code {
            reply = reply.text("code", code);
        }
        if let Some(pointer) = &self.pointer {
            reply = reply.text("pointer", pointer);
        }
        if let Some(ms) = self.retry_after_ms {
            reply = reply.number("retry_after_ms", ms);
        }
        reply = reply.number("position", self.position);
        if let Some(result) = &self.result {
            reply = reply.raw("result", result);
        }
        reply.finish()
    }
}

impl Field for Problem {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(self.slug.code());
        self.detail.put(out);
        self.pointer.put(out);
        self.retry_after_ms.put(out);
        self.position.put(out);
        self.result.put(out);
        (self.effect == SideEffect::Unknown).put(out);
        // What earlier builds have written has no code.
        if self.slug == Slug::GuestError {
            self.code.as_deref().map(String::from).put(out);
        }
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let slug = Slug::of_code(cursor.u8()?).ok_or(Malformed("problem: an unknown name"))?;
        Ok(Self {
            slug,
            detail: Field::take(cursor)?,
            pointer: Field::take(cursor)?,
            retry_after_ms: Field::take(cursor)?,
            position: Field::take(cursor)?,
            result: Field::take(cursor)?,
            effect: if bool::take(cursor)? { SideEffect::Unknown } else { SideEffect::None },
            code: if slug == Slug::GuestError {
                <Option<String> as Field>::take(cursor)?.map(String::into_boxed_str)
            } else {
                None
            },
        })
    }
}

/// How a call ended: a result, or a refusal. A repeat of its request is answered the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The result: JSON, or bytes ([`crate::bytes_of`]).
    Done(String),
    /// The refusal.
    Refused(Problem),
}

impl Outcome {
    /// The result, or the problem, as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        match self {
            Self::Done(result) => crate::bytes::as_json(result),
            Self::Refused(problem) => problem.to_json(),
        }
    }

    /// The status of an HTTP response.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self {
            Self::Done(_) => 200,
            Self::Refused(problem) => problem.slug.status(),
        }
    }
}

impl Field for Outcome {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Done(result) => {
                out.push(0);
                result.put(out);
            }
            Self::Refused(problem) => {
                out.push(1);
                problem.put(out);
            }
        }
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        match cursor.u8()? {
            0 => Ok(Self::Done(Field::take(cursor)?)),
            1 => Ok(Self::Refused(Field::take(cursor)?)),
            _ => Err(Malformed("outcome: neither a result nor a problem")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{decoded, encoded};

    #[test]
    fn problem_comes_back_and_shows_its_fields_in_one_order() {
        let problem = Problem { position: 7, ..Problem::argument("by", "not an integer") };
        assert_eq!(decoded::<Problem>(&encoded(&problem)), Ok(problem.clone()));
        assert_eq!(
            problem.to_json(),
            "{\"type\":\"urn:diwan:problem:bad-argument\",\"status\":400,\"detail\":\"not an integer\",\
             \"effect\":\"none\",\"retry\":\"no\",\"pointer\":\"/by\",\"position\":7}"
        );
    }

    #[test]
    fn what_is_not_remembered_says_that_its_effect_is_unknown() {
        let problem = Problem::not_remembered(Slug::Quota, "too many keys");
        assert_eq!((problem.effect, problem.retry()), (SideEffect::Unknown, Retry::SameKey));
        assert_eq!(decoded::<Problem>(&encoded(&problem)), Ok(problem));
    }
}
