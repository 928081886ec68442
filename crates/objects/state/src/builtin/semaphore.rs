//! A semaphore. Bounded, its permits belong to the sessions that acquired them; otherwise anybody gives any back. In the
//! order of arrival: a large request at the head is not passed.

use super::{Builtin, Lost, Method, Step, blocking, class, command, query};
use crate::args::{Args, required};
use crate::codec::{decoded, encoded, record};
use crate::command::SessionId;
use crate::effects::EventKind;
use crate::key::table;
use crate::limits::OBJECT_BYTES_MAX;
use crate::object::{Ctx, Live, View};
use crate::place::Queue;
use crate::problem::{Problem, Slug};
use crate::reply::Reply;

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Config {
        permits: i64,
        bounded: bool,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { permits: 1, bounded: true }
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        /// By how much it was resized.
        resized: i64,
        /// Acquired and not given back; below 0 if more was given back (unbounded).
        taken: i64,
    }
}

/// How many permits a session holds: by session and fence.
const HELD: u8 = table::OWN;
const ACQUIRE: u8 = 1;
const PERMITS_MAX: i64 = OBJECT_BYTES_MAX;

/// The type.
pub(crate) struct Semaphore;

type Result<T> = core::result::Result<T, Problem>;

fn held_key(session: SessionId, fence: u64) -> Vec<u8> {
    [&session.0[..], &fence.to_be_bytes()].concat()
}

/// A session's holdings, the oldest first.
fn holdings(view: &View<'_>, session: SessionId) -> Vec<(u64, i64)> {
    let (from, to) = (held_key(session, 0), held_key(session, u64::MAX));
    let held = view.entries(HELD, core::ops::Bound::Included(&from), core::ops::Bound::Included(&to));
    held.filter_map(|(key, value)| {
        Some((u64::from_be_bytes(*key.last_chunk()?), decoded::<i64>(value).ok()?))
    })
    .collect()
}

impl Live<Semaphore> {
    const fn total(&self) -> i64 {
        self.config.permits.saturating_add(self.root.resized)
    }

    const fn available(&self) -> i64 {
        self.total().saturating_sub(self.root.taken)
    }

    fn take(&mut self, ctx: &mut Ctx<'_>, session: SessionId, n: i64) -> String {
        let fence = ctx.position();
        let key = held_key(session, fence);
        let held = ctx.get::<i64>(HELD, &key).unwrap_or(0) + n;
        ctx.put(HELD, &key, &held);
        ctx.hold(session, class::HOLDING, fence);
        self.root.taken += n;
        Reply::new().flag("acquired", true).number("fence", fence).int("held", held).finish()
    }

    fn release(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let n = args.int_in("n", 1, PERMITS_MAX)?.unwrap_or(1);
        let fence = args.position("fence")?;
        let session = ctx.claim.session;
        let mut held = session.map_or_else(Vec::new, |session| holdings(&ctx.view(), session));
        held.retain(|(under, _)| fence.is_none_or(|fence| fence == *under));
        let total: i64 = held.iter().map(|(_, n)| n).sum();
        if total < n && (self.config.bounded || fence.is_some()) {
            let over = total == 0 && fence.is_none() && self.available() + n > self.total();
            let slug = if over { Slug::OverRelease } else { Slug::NotHeld };
            return Err(Problem::new(slug, format!("the session holds {total}")));
        }
        if self.available() > PERMITS_MAX - n {
            return Err(Problem::new(Slug::OverRelease, "there are too many permits"));
        }
        let mut left = n;
        for (fence, held) in held {
            let given = held.min(left);
            left -= given;
            if let (Some(session), true) = (session, given > 0) {
                give_back(ctx, session, fence, held - given);
            }
        }
        self.root.taken -= n;
        Ok(Reply::new().int("available", self.available()).finish())
    }

    fn drain(&mut self, ctx: &mut Ctx<'_>) -> Result<String> {
        let session = ctx.session()?;
        let is_waiting = ctx.view().is_waiting(&Queue::of(ACQUIRE));
        let n = if is_waiting { 0 } else { self.available().max(0) };
        if n > 0 {
            self.take(ctx, session, n);
        }
        let fence = (n > 0).then(|| ctx.position());
        Ok(Reply::new().int("taken", n).optional("fence", fence).finish())
    }

    fn resize(&mut self, args: &Args) -> Result<String> {
        let by = required("by", args.int_in("by", -PERMITS_MAX, PERMITS_MAX)?)?;
        let total = self.total() + by;
        if !(0..=PERMITS_MAX).contains(&total) {
            return Err(Problem::new(Slug::OutOfRange, format!("there would be {total} permits")));
        }
        self.root.resized += by;
        Ok(Reply::new().int("permits", total).int("available", self.available()).finish())
    }
}

/// What is left of a holding.
fn give_back(ctx: &mut Ctx<'_>, session: SessionId, fence: u64, left: i64) {
    if left > 0 {
        ctx.put(HELD, &held_key(session, fence), &left);
    } else {
        ctx.remove(HELD, &held_key(session, fence));
        ctx.unhold(session, class::HOLDING, fence, EventKind::Released);
    }
}

impl Builtin for Semaphore {
    const METHODS: &'static [Method] = &[
        blocking("acquire", &["n", "ttl_ms"]),
        command("release", &["n", "fence"]),
        command("drain", &["ttl_ms"]),
        command("resize", &["by"]),
        query("available", &[]),
    ];
    const CONSTRUCTOR: &'static [&'static str] = &["permits", "bounded"];
    type Config = Config;
    type Root = Root;

    fn config(args: &Args) -> Result<Config> {
        let permits = args.int_in("permits", 0, PERMITS_MAX)?.unwrap_or(1);
        Ok(Config { permits, bounded: args.flag("bounded")?.unwrap_or(true) })
    }

    fn call(live: &mut Live<Self>, ctx: &mut Ctx<'_>, method: &str, args: &Args) -> Result<Step> {
        Ok(Step::Done(match method {
            "acquire" => {
                let session = ctx.session()?;
                let n = args.int_in("n", 1, PERMITS_MAX)?.unwrap_or(1);
                if n > live.available() || ctx.view().is_waiting(&Queue::of(ACQUIRE)) {
                    return Ok(Step::wait(Queue::of(ACQUIRE), encoded(&n)));
                }
                live.take(ctx, session, n)
            }
            "release" => live.release(ctx, args)?,
            "drain" => live.drain(ctx)?,
            _ => live.resize(args)?,
        }))
    }

    fn query(live: &Live<Self>, view: &View<'_>, _: &str, _: &Args) -> Result<String> {
        let reply = Reply::new().int("available", live.available()).int("permits", live.total());
        Ok(reply.number("waiting", u64::from(view.tickets)).finish())
    }

    fn wake(live: &mut Live<Self>, ctx: &mut Ctx<'_>) {
        while let Some(found) = ctx.first(&Queue::of(ACQUIRE)) {
            let n = decoded::<i64>(&found.1.wants).unwrap_or_default();
            let Some(session) = found.1.session.filter(|_| n <= live.available()) else { return };
            let result = live.take(ctx, session, n);
            ctx.grant(&found, result);
        }
    }

    fn missed(_: &Live<Self>, _: &View<'_>, _: &Queue, _: &[u8]) -> String {
        Reply::new().flag("acquired", false).finish()
    }

    fn lost(live: &mut Live<Self>, ctx: &mut Ctx<'_>, lost: Lost) {
        let key = held_key(lost.session, lost.position);
        if let Some(held) = ctx.get::<i64>(HELD, &key) {
            ctx.remove(HELD, &key);
            live.root.taken -= held;
        }
    }
    fn waits_by(_: &Live<Self>, _: &Queue, _: &[u8]) -> Option<String> {
        Some(String::from("acquire"))
    }

    fn waits_for_holders(_: &Queue) -> bool {
        true
    }

    /// Permits that were given back and never taken stay.
    fn arguments(live: &Live<Self>) -> Reply {
        let more = live.root.taken.min(0).saturating_neg();
        let permits = live.config.permits.saturating_add(live.root.resized).saturating_add(more);
        let permits = permits.clamp(0, PERMITS_MAX);
        Reply::new().int("permits", permits).flag("bounded", live.config.bounded)
    }

    fn is_idle(live: &Live<Self>, view: &View<'_>) -> bool {
        live.root == Root::default() && view.table(HELD).next().is_none()
    }

    fn is_readable(table: u8, value: &[u8]) -> bool {
        table == HELD && decoded::<i64>(value).is_ok()
    }
}
