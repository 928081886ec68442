//! A barrier. Parties come (`await`), and go on together when all are there; a double one also makes them leave together
//! (`enter`, `leave`). A generation's number is the position at which its last party came.
//!
//! When a party is lost (its wait times out or is cancelled, or its session dies) the barrier breaks: all who wait, and
//! all who come before a `reset`, are refused. Or it shrinks by one party.

use std::ops::Bound;

use super::{Builtin, Lost, Method, Step, Why, blocking, class, command, query};
use crate::args::Args;
use crate::codec::{decoded, encoded, record};
use crate::command::SessionId;
use crate::effects::EventKind;
use crate::key::table;
use crate::limits::TICKETS_PER_OBJECT_MAX;
use crate::object::{Ctx, Live, View};
use crate::place::{Place, Queue};
use crate::problem::{Outcome, Problem, Slug};
use crate::reply::Reply;
use crate::script::Script;
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

record! {
    /// A party inside a double barrier.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Party {
        /// It waits to leave.
        leaving: bool,
    }
}

/// Those who are inside: by session (nobody's: zeros), then by the position of the call that entered.
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
        self.enter(ctx, session, ctx.position());
        Ok(Step::Done(passed(Some(0), Some(self.root.generation))))
    }

    /// So many who wait go on, the oldest first, before so many others: the first to come has the highest index.
    fn complete(&mut self, ctx: &mut Ctx<'_>, parties: u64, others: u64) {
        self.root.generation = ctx.position();
        for index in (others..parties + others).rev() {
            let Some(found) = ctx.first(&Queue::of(COME)) else { return };
            self.root.waiting = self.root.waiting.saturating_sub(1);
            self.enter(ctx, found.1.session, found.1.id);
            ctx.grant(&found, passed(Some(index), Some(self.root.generation)));
        }
    }

    /// A party is inside a double barrier, by a call at that position.
    fn enter(&mut self, ctx: &mut Ctx<'_>, session: Option<SessionId>, position: u64) {
        if !self.config.double {
            return;
        }
        self.root.inside += 1;
        ctx.put(INSIDE, &party(session, position), &Party { leaving: false });
        if let Some(session) = session {
            ctx.hold(session, class::HOLDING, position);
        }
    }

    /// That party is outside again.
    fn exit(&mut self, ctx: &mut Ctx<'_>, key: &[u8]) {
        if !ctx.remove(INSIDE, key) {
            return;
        }
        self.root.inside = self.root.inside.saturating_sub(1);
        if let (Some(session), Some(position)) = read_party(key) {
            ctx.unhold(session, class::HOLDING, position, EventKind::Released);
        }
    }

    /// The first party of the caller that is inside and has not asked to leave.
    fn own(ctx: &Ctx<'_>) -> Option<Vec<u8>> {
        let from = party(ctx.claim.session, 0);
        let to = party(ctx.claim.session, u64::MAX);
        let view = ctx.view();
        let mut own = view.entries(INSIDE, Bound::Included(&from), Bound::Included(&to));
        let is_staying = |party: &[u8]| decoded::<Party>(party).is_ok_and(|party| !party.leaving);
        own.find(|(_, party)| is_staying(party)).map(|(key, _)| key.to_vec())
    }

    /// A party leaves once, and nobody for another one.
    fn leave(&mut self, ctx: &mut Ctx<'_>) -> Result<Step> {
        if self.root.broken {
            return Err(broken());
        }
        let Some(own) = Self::own(ctx) else {
            return Err(Problem::new(Slug::NotOwner, "the caller is not inside, or waits to leave already"));
        };
        if self.root.leaving + 1 >= self.root.inside {
            self.exit(ctx, &own);
            return Ok(Step::Done(left(true)));
        }
        if ctx.claim.wait_ms != Some(0) {
            self.root.leaving += 1;
            ctx.put(INSIDE, &own, &Party { leaving: true });
        }
        Ok(Step::wait(Queue::of(LEAVE), encoded(&own)))
    }

    /// A party will never come.
    fn lose(&mut self) {
        if self.config.shrinks {
            self.root.lost = (self.root.lost + 1).min(self.config.parties.saturating_sub(1));
        } else {
            self.root.broken = true;
        }
    }

    /// A call that waited to leave has ended: its party is inside still, unless it died.
    fn stay(&mut self, ctx: &mut Ctx<'_>, ticket: &Ticket) -> bool {
        let key = wants_of(ticket);
        let is_there = ctx.get::<Party>(INSIDE, &key).is_some();
        if is_there {
            ctx.put(INSIDE, &key, &Party { leaving: false });
            self.root.leaving = self.root.leaving.saturating_sub(1);
        }
        is_there
    }

    fn refuse_all(&mut self, ctx: &mut Ctx<'_>) {
        while let Some(found) = ctx.first(&Queue::of(LEAVE)) {
            self.stay(ctx, &found.1);
            ctx.refuse(&found, Slug::Broken, "a party of the barrier is lost, or it was reset");
        }
        while let Some(found) = ctx.first(&Queue::of(COME)) {
            ctx.refuse(&found, Slug::Broken, "a party of the barrier is lost, or it was reset");
        }
        (self.root.waiting, self.root.leaving) = (0, 0);
    }

    fn reset(&mut self, ctx: &mut Ctx<'_>) -> String {
        self.refuse_all(ctx);
        let inside: Vec<_> = ctx.view().table(INSIDE).map(|(key, _)| key.to_vec()).collect();
        inside.iter().for_each(|key| self.exit(ctx, key));
        self.root = Root::default();
        Reply::new().number("parties", self.parties()).finish()
    }
}

fn party(session: Option<SessionId>, position: u64) -> Vec<u8> {
    let mut key = session.map_or([0; 16], |session| session.0).to_vec();
    key.extend(position.to_be_bytes());
    key
}

fn read_party(key: &[u8]) -> (Option<SessionId>, Option<u64>) {
    let session = key.first_chunk().filter(|id| **id != [0; 16]).map(|id| SessionId(*id));
    (session, key.last_chunk().map(|position| u64::from_be_bytes(*position)))
}

/// The party of a call that waits to leave.
fn wants_of(ticket: &Ticket) -> Vec<u8> {
    decoded(&ticket.wants).unwrap_or_default()
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
            live.exit(ctx, &wants_of(&found.1));
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
        if found.0.queue.tag == COME {
            live.root.waiting = live.root.waiting.saturating_sub(1);
            live.lose();
        } else if live.stay(ctx, &found.1) {
            live.lose();
        }
        Some(Outcome::Done(Self::missed(live, &ctx.view(), &found.0.queue, &[])))
    }

    fn lost(live: &mut Live<Self>, ctx: &mut Ctx<'_>, lost: Lost) {
        let key = party(Some(lost.session), lost.position);
        let was_leaving = ctx.get::<Party>(INSIDE, &key).is_some_and(|party| party.leaving);
        if ctx.remove(INSIDE, &key) {
            live.root.inside = live.root.inside.saturating_sub(1);
            live.root.leaving = live.root.leaving.saturating_sub(u64::from(was_leaving));
            live.lose();
        }
    }
    fn waits_by(live: &Live<Self>, queue: &Queue, _: &[u8]) -> Option<String> {
        Some(String::from(match queue.tag {
            LEAVE => "leave",
            _ if live.config.double => "enter",
            _ => "await",
        }))
    }

    fn arguments(live: &Live<Self>) -> Reply {
        Reply::new()
            .number("parties", live.config.parties)
            .text("on_loss", if live.config.shrinks { "shrink" } else { "break" })
            .flag("double", live.config.double)
    }

    /// The next generation begins.
    fn script(live: &Live<Self>, _: &View<'_>, script: &mut Script) {
        if live.root.broken || live.root.lost > 0 {
            script.leave_out("what became of the present generation");
        }
    }

    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        let Root { lost, waiting, leaving, inside, generation: _, broken } = live.root;
        lost + waiting + leaving + inside == 0 && !broken
    }

    fn is_readable(table: u8, value: &[u8]) -> bool {
        table == INSIDE && decoded::<Party>(value).is_ok()
    }
}
