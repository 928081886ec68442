//! A lock with conditions. It belongs to a session, and within it to an owner (a thread); every acquisition has a fence,
//! the position of its grant.
//!
//! A call that waits for a condition has given the lock up in the same command, so no later signal is missed. A signal
//! puts it at the end of the lock's own queue; it is answered when it holds the lock again.

use super::{Builtin, Lost, Method, Step, Wait, Why, blocking, class, command, query};
use crate::args::{Args, required};
use crate::codec::{decoded, encoded, record};
use crate::command::SessionId;
use crate::effects::EventKind;
use crate::limits::PASSED_MAX;
use crate::object::{Ctx, Live, View};
use crate::place::{Place, Queue};
use crate::problem::{Outcome, Problem, Slug};
use crate::reply::Reply;
use crate::ticket::Ticket;

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Config {
        fair: bool,
        reentrant: u32,
        lock_delay_ms: i64,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { fair: true, reentrant: 1, lock_delay_ms: 0 }
    }
}

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Holder {
        session: SessionId,
        owner: Option<String>,
        fence: u64,
        holds: u32,
        since_ms: i64,
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        holder: Option<Holder>,
        /// Nobody gets it before a timer ends this.
        delayed: bool,
        /// How often a newcomer has passed those who waited (`fair: false`).
        passed: u64,
    }
}

record! {
    /// What a waiting call wants.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Wish {
        owner: Option<String>,
        /// How often it will hold the lock.
        holds: u32,
        /// Of a call that waits for a condition: whether it was signalled. Otherwise not set.
        signalled: Option<bool>,
    }
}

/// Waiting for the lock.
const ACQUIRE: u8 = 1;
/// Waiting for a condition, by its name.
const AWAIT: u8 = 2;

const DELAY: &[u8] = b"delay";

/// The type.
pub(crate) struct Lock;

type Result<T> = core::result::Result<T, Problem>;

impl Live<Lock> {
    /// The holder, if it is that session.
    fn held_by(&self, session: Option<SessionId>) -> Result<&Holder> {
        let holder = self.root.holder.as_ref().filter(|holder| Some(holder.session) == session);
        holder.ok_or_else(|| Problem::new(Slug::NotOwner, "the session does not hold the lock"))
    }

    fn held_under(&self, ctx: &Ctx<'_>, args: &Args) -> Result<Holder> {
        let fence = required("fence", args.position("fence")?)?;
        let holder = self.held_by(ctx.claim.session)?;
        if holder.fence == fence {
            return Ok(holder.clone());
        }
        Err(Problem::new(Slug::StaleFence, format!("the lock is held under fence {}", holder.fence)))
    }

    fn take(&mut self, ctx: &mut Ctx<'_>, session: SessionId, wants: &Wish) -> String {
        let fence = ctx.position();
        let (owner, holds) = (wants.owner.clone(), wants.holds);
        self.root.holder = Some(Holder { session, owner, fence, holds, since_ms: ctx.now_ms() });
        ctx.hold(session, class::HOLDING, fence);
        match wants.signalled {
            None => acquired(fence, holds),
            Some(signalled) => Reply::new().flag("signalled", signalled).number("fence", fence).finish(),
        }
    }

    fn free(&mut self, ctx: &mut Ctx<'_>, why: EventKind) {
        if let Some(holder) = self.root.holder.take() {
            ctx.unhold(holder.session, class::HOLDING, holder.fence, why);
        }
    }

    fn is_free(&self) -> bool {
        self.root.holder.is_none() && !self.root.delayed
    }

    fn acquire(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<Step> {
        let session = ctx.session()?;
        let owner = args.text("owner")?.map(String::from);
        if let Some(holder) = &mut self.root.holder
            && holder.session == session
            && holder.owner == owner
        {
            if holder.holds >= self.config.reentrant {
                let detail = format!("it is held {} times already", holder.holds);
                return Err(Problem::new(Slug::ReentryLimit, detail));
            }
            holder.holds += 1;
            return Ok(Step::Done(acquired(holder.fence, holder.holds)));
        }
        let wants = Wish { owner, holds: 1, signalled: None };
        if self.is_free() && !ctx.view().is_waiting(&Queue::of(ACQUIRE)) {
            return Ok(Step::Done(self.take(ctx, session, &wants)));
        }
        let (queue, passed) = (Queue::of(ACQUIRE), self.root.passed);
        Ok(Step::Wait(Wait { queue, wants: encoded(&wants), forever: false, passed }))
    }

    fn release(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let holds = self.held_under(ctx, args)?.holds - 1;
        match &mut self.root.holder {
            Some(holder) if holds > 0 => holder.holds = holds,
            _ => self.free(ctx, EventKind::Released),
        }
        Ok(Reply::new().number("holds", u64::from(holds)).finish())
    }

    fn steal(&mut self, ctx: &mut Ctx<'_>) -> Result<String> {
        let session = ctx.session()?;
        self.free(ctx, EventKind::Lost);
        self.end_delay(ctx);
        self.take(ctx, session, &Wish { owner: None, holds: 1, signalled: None });
        Ok(Reply::new().number("fence", ctx.position()).finish())
    }

    fn await_condition(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<Step> {
        let condition = String::from(required("condition", args.text("condition")?)?);
        let holder = self.held_under(ctx, args)?;
        self.free(ctx, EventKind::Released);
        let is_try = ctx.claim.wait_ms == Some(0);
        // A try gives the lock up and asks for it again at once, behind those who wait.
        let queue = if is_try { Queue::of(ACQUIRE) } else { Queue::named(AWAIT, condition) };
        let wants = Wish { owner: holder.owner, holds: holder.holds, signalled: Some(false) };
        let passed = self.root.passed;
        Ok(Step::Wait(Wait { queue, wants: encoded(&wants), forever: is_try, passed }))
    }

    fn signal(&mut self, ctx: &mut Ctx<'_>, args: &Args, most: usize) -> Result<String> {
        let condition = required("condition", args.text("condition")?)?;
        self.held_by(ctx.claim.session)?;
        let queue = Queue::named(AWAIT, condition);
        let mut woken = 0;
        while woken < most
            && let Some(found) = ctx.first(&queue)
        {
            self.contend(ctx, found, true);
            woken += 1;
        }
        Ok(Reply::new().number("woken", woken as u64).finish())
    }

    /// A call that waited for a condition waits for the lock now.
    fn contend(&self, ctx: &mut Ctx<'_>, (place, mut ticket): (Place, Ticket), signalled: bool) {
        let Ok(wants) = decoded::<Wish>(&ticket.wants) else { return };
        let wants = encoded(&Wish { signalled: Some(signalled), ..wants });
        ticket.passed = self.root.passed;
        ctx.requeue((place, ticket), Queue::of(ACQUIRE), wants);
    }

    fn end_delay(&mut self, ctx: &mut Ctx<'_>) {
        self.root.delayed = false;
        ctx.set_timer(DELAY, None);
    }

    /// Who gets the lock next. An unfair lock gives it to the newest, until the oldest was passed too often.
    fn next(&mut self, ctx: &Ctx<'_>) -> Option<(Place, Ticket)> {
        let oldest = ctx.first(&Queue::of(ACQUIRE))?;
        if self.config.fair || self.root.passed.saturating_sub(oldest.1.passed) >= PASSED_MAX {
            return Some(oldest);
        }
        let newest = ctx.newest(&Queue::of(ACQUIRE))?;
        if newest.1.id != oldest.1.id {
            self.root.passed += 1;
        }
        Some(newest)
    }
}

fn acquired(fence: u64, holds: u32) -> String {
    Reply::new().flag("acquired", true).number("fence", fence).number("holds", u64::from(holds)).finish()
}

impl Builtin for Lock {
    const METHODS: &'static [Method] = &[
        blocking("acquire", &["owner", "ttl_ms"]),
        command("release", &["fence"]),
        command("steal", &["reason", "ttl_ms"]),
        blocking("await", &["condition", "fence"]),
        command("signal", &["condition", "n"]),
        command("signal_all", &["condition"]),
        query("holder", &[]),
        query("check", &["fence"]),
    ];
    const CONSTRUCTOR: &'static [&'static str] = &["fair", "reentrant", "lock_delay_ms"];
    type Config = Config;
    type Root = Root;

    fn config(args: &Args) -> Result<Config> {
        Ok(Config {
            fair: args.flag("fair")?.unwrap_or(true),
            reentrant: args.int_in("reentrant", 1, i64::from(u32::MAX))?.unwrap_or(1) as u32,
            lock_delay_ms: args.int_in("lock_delay_ms", 0, 3_600_000)?.unwrap_or(0),
        })
    }

    fn call(live: &mut Live<Self>, ctx: &mut Ctx<'_>, method: &str, args: &Args) -> Result<Step> {
        Ok(Step::Done(match method {
            "acquire" => return live.acquire(ctx, args),
            "await" => return live.await_condition(ctx, args),
            "release" => live.release(ctx, args)?,
            "steal" => live.steal(ctx)?,
            "signal" => live.signal(ctx, args, args.count("n", 1)?)?,
            _ => live.signal(ctx, args, usize::MAX)?,
        }))
    }

    fn query(live: &Live<Self>, view: &View<'_>, method: &str, args: &Args) -> Result<String> {
        let holder = live.root.holder.as_ref();
        if method == "check" {
            let fence = required("fence", args.position("fence")?)?;
            return Ok(Reply::new()
                .flag("valid", holder.is_some_and(|holder| holder.fence == fence))
                .finish());
        }
        let session = holder.map(|holder| holder.session.to_string());
        Ok(Reply::new()
            .optional_text("session", session.as_deref())
            .optional_text("owner", holder.and_then(|holder| holder.owner.as_deref()))
            .optional("fence", holder.map(|holder| holder.fence))
            .number("holds", holder.map_or(0, |holder| u64::from(holder.holds)))
            .optional("since", holder.map(|holder| holder.since_ms.max(0).unsigned_abs()))
            .number("waiting", u64::from(view.tickets))
            .finish())
    }

    fn wake(live: &mut Live<Self>, ctx: &mut Ctx<'_>) {
        while live.is_free()
            && let Some(found) = live.next(ctx)
        {
            let wants = decoded::<Wish>(&found.1.wants);
            let (Some(session), Ok(wants)) = (found.1.session, wants) else { return };
            let result = live.take(ctx, session, &wants);
            ctx.grant(&found, result);
        }
    }

    fn missed(_: &Live<Self>, _: &View<'_>, _: &Queue, _: &[u8]) -> String {
        Reply::new().flag("acquired", false).finish()
    }

    /// A call whose time for a condition has run out still returns only with the lock.
    fn ended(live: &mut Live<Self>, ctx: &mut Ctx<'_>, found: &(Place, Ticket), why: Why) -> Option<Outcome> {
        if why == Why::TimedOut && found.0.queue.tag == AWAIT {
            live.contend(ctx, found.clone(), false);
            return None;
        }
        let awaits = decoded::<Wish>(&found.1.wants).is_ok_and(|wants| wants.signalled.is_some());
        if awaits {
            let problem = Problem::new(Slug::NotOwner, "the wait was cancelled: the lock is not held");
            return Some(Outcome::Refused(Problem { position: ctx.position(), ..problem }));
        }
        Some(Outcome::Done(Self::missed(live, &ctx.view(), &found.0.queue, &found.1.wants)))
    }

    fn due(live: &mut Live<Self>, _: &mut Ctx<'_>, _: &[u8]) {
        live.root.delayed = false;
    }

    fn lost(live: &mut Live<Self>, ctx: &mut Ctx<'_>, lost: Lost) {
        let is_held = |holder: &Holder| holder.session == lost.session && holder.fence == lost.position;
        if !live.root.holder.as_ref().is_some_and(is_held) {
            return;
        }
        live.root.holder = None;
        if lost.expired && live.config.lock_delay_ms > 0 {
            live.root.delayed = true;
            ctx.set_timer(DELAY, Some(ctx.now_ms().saturating_add(live.config.lock_delay_ms)));
        }
    }
    /// A call that was signalled stands in the lock's own queue and is still an `await`.
    fn waits_by(_: &Live<Self>, queue: &Queue, wants: &[u8]) -> Option<String> {
        let awaits = decoded::<Wish>(wants).is_ok_and(|wants| wants.signalled.is_some());
        Some(String::from(if awaits || queue.tag == AWAIT { "await" } else { "acquire" }))
    }

    fn waits_for_holders(queue: &Queue) -> bool {
        queue.tag == ACQUIRE
    }

    fn arguments(live: &Live<Self>) -> Reply {
        Reply::new()
            .flag("fair", live.config.fair)
            .number("reentrant", u64::from(live.config.reentrant))
            .int("lock_delay_ms", live.config.lock_delay_ms)
    }

    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        live.is_free()
    }

    fn is_readable(_: u8, _: &[u8]) -> bool {
        false
    }
}
