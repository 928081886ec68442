//! A token bucket for each key, in billionths of a token and whole milliseconds: no float decides anything. Who waits is
//! served in the order of arrival. A full bucket is no record.

use std::collections::BTreeSet;

use super::{Builtin, Method, Step, Why, blocking, command, query};
use crate::args::Args;
use crate::codec::{decoded, encoded, record};
use crate::key::table;
use crate::limits::RATE_KEYS_MAX;
use crate::object::{Ctx, Live, View};
use crate::place::{Place, Queue};
use crate::problem::{Outcome, Problem, Slug};
use crate::reply::Reply;
use crate::ticket::Ticket;

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Config {
        per_second: i64,
        burst: i64,
        key_max: i64,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { per_second: 1, burst: 1, key_max: RATE_KEYS_MAX }
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        /// What `configure` has said.
        per_second: Option<i64>,
        burst: Option<i64>,
        /// Buckets that are not full.
        buckets: i64,
        /// A session that waited has ended, or a principal may not wait any more: who waited behind it is served at the end of the command.
        unserved: bool,
    }
}

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Bucket {
        billionths: i64,
        at_ms: i64,
    }
}

/// Buckets by key.
const BUCKET: u8 = table::OWN;
const ACQUIRE: u8 = 1;
const RATE_MAX: i64 = 1_000_000_000;
const BILLION: i64 = 1_000_000_000;

/// The type.
pub(crate) struct RateLimiter;

type Result<T> = core::result::Result<T, Problem>;

impl Live<RateLimiter> {
    fn burst(&self) -> i64 {
        self.root.burst.unwrap_or(self.config.burst)
    }

    fn per_second(&self) -> i64 {
        self.root.per_second.unwrap_or(self.config.per_second)
    }

    /// What a bucket holds now.
    fn level(&self, view: &View<'_>, key: &str, now_ms: i64) -> i64 {
        let full = self.burst() * BILLION;
        let Some(bucket) = view.get::<Bucket>(BUCKET, key.as_bytes()) else { return full };
        let passed = i128::from(now_ms.saturating_sub(bucket.at_ms).max(0));
        let level = i128::from(bucket.billionths) + passed * i128::from(self.per_second()) * 1_000_000;
        i64::try_from(level).unwrap_or(full).min(full)
    }

    /// In how many milliseconds a bucket of this level holds so much.
    fn until(&self, level: i64, billionths: i64) -> i64 {
        let per_ms = self.per_second() * 1_000_000;
        let missing = billionths.saturating_sub(level).max(0);
        missing / per_ms + i64::from(missing % per_ms > 0)
    }

    fn refill(&mut self, ctx: &mut Ctx<'_>, key: &str, level: i64) {
        let had = ctx.get::<Bucket>(BUCKET, key.as_bytes()).is_some();
        let is_full = level >= self.burst() * BILLION;
        if is_full {
            ctx.remove(BUCKET, key.as_bytes());
        } else {
            let bucket = Bucket { billionths: level, at_ms: ctx.now_ms() };
            ctx.put(BUCKET, key.as_bytes(), &bucket);
        }
        self.root.buckets += i64::from(!is_full) - i64::from(had);
        self.set_timer(ctx, key, level);
    }

    /// When the next waiter of a key can be served, or its bucket is full.
    fn set_timer(&self, ctx: &mut Ctx<'_>, key: &str, level: i64) {
        let head =
            ctx.first(&Queue::named(ACQUIRE, key)).and_then(|found| decoded::<i64>(&found.1.wants).ok());
        let wanted = head.unwrap_or_else(|| self.burst()).min(self.burst()) * BILLION;
        let is_full = level >= self.burst() * BILLION;
        let at = (!is_full || head.is_some())
            .then(|| ctx.now_ms().saturating_add(self.until(level, wanted).max(1)));
        ctx.set_timer(key.as_bytes(), at);
    }

    fn acquire(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<Step> {
        let n = args.int_in("n", 1, i64::MAX)?.unwrap_or(1);
        let key = String::from(args.text("key")?.unwrap_or(""));
        if n > self.burst() {
            return Err(Problem::new(Slug::Never, format!("the burst is {}", self.burst())));
        }
        let level = self.level(&ctx.view(), &key, ctx.now_ms());
        let is_new = ctx.get::<Bucket>(BUCKET, key.as_bytes()).is_none();
        if is_new && self.root.buckets >= self.config.key_max {
            return Err(Problem::new(Slug::Full, format!("{} keys are in use", self.root.buckets)));
        }
        let queue = Queue::named(ACQUIRE, &*key);
        if n * BILLION <= level && !ctx.view().is_waiting(&queue) {
            self.refill(ctx, &key, level - n * BILLION);
            return Ok(Step::Done(granted(level / BILLION - n)));
        }
        if !ctx.view().is_waiting(&queue) {
            let at = ctx.now_ms().saturating_add(self.until(level, n * BILLION).max(1));
            ctx.set_timer(key.as_bytes(), Some(at));
        }
        Ok(Step::wait(queue, encoded(&n)))
    }

    fn configure(&mut self, ctx: &mut Ctx<'_>, args: &Args) -> Result<String> {
        // What has come in by the old rate stays; a bucket that is full is full afterwards too, as one that was never used.
        let per_second = args.int_in("per_second", 1, RATE_MAX)?.unwrap_or_else(|| self.per_second());
        let burst = args.int_in("burst", 1, RATE_MAX)?.unwrap_or_else(|| self.burst());
        let (now, full_before) = (ctx.now_ms(), self.burst() * BILLION);
        // Each key once: what its waiters are given is not filled up again.
        let keys = ctx.view().table(BUCKET).map(|(key, _)| key.to_vec()).chain(ctx.view().queues(ACQUIRE));
        let keys: BTreeSet<_> = keys.filter_map(|key| String::from_utf8(key).ok()).collect();
        let levels: Vec<_> = keys.into_iter().map(|key| (self.level(&ctx.view(), &key, now), key)).collect();
        (self.root.per_second, self.root.burst) = (Some(per_second), Some(burst));
        for (level, key) in levels {
            let full = burst * BILLION;
            self.refill(ctx, &key, if level >= full_before { full } else { level.min(full) });
            self.serve(ctx, &key);
        }
        Ok(Reply::new().int("per_second", per_second).int("burst", burst).finish())
    }

    /// Serves who waits for a key, as far as its tokens go.
    fn serve(&mut self, ctx: &mut Ctx<'_>, key: &str) {
        let queue = Queue::named(ACQUIRE, key);
        let mut level = self.level(&ctx.view(), key, ctx.now_ms());
        while let Some(found) = ctx.first(&queue) {
            let n = decoded::<i64>(&found.1.wants).unwrap_or(i64::MAX);
            if n > self.burst() {
                ctx.refuse(&found, Slug::Never, "the burst was made smaller than what the call wants");
            } else if n * BILLION <= level {
                level -= n * BILLION;
                ctx.grant(&found, granted(level / BILLION));
            } else {
                break;
            }
        }
        self.refill(ctx, key, level);
    }
}

fn granted(remaining: i64) -> String {
    Reply::new().flag("granted", true).int("remaining", remaining).int("retry_after_ms", 0).finish()
}

impl Builtin for RateLimiter {
    const METHODS: &'static [Method] = &[
        blocking("acquire", &["n", "key"]),
        command("configure", &["per_second", "burst"]),
        query("peek", &["key"]),
    ];
    const CONSTRUCTOR: &'static [&'static str] = &["per_second", "burst", "key_max"];
    type Config = Config;
    type Root = Root;

    fn config(args: &Args) -> Result<Config> {
        let per_second = args.int_in("per_second", 1, RATE_MAX)?.unwrap_or(1);
        Ok(Config {
            per_second,
            burst: args.int_in("burst", 1, RATE_MAX)?.unwrap_or(per_second),
            key_max: args.int_in("key_max", 1, RATE_KEYS_MAX)?.unwrap_or(RATE_KEYS_MAX),
        })
    }

    fn call(live: &mut Live<Self>, ctx: &mut Ctx<'_>, method: &str, args: &Args) -> Result<Step> {
        match method {
            "acquire" => live.acquire(ctx, args),
            _ => live.configure(ctx, args).map(Step::Done),
        }
    }

    fn query(live: &Live<Self>, view: &View<'_>, _: &str, args: &Args) -> Result<String> {
        let key = args.text("key")?.unwrap_or("");
        let level = live.level(view, key, view.core.meta.stamp_ms);
        let waiting = view.waiting(&Queue::named(ACQUIRE, key)).count() as u64;
        let reply = Reply::new().int("remaining", level / BILLION).int("per_second", live.per_second());
        Ok(reply.int("burst", live.burst()).number("waiting", waiting).finish())
    }

    /// A call has stopped waiting: those behind it may want less.
    fn wake(live: &mut Live<Self>, ctx: &mut Ctx<'_>) {
        if let Some(key) = live.left.take() {
            live.serve(ctx, &String::from_utf8_lossy(&key));
        }
        if live.root.unserved {
            live.root.unserved = false;
            let keys: BTreeSet<_> = ctx.view().queues(ACQUIRE).collect();
            keys.iter().for_each(|key| live.serve(ctx, &String::from_utf8_lossy(key)));
        }
    }

    fn ended(live: &mut Live<Self>, ctx: &mut Ctx<'_>, found: &(Place, Ticket), why: Why) -> Option<Outcome> {
        live.root.unserved |= matches!(why, Why::Died | Why::Forbidden);
        Some(Outcome::Done(Self::missed(live, &ctx.view(), &found.0.queue, &found.1.wants)))
    }

    fn missed(live: &Live<Self>, view: &View<'_>, queue: &Queue, wants: &[u8]) -> String {
        let key = String::from_utf8_lossy(&queue.sub);
        let level = live.level(view, &key, view.core.meta.stamp_ms);
        let n = decoded::<i64>(wants).unwrap_or(1).min(live.burst());
        let reply = Reply::new().flag("granted", false).int("remaining", level / BILLION);
        reply.int("retry_after_ms", live.until(level, n * BILLION)).finish()
    }

    fn due(live: &mut Live<Self>, ctx: &mut Ctx<'_>, timer: &[u8]) {
        if let Ok(key) = core::str::from_utf8(timer) {
            live.serve(ctx, key);
        }
    }
    fn waits_by(_: &Live<Self>, _: &Queue, _: &[u8]) -> Option<String> {
        Some(String::from("acquire"))
    }

    /// What `configure` has said counts. Buckets are full.
    fn arguments(live: &Live<Self>) -> Reply {
        Reply::new()
            .int("per_second", live.root.per_second.unwrap_or(live.config.per_second))
            .int("burst", live.root.burst.unwrap_or(live.config.burst))
            .int("key_max", live.config.key_max)
    }

    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        let is_as_created = live.per_second() == live.config.per_second && live.burst() == live.config.burst;
        is_as_created && live.root.buckets == 0 && !live.root.unserved
    }

    fn is_readable(table: u8, value: &[u8]) -> bool {
        table == BUCKET && decoded::<Bucket>(value).is_ok()
    }
}
