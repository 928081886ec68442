//! `diwan object waits`: who waits for whom.

use std::collections::BTreeMap;
use std::io::Write;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use serde_json::{Value, json};

use super::access::{AccessArguments, Request, escaped};
use super::cycles::{self, Contended, Found, Step};
use super::{complete, moment};
use crate::log::failure::Done;
use crate::table;

/// Objects asked for at once.
const PAGE: u32 = 500;
/// Characters of a session's id that are shown.
const ID_CHARS: usize = 8;
/// Holders that are shown of an object.
const HOLDERS_SHOWN: usize = 3;
/// Cycles that are shown.
const CYCLES_SHOWN: usize = 20;
/// Sessions of a cycle that are shown.
const STEPS_SHOWN: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct WaitsArguments {
    /// Only objects of this type. Sessions that wait for each other are looked for among these alone.
    #[arg(value_name = "TYPE", add = ArgValueCompleter::new(complete::types))]
    kind: Option<String>,

    /// Only objects whose names begin so.
    #[arg(long, value_name = "PREFIX", default_value = "")]
    prefix: String,

    /// As JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    access: AccessArguments,
}

/// Shows the calls that wait, who holds what they wait for, and sessions that wait for each other.
pub(super) fn waits(arguments: &WaitsArguments, out: &mut impl Write) -> Done {
    let objects = ask(arguments)?;
    let found = cycles::find(&contended(&objects));
    let names = names(&objects);
    if arguments.json {
        let step = |step: &Step| {
            json!({
                "session": step.session,
                "session_name": names.get(&step.session),
                "ticket": step.ticket,
                "waits_for": step.waits_for,
                "held_by": step.held_by,
            })
        };
        let cycles: Vec<Vec<_>> = found.cycles.iter().map(|cycle| cycle.iter().map(step).collect()).collect();
        let all = json!({ "objects": objects, "cycles": cycles, "behind_cycles": found.behind, "too_many_for_cycles": found.is_too_much });
        writeln!(out, "{all:#}")?;
        return Ok(());
    }
    let head =
        ["OBJECT", "TICKET", "METHOD", "CALLER", "SINCE", "UNTIL", "HELD BY"].map(String::from).to_vec();
    let rows: Vec<_> = std::iter::once(head).chain(objects.iter().flat_map(rows)).collect();
    table::write(out, 0, &rows)?;
    tell_cycles(&found, &names, out)
}

fn ask(WaitsArguments { kind, prefix, access, .. }: &WaitsArguments) -> Done<Vec<Value>> {
    let of_type = kind.as_ref().map_or_else(String::new, |kind| format!("type={}&", escaped(kind)));
    let (mut objects, mut after) = (Vec::new(), None::<String>);
    loop {
        let behind = after.map_or_else(String::new, |after| format!("&after={}", escaped(&after)));
        let path = format!("/v1/waits?{of_type}prefix={}&limit={PAGE}{behind}", escaped(prefix));
        let reply = access.ask(&Request::get(path))?;
        objects.extend(reply.body["objects"].as_array().into_iter().flatten().cloned());
        match reply.body["next"].as_str() {
            Some(next) => after = Some(next.into()),
            None => return Ok(objects),
        }
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value[name].as_array().into_iter().flatten()
}

fn path(object: &Value) -> String {
    format!("{}/{}", text(object, "type"), text(object, "name"))
}

/// A session for people: the beginning of its id, and its name. Otherwise the principal.
fn who(one: &Value) -> String {
    match (one["session"].as_str(), one["session_name"].as_str()) {
        (Some(id), name) => shown(id, name),
        (None, _) => text(one, "principal").into(),
    }
}

fn shown(id: &str, name: Option<&str>) -> String {
    let id: String = id.chars().take(ID_CHARS).collect();
    name.map_or_else(|| id.clone(), |name| format!("{id} ({name})"))
}

/// A row for each call; the first one says who holds the object.
fn rows(object: &Value) -> Vec<Vec<String>> {
    let time = |one: &Value, name: &str| one[name].as_i64().map_or_else(|| "-".into(), moment::to_a_second);
    let row = |call: &Value| {
        let ticket = call["ticket"].as_u64().map_or_else(String::new, |ticket| ticket.to_string());
        let method = call["method"].as_str().unwrap_or("-").into();
        vec![
            path(object),
            ticket,
            method,
            who(call),
            time(call, "since_ms"),
            time(call, "until_ms"),
            String::new(),
        ]
    };
    let mut rows: Vec<_> = list(object, "calls").map(row).collect();
    if let Some(held_by) = rows.first_mut().and_then(|row| row.last_mut()) {
        *held_by = holders(object);
    }
    if let Some(more) = object["more_calls"].as_u64().filter(|more| *more > 0) {
        rows.push(vec![path(object), format!("and {more} more")]);
    }
    rows
}

fn holders(object: &Value) -> String {
    let all: Vec<_> = list(object, "holders").collect();
    let holder = |one: &&Value| match (one["fence"].as_u64(), text(one, "holds")) {
        (Some(fence), _) => format!("{}, fence {fence}", who(one)),
        (None, holds) => format!("{}, a {holds}", who(one)),
    };
    let mut shown: Vec<_> = all.iter().take(HOLDERS_SHOWN).map(holder).collect();
    match (all.len() - shown.len(), object["more_holders"] == true) {
        (0, false) => {}
        (more, false) => shown.push(format!("and {more} more")),
        (_, true) => shown.push(String::from("and more")),
    }
    shown.join("; ")
}

/// What is looked at for cycles.
fn contended(objects: &[Value]) -> Vec<Contended> {
    let contended = |object: &Value| {
        let waits = |call: &Value| {
            let session = call["session"].as_str().filter(|_| call["for"] == "holders")?;
            Some((session.into(), call["ticket"].as_u64()?))
        };
        Some(Contended {
            object: path(object),
            one_is_enough: cycles::counts(text(object, "type"))?,
            waiting: list(object, "calls").filter_map(waits).collect(),
            holders: list(object, "holders")
                .filter_map(|one| one["session"].as_str().map(String::from))
                .collect(),
            has_more_holders: object["more_holders"] == true,
        })
    };
    objects.iter().filter_map(contended).collect()
}

/// The names of sessions that have one.
fn names(objects: &[Value]) -> BTreeMap<String, String> {
    let all = objects.iter().flat_map(|object| list(object, "calls").chain(list(object, "holders")));
    let named = |one: &Value| Some((one["session"].as_str()?.into(), one["session_name"].as_str()?.into()));
    all.filter_map(named).collect()
}

fn tell_cycles(found: &Found, names: &BTreeMap<String, String>, out: &mut impl Write) -> Done {
    if found.is_too_much {
        writeln!(
            out,
            "\nToo many sessions wait for too many holders: nobody has looked whether they wait for each other."
        )?;
    }
    if found.cycles.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nSessions that wait for each other:")?;
    for cycle in found.cycles.iter().take(CYCLES_SHOWN) {
        writeln!(out, "  {}", in_words(cycle, names))?;
    }
    if let Some(more) = found.cycles.len().checked_sub(CYCLES_SHOWN).filter(|more| *more > 0) {
        writeln!(out, "  and {more} more such groups")?;
    }
    match found.behind {
        0 => {}
        1 => writeln!(out, "One more session waits for one of these.")?,
        behind => writeln!(out, "{behind} more sessions wait for one of these.")?,
    }
    writeln!(
        out,
        "If each of them gives back what it holds only after its wait, none goes on before a wait ends: by its time, by \
         `DELETE /v1/tickets/TICKET`, or with its session."
    )?;
    Ok(())
}

fn in_words(cycle: &[Step], names: &BTreeMap<String, String>) -> String {
    let who = |session: &str| shown(session, names.get(session).map(String::as_str));
    let mut words = cycle.first().map_or_else(String::new, |first| who(&first.session));
    let step = |(number, step): (usize, &Step)| {
        let which = if number == 0 { "" } else { ", which" };
        format!("{which} waits for {} of {}", step.waits_for, who(&step.held_by))
    };
    words.extend(cycle.iter().take(STEPS_SHOWN).enumerate().map(step));
    if let Some(more) = cycle.len().checked_sub(STEPS_SHOWN).filter(|more| *more > 0) {
        words.push_str(&format!(", and so on through {more} more"));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(session: &str, ticket: u64) -> Value {
        json!({ "ticket": ticket, "method": "acquire", "for": "holders", "session": session, "session_name": null,
                "principal": "ann", "since_ms": null, "until_ms": 1_700_000_000_000_i64 })
    }

    fn object(name: &str, calls: &[Value], holders: &[Value]) -> Value {
        json!({ "type": "lock", "name": name, "waiting": calls.len(), "calls": calls, "more_calls": 0,
                "holders": holders, "more_holders": false })
    }

    #[test]
    fn cycle_is_told_in_words_with_names() {
        let holder = |session: &str, name: &str| json!({ "session": session, "session_name": name, "holds": "lock", "fence": 7 });
        let objects = [
            object("x", &[call("bbbbbbbbbbbb", 9)], &[holder("aaaaaaaaaaaa", "worker 7")]),
            object("y", &[call("aaaaaaaaaaaa", 8)], &[holder("bbbbbbbbbbbb", "worker 8")]),
        ];
        let mut out = Vec::new();
        tell_cycles(&cycles::find(&contended(&objects)), &names(&objects), &mut out).expect("it is written");
        let said = String::from_utf8(out).expect("text");
        let expected = "aaaaaaaa (worker 7) waits for lock/y of bbbbbbbb (worker 8), which waits for lock/x of aaaaaaaa (worker 7)\n";
        assert!(said.contains(expected), "{said}");
        assert_eq!(rows(&objects[0])[0].last().map(String::as_str), Some("aaaaaaaa (worker 7), fence 7"));
    }

    #[test]
    fn calls_of_no_session_and_calls_for_others_are_in_no_cycle() {
        let mut objects = [object("x", &[call("b", 9)], &[json!({ "session": "a" })])];
        objects[0]["calls"][0]["for"] = "others".into();
        assert!(contended(&objects)[0].waiting.is_empty());
        objects[0]["type"] = "election".into();
        assert!(contended(&objects).is_empty());
    }
}
