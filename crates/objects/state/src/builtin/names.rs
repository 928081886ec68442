//! Records of names, for a DNS server beside each member. Names are compared without case; a name has at most 16
//! records, which is what an answer holds.

use core::net::{Ipv4Addr, Ipv6Addr};
use core::ops::Bound;

use super::{Builtin, Method, Step, command, query};
use crate::args::{Args, required};
use crate::codec::{decoded, record};
use crate::json::Json;
use crate::key::table;
use crate::limits::{ENTRIES, ITEMS_PER_CALL, REPLY_BYTES_MAX};
use crate::object::{Ctx, Live, View};
use crate::problem::{Problem, Slug};
use crate::reply::Reply;
use crate::script::Script;

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        names: u64,
    }
}

/// The records of a name, one canonical JSON text behind the other.
const NAME: u8 = table::OWN;
/// How many names with records lie below a name. So a name that has none of its own, but others below it, can be told
/// from one that is not there without a look at all names.
const BELOW: u8 = table::OWN + 1;
const RECORDS_MAX: usize = 16;
const TTL_SECONDS: i64 = 30;

/// The type.
pub(crate) struct Names;

type Result<T> = core::result::Result<T, Problem>;

fn name_of(args: &Args) -> Result<String> {
    let name = required("name", args.text("name")?)?.to_ascii_lowercase();
    let is_label = |label: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (1..=63).contains(&label.len()) && label.bytes().all(is_plain)
    };
    if name.len() <= 253 && name.split('.').all(is_label) {
        return Ok(name);
    }
    Err(Problem::argument("name", "not a name of the domain name system"))
}

/// A record as it is kept: its fields checked, and `ttl` set.
/// What a record of a type needs that this one does not have.
fn needs(kind: Option<&str>) -> &'static str {
    match kind {
        Some("A") => "a record of type A needs `address`, an address of IPv4",
        Some("AAAA") => "a record of type AAAA needs `address`, an address of IPv6",
        Some("CNAME") => "a record of type CNAME needs `target`, a name",
        Some("TXT") => "a record of type TXT needs `text`, of 255 bytes at most",
        Some("SRV") => {
            "a record of type SRV needs `target`, a name, and `priority`, `weight` and `port`, each a number from 0 to 65535"
        }
        _ => "`type` is none of A, AAAA, CNAME, TXT and SRV",
    }
}

fn record_of(args: &Args) -> Result<String> {
    let fields = args.pairs("record")?;
    let field = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let text = |name: &str| match field(name).map(|value| Json::parse(value.as_bytes())) {
        Some(Ok(Json::Text(text))) => Some(text),
        _ => None,
    };
    let port = |name: &str| field(name).and_then(|value| value.parse::<u16>().ok()).is_some();
    let known: &[&str] = match text("type").as_deref() {
        Some("A") if text("address").is_some_and(|at| at.parse::<Ipv4Addr>().is_ok()) => &["address"],
        Some("AAAA") if text("address").is_some_and(|at| at.parse::<Ipv6Addr>().is_ok()) => &["address"],
        Some("CNAME") if text("target").is_some() => &["target"],
        Some("TXT") if text("text").is_some_and(|text| text.len() <= 255) => &["text"],
        Some("SRV") if text("target").is_some() && ["priority", "weight", "port"].into_iter().all(port) => {
            &["target", "priority", "weight", "port"]
        }
        kind => return Err(Problem::argument("record", needs(kind))),
    };
    let ttl = match field("ttl") {
        None => TTL_SECONDS,
        Some(ttl) => ttl
            .parse()
            .ok()
            .filter(|ttl| (5..=3600).contains(ttl))
            .ok_or_else(|| Problem::argument("record", "`ttl` is not between 5 and 3600 seconds"))?,
    };
    if fields.iter().any(|(key, _)| !known.contains(&&**key) && key != "type" && key != "ttl") {
        return Err(Problem::argument("record", "it has a field that its type does not know"));
    }
    let mut reply = Reply::new().optional_raw("type", field("type"));
    for name in known {
        reply = reply.optional_raw(name, field(name));
    }
    Ok(reply.int("ttl", ttl).finish())
}

fn records(view: &View<'_>, name: &str) -> Vec<String> {
    view.get::<String>(NAME, name.as_bytes()).map_or_else(Vec::new, |text| split(&text))
}

/// A record has no line break of its own: JSON escapes it.
fn split(text: &str) -> Vec<String> {
    text.lines().map(String::from).collect()
}

/// Counts a name that has come, or gone, among those below each name above it.
fn count_below(ctx: &mut Ctx<'_>, name: &str, gone: bool) {
    let mut rest = name;
    while let Some((_, above)) = rest.split_once('.') {
        let known: u64 = ctx.get(BELOW, above.as_bytes()).unwrap_or(0);
        let count = if gone { known.saturating_sub(1) } else { known + 1 };
        if count == 0 {
            ctx.remove(BELOW, above.as_bytes());
        } else {
            ctx.put(BELOW, above.as_bytes(), &count);
        }
        rest = above;
    }
}

impl Names {
    /// The records of a name, each as JSON.
    pub(crate) fn records(view: &View<'_>, name: &str) -> Vec<String> {
        records(view, name)
    }

    pub(crate) fn has_below(view: &View<'_>, name: &str) -> bool {
        view.get::<u64>(BELOW, name.as_bytes()).is_some()
    }
}

impl Live<Names> {
    fn store(&mut self, ctx: &mut Ctx<'_>, name: &str, records: &[String]) -> Result<()> {
        let had = ctx.get::<String>(NAME, name.as_bytes()).is_some();
        let is_new = !had && !records.is_empty();
        if records.len() > RECORDS_MAX || (is_new && self.root.names >= ENTRIES.unsigned_abs()) {
            return Err(Problem::new(Slug::Full, format!("a name has at most {RECORDS_MAX} records")));
        }
        if records.is_empty() {
            ctx.remove(NAME, name.as_bytes());
        } else {
            ctx.put(NAME, name.as_bytes(), &records.join("\n"));
        }
        self.root.names = self.root.names + u64::from(!records.is_empty()) - u64::from(had);
        if had == records.is_empty() {
            count_below(ctx, name, had);
        }
        Ok(())
    }
}

impl Builtin for Names {
    const METHODS: &'static [Method] = &[
        command("set", &["name", "record"]),
        command("add", &["name", "record"]),
        command("remove", &["name", "record"]),
        query("list", &["name", "after", "limit"]),
    ];
    const CONSTRUCTOR: &'static [&'static str] = &[];
    const SCRIPT: &'static [&'static str] = &["set", "add"];
    type Config = ();
    type Root = Root;

    fn config(_: &Args) -> Result<()> {
        Ok(())
    }

    fn call(live: &mut Live<Self>, ctx: &mut Ctx<'_>, method: &str, args: &Args) -> Result<Step> {
        let name = name_of(args)?;
        let mut known = records(&ctx.view(), &name);
        let before = known.len();
        if method == "remove" {
            let removed = if args.has("record") { Some(record_of(args)?) } else { None };
            known.retain(|record| removed.as_ref().is_some_and(|removed| removed != record));
        } else {
            let record = record_of(args)?;
            if method == "set" {
                known.clear();
            }
            if !known.contains(&record) {
                known.push(record);
            }
        }
        live.store(ctx, &name, &known)?;
        let reply = Reply::new().number("records", known.len() as u64);
        Ok(Step::Done(reply.flag("changed", method == "set" || before != known.len()).finish()))
    }

    fn query(_: &Live<Self>, view: &View<'_>, _: &str, args: &Args) -> Result<String> {
        if args.has("name") {
            return Ok(Reply::new().list("records", records(view, &name_of(args)?)).finish());
        }
        let limit = args.count("limit", ITEMS_PER_CALL)?;
        let after = args.text("after")?.map(str::to_ascii_lowercase);
        let from = after.as_ref().map_or(Bound::Unbounded, |after| Bound::Excluded(after.as_bytes()));
        let (mut names, mut bytes, mut last) = (Vec::new(), 0, None);
        for (key, value) in view.entries(NAME, from, Bound::Unbounded) {
            let (Ok(name), Ok(text)) = (core::str::from_utf8(key), decoded::<String>(value)) else {
                continue;
            };
            bytes += text.len();
            if names.len() == limit || (!names.is_empty() && bytes > REPLY_BYTES_MAX) {
                return Ok(Reply::new().list("names", names).optional_text("next", last).finish());
            }
            names.push(Reply::new().text("name", name).list("records", split(&text)).finish());
            last = Some(name);
        }
        Ok(Reply::new().list("names", names).raw("next", "null").finish())
    }

    fn arguments(_: &Live<Self>) -> Reply {
        Reply::new()
    }

    fn script(_: &Live<Self>, view: &View<'_>, script: &mut Script) {
        for (name, records) in view.table(NAME) {
            let (Ok(name), Ok(records)) = (core::str::from_utf8(name), decoded::<String>(records)) else {
                continue;
            };
            for (index, record) in split(&records).iter().enumerate() {
                if script.is_too_large() {
                    return;
                }
                let method = if index == 0 { "set" } else { "add" };
                script.call(method, Reply::new().text("name", name).raw("record", record));
            }
        }
    }

    fn is_idle(live: &Live<Self>, _: &View<'_>) -> bool {
        live.root.names == 0
    }

    fn is_readable(table: u8, value: &[u8]) -> bool {
        match table {
            NAME => decoded::<String>(value).is_ok(),
            BELOW => decoded::<u64>(value).is_ok(),
            _ => false,
        }
    }
}
