//! A token bucket for each key, in billionths of a token.

use objects_state::limits::ENTRIES_MAX;
use serde_json::{Value, json};

use crate::model::answer::{Answer, Refusal, refuse};
use crate::model::args::Args;
use crate::model::kind::{Cx, Kind, Left, Step, View, Waiter, Why};

const TOKEN: i128 = 1_000_000_000;
const RATE_MAX: i64 = 1_000_000_000;

#[derive(Clone)]
struct Bucket {
    /// Of no key: the empty one.
    key: String,
    /// So many billionths at that time.
    tokens: i128,
    at_ms: i64,
}

#[derive(Clone)]
pub(super) struct RateLimiter {
    configured: (i64, i64, i64),
    per_second: i64,
    burst: i64,
    key_max: i64,
    /// Those that are not full, or were not when they were last looked at.
    buckets: Vec<Bucket>,
    /// Keys whose waiters may be served now: only then are they.
    changed: Vec<String>,
    /// A session has ended that waited: all who wait still are looked at.
    died: bool,
}

impl RateLimiter {
    pub(super) fn new(args: &Args) -> Result<Self, Refusal> {
        let per_second = args.int_in("per_second", 1, RATE_MAX)?.unwrap_or(1);
        let burst = args.int_in("burst", 1, RATE_MAX)?.unwrap_or(per_second);
        let key_max = args.int_in("key_max", 1, ENTRIES_MAX)?.unwrap_or(10_000);
        let configured = (per_second, burst, key_max);
        Ok(Self {
            configured,
            per_second,
            burst,
            key_max,
            buckets: Vec::new(),
            changed: Vec::new(),
            died: false,
        })
    }

    fn full(&self) -> i128 {
        i128::from(self.burst) * TOKEN
    }

    /// What a bucket has at a time.
    fn has(&self, key: &str, now_ms: i64) -> i128 {
        let Some(bucket) = self.buckets.iter().find(|bucket| bucket.key == key) else { return self.full() };
        let came = i128::from(now_ms - bucket.at_ms) * i128::from(self.per_second) * (TOKEN / 1_000);
        (bucket.tokens + came).min(self.full())
    }

    fn set(&mut self, key: &str, tokens: i128, now_ms: i64) {
        self.buckets.retain(|bucket| bucket.key != key);
        if tokens >= self.full() {
            return;
        }
        self.buckets.push(Bucket { key: key.into(), tokens, at_ms: now_ms });
        self.buckets.sort_by(|one, other| one.key.cmp(&other.key));
    }

    /// Milliseconds until there are so many tokens.
    fn wait_ms(&self, key: &str, n: i64, now_ms: i64) -> i64 {
        let lacks = i128::from(n) * TOKEN - self.has(key, now_ms);
        let a_ms = i128::from(self.per_second) * (TOKEN / 1_000);
        (lacks.max(0) + a_ms - 1).div_euclid(a_ms) as i64
    }

    fn grant(&mut self, key: &str, n: i64, now_ms: i64) -> Value {
        let tokens = self.has(key, now_ms) - i128::from(n) * TOKEN;
        self.set(key, tokens, now_ms);
        json!({ "granted": true, "remaining": (tokens / TOKEN) as i64, "retry_after_ms": 0 })
    }

    fn acquire(&mut self, cx: &Cx<'_>, args: &Args) -> Result<Step, Refusal> {
        let n = args.int_in("n", 1, i64::MAX)?.unwrap_or(1);
        let key = args.text("key")?.unwrap_or_default();
        if n > self.burst {
            return refuse("never");
        }
        let is_known = self.buckets.iter().any(|bucket| bucket.key == key);
        if !is_known && self.buckets.len() as i64 >= self.key_max {
            return refuse("full");
        }
        let is_waiting = cx.waiters.iter().any(|waiter| waiter.wants["key"] == key.as_str());
        if !is_waiting && self.has(&key, cx.now_ms) >= i128::from(n) * TOKEN {
            return Ok(Step::Done(self.grant(&key, n, cx.now_ms)));
        }
        Ok(Step::Wait(json!({ "key": key, "n": n })))
    }
}

fn wants_of(waiter: &Waiter) -> (String, i64) {
    (waiter.wants["key"].as_str().unwrap_or_default().into(), waiter.wants["n"].as_i64().unwrap_or(1))
}

impl Kind for RateLimiter {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        json!([self.configured.0, self.configured.1, self.configured.2])
    }

    fn call(&mut self, cx: &mut Cx<'_>, method: &str, args: &Args) -> Result<Step, Refusal> {
        if method == "acquire" {
            return self.acquire(cx, args);
        }
        let per_second = args.int_in("per_second", 1, RATE_MAX)?.unwrap_or(self.per_second);
        let burst = args.int_in("burst", 1, RATE_MAX)?.unwrap_or(self.burst);
        let keys: Vec<_> = self.buckets.iter().map(|bucket| bucket.key.clone()).collect();
        let has: Vec<_> = keys.iter().map(|key| self.has(key, cx.now_ms)).collect();
        let full_before = self.full();
        (self.per_second, self.burst) = (per_second, burst);
        for (key, tokens) in keys.iter().zip(has) {
            // What is full is as what was never used, whether or not it has been forgotten yet.
            let tokens = if tokens >= full_before { self.full() } else { tokens.min(self.full()) };
            self.set(key, tokens, cx.now_ms);
        }
        self.changed = cx.waiters.iter().map(|waiter| wants_of(waiter).0).collect();
        Ok(Step::Done(json!({ "per_second": per_second, "burst": burst })))
    }

    fn query(&self, view: &View<'_>, _method: &str, args: &Args) -> Answer {
        let key = args.text("key")?.unwrap_or_default();
        let remaining = (self.has(&key, view.now_ms) / TOKEN) as i64;
        let waiting = view.waiters.iter().filter(|waiter| waiter.wants["key"] == key.as_str()).count();
        let (per_second, burst) = (self.per_second, self.burst);
        Ok(json!({ "remaining": remaining, "per_second": per_second, "burst": burst, "waiting": waiting }))
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        let mut changed = std::mem::take(&mut self.changed);
        if std::mem::take(&mut self.died) {
            changed.extend(cx.waiters.iter().map(|waiter| wants_of(waiter).0));
        }
        changed.sort();
        changed.dedup();
        for key in changed {
            while let Some(place) = cx.waiters.iter().position(|waiter| wants_of(waiter).0 == key) {
                let n = wants_of(&cx.waiters[place]).1;
                if n > self.burst {
                    cx.end(place, refuse("never"));
                } else if self.has(&key, cx.now_ms) >= i128::from(n) * TOKEN {
                    let result = self.grant(&key, n, cx.now_ms);
                    cx.end(place, Ok(result));
                } else {
                    break;
                }
            }
            // A bucket that is full is forgotten.
            let tokens = self.has(&key, cx.now_ms);
            self.set(&key, tokens, cx.now_ms);
        }
    }

    fn leave(&mut self, cx: &mut Cx<'_>, waiter: &Waiter, why: Why) -> Left {
        // With a session's end, or when rights go, the object looks at all who wait still: tokens of other keys may have come meanwhile. A key for which
        // nobody waits any more is looked at when its bucket is full.
        match why {
            Why::Died | Why::Forbidden => self.died = true,
            _ => self.changed.push(wants_of(waiter).0),
        }
        let view = View { now_ms: cx.now_ms, waiters: cx.waiters };
        Left::Ends(Ok(self.missed(&view, &waiter.method, &waiter.wants)))
    }

    fn missed(&self, view: &View<'_>, _method: &str, wants: &Value) -> Value {
        let key = wants["key"].as_str().unwrap_or_default();
        let n = wants["n"].as_i64().unwrap_or(1).min(self.burst);
        let remaining = (self.has(key, view.now_ms) / TOKEN) as i64;
        json!({ "granted": false, "remaining": remaining, "retry_after_ms": self.wait_ms(key, n, view.now_ms) })
    }

    fn timers(&self, waiters: &[Waiter]) -> Vec<(i64, String)> {
        let mut timers = Vec::new();
        for bucket in &self.buckets {
            let first = waiters.iter().find(|waiter| waiter.wants["key"] == bucket.key.as_str());
            // When the first that waits can be served, or the bucket is full and forgotten.
            let n = first.map_or(self.burst, |waiter| wants_of(waiter).1);
            let at = bucket.at_ms.saturating_add(self.wait_ms(&bucket.key, n, bucket.at_ms));
            timers.push((at, bucket.key.clone()));
        }
        timers
    }

    fn due(&mut self, _cx: &mut Cx<'_>, timer: &str) {
        self.changed.push(timer.into());
    }

    fn is_default(&self) -> bool {
        let rates = (self.per_second, self.burst, self.key_max);
        self.buckets.is_empty() && rates == self.configured
    }
}
