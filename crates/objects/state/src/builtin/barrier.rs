//! A barrier. Parties come (`await`), and go on together when all are there; a double one also makes them leave together
//! (`enter`, `leave`). A generation's number is the position at which its last party came.
//!
//! When a party is lost (its wait times out or is cancelled, or its session dies) the barrier breaks: all who wait, and
//! all who come before a `reset`, are refused. Or it shrinks by one party.

use super::{Builtin, Lost, Method, Step, Why, blocking, class, command, query};
use crate::args::Args;
use crate::codec::record;
use crate::command::SessionId;
use crate::effects::EventKind;
use crate::key::table;
use crate::limits::TICKETS_PER_OBJECT_MAX;
use crate::object::{Ctx, Live, View};
use crate::place::{Place, Queue};
use crate::problem::{Outcome, Problem, Slug};
use crate::reply::Reply;
use crate::ticket::Ticket;

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Config {
        parties: u64,
        shrinks: bool,
        double: bool,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { parties: 2, shrinks: false, double: false }
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        /// Parties that were lost, of one that shrinks.
        lost: u64,
        /// Who waits to come in, and to leave.
        waiting: u64,
        leaving: u64,
        /// Of a double one: how many are inside.
        inside: u64,
        generation: u64,
        broken: bool,
    }
}

/// How many of a session are inside: by session.
const INSIDE: u8 = table::OWN;
const COME: u8 = 1;
const LEAVE: u8 = 2;

/// The type.
pub(crate) struct Barrier;

type Result<T> = core::result::Result<T, Problem>;

fn passed(index: Option<u64>, generation: Option<u64>) -> String {
    Reply::new().optional("index", index).optional("generation", generation).finish()
}

fn broken() -> Problem {
    Problem::new(Slug::Broken, "a party of the barrier is lost: it was not reset since")
}

impl Live<Barrier> {
    const fn parties(&self) -> u64 {
        self.config.parties.saturating_sub(self.root.lost)
    }

    fn come(&mut self, ctx: &mut Ctx<'_>) -> Result<Step> {
        if self.root.broken {
            return Err(broken());
        }
        let completes = self.root.inside == 0 && self.root.waiting + 1 >= self.parties();
        if !completes {
            self.root.waiting += u64::from(ctx.claim.wait_ms != Some(0));
            return Ok(Step::wait(Queue::of(COME), Vec::new()));
        }
        let others = self.parties().saturating_sub(1);
        self.complete(ctx, others, 1);
        let session = ctx.claim.session;
        self.enter(ctx, session);
        Ok(Step::Done(passed(Some(0), Some(self.root.generation))))
    }

    /// So many who wait go on, the oldest first, before so many others: the first to come has the highest index.
    fn complete(&mut self, ctx: &mut Ctx<'_>, parties: u64, others: u64) {
        self.root.generation = ctx.position();
        for index in (others..parties + others).rev() {
            let Some(found) = ctx.first(&Queue::of(COME)) else { return };
            self.root.waiting = self.root.waiting.saturating_sub(1);
            self.enter(ctx, found.1.session);
            ctx.grant(&found, passed(Some(index), Some(self.root.generation)));
        }
    }

    /// A party is inside a double barrier.
    fn enter(&mut self, ctx: &mut Ctx<'_>, session: Option<SessionId>) {
        if !self.config.double {
            return;
        }
        self.root.inside += 1;
        if let Some(session) = session {
            let count = ctx.get::<u64>(INSIDE, &session.0).unwrap_or(0) + 1;
            ctx.put(INSIDE, &session.0, &count);
            ctx.hold(session, class::HOLDING, 0);
        }
    }

    /// A party of that session is outside again.
    fn exit(&mut self, ctx: &mut Ctx<'_>, session: Option<SessionId>) {
        self.root.inside = self.root.inside.saturating_sub(1);
        let Some(session) = session else { return };
        match ctx.get::<u64>(INSIDE, &session.0) {
            Some(count) if count > 1 => ctx.put(INSIDE, &session.0, &(count - 1)),
            Some(_) => {
                ctx.remove(INSIDE, &session.0);
                ctx.unhold(session, class::HOLDING, 0, EventKind::Released);
            }
            None => {}
        }
    }

    fn leave(&mut self, ctx: &mut Ctx<'_>) -> Result<Step> {
        if self.root.broken {
            return Err(broken());
        }
        if self.root.inside <= self.root.leaving {
            return Err(Problem::new(Slug::NotOwner, "nobody is inside who has not asked to leave"));
        }
        if self.root.leaving + 1 < self.root.inside {
            self.root.leaving += u64::from(ctx.claim.wait_ms != Some(0));
            return Ok(Step::wait(Queue::of(LEAVE), Vec::new()));
        }
        let session = ctx.claim.session;
        self.exit(ctx, session);
        Ok(Step::Done(left(true)))
    }

    /// A party will never come.
    fn lose(&mut self) {
        if self.config.shrinks {
            self.root.lost = (self.root.lost + 1).min(self.config.parties.saturating_sub(1));
        } else {
            self.root.broken = true;
        }
    }

    fn refuse_all(&mut self, ctx: &mut Ctx<'_>) {
        for tag in [COME, LEAVE] {
            while let Some(found) = ctx.first(&Queue::of(tag)) {
                ctx.refuse(&found, Slug::Broken, "a party of the barrier is lost, or it was reset");
            }
        }
        (self.root.waiting, self.root.leaving) = (0, 0);
    }

    fn reset(&mut self, ctx: &mut Ctx<'_>) -> String {
        self.refuse_all(ctx);
        let inside: Vec<_> =
            ctx.view().table(INSIDE).filter_map(|(key, _)| key.first_chunk().copied()).collect();
        for session in inside {
            ctx.remove(INSIDE, &session);
            ctx.unhold(SessionId(session), class::HOLDING, 0, EventKind::Released);
        }
        self.root = Root::default();
        Reply::new().number("parties", self.parties()).finish()
    }
}

fn left(left: bool) -> String {
    Reply::new().flag("left", left).finish()
}

impl Builtin for Barrier {
    const METHODS: &'static [Method] = &[
        blocking("await", &[]),
        blocking("enter", &["ttl_ms"]),
        blocking("leave", &[]),
        command("reset", &[]),
        query("state", &[]),
    ];
    const CONSTRUCTOR: &'static [&'static str] = &["parties", "on_loss", "double"];
    type Config = Config;
    type Root = Root;

    fn config(args: &Args) -> Result<Config> {
        let shrinks = match args.text("on_loss")? {
            None | Some("break") => false,
            Some("shrink") => true,
            Some(_) => return Err(Problem::argument("on_loss", "neither `break` nor `shrink`")),
        };
        let parties =
            args.int_in("parties", 1, i64::from(TICKETS_PER_OBJECT_MAX))?.unwrap_or(2).unsigned_abs();
        Ok(Config { parties, shrinks, double: args.flag("double")?.unwrap_or(false) })
    }

    fn call(live: &mut Live<Self>, ctx: &mut Ctx<'_>, method: &str, _: &Args) -> Result<Step> {
        match (method, live.config.double) {
            ("await", false) | ("enter", true) => live.come(ctx),
            ("leave", true) => live.leave(ctx),
            ("reset", _) => Ok(Step::Done(live.reset(ctx))),
            _ => Err(Problem::new(
                Slug::NoSuchMethod,
                "a barrier has `await`, a double one `enter` and `leave`",
            )),
        }
    }

    fn query(live: &Live<Self>, _: &View<'_>, _: &str, _: &Args) -> Result<String> {
        Ok(Reply::new()
            .number("parties", live.parties())
            .number("waiting", live.root.waiting)
            .number("inside", live.root.inside)
            .number("leaving", live.root.leaving)
            .number("generation", live.root.generation)
            .flag("broken", live.root.broken)
            .finish())
    }

    fn wake(live: &mut Live<Self>, ctx: &mut Ctx<'_>) {
        if live.root.broken {
            return live.refuse_all(ctx);
        }
        while live.root.leaving > 0 && live.root.leaving >= live.root.inside {
            let Some(found) = ctx.first(&Queue::of(LEAVE)) else { return };
            live.root.leaving -= 1;
            live.exit(ctx, found.1.session);
            ctx.grant(&found, left(true));
        }
        // Those who came while others were inside, and those who waited for a party that was lost.
        if live.root.inside == 0 && live.root.waiting > 0 && live.root.waiting >= live.parties() {
            live.complete(ctx, live.parties(), 0);
        }
    }

    fn missed(_: &Live<Self>, _: &View<'_>, queue: &Queue, _: &[u8]) -> String {
        if queue.tag == LEAVE { left(false) } else { passed(None, None) }
    }

    fn ended(live: &mut Live<Self>, ctx: &mut Ctx<'_>, found: &(Place, Ticket), _: Why) -> Option<Outcome> {
        if found.0.queue.tag == LEAVE {
            live.root.leaving = live.root.leaving.saturating_sub(1);
        } else {
            live.root.waiting = live.root.waiting.saturating_sub(1);
        }
        live.lose();
        Some(Outcome::Done(Self::missed(live, &ctx.view(), &found.0.queue, &[])))
    }

    fn lost(live: &mut Live<Self>, ctx: &mut Ctx<'_>, lost: Lost) {
        let count = ctx.get::<u64>(INSIDE, &lost.session.0).unwrap_or(0);
        ctx.remove(INSIDE, &lost.session.0);
        live.root.inside = live.root.inside.saturating_sub(count);
        (0..count).for_each(|_| live.lose());
    }

    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        let Root { lost, waiting, leaving, inside, generation: _, broken } = live.root;
        lost + waiting + leaving + inside == 0 && !broken
    }

    fn is_readable(table: u8, value: &[u8]) -> bool {
        table == INSIDE && crate::codec::decoded::<u64>(value).is_ok()
    }
}
