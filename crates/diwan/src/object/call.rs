//! `diwan object call` and `delete`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::access::{AccessArguments, NameArgument, Reply, Request};
use crate::config::Problem;
use crate::log::failure::Done;

#[derive(Debug, Args)]
pub(crate) struct CallArguments {
    #[command(flatten)]
    name: NameArgument,

    /// The method.
    method: String,

    /// Its arguments, a JSON object.
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,

    /// A file whose bytes are the arguments, for a method that takes bytes.
    #[arg(long, value_name = "FILE", conflicts_with = "arguments")]
    data_file: Option<PathBuf>,

    /// How long the call may wait, milliseconds; 0 tries [default: as long as this command runs].
    #[arg(long, value_name = "MS")]
    wait: Option<u64>,

    /// A key under which the call takes effect once, however often it is repeated within 10 minutes.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// A session, and its secret: `ID:SECRET`.
    #[arg(long, value_name = "SESSION", requires = "request")]
    session: Option<String>,

    /// The request's number in the session.
    #[arg(long, value_name = "N", requires = "session", conflicts_with = "key")]
    request: Option<u64>,

    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct CreateArguments {
    #[command(flatten)]
    name: NameArgument,

    /// The constructor's arguments, a JSON object.
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,

    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArguments {
    #[command(flatten)]
    name: NameArgument,

    /// Only this incarnation of it.
    #[arg(long, value_name = "N")]
    incarnation: Option<u64>,

    #[command(flatten)]
    access: AccessArguments,
}

/// Calls, and waits until the call has ended.
pub(super) fn call(arguments: &CallArguments, out: &mut impl Write) -> Done {
    let CallArguments { name, method, arguments: json, data_file, wait, key, session, request, access } =
        arguments;
    let (kind, body) = match data_file {
        Some(file) => ("application/octet-stream", read(file)?),
        None => ("application/json", check_object(json).map(|()| json.clone().into_bytes())?),
    };
    let wait = wait.map_or_else(String::new, |wait| format!("?wait_ms={wait}"));
    let mut headers = vec![("Content-Type", String::from(kind))];
    headers.extend(key.clone().map(|key| ("Idempotency-Key", quoted(&key))));
    headers.extend(session.clone().map(|session| ("Diwan-Session", session)));
    headers.extend(request.map(|request| ("Diwan-Request", request.to_string())));
    let path = format!("{}/{}{wait}", name.object.path(), super::access::escaped(method));
    let is_repeatable = headers.len() > 1;
    let post = Request { method: "POST", path, headers, body: &body, is_repeatable };
    let mut reply = access.ask(&post)?;
    while let Some(ticket) = waits_under(&reply) {
        reply = access.ask(&Request::get(format!("/v1/tickets/{ticket}")))?;
    }
    match reply.bytes {
        Some(bytes) => out.write_all(&bytes)?,
        None => writeln!(out, "{}", reply.text)?,
    }
    Ok(())
}

fn read(file: &Path) -> Done<Vec<u8>> {
    fs::read(file).map_err(|error| {
        let problem = Problem::new(format!("`{}` cannot be read: {error}", file.display()));
        problem.hint("name a file with the arguments' bytes").into()
    })
}

fn check_object(json: &str) -> Done {
    if serde_json::from_str::<Value>(json).is_ok_and(|value| value.is_object()) {
        return Ok(());
    }
    let problem = Problem::new(format!("`{json}` is no JSON object"));
    Err(problem.hint("write arguments as `'{\"by\":2}'`").into())
}

/// Creates. Once it is there with the same arguments, doing it again does nothing.
pub(super) fn create(arguments: &CreateArguments, out: &mut impl Write) -> Done {
    let CreateArguments { name, arguments: json, access } = arguments;
    check_object(json)?;
    let headers = vec![("Content-Type", String::from("application/json"))];
    let path = name.object.path();
    let request = Request { method: "PUT", path, headers, body: json.as_bytes(), is_repeatable: true };
    let reply = access.ask(&request)?;
    let done = if reply.body["created"] == true { "created" } else { "is there" };
    writeln!(out, "{} {done}", name.object)?;
    Ok(())
}

/// The ticket of a call that waits.
pub(super) fn waits_under(reply: &Reply) -> Option<String> {
    let ticket = &reply.body["ticket"];
    let text = ticket.as_str().map(String::from).or_else(|| ticket.as_u64().map(|ticket| ticket.to_string()));
    text.filter(|_| reply.status == 202)
}

/// A key as its header has it: a string of structured fields.
fn quoted(key: &str) -> String {
    format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Deletes.
pub(super) fn delete(arguments: &DeleteArguments, out: &mut impl Write) -> Done {
    let DeleteArguments { name, incarnation, access } = arguments;
    let headers = incarnation.map(|incarnation| ("If-Match", format!("\"{incarnation}\""))).into_iter();
    let request = Request {
        method: "DELETE",
        path: name.object.path(),
        headers: headers.collect(),
        body: &[],
        is_repeatable: false,
    };
    access.ask(&request)?;
    writeln!(out, "deleted {}", name.object)?;
    Ok(())
}
