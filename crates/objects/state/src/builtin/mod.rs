//! The built-in types, one file each, behind the trait of `object`; their numbers and names.

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

use crate::command::TypeId;
pub(crate) use crate::object::{Builtin, Lost, Method, MethodKind, Step, Wait, Why, class};

const fn query(name: &'static str, args: &'static [&'static str]) -> Method {
    Method { name, kind: MethodKind::Query, args }
}

const fn command(name: &'static str, args: &'static [&'static str]) -> Method {
    Method { name, kind: MethodKind::Command, args }
}

const fn blocking(name: &'static str, args: &'static [&'static str]) -> Method {
    Method { name, kind: MethodKind::Blocking, args }
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

/// Evaluates an expression with a name bound to the built-in of that number, or to what stands for every type of users.
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
            $crate::limits::USER_TYPE_MIN..=$crate::limits::USER_TYPE_MAX => {
                $crate::builtin::with!($bound, Guest, $body)
            }
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

pub(crate) use crate::user::Guest;

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

/// The arguments of a type's constructor: none if there is no such type.
#[must_use]
pub fn constructor(id: TypeId) -> &'static [&'static str] {
    dispatch!(id, K => K::CONSTRUCTOR, else &[])
}
