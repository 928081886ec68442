//! `diwan object migrate`, `rollback`, `quarantine` and `release`: what those do who look after objects of users' types.

use std::io::Write;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::access::{AccessArguments, NameArgument, ObjectName, Reply, Request};
use super::list;
use super::types::{short, version_named};
use crate::log::failure::Done;

#[derive(Debug, Args)]
pub(crate) struct MigrateArguments {
    /// The object.
    #[arg(value_name = "TYPE/NAME", required_unless_present = "all")]
    object: Option<ObjectName>,

    /// All objects of a type, one after the other.
    #[arg(long, requires = "kind", conflicts_with = "object")]
    all: bool,

    /// The type whose objects are meant.
    #[arg(long = "type", value_name = "TYPE", requires = "all")]
    kind: Option<String>,

    /// The version: as many of its first characters as name no other.
    #[arg(long, value_name = "VERSION")]
    to: String,

    /// At most so many objects a second, as `100` or `100/s`: others go on with less delay.
    #[arg(long, value_name = "N", requires = "all", value_parser = per_second)]
    rate: Option<u32>,

    /// Only try it, on copies of which nothing is left.
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RollbackArguments {
    #[command(flatten)]
    name: NameArgument,

    /// Go back to the memory of before the migration, also if calls since then are lost.
    #[arg(long)]
    lose_commands: bool,

    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct QuarantineArguments {
    #[command(flatten)]
    name: NameArgument,

    /// Why: callers are told.
    #[arg(long, value_name = "TEXT", default_value = "an operator has put it there")]
    reason: String,

    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ReleaseArguments {
    #[command(flatten)]
    name: NameArgument,

    #[command(flatten)]
    access: AccessArguments,
}

/// A number of objects a second.
fn per_second(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).parse::<u32>();
    number
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| String::from("a number from 1 on, as `100` or `100/s`"))
}

/// Takes objects to another version. One that refuses stays as it was, and ends the command.
pub(super) fn migrate(arguments: &MigrateArguments, out: &mut impl Write) -> Done {
    let MigrateArguments { object, kind, to, rate, dry_run, access, .. } = arguments;
    let objects = match (object, kind) {
        (Some(object), _) => vec![object.clone()],
        (None, Some(kind)) => {
            let found = list::of_type(access, kind, "")?;
            let names = found.iter().filter_map(|object| object["name"].as_str());
            names.map(|name| ObjectName { kind: kind.clone(), name: name.into() }).collect()
        }
        (None, None) => Vec::new(),
    };
    let Some(first) = objects.first() else { return Ok(()) };
    let to = version_named(access, &first.kind, to)?;
    let body = json!({ "to": to, "dry_run": dry_run });
    let began = Instant::now();
    for (number, object) in (0_u32..).zip(&objects) {
        let due = rate.map_or(Duration::ZERO, |rate| Duration::from_secs(1) * number / rate);
        std::thread::sleep(due.saturating_sub(began.elapsed()));
        // Once it has that version, doing it again does nothing.
        let reply = care(access, object, "migrate", &body, true)?.body;
        let done = match dry_run {
            true if reply["would_migrate"] == true => "would be migrated to",
            false if reply["migrated"] == true => "migrated to",
            _ => "is at",
        };
        writeln!(out, "{object} {done} {}", short(&to))?;
    }
    Ok(())
}

/// Takes an object back to the version that it was migrated from.
pub(super) fn rollback(arguments: &RollbackArguments, out: &mut impl Write) -> Done {
    let RollbackArguments { name, lose_commands, access } = arguments;
    let body = json!({ "lose_commands": lose_commands });
    let reply = care(access, &name.object, "rollback", &body, false)?.body;
    let how = match (reply["by"].as_str(), reply["lost"].as_u64()) {
        (Some("migrate"), _) => String::from("its state was migrated back"),
        (_, None | Some(0)) => String::from("its memory is that of before, and nothing is lost"),
        (_, Some(lost)) => format!("its memory is that of before: {lost} runs since then are lost"),
    };
    let version = reply["version"].as_str().unwrap_or_default();
    writeln!(out, "{} is back at {}: {how}", name.object, short(version))?;
    Ok(())
}

/// Has an object run nothing.
pub(super) fn quarantine(arguments: &QuarantineArguments, out: &mut impl Write) -> Done {
    let QuarantineArguments { name, reason, access } = arguments;
    care(access, &name.object, "quarantine", &json!({ "reason": reason }), true)?;
    writeln!(out, "{} runs nothing until it is released", name.object)?;
    Ok(())
}

/// Has an object run again.
pub(super) fn release(arguments: &ReleaseArguments, out: &mut impl Write) -> Done {
    let ReleaseArguments { name, access } = arguments;
    care(access, &name.object, "release", &json!({}), true)?;
    writeln!(out, "{} is released", name.object)?;
    Ok(())
}

/// Asks for an operation on an object.
pub(super) fn care(
    access: &AccessArguments,
    object: &ObjectName,
    operation: &str,
    body: &Value,
    is_repeatable: bool,
) -> Done<Reply> {
    let headers = vec![("Content-Type", String::from("application/json"))];
    let path = format!("{}:{operation}", object.path());
    let body = body.to_string();
    access.ask(&Request { method: "POST", path, headers, body: body.as_bytes(), is_repeatable })
}
