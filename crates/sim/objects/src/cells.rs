//! What must happen in some hundred seeds: each method with each of its outcomes that the specification says can be, and the
//! ends of everything else. What is not in the table must never happen.

use objects_state::{Command, type_name};
use serde_json::Value;

use crate::book::{Book, word};
use crate::model::{Answer, Told};

/// Refusals that have nothing to do with a method: each is one cell.
const OF_ANY: [&str; 10] = [
    "key-reused",
    "no-such-method",
    "no-such-object",
    "not-a-query",
    "quota",
    "request-forgotten",
    "session-expired",
    "too-large",
    "waiters-full",
    "wrong-incarnation",
];

/// The table, in order.
pub const CELLS: &[&str] = &[];

/// The table's own word for a cell.
pub(crate) fn known(cell: &str) -> Option<&'static str> {
    CELLS.binary_search(&cell).ok().map(|place| CELLS[place])
}

/// The cells that a command has met.
pub(crate) fn met(command: &Command, told: &[Told], book: &Book, is_repeat: bool) -> Vec<String> {
    let what = what(command);
    let mut cells = Vec::new();
    for told in told {
        match told {
            Told::Answered(..) if is_repeat => cells.push("repeat answered".into()),
            Told::Parked(..) if is_repeat => cells.push("repeat parked".into()),
            Told::Answered(_, answer) => cells.push(cell(&what, "", answer)),
            Told::Parked(..) => cells.push(format!("{what} parked")),
            Told::Ended(id, end, answer) => {
                let what = book.ticket(*id).map_or(&*what, |ticket| &*ticket.what);
                cells.push(match answer {
                    Ok(_) => format!("{what} {}", word(*end)),
                    Err(refusal) => format!("{what} {} {}", word(*end), refusal.slug),
                });
            }
            Told::Opened(..) => cells.push("session opened".into()),
            Told::Closed(_, expired) => {
                cells.push(if *expired { "session expired" } else { "session closed" }.into());
            }
        }
        if let (Command::Batch(batch), Told::Answered(_, Ok(result)), false) = (command, told, is_repeat) {
            let kind = type_name(batch.object.kind).unwrap_or_default();
            let results = result["results"].as_array().into_iter().flatten();
            for (invocation, result) in batch.invocations.iter().zip(results) {
                cells.push(of_batch(kind, &invocation.method, result));
            }
        }
    }
    cells
}

fn of_batch(kind: &str, method: &str, result: &Value) -> String {
    let slug = result["problem"]["type"].as_str().and_then(|name| name.rsplit(':').next());
    match slug {
        Some(slug) if OF_ANY.contains(&slug) => format!("any {slug}"),
        Some(slug) => format!("{kind}.{method} {slug}"),
        None => format!("{kind}.{method} done"),
    }
}

/// The cell of an answered query.
pub(crate) fn of_query(kind: &str, method: &str, answer: &Answer) -> String {
    cell(&format!("{kind}.{method}"), "?", answer)
}

fn cell(what: &str, mark: &str, answer: &Answer) -> String {
    match answer {
        Ok(_) => format!("{what}{mark} done"),
        Err(refusal) if OF_ANY.contains(&refusal.slug) => format!("any {}", refusal.slug),
        Err(refusal) => format!("{what}{mark} {}", refusal.slug),
    }
}

fn what(command: &Command) -> String {
    match command {
        Command::Call(call) => {
            format!("{}.{}", type_name(call.object.kind).unwrap_or_default(), call.invocation.method)
        }
        Command::Batch(_) => "batch".into(),
        Command::Create { object, .. } => {
            format!("create {}", type_name(object.kind).unwrap_or_default())
        }
        Command::Delete { .. } => "delete".into(),
        Command::OpenSession { .. } => "open".into(),
        Command::CloseSession { .. } => "close".into(),
        Command::ExpireSession { .. } => "expire".into(),
        Command::CancelTicket { .. } => "cancel".into(),
        Command::Tick => "tick".into(),
        Command::FeatureLevel(_) => "level".into(),
    }
}
