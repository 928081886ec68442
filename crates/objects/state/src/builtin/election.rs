//! An election: candidates wait in order, the first leads until it resigns or its session ends. A term is the position
//! at which its leader won, so it rises, also over re-creation, and is the leader's fence.

use super::{Builtin, Lost, Method, Step, blocking, class, command, query};
use crate::args::{Args, required};
use crate::codec::{decoded, encoded, record};
use crate::command::SessionId;
use crate::effects::EventKind;
use crate::key::table;
use crate::limits::REPLY_BYTES_MAX;
use crate::object::{Ctx, Live, View};
use crate::place::Queue;
use crate::problem::{Problem, Slug};
use crate::reply::{Reply, quoted};
use crate::ticket::Ticket;

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Config {
        lock_delay_ms: i64,
    }
}

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Leader {
        session: SessionId,
        name: String,
        term: u64,
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        leader: Option<Leader>,
        delayed: bool,
    }
}

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Candidate {
        name: String,
        data: String,
    }
}

/// The leader's data: one record.
const DATA: u8 = table::OWN;
const CAMPAIGN: u8 = 1;
const OBSERVE: u8 = 2;
const DELAY: &[u8] = b"delay";

/// The type.
pub(crate) struct Election;

type Result<T> = core::result::Result<T, Problem>;

impl Live<Election> {
    fn term(&self) -> u64 {
        self.root.leader.as_ref().map_or(0, |leader| leader.term)
    }

    const fn is_open(&self) -> bool {
        self.root.leader.is_none() && !self.root.delayed
    }

    fn win(&mut self, ctx: &mut Ctx<'_>, session: SessionId, candidate: Candidate) -> String {
        let term = ctx.position();
        ctx.put(DATA, &[], &candidate.data);
        self.root.leader = Some(Leader { session, name: candidate.name, term });
        ctx.hold(session, class::HOLDING, term);
        won(term)
    }

    fn campaign(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<Step> {
        let session = ctx.session()?;
        let name = String::from(required("name", args.text("name")?)?);
        let data = args.value("data")?.unwrap_or_else(|| String::from("null"));
        if let Some(leader) = &self.root.leader
            && leader.session == session
            && leader.name == name
        {
            return Ok(Step::Done(won(leader.term)));
        }
        let candidate = Candidate { name, data };
        if self.is_open() && !ctx.view().is_waiting(&Queue::of(CAMPAIGN)) {
            return Ok(Step::Done(self.win(ctx, session, candidate)));
        }
        Ok(Step::wait(Queue::of(CAMPAIGN), encoded(&candidate)))
    }

    fn led(&self, ctx: &Ctx<'_>, args: &Args) -> Result<Leader> {
        let fence = required("fence", args.position("fence")?)?;
        let leader = self.root.leader.as_ref().filter(|leader| Some(leader.session) == ctx.claim.session);
        let leader = leader.ok_or_else(|| Problem::new(Slug::NotOwner, "the session does not lead"))?;
        if leader.term == fence {
            return Ok(leader.clone());
        }
        Err(Problem::new(Slug::StaleFence, format!("the session leads under fence {}", leader.term)))
    }

    fn resign(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let leader = self.led(ctx, args)?;
        self.root.leader = None;
        ctx.remove(DATA, &[]);
        ctx.unhold(leader.session, class::HOLDING, leader.term, EventKind::Released);
        Ok(Reply::new().flag("resigned", true).finish())
    }

    fn shown(&self, view: &View<'_>, reply: Reply) -> String {
        let leader = self.root.leader.as_ref();
        let data = view.get::<String>(DATA, &[]);
        reply
            .optional_text("name", leader.map(|leader| &*leader.name))
            .optional_raw("data", data.as_deref())
            .optional("term", leader.map(|leader| leader.term))
            .finish()
    }
}

impl Election {
    /// The leader's term and data, if there is a leader.
    pub(crate) fn leading(live: &Live<Self>, view: View<'_>) -> Option<(u64, String)> {
        let leader = live.root.leader.as_ref()?;
        Some((leader.term, view.get(DATA, &[]).unwrap_or_default()))
    }
}

fn won(term: u64) -> String {
    Reply::new().flag("leader", true).number("term", term).number("fence", term).finish()
}

impl Builtin for Election {
    const METHODS: &'static [Method] = &[
        blocking("campaign", &["name", "data", "ttl_ms"]),
        command("resign", &["fence"]),
        command("proclaim", &["fence", "data"]),
        blocking("observe", &["term"]),
        query("leader", &[]),
        query("candidates", &[]),
    ];
    const CONSTRUCTOR: &'static [&'static str] = &["lock_delay_ms"];
    type Config = Config;
    type Root = Root;

    fn config(args: &Args) -> Result<Config> {
        Ok(Config { lock_delay_ms: args.int_in("lock_delay_ms", 0, 3_600_000)?.unwrap_or(0) })
    }

    fn call(live: &mut Live<Self>, ctx: &mut Ctx<'_>, method: &str, args: &Args) -> Result<Step> {
        Ok(Step::Done(match method {
            "campaign" => return live.campaign(ctx, args),
            "resign" => live.resign(ctx, args)?,
            "proclaim" => {
                live.led(ctx, args)?;
                let data = required("data", args.value("data")?)?;
                ctx.put(DATA, &[], &data);
                Reply::new().number("term", live.term()).finish()
            }
            _ => {
                let term = args.position("term")?.unwrap_or(0);
                if live.term() <= term {
                    return Ok(Step::wait(Queue::named(OBSERVE, term.to_be_bytes()), encoded(&term)));
                }
                live.shown(&ctx.view(), Reply::new())
            }
        }))
    }

    fn query(live: &Live<Self>, view: &View<'_>, method: &str, _: &Args) -> Result<String> {
        if method == "leader" {
            return Ok(live.shown(view, Reply::new()));
        }
        let mut bytes = 0;
        let waiting = view.waiting(&Queue::of(CAMPAIGN));
        let names =
            waiting.filter_map(|ticket| Some(quoted(&decoded::<Candidate>(&ticket.wants).ok()?.name)));
        let fitting = names.take_while(|name| {
            bytes += name.len();
            bytes <= REPLY_BYTES_MAX
        });
        Ok(Reply::new().list("candidates", fitting).finish())
    }

    fn wake(live: &mut Live<Self>, ctx: &mut Ctx<'_>) {
        while live.is_open()
            && let Some(found) = ctx.first(&Queue::of(CAMPAIGN))
        {
            let candidate = decoded::<Candidate>(&found.1.wants);
            let (Some(session), Ok(candidate)) = (found.1.session, candidate) else { return };
            let result = live.win(ctx, session, candidate);
            ctx.grant(&found, result);
        }
        let is_due = |ticket: &Ticket| decoded::<u64>(&ticket.wants).is_ok_and(|term| live.term() > term);
        for found in ctx.due_of_tag(OBSERVE, is_due) {
            let result = live.shown(&ctx.view(), Reply::new());
            ctx.grant(&found, result);
        }
    }

    fn missed(live: &Live<Self>, view: &View<'_>, queue: &Queue, _: &[u8]) -> String {
        match queue.tag {
            CAMPAIGN => Reply::new().flag("leader", false).finish(),
            _ => live.shown(view, Reply::new()),
        }
    }

    fn due(live: &mut Live<Self>, _: &mut Ctx<'_>, _: &[u8]) {
        live.root.delayed = false;
    }

    fn lost(live: &mut Live<Self>, ctx: &mut Ctx<'_>, lost: Lost) {
        let leads = |leader: &Leader| leader.session == lost.session && leader.term == lost.position;
        if !live.root.leader.as_ref().is_some_and(leads) {
            return;
        }
        live.root.leader = None;
        ctx.remove(DATA, &[]);
        if lost.expired && live.config.lock_delay_ms > 0 {
            live.root.delayed = true;
            ctx.set_timer(DELAY, Some(ctx.now_ms().saturating_add(live.config.lock_delay_ms)));
        }
    }
    fn waits_by(_: &Live<Self>, queue: &Queue, _: &[u8]) -> Option<String> {
        Some(String::from(if queue.tag == CAMPAIGN { "campaign" } else { "observe" }))
    }

    fn waits_for_holders(queue: &Queue) -> bool {
        queue.tag == CAMPAIGN
    }

    fn arguments(live: &Live<Self>) -> Reply {
        Reply::new().int("lock_delay_ms", live.config.lock_delay_ms)
    }

    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        live.is_open()
    }

    fn is_readable(table: u8, value: &[u8]) -> bool {
        table == DATA && decoded::<String>(value).is_ok()
    }
}
