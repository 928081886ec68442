//! A work queue. Without a lease an item that was taken is gone; with one it comes back when the lease or its session
//! ends, and after too many attempts it goes to the dead. Items keep their place: the order of their ids, or of their
//! priorities and then their ids.

use super::{Builtin, Lost, Method, Step, blocking, class, command, query};
use crate::args::{Args, required};
use crate::codec::{decoded, encoded, record};
use crate::command::SessionId;
use crate::effects::EventKind;
use crate::key::{ordered, table};
use crate::limits::{ENTRIES, ENTRIES_MAX, ITEMS_PER_CALL, REPLY_BYTES_MAX};
use crate::object::{Ctx, Live, View, check_holdings};
use crate::place::Queue;
use crate::problem::{Problem, Slug};
use crate::reply::Reply;
use crate::script::Script;
use crate::session;

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Config {
        capacity: u64,
        priority: bool,
        max_attempts: u32,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { capacity: ENTRIES.unsigned_abs(), priority: false, max_attempts: 0 }
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        ready: u64,
        delayed: u64,
        leased: u64,
        dead: u64,
    }
}

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Lease {
        session: SessionId,
        lease_ms: i64,
    }
}

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Item {
        item: String,
        priority: i64,
        attempts: u32,
        delayed: bool,
        lease: Option<Lease>,
    }
}

record! {
    /// An item that waits for room.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Put {
        item: String,
        priority: i64,
        delay_ms: i64,
    }
}

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Take {
        n: u64,
        lease_ms: Option<i64>,
    }
}

/// Items by id.
const ITEMS: u8 = table::OWN;
/// The ids of those that can be taken, in their order.
const READY: u8 = table::OWN + 1;
/// Those that were attempted too often, by id.
const DEAD: u8 = table::OWN + 2;

const PUT: u8 = 1;
const TAKE: u8 = 2;

const MS_MAX: i64 = 366 * 24 * 3_600_000;

/// The type.
pub(crate) struct WorkQueue;

type Result<T> = core::result::Result<T, Problem>;

/// High priorities first, then old items.
fn ready_key(priority: i64, id: u64) -> Vec<u8> {
    [ordered(!priority), id.to_be_bytes()].concat()
}

fn id_of(key: &[u8]) -> u64 {
    key.last_chunk().map_or(0, |id| u64::from_be_bytes(*id))
}

fn shown(id: u64, item: &Item) -> String {
    let reply = Reply::new().number("id", id).raw("item", &item.item);
    reply.number("attempt", u64::from(item.attempts)).finish()
}

impl Live<WorkQueue> {
    const fn size(&self) -> u64 {
        self.root.ready + self.root.delayed + self.root.leased
    }

    fn insert(&mut self, ctx: &mut Ctx<'_>, id: u64, put: Put) -> String {
        let Put { item, priority, delay_ms } = put;
        let mut item = Item { item, priority, attempts: 0, delayed: false, lease: None };
        self.make_available(ctx, id, &mut item, delay_ms);
        Reply::new().number("id", id).finish()
    }

    /// An item can be taken, now or after a delay.
    fn make_available(&mut self, ctx: &mut Ctx<'_>, id: u64, item: &mut Item, delay_ms: i64) {
        item.delayed = delay_ms > 0;
        if item.delayed {
            self.root.delayed += 1;
            ctx.set_timer(&id.to_be_bytes(), Some(ctx.now_ms().saturating_add(delay_ms)));
        } else {
            self.root.ready += 1;
            ctx.set_timer(&id.to_be_bytes(), None);
            ctx.put(READY, &ready_key(item.priority, id), &());
        }
        ctx.put(ITEMS, &id.to_be_bytes(), item);
    }

    /// A leased item comes back, or goes to the dead. Its holding is removed already.
    fn give_back(&mut self, ctx: &mut Ctx<'_>, id: u64, mut item: Item, delay_ms: i64) {
        item.lease = None;
        self.root.leased = self.root.leased.saturating_sub(1);
        if self.config.max_attempts == 0 || item.attempts < self.config.max_attempts {
            self.make_available(ctx, id, &mut item, delay_ms);
            return;
        }
        ctx.set_timer(&id.to_be_bytes(), None);
        ctx.remove(ITEMS, &id.to_be_bytes());
        ctx.put(DEAD, &id.to_be_bytes(), &item);
        self.root.dead += 1;
        if self.root.dead > self.config.capacity {
            let oldest = ctx.view().table(DEAD).next().map(|(key, _)| key.to_vec());
            self.root.dead -= u64::from(oldest.is_some_and(|oldest| ctx.remove(DEAD, &oldest)));
        }
    }

    /// Takes what can be taken: at least one item, not more than fit into a reply.
    fn take(&mut self, ctx: &mut Ctx<'_>, session: Option<SessionId>, take: &Take) -> Option<String> {
        let (mut items, mut bytes) = (Vec::new(), 0);
        while (items.len() as u64) < take.n {
            let Some((key, id, mut item)) = first_ready(&ctx.view()) else { break };
            bytes += item.item.len();
            if !items.is_empty() && (bytes > REPLY_BYTES_MAX || !may_lease(ctx, session, take)) {
                break;
            }
            item.attempts = item.attempts.saturating_add(1);
            items.push(shown(id, &item));
            ctx.remove(READY, &key);
            self.root.ready -= 1;
            match (take.lease_ms, session) {
                (Some(lease_ms), Some(session)) => {
                    item.lease = Some(Lease { session, lease_ms });
                    self.root.leased += 1;
                    ctx.put(ITEMS, &id.to_be_bytes(), &item);
                    ctx.hold(session, class::LEASE, id);
                    ctx.set_timer(&id.to_be_bytes(), Some(ctx.now_ms().saturating_add(lease_ms)));
                }
                _ => {
                    ctx.remove(ITEMS, &id.to_be_bytes());
                }
            }
        }
        (!items.is_empty()).then(|| Reply::new().list("items", items).finish())
    }

    /// The caller's leased items of these ids, all of them.
    fn leased(&self, ctx: &Ctx<'_>, args: &Args) -> Result<Vec<(u64, Item, Lease)>> {
        let session = ctx.claim.session;
        let mut ids = args.ids("ids")?;
        ids.sort_unstable();
        ids.dedup();
        let leased = ids.into_iter().map(|id| {
            let item: Option<Item> = ctx.get(ITEMS, &id.to_be_bytes());
            let lease = item.as_ref().and_then(|item| item.lease.clone());
            match (item, lease) {
                (Some(item), Some(lease)) if Some(lease.session) == session => Ok((id, item, lease)),
                _ => Err(Problem::new(Slug::NotLeased, format!("the caller has no lease of item {id}"))),
            }
        });
        leased.collect()
    }

    fn finish(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let leased = self.leased(ctx, args)?;
        for (id, _, lease) in &leased {
            ctx.unhold(lease.session, class::LEASE, *id, EventKind::Released);
            ctx.remove(ITEMS, &id.to_be_bytes());
            ctx.set_timer(&id.to_be_bytes(), None);
            self.root.leased -= 1;
        }
        Ok(Reply::new().number("acked", leased.len() as u64).finish())
    }

    fn refuse(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let delay_ms = args.int_in("delay_ms", 0, MS_MAX)?.unwrap_or(0);
        let leased = self.leased(ctx, args)?;
        let count = leased.len() as u64;
        for (id, item, lease) in leased {
            ctx.unhold(lease.session, class::LEASE, id, EventKind::Released);
            self.give_back(ctx, id, item, delay_ms);
        }
        Ok(Reply::new().number("nacked", count).finish())
    }

    fn extend(&self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let leased = self.leased(ctx, args)?;
        for (id, _, lease) in &leased {
            ctx.set_timer(&id.to_be_bytes(), Some(ctx.now_ms().saturating_add(lease.lease_ms)));
        }
        Ok(Reply::new().number("extended", leased.len() as u64).finish())
    }

    /// Another item in the place of one that nobody has leased.
    fn replace(&self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let id = required("id", args.position("id")?)?;
        let value = required("item", args.value("item")?)?;
        let item: Option<Item> = ctx.get(ITEMS, &id.to_be_bytes());
        let found = item.filter(|item| item.lease.is_none());
        let replaced = found.is_some();
        if let Some(item) = found {
            ctx.put(ITEMS, &id.to_be_bytes(), &Item { item: value, ..item });
        }
        Ok(Reply::new().flag("replaced", replaced).finish())
    }

    fn remove(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        let id = required("id", args.position("id")?)?;
        let item: Option<Item> = ctx.get(ITEMS, &id.to_be_bytes());
        let removed = match item {
            Some(Item { lease: Some(_), .. }) => false,
            Some(item) => {
                ctx.remove(ITEMS, &id.to_be_bytes());
                ctx.set_timer(&id.to_be_bytes(), None);
                if item.delayed {
                    self.root.delayed -= 1;
                } else {
                    self.root.ready -= 1;
                    ctx.remove(READY, &ready_key(item.priority, id));
                }
                true
            }
            None => {
                let was_dead = ctx.remove(DEAD, &id.to_be_bytes());
                self.root.dead -= u64::from(was_dead);
                was_dead
            }
        };
        Ok(Reply::new().flag("removed", removed).finish())
    }

    fn put(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<Step> {
        let priority = args.int("priority")?;
        if priority.is_some() && !self.config.priority {
            return Err(Problem::argument("priority", "the queue has no priorities"));
        }
        let put = Put {
            item: required("item", args.value("item")?)?,
            priority: priority.unwrap_or(0),
            delay_ms: args.int_in("delay_ms", 0, MS_MAX)?.unwrap_or(0),
        };
        let id = ctx.position();
        if self.size() < self.config.capacity && !ctx.view().is_waiting(&Queue::of(PUT)) {
            return Ok(Step::Done(self.insert(ctx, id, put)));
        }
        if ctx.claim.wait_ms == Some(0) {
            let detail = format!("it holds {} items", self.size());
            return Err(Problem::new(Slug::QueueFull, detail));
        }
        Ok(Step::wait(Queue::of(PUT), encoded(&put)))
    }

    fn take_or_wait(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<Step> {
        let n = args.count("n", 1)? as u64;
        let lease_ms = args.int_in("lease_ms", 1, MS_MAX)?;
        if lease_ms.is_some() {
            ctx.session()?;
        }
        let (session, take) = (ctx.claim.session, Take { n, lease_ms });
        if !ctx.view().is_waiting(&Queue::of(TAKE))
            && let Some(result) = self.take(ctx, session, &take)
        {
            return Ok(Step::Done(result));
        }
        Ok(Step::wait(Queue::of(TAKE), encoded(&take)))
    }
}

fn first_ready(view: &View<'_>) -> Option<(Vec<u8>, u64, Item)> {
    let key = view.table(READY).next()?.0.to_vec();
    let id = id_of(&key);
    Some((key, id, view.get(ITEMS, &id.to_be_bytes())?))
}

/// Items in the order of a walk, as many as fit into a reply, and whether there are more.
fn listed(items: impl Iterator<Item = (u64, Item)>, limit: usize) -> (Vec<String>, Option<u64>) {
    let (mut shown_items, mut bytes, mut last) = (Vec::new(), 0, None);
    for (id, item) in items {
        bytes += item.item.len();
        if shown_items.len() == limit || (!shown_items.is_empty() && bytes > REPLY_BYTES_MAX) {
            return (shown_items, last);
        }
        shown_items.push(shown(id, &item));
        last = Some(id);
    }
    (shown_items, None)
}

/// Whether the session may hold one lease more. Room for the first one was looked for when the call came.
fn may_lease(ctx: &Ctx<'_>, session: Option<SessionId>, take: &Take) -> bool {
    let Some(session) = session.filter(|_| take.lease_ms.is_some()) else { return true };
    session::burden(ctx.core, session).is_ok_and(|burden| check_holdings(burden).is_ok())
}

impl Builtin for WorkQueue {
    const METHODS: &'static [Method] = &[
        blocking("put", &["item", "priority", "delay_ms"]),
        blocking("take", &["n", "lease_ms", "ttl_ms"]),
        command("ack", &["ids"]),
        command("nack", &["ids", "delay_ms"]),
        command("extend", &["ids"]),
        command("replace", &["id", "item"]),
        command("remove", &["id"]),
        query("peek", &["n"]),
        query("list", &["after", "limit"]),
        query("size", &[]),
        query("dead", &["limit"]),
    ];
    const CONSTRUCTOR: &'static [&'static str] = &["capacity", "priority", "max_attempts"];
    const SCRIPT: &'static [&'static str] = &["put"];
    type Config = Config;
    type Root = Root;

    fn config(args: &Args) -> Result<Config> {
        Ok(Config {
            capacity: args.int_in("capacity", 1, ENTRIES_MAX)?.unwrap_or(ENTRIES).unsigned_abs(),
            priority: args.flag("priority")?.unwrap_or(false),
            max_attempts: args.int_in("max_attempts", 0, i64::from(u32::MAX))?.unwrap_or(0) as u32,
        })
    }

    fn call(live: &mut Live<Self>, ctx: &mut Ctx<'_>, method: &str, args: &Args) -> Result<Step> {
        Ok(Step::Done(match method {
            "put" => return live.put(ctx, args),
            "take" => return live.take_or_wait(ctx, args),
            "ack" => live.finish(ctx, args)?,
            "nack" => live.refuse(ctx, args)?,
            "extend" => live.extend(ctx, args)?,
            "replace" => live.replace(ctx, args)?,
            _ => live.remove(ctx, args)?,
        }))
    }

    fn query(live: &Live<Self>, view: &View<'_>, method: &str, args: &Args) -> Result<String> {
        let read = |(key, value): (&[u8], &[u8])| Some((id_of(key), decoded::<Item>(value).ok()?));
        let (items, next) = match method {
            "peek" => {
                let ready = view.table(READY).map(|(key, _)| id_of(key));
                let items = ready.filter_map(|id| Some((id, view.get(ITEMS, &id.to_be_bytes())?)));
                (listed(items, args.count("n", 1)?).0, None)
            }
            "list" => {
                let after = args.position("after")?.unwrap_or(0).to_be_bytes();
                let from = core::ops::Bound::Excluded(&after[..]);
                let items = view.entries(ITEMS, from, core::ops::Bound::Unbounded);
                listed(items.filter_map(read), args.count("limit", ITEMS_PER_CALL)?)
            }
            "dead" => listed(view.table(DEAD).filter_map(read), args.count("limit", ITEMS_PER_CALL)?),
            _ => {
                let Root { ready, delayed, leased, dead } = live.root;
                let reply = Reply::new().number("size", live.size()).number("ready", ready);
                let reply = reply.number("delayed", delayed).number("leased", leased);
                return Ok(reply.number("dead", dead).finish());
            }
        };
        let reply = Reply::new().list("items", items);
        Ok(if method == "list" { reply.optional("next", next) } else { reply }.finish())
    }

    fn wake(live: &mut Live<Self>, ctx: &mut Ctx<'_>) {
        loop {
            if live.root.ready > 0
                && let Some(found) = ctx.first(&Queue::of(TAKE))
                && let Ok(take) = decoded::<Take>(&found.1.wants)
                && let Some(result) = live.take(ctx, found.1.session, &take)
            {
                ctx.grant(&found, result);
            } else if live.size() < live.config.capacity
                && let Some(found) = ctx.first(&Queue::of(PUT))
                && let Ok(put) = decoded::<Put>(&found.1.wants)
            {
                let result = live.insert(ctx, found.1.id, put);
                ctx.grant(&found, result);
            } else {
                return;
            }
        }
    }

    fn missed(_: &Live<Self>, _: &View<'_>, queue: &Queue, _: &[u8]) -> String {
        match queue.tag {
            TAKE => Reply::new().list::<&str>("items", []).finish(),
            _ => Reply::new().raw("id", "null").finish(),
        }
    }

    /// A delay or a lease ends.
    fn due(live: &mut Live<Self>, ctx: &mut Ctx<'_>, timer: &[u8]) {
        let id = id_of(timer);
        let Some(mut item) = ctx.get::<Item>(ITEMS, &id.to_be_bytes()) else { return };
        if let Some(lease) = item.lease.clone() {
            ctx.unhold(lease.session, class::LEASE, id, EventKind::Lost);
            live.give_back(ctx, id, item, 0);
        } else if item.delayed {
            live.root.delayed -= 1;
            live.make_available(ctx, id, &mut item, 0);
        }
    }

    fn lost(live: &mut Live<Self>, ctx: &mut Ctx<'_>, lost: Lost) {
        let item = ctx.get::<Item>(ITEMS, &lost.position.to_be_bytes());
        let is_leased = |item: &Item| item.lease.as_ref().is_some_and(|lease| lease.session == lost.session);
        if let Some(item) = item.filter(is_leased) {
            live.give_back(ctx, lost.position, item, 0);
        }
    }
    fn waits_by(_: &Live<Self>, queue: &Queue, _: &[u8]) -> Option<String> {
        Some(String::from(if queue.tag == PUT { "put" } else { "take" }))
    }

    fn arguments(live: &Live<Self>) -> Reply {
        Reply::new()
            .number("capacity", live.config.capacity)
            .flag("priority", live.config.priority)
            .number("max_attempts", u64::from(live.config.max_attempts))
    }

    /// Items in the order in which they came, as if nobody had taken them.
    fn script(live: &Live<Self>, view: &View<'_>, script: &mut Script) {
        let items = view.table(ITEMS).filter_map(|(id, item)| Some((id, decoded::<Item>(item).ok()?)));
        for (id, item) in items {
            if script.is_too_large() {
                return;
            }
            let mut args = Reply::new().raw("item", &item.item);
            if live.config.priority {
                args = args.int("priority", item.priority);
            }
            if let Some(at) = view.get::<i64>(table::TIMER, id).filter(|_| item.delayed) {
                args = args.int("delay_ms", at.saturating_sub(view.core.meta.stamp_ms).max(1));
            }
            script.call("put", args);
        }
        if live.root.dead > 0 {
            script.leave_out("items that were attempted too often");
        }
    }

    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        live.size() == 0 && live.root.dead == 0
    }

    fn is_readable(table: u8, value: &[u8]) -> bool {
        match table {
            READY => value.is_empty(),
            ITEMS | DEAD => decoded::<Item>(value).is_ok(),
            _ => false,
        }
    }
}
