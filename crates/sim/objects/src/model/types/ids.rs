//! Ids, each given out once.

use serde_json::{Value, json};

use crate::model::answer::{Answer, Refusal, refuse};
use crate::model::args::Args;
use crate::model::kind::{Cx, Kind, Step, View};
use crate::model::with_texts;

#[derive(Clone)]
pub(super) struct Ids {
    start: i64,
    ulid: bool,
    next: i64,
    /// Of the last one: milliseconds and a count.
    last: (i64, u128),
}

const BLOCK_MAX: i64 = 1_000_000;
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

impl Ids {
    pub(super) fn new(args: &Args) -> Result<Self, Refusal> {
        let start = args.int("start")?.unwrap_or(1);
        let ulid = args.word("form", &["int", "ulid"])?.is_some_and(|form| form == "ulid");
        Ok(Self { start, ulid, next: start, last: (0, 0) })
    }
}

/// 48 bits of milliseconds, then 80 of a count, as 26 characters of 5 bits.
fn ulid(ms: i64, count: u128) -> String {
    let number = (ms as u128) << 80 | count;
    (0..26).rev().map(|place| ALPHABET[(number >> (5 * place)) as usize & 31] as char).collect()
}

impl Kind for Ids {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        json!([self.start, self.ulid])
    }

    fn call(&mut self, cx: &mut Cx<'_>, _method: &str, args: &Args) -> Result<Step, Refusal> {
        let n = args.int_in("n", 1, BLOCK_MAX)?.unwrap_or(1);
        if self.ulid {
            if cx.now_ms > self.last.0 {
                self.last = (cx.now_ms, 0);
            }
            let first = ulid(self.last.0, self.last.1 + 1);
            self.last.1 += n as u128;
            return Ok(Step::Done(json!({ "first": first, "last": ulid(self.last.0, self.last.1) })));
        }
        let Some(next) = self.next.checked_add(n) else { return refuse("overflow") };
        let first = std::mem::replace(&mut self.next, next);
        Ok(Step::Done(with_texts(json!({ "first": first, "last": next - 1 }), &["first", "last"])))
    }

    fn query(&self, _view: &View<'_>, _method: &str, _args: &Args) -> Answer {
        if self.ulid {
            return Ok(json!({ "next": ulid(self.last.0, self.last.1 + 1) }));
        }
        Ok(with_texts(json!({ "next": self.next }), &["next"]))
    }

    fn is_default(&self) -> bool {
        self.next == self.start && self.last == (0, 0)
    }
}
