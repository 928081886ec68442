//! A membership: who is there. The epoch rises by 1 with every change; members whose session ends leave at its end.
//! A majority of a view's members removes one that it reports.

use super::{Builtin, Lost, Method, Step, blocking, class, command, query};
use crate::args::{Args, required};
use crate::codec::{Cursor, decoded, encoded, record};
use crate::command::SessionId;
use crate::effects::EventKind;
use crate::key::{ordered, table};
use crate::object::{Ctx, Live, View, in_order};
use crate::place::Queue;
use crate::problem::{Problem, Slug};
use crate::reply::Reply;
use crate::ticket::Ticket;

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Config {
        min_size: i64,
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        epoch: u64,
        size: i64,
        bytes: u64,
    }
}

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Member {
        data: String,
        session: SessionId,
        /// When it joined.
        since_ms: i64,
        /// The position at which it joined: the place of its holding.
        position: u64,
        /// The epoch of the reports, and the sessions that made them, one behind the other.
        reported_in: u64,
        reporters: Vec<u8>,
    }
}

/// Members by name.
const MEMBER: u8 = table::OWN;
/// Waiting for another epoch.
const CHANGE: u8 = 1;
/// Waiting for a size, the least first.
const SIZE: u8 = 2;

/// A view travels with every result, so it is bounded as a result is.
const MEMBERS_MAX: i64 = 1_000;
const VIEW_BYTES_MAX: u64 = 512 << 10;

/// The type.
pub(crate) struct Membership;

type Result<T> = core::result::Result<T, Problem>;

fn members(view: &View<'_>) -> Vec<(String, Member)> {
    let read = |(key, value): (&[u8], &[u8])| {
        Some((String::from_utf8(key.to_vec()).ok()?, decoded::<Member>(value).ok()?))
    };
    view.table(MEMBER).filter_map(read).collect()
}

fn shown((name, member): (String, Member)) -> String {
    Reply::new()
        .text("name", &name)
        .raw("data", &member.data)
        .text("session", &member.session.to_string())
        .int("since", member.since_ms)
        .finish()
}

impl Live<Membership> {
    fn view(&self, view: &View<'_>, reply: Reply) -> String {
        let members = members(view).into_iter().map(shown);
        reply.number("epoch", self.root.epoch).list("members", members).finish()
    }

    fn own(&self, ctx: &Ctx<'_>, args: &Args) -> Result<(String, Member)> {
        let name = required("name", args.text("name")?)?;
        let member = ctx.get::<Member>(MEMBER, name.as_bytes());
        let own = member.filter(|member| Some(member.session) == ctx.claim.session);
        let detail = format!("`{name}` is no member of this session");
        own.map(|member| (name.into(), member)).ok_or_else(|| Problem::new(Slug::NotOwner, detail))
    }

    fn join(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let session = ctx.session()?;
        let name = required("name", args.text("name")?)?;
        let data = args.value("data")?.unwrap_or_else(|| String::from("null"));
        match ctx.get::<Member>(MEMBER, name.as_bytes()) {
            Some(member) if member.session != session => {
                return Err(Problem::new(
                    Slug::NameTaken,
                    format!("`{name}` is a member of another session"),
                ));
            }
            Some(member) if member.data == data => {}
            Some(member) => self.store(ctx, name, Member { data, ..member }, 0)?,
            None => {
                let (since_ms, position) = (ctx.now_ms(), ctx.position());
                let member =
                    Member { data, session, since_ms, position, reported_in: 0, reporters: Vec::new() };
                self.store(ctx, name, member, 1)?;
                ctx.hold(session, class::MEMBERSHIP, position);
            }
        }
        Ok(self.view(&ctx.view(), Reply::new()))
    }

    /// Writes a member: a new one, or another one's data.
    fn store(&mut self, ctx: &mut Ctx<'_>, name: &str, member: Member, more: i64) -> Result<()> {
        let had = ctx.get::<Member>(MEMBER, name.as_bytes()).map_or(0, |old| old.data.len() + name.len());
        let bytes = self.root.bytes.saturating_sub(had as u64) + (member.data.len() + name.len()) as u64;
        if self.root.size + more > MEMBERS_MAX || bytes > VIEW_BYTES_MAX {
            let detail = format!("at most {MEMBERS_MAX} members with {VIEW_BYTES_MAX} bytes of data");
            return Err(Problem::new(Slug::Full, detail));
        }
        ctx.put(MEMBER, name.as_bytes(), &member);
        self.root = Root { epoch: self.root.epoch + 1, size: self.root.size + more, bytes };
        Ok(())
    }

    /// A member is none any more.
    fn remove(&mut self, ctx: &mut Ctx<'_>, name: &str, member: &Member) {
        ctx.remove(MEMBER, name.as_bytes());
        let bytes = self.root.bytes.saturating_sub((member.data.len() + name.len()) as u64);
        self.root = Root { epoch: self.root.epoch + 1, size: self.root.size - 1, bytes };
    }

    fn leave(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let (name, member) = self.own(ctx, args)?;
        self.remove(ctx, &name, &member);
        ctx.unhold(member.session, class::MEMBERSHIP, member.position, EventKind::Released);
        Ok(Reply::new().number("epoch", self.root.epoch).finish())
    }

    fn update(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let (name, member) = self.own(ctx, args)?;
        let data = required("data", args.value("data")?)?;
        if member.data != data {
            self.store(ctx, &name, Member { data, ..member }, 0)?;
        }
        Ok(Reply::new().number("epoch", self.root.epoch).finish())
    }

    /// A member's session says that another is gone. Reports count within one view.
    fn report(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let session = ctx.session()?;
        let epoch = required("epoch", args.position("epoch")?)?;
        let name = required("name", args.text("name")?)?;
        if !members(&ctx.view()).iter().any(|(_, member)| member.session == session) {
            return Err(Problem::new(Slug::NotOwner, "the session is no member"));
        }
        let told = |reports: usize, removed: bool, epoch: u64| {
            let reply = Reply::new().number("reports", reports as u64).flag("removed", removed);
            Ok(reply.number("epoch", epoch).finish())
        };
        let reported = ctx.get::<Member>(MEMBER, name.as_bytes()).filter(|_| epoch == self.root.epoch);
        let Some(mut member) = reported else { return told(0, false, self.root.epoch) };
        if member.reported_in != epoch {
            (member.reported_in, member.reporters) = (epoch, Vec::new());
        }
        if !member.reporters.chunks(16).any(|reporter| reporter == session.0) {
            member.reporters.extend_from_slice(&session.0);
        }
        let reports = member.reporters.len() / 16;
        let removed = reports as i64 > self.root.size / 2;
        if removed {
            self.remove(ctx, name, &member);
            ctx.unhold(member.session, class::MEMBERSHIP, member.position, EventKind::Lost);
        } else {
            ctx.put(MEMBER, name.as_bytes(), &member);
        }
        told(reports, removed, self.root.epoch)
    }
}

impl Membership {
    /// The epoch, and the number of members.
    pub(crate) fn extent(live: &Live<Self>) -> (u64, usize) {
        (live.root.epoch, usize::try_from(live.root.size).unwrap_or(0))
    }

    /// The members' data, in the order of their names.
    pub(crate) fn data<'a>(view: &View<'a>) -> impl Iterator<Item = String> + use<'a> {
        view.table(MEMBER)
            .map(|(_, value)| decoded::<Member>(value).map_or_else(|_| String::new(), |member| member.data))
    }
}

impl Builtin for Membership {
    const METHODS: &'static [Method] = &[
        command("join", &["name", "data", "ttl_ms"]),
        command("leave", &["name"]),
        command("update", &["name", "data"]),
        command("report", &["epoch", "name"]),
        blocking("await_change", &["epoch"]),
        blocking("await_size", &["n"]),
        query("members", &[]),
    ];
    const CONSTRUCTOR: &'static [&'static str] = &["min_size"];
    type Config = Config;
    type Root = Root;

    fn config(args: &Args) -> Result<Config> {
        Ok(Config { min_size: args.int_in("min_size", 0, MEMBERS_MAX)?.unwrap_or(0) })
    }

    fn call(live: &mut Live<Self>, ctx: &mut Ctx<'_>, method: &str, args: &Args) -> Result<Step> {
        Ok(Step::Done(match method {
            "join" => live.join(ctx, args)?,
            "leave" => live.leave(ctx, args)?,
            "update" => live.update(ctx, args)?,
            "report" => live.report(ctx, args)?,
            "await_change" => {
                let epoch = required("epoch", args.position("epoch")?)?;
                if epoch == live.root.epoch {
                    return Ok(Step::wait(Queue::of(CHANGE), encoded(&epoch)));
                }
                live.view(&ctx.view(), Reply::new().flag("changed", true))
            }
            _ => {
                let n = args.int_in("n", 0, MEMBERS_MAX)?.unwrap_or(live.config.min_size);
                if live.root.size < n {
                    return Ok(Step::wait(Queue::named(SIZE, ordered(n)), encoded(&n)));
                }
                live.view(&ctx.view(), Reply::new().flag("reached", true))
            }
        }))
    }

    fn query(live: &Live<Self>, view: &View<'_>, _: &str, _: &Args) -> Result<String> {
        let enough = live.root.size >= live.config.min_size;
        Ok(live.view(view, Reply::new().flag("enough", enough)))
    }

    fn wake(live: &mut Live<Self>, ctx: &mut Ctx<'_>) {
        let is_other = |ticket: &Ticket| decoded::<u64>(&ticket.wants) != Ok(live.root.epoch);
        let is_reached = |ticket: &Ticket| decoded::<i64>(&ticket.wants).is_ok_and(|n| n <= live.root.size);
        let mut due = ctx.due_of_tag(CHANGE, is_other);
        due.extend(ctx.due_of_tag(SIZE, is_reached));
        for found in in_order(due) {
            let name = if found.0.queue.tag == CHANGE { "changed" } else { "reached" };
            let result = live.view(&ctx.view(), Reply::new().flag(name, true));
            ctx.grant(&found, result);
        }
    }

    fn missed(live: &Live<Self>, view: &View<'_>, queue: &Queue, _: &[u8]) -> String {
        let name = if queue.tag == CHANGE { "changed" } else { "reached" };
        live.view(view, Reply::new().flag(name, false))
    }

    fn lost(live: &mut Live<Self>, ctx: &mut Ctx<'_>, lost: Lost) {
        let of_session = |(_, member): &(String, Member)| {
            member.session == lost.session && member.position == lost.position
        };
        for (name, member) in members(&ctx.view()).into_iter().filter(of_session) {
            live.remove(ctx, &name, &member);
        }
    }
    fn waits_by(_: &Live<Self>, queue: &Queue, _: &[u8]) -> Option<String> {
        Some(String::from(if queue.tag == CHANGE { "await_change" } else { "await_size" }))
    }

    fn arguments(live: &Live<Self>) -> Reply {
        Reply::new().int("min_size", live.config.min_size)
    }

    /// One that ever had a member keeps its epoch.
    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        live.root.epoch == 0
    }

    fn is_readable(table: u8, value: &[u8]) -> bool {
        let mut cursor = Cursor::new(value);
        let member = <Member as crate::codec::Field>::take(&mut cursor);
        table == MEMBER && cursor.end().is_ok() && member.is_ok_and(|member| member.reporters.len() % 16 == 0)
    }
}
