//! What a type of objects is: its methods, its configuration and root, and how it answers to calls, waits, timers and
//! deaths. Requests, tickets, deadlines, sessions, snapshots and digests are none of a type's business.

use super::{Ctx, Live, View};
use crate::args::Args;
use crate::codec::Field;
use crate::command::SessionId;
use crate::place::{Place, Queue};
use crate::problem::{Outcome, Problem};
use crate::reply::Reply;
use crate::script::Script;
use crate::ticket::Ticket;

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
    pub(crate) wants: Vec<u8>,
    /// It has given something up already: it waits however long it takes, also if it said `wait_ms` 0.
    pub(crate) forever: bool,
    /// See [`Ticket::passed`].
    pub(crate) passed: u64,
}

impl Step {
    pub(crate) fn wait(queue: Queue, wants: Vec<u8>) -> Self {
        Self::Wait(Wait { queue, wants, forever: false, passed: 0 })
    }
}

/// Why a waiting call ends without what it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    TimedOut,
    Cancelled,
    Died,
    /// Its principal may not wait for it any more.
    Forbidden,
}

/// What sessions hold, in the order in which a dead session's is released.
pub(crate) mod class {
    pub(crate) const MEMBERSHIP: u8 = 0;
    pub(crate) const LEASE: u8 = 1;
    pub(crate) const HOLDING: u8 = 2;
    /// An object of a user's type that wants to know of the session's end.
    pub(crate) const LISTENER: u8 = 3;
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
    fn missed(_live: &Live<Self>, _view: &View<'_>, _queue: &Queue, _wants: &[u8]) -> String {
        String::from("{}")
    }

    /// By which method a call waits in a queue, if that is known: for those who look at what waits.
    fn waits_by(_live: &Live<Self>, _queue: &Queue, _wants: &[u8]) -> Option<String> {
        None
    }

    /// Whether a call waits there until those who hold something of the object give it back.
    fn waits_for_holders(_queue: &Queue) -> bool {
        false
    }

    /// A waiting call ends without what it waited for. `None`: it goes on waiting, for something else.
    fn ended(
        live: &mut Live<Self>,
        ctx: &mut Ctx<'_>,
        found: &(Place, Ticket),
        _why: Why,
    ) -> Option<Outcome> {
        Some(Outcome::Done(Self::missed(live, &ctx.view(), &found.0.queue, &found.1.wants)))
    }

    /// A timer is due; it is not set any more.
    fn due(_live: &mut Live<Self>, _ctx: &mut Ctx<'_>, _timer: &[u8]) {}

    /// A session has lost what it held. Its holding is removed already.
    fn lost(_live: &mut Live<Self>, _ctx: &mut Ctx<'_>, _lost: Lost) {}

    /// The constructor's arguments of a new object like this one.
    fn arguments(live: &Live<Self>) -> Reply;

    /// The methods of which an import may have calls: those that [`Self::script`] uses.
    const SCRIPT: &'static [&'static str] = &[];

    /// Calls that give it what this one holds, but for what belongs to sessions.
    fn script(_live: &Live<Self>, _view: &View<'_>, _script: &mut Script) {}

    /// Whether nothing but defaults is left. Waiting calls are looked after.
    fn is_idle(live: &Live<Self>, view: &View<'_>) -> bool;

    /// Whether a record of a table of its own, or its root or configuration, can be read: a loader asks.
    fn is_readable(table: u8, value: &[u8]) -> bool;
}
