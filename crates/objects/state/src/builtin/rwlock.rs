//! A lock for readers and writers, in the order of arrival: a reader never passes a waiting writer, neighbouring readers
//! enter together.

use super::{Builtin, Lost, Method, Step, blocking, class, command, query};
use crate::args::{Args, required};
use crate::codec::{decoded, encoded, record};
use crate::command::SessionId;
use crate::effects::EventKind;
use crate::key::table;
use crate::object::{Ctx, Live, View};
use crate::place::Queue;
use crate::problem::{Problem, Slug};
use crate::reply::Reply;

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Config {
        lock_delay_ms: i64,
    }
}

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Writer {
        session: SessionId,
        fence: u64,
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        readers: u64,
        writer: Option<Writer>,
        delayed: bool,
    }
}

/// How many readers a session has: by session and fence.
const READERS: u8 = table::OWN;
const WAIT: u8 = 1;
const DELAY: &[u8] = b"delay";

/// The type.
pub(crate) struct RwLock;

type Result<T> = core::result::Result<T, Problem>;

fn reader_key(session: SessionId, fence: u64) -> Vec<u8> {
    [&session.0[..], &fence.to_be_bytes()].concat()
}

fn reads(view: &View<'_>, session: SessionId) -> bool {
    let (from, to) = (reader_key(session, 0), reader_key(session, u64::MAX));
    let bounds = (core::ops::Bound::Included(&from[..]), core::ops::Bound::Included(&to[..]));
    view.entries(READERS, bounds.0, bounds.1).next().is_some()
}

impl Live<RwLock> {
    const fn admits(&self, writes: bool) -> bool {
        !self.root.delayed && self.root.writer.is_none() && (!writes || self.root.readers == 0)
    }

    fn enter(&mut self, ctx: &mut Ctx<'_>, session: SessionId, writes: bool) -> String {
        let fence = ctx.position();
        if writes {
            self.root.writer = Some(Writer { session, fence });
        } else {
            let key = reader_key(session, fence);
            let count = ctx.get::<u64>(READERS, &key).unwrap_or(0) + 1;
            ctx.put(READERS, &key, &count);
            self.root.readers += 1;
        }
        ctx.hold(session, class::HOLDING, fence);
        Reply::new().flag("acquired", true).number("fence", fence).finish()
    }

    fn ask(&mut self, ctx: &mut Ctx<'_>, writes: bool) -> Result<Step> {
        let session = ctx.session()?;
        let is_writer = self.root.writer.as_ref().is_some_and(|writer| writer.session == session);
        if is_writer || (writes && reads(&ctx.view(), session)) {
            let detail = "the session holds the lock: it would wait for itself";
            return Err(Problem::new(Slug::WouldDeadlock, detail));
        }
        if self.admits(writes) && !ctx.view().is_waiting(&Queue::of(WAIT)) {
            return Ok(Step::Done(self.enter(ctx, session, writes)));
        }
        Ok(Step::wait(Queue::of(WAIT), encoded(&writes)))
    }

    /// The writer of the caller's session, if it has this fence.
    fn written(&self, ctx: &Ctx<'_>, fence: u64) -> Option<SessionId> {
        let writer = self.root.writer.as_ref()?;
        let is_own = Some(writer.session) == ctx.claim.session && writer.fence == fence;
        is_own.then_some(writer.session)
    }

    fn release(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let fence = required("fence", args.position("fence")?)?;
        let not_owner =
            || Problem::new(Slug::NotOwner, "the session does not hold the lock under this fence");
        let mut left = 0;
        if let Some(session) = self.written(ctx, fence) {
            self.root.writer = None;
            ctx.unhold(session, class::HOLDING, fence, EventKind::Released);
        } else {
            let session = ctx.claim.session.ok_or_else(not_owner)?;
            let key = reader_key(session, fence);
            left = ctx.get::<u64>(READERS, &key).ok_or_else(not_owner)?.saturating_sub(1);
            self.root.readers -= 1;
            if left > 0 {
                ctx.put(READERS, &key, &left);
            } else {
                ctx.remove(READERS, &key);
                ctx.unhold(session, class::HOLDING, fence, EventKind::Released);
            }
        }
        Ok(Reply::new().number("holds", left).finish())
    }

    fn downgrade(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let fence = required("fence", args.position("fence")?)?;
        let session = self.written(ctx, fence);
        let detail = "the session does not write under this fence";
        let session = session.ok_or_else(|| Problem::new(Slug::NotOwner, detail))?;
        self.root.writer = None;
        ctx.unhold(session, class::HOLDING, fence, EventKind::Released);
        self.enter(ctx, session, false);
        Ok(Reply::new().number("fence", ctx.position()).finish())
    }
}

impl Builtin for RwLock {
    const METHODS: &'static [Method] = &[
        blocking("read", &["ttl_ms"]),
        blocking("write", &["ttl_ms"]),
        command("downgrade", &["fence"]),
        command("release", &["fence"]),
        query("state", &[]),
    ];
    const CONSTRUCTOR: &'static [&'static str] = &["lock_delay_ms"];
    type Config = Config;
    type Root = Root;

    fn config(args: &Args) -> Result<Config> {
        Ok(Config { lock_delay_ms: args.int_in("lock_delay_ms", 0, 3_600_000)?.unwrap_or(0) })
    }

    fn call(live: &mut Live<Self>, ctx: &mut Ctx<'_>, method: &str, args: &Args) -> Result<Step> {
        match method {
            "read" | "write" => live.ask(ctx, method == "write"),
            "release" => live.release(ctx, args).map(Step::Done),
            _ => live.downgrade(ctx, args).map(Step::Done),
        }
    }

    fn query(live: &Live<Self>, view: &View<'_>, _: &str, _: &Args) -> Result<String> {
        let writer = live.root.writer.as_ref();
        let session = writer.map(|writer| writer.session.to_string());
        Ok(Reply::new()
            .number("readers", live.root.readers)
            .optional_text("writer", session.as_deref())
            .optional("fence", writer.map(|writer| writer.fence))
            .number("waiting", u64::from(view.tickets))
            .finish())
    }

    fn wake(live: &mut Live<Self>, ctx: &mut Ctx<'_>) {
        while let Some(found) = ctx.first(&Queue::of(WAIT)) {
            let writes = decoded::<bool>(&found.1.wants).unwrap_or(true);
            let Some(session) = found.1.session.filter(|_| live.admits(writes)) else { return };
            let result = live.enter(ctx, session, writes);
            ctx.grant(&found, result);
        }
    }

    fn missed(_: &Live<Self>, _: &View<'_>, _: &Queue, _: &[u8]) -> String {
        Reply::new().flag("acquired", false).finish()
    }

    fn due(live: &mut Live<Self>, _: &mut Ctx<'_>, _: &[u8]) {
        live.root.delayed = false;
    }

    fn lost(live: &mut Live<Self>, ctx: &mut Ctx<'_>, lost: Lost) {
        let is_lost = |writer: &Writer| writer.session == lost.session && writer.fence == lost.position;
        let key = reader_key(lost.session, lost.position);
        if live.root.writer.as_ref().is_some_and(is_lost) {
            live.root.writer = None;
        } else if let Some(count) = ctx.get::<u64>(READERS, &key) {
            ctx.remove(READERS, &key);
            live.root.readers = live.root.readers.saturating_sub(count);
        }
        if lost.expired && live.config.lock_delay_ms > 0 {
            live.root.delayed = true;
            ctx.set_timer(DELAY, Some(ctx.now_ms().saturating_add(live.config.lock_delay_ms)));
        }
    }
    fn waits_by(_: &Live<Self>, _: &Queue, wants: &[u8]) -> Option<String> {
        let writes = decoded::<bool>(wants).unwrap_or(true);
        Some(String::from(if writes { "write" } else { "read" }))
    }

    fn waits_for_holders(_: &Queue) -> bool {
        true
    }

    fn arguments(live: &Live<Self>) -> Reply {
        Reply::new().int("lock_delay_ms", live.config.lock_delay_ms)
    }

    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        live.root == Root::default()
    }

    fn is_readable(table: u8, value: &[u8]) -> bool {
        table == READERS && decoded::<u64>(value).is_ok()
    }
}
