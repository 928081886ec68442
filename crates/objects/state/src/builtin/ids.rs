//! Ids in blocks: strictly increasing, never twice. Gaps are only where a client threw a block away.

use super::{Builtin, Method, Step, command, query};
use crate::args::Args;
use crate::codec::record;
use crate::object::{Ctx, Live, View};
use crate::problem::{Problem, Slug};
use crate::reply::Reply;

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Config {
        start: i64,
        ulid: bool,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { start: 1, ulid: false }
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        /// The next integer, once one was given.
        next: Option<i64>,
        /// The last ULID: milliseconds, and 80 bits that count.
        last_ms: u64,
        last_count: u64,
    }
}

const BLOCK_MAX: i64 = 1_000_000;

/// The type.
pub(crate) struct Ids;

type Result<T> = core::result::Result<T, Problem>;

/// A ULID in Crockford's alphabet. Of its 80 low bits the upper 16 stay 0.
fn ulid(ms: u64, count: u64) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let bits = (u128::from(ms) << 80) | u128::from(count);
    (0..26).rev().map(|digit| ALPHABET[(bits >> (5 * digit)) as usize & 31] as char).collect()
}

impl Live<Ids> {
    fn ulids(&mut self, now_ms: i64, n: u64) -> String {
        let now = now_ms.max(0).unsigned_abs();
        if now > self.root.last_ms {
            (self.root.last_ms, self.root.last_count) = (now, 0);
        }
        let first = ulid(self.root.last_ms, self.root.last_count + 1);
        self.root.last_count += n;
        let last = ulid(self.root.last_ms, self.root.last_count);
        Reply::new().text("first", &first).text("last", &last).finish()
    }
}

impl Builtin for Ids {
    const METHODS: &'static [Method] = &[command("next", &["n"]), query("peek", &[])];
    const CONSTRUCTOR: &'static [&'static str] = &["start", "form"];
    type Config = Config;
    type Root = Root;

    fn config(args: &Args) -> Result<Config> {
        let ulid = match args.text("form")? {
            None | Some("int") => false,
            Some("ulid") => true,
            Some(_) => return Err(Problem::argument("form", "neither `int` nor `ulid`")),
        };
        Ok(Config { start: args.int("start")?.unwrap_or(1), ulid })
    }

    fn call(live: &mut Live<Self>, ctx: &mut Ctx<'_>, _: &str, args: &Args) -> Result<Step> {
        let n = args.int_in("n", 1, BLOCK_MAX)?.unwrap_or(1);
        if live.config.ulid {
            return Ok(Step::Done(live.ulids(ctx.now_ms(), n.unsigned_abs())));
        }
        let first = live.root.next.unwrap_or(live.config.start);
        let next = first.checked_add(n);
        let next = next.ok_or_else(|| Problem::new(Slug::Overflow, "beyond an integer of 64 bits"))?;
        live.root.next = Some(next);
        Ok(Step::Done(Reply::new().int("first", first).int("last", next - 1).finish()))
    }

    fn query(live: &Live<Self>, _: &View<'_>, _: &str, _: &Args) -> Result<String> {
        if live.config.ulid {
            let next = ulid(live.root.last_ms, live.root.last_count + 1);
            return Ok(Reply::new().text("next", &next).finish());
        }
        Ok(Reply::new().int("next", live.root.next.unwrap_or(live.config.start)).finish())
    }

    /// No integer is given twice.
    fn arguments(live: &Live<Self>) -> Reply {
        let start = live.root.next.unwrap_or(live.config.start);
        Reply::new().int("start", start).text("form", if live.config.ulid { "ulid" } else { "int" })
    }

    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        live.root == Root::default()
    }

    fn is_readable(_: u8, _: &[u8]) -> bool {
        false
    }
}
