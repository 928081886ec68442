//! The built-in types behind one small trait. A type knows its arguments, its records and its queues; requests,
//! tickets, deadlines, sessions, snapshots and digests are none of its business.

mod barrier;
mod counter;
mod election;
mod ids;
mod latch;
mod lock;
mod log;
mod map;
mod membership;
mod names;
mod queue;
mod ratelimiter;
mod rwlock;
mod semaphore;
mod set;
mod stack;
mod value;

use crate::args::Args;
use crate::codec::Field;
use crate::command::{SessionId, TypeId};
use crate::object::{Ctx, Live, View};
use crate::problem::{Outcome, Problem};
use crate::ticket::{Place, Queue, Ticket};

/// What kind of a method it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodKind {
    /// It reads, and needs no place in the log.
    Query,
    /// It changes.
    Command,
    /// It changes, and may wait.
    Blocking,
    /// A query that becomes a command when it is to wait.
    Either,
}

/// A method of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// What kind it is.
    pub kind: MethodKind,
    /// Its arguments, apart from `wait_ms`.
    pub args: &'static [&'static str],
}

const fn query(name: &'static str, args: &'static [&'static str]) -> Method {
    Method { name, kind: MethodKind::Query, args }
}

const fn command(name: &'static str, args: &'static [&'static str]) -> Method {
    Method { name, kind: MethodKind::Command, args }
}

const fn blocking(name: &'static str, args: &'static [&'static str]) -> Method {
    Method { name, kind: MethodKind::Blocking, args }
}

/// What a call comes to.
pub(crate) enum Step {
    /// Its result.
    Done(String),
    /// It waits, if it wants to.
    Wait(Wait),
}

/// How a call waits.
pub(crate) struct Wait {
    pub(crate) queue: Queue,
    pub(crate) wish: Vec<u8>,
    /// It has given something up already: it waits however long it takes, also if it said `wait_ms` 0.
    pub(crate) forever: bool,
    /// See [`Ticket::passed`].
    pub(crate) passed: u64,
}

impl Step {
    pub(crate) fn wait(queue: Queue, wish: Vec<u8>) -> Self {
        Self::Wait(Wait { queue, wish, forever: false, passed: 0 })
    }
}

/// Why a waiting call ends without what it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    TimedOut,
    Cancelled,
    Died,
}

/// What sessions hold, in the order in which a dead session's is released.
pub(crate) mod class {
    pub(crate) const MEMBERSHIP: u8 = 0;
    pub(crate) const LEASE: u8 = 1;
    pub(crate) const HOLDING: u8 = 2;
}

/// Something that a session held, and has lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub(crate) session: SessionId,
    pub(crate) class: u8,
    /// Since when it held it: its fence.
    pub(crate) position: u64,
    /// Whether the session's client was silent; otherwise it closed the session.
    pub(crate) expired: bool,
}

/// A type.
pub(crate) trait Builtin: Sized {
    const METHODS: &'static [Method];
    /// The constructor's arguments.
    const CONSTRUCTOR: &'static [&'static str];
    type Config: Field + Default + PartialEq;
    /// Small, whatever the object holds: it is written with most commands.
    type Root: Field + Default;

    fn config(args: &Args) -> Result<Self::Config, Problem>;

    /// A command. What it refuses, it refuses before it changes anything, or is taken back.
    fn call(live: &mut Live<Self>, ctx: &mut Ctx<'_>, method: &str, args: &Args) -> Result<Step, Problem>;

    fn query(live: &Live<Self>, view: &View<'_>, method: &str, args: &Args) -> Result<String, Problem>;

    /// Grants all that can be granted. Runs after every change.
    fn wake(_live: &mut Live<Self>, _ctx: &mut Ctx<'_>) {}

    /// The result of a call that did not get what it wanted in its time.
    fn missed(_live: &Live<Self>, _view: &View<'_>, _queue: &Queue, _wish: &[u8]) -> String {
        String::from("{}")
    }

    /// A waiting call ends without what it waited for. `None`: it goes on waiting, for something else.
    fn ended(
        live: &mut Live<Self>,
        ctx: &mut Ctx<'_>,
        found: &(Place, Ticket),
        _why: Why,
    ) -> Option<Outcome> {
        Some(Outcome::Done(Self::missed(live, &ctx.view(), &found.0.queue, &found.1.wish)))
    }

    /// A timer is due; it is not set any more.
    fn due(_live: &mut Live<Self>, _ctx: &mut Ctx<'_>, _timer: &[u8]) {}

    /// A session has lost what it held. Its holding is removed already.
    fn lost(_live: &mut Live<Self>, _ctx: &mut Ctx<'_>, _lost: Lost) {}

    /// Whether nothing but defaults is left. Waiting calls are looked after.
    fn is_idle(live: &Live<Self>, view: &View<'_>) -> bool;

    /// Whether a record of a table of its own, or its root or configuration, can be read: a loader asks.
    fn is_readable(table: u8, value: &[u8]) -> bool;
}

/// The built-in types: their numbers, which are part of the log's and the snapshots' form, and their names.
pub const TYPES: &[(TypeId, &str)] = &[
    (TypeId(1), "lock"),
    (TypeId(2), "rwlock"),
    (TypeId(3), "semaphore"),
    (TypeId(4), "barrier"),
    (TypeId(5), "latch"),
    (TypeId(6), "counter"),
    (TypeId(7), "value"),
    (TypeId(8), "map"),
    (TypeId(9), "set"),
    (TypeId(10), "queue"),
    (TypeId(11), "stack"),
    (TypeId(12), "log"),
    (TypeId(13), "membership"),
    (TypeId(14), "election"),
    (TypeId(15), "ratelimiter"),
    (TypeId(16), "ids"),
    (TypeId(17), "names"),
];

/// Evaluates an expression with a name bound to the built-in of that number.
macro_rules! dispatch {
    ($number:expr, $bound:ident => $body:expr, else $other:expr) => {
        match $number.0 {
            1 => $crate::builtin::with!($bound, Lock, $body),
            2 => $crate::builtin::with!($bound, RwLock, $body),
            3 => $crate::builtin::with!($bound, Semaphore, $body),
            4 => $crate::builtin::with!($bound, Barrier, $body),
            5 => $crate::builtin::with!($bound, Latch, $body),
            6 => $crate::builtin::with!($bound, Counter, $body),
            7 => $crate::builtin::with!($bound, Value, $body),
            8 => $crate::builtin::with!($bound, Map, $body),
            9 => $crate::builtin::with!($bound, Set, $body),
            10 => $crate::builtin::with!($bound, WorkQueue, $body),
            11 => $crate::builtin::with!($bound, Stack, $body),
            12 => $crate::builtin::with!($bound, Log, $body),
            13 => $crate::builtin::with!($bound, Membership, $body),
            14 => $crate::builtin::with!($bound, Election, $body),
            15 => $crate::builtin::with!($bound, RateLimiter, $body),
            16 => $crate::builtin::with!($bound, Ids, $body),
            17 => $crate::builtin::with!($bound, Names, $body),
            _ => $other,
        }
    };
}
pub(crate) use dispatch;

macro_rules! with {
    ($bound:ident, $kind:ident, $body:expr) => {{
        type $bound = $crate::builtin::$kind;
        $body
    }};
}
pub(crate) use with;

pub(crate) use barrier::Barrier;
pub(crate) use counter::Counter;
pub(crate) use election::Election;
pub(crate) use ids::Ids;
pub(crate) use latch::Latch;
pub(crate) use lock::Lock;
pub(crate) use log::Log;
pub(crate) use map::Map;
pub(crate) use membership::Membership;
pub(crate) use names::Names;
pub(crate) use queue::WorkQueue;
pub(crate) use ratelimiter::RateLimiter;
pub(crate) use rwlock::RwLock;
pub(crate) use semaphore::Semaphore;
pub(crate) use set::Set;
pub(crate) use stack::Stack;
pub(crate) use value::Value;

/// The type of that name.
#[must_use]
pub fn type_named(name: &str) -> Option<TypeId> {
    TYPES.iter().find(|(_, known)| *known == name).map(|(id, _)| *id)
}

/// The name of a type.
#[must_use]
pub fn type_name(id: TypeId) -> Option<&'static str> {
    TYPES.iter().find(|(known, _)| *known == id).map(|(_, name)| *name)
}

/// The methods of a type: none if there is no such type.
#[must_use]
pub fn methods(id: TypeId) -> &'static [Method] {
    dispatch!(id, K => K::METHODS, else &[])
}
