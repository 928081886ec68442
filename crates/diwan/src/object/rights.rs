//! `diwan object access`: who may do what, and whether that is looked at.

use std::io::Write;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::access::{AccessArguments, Request, escaped};
use crate::log::failure::Done;
use crate::table;

/// Commands of rights.
#[derive(Debug, Subcommand)]
pub(crate) enum RightsCommand {
    /// Show whether access is open, your own rights, and those of all if you administer.
    Show(ShowArguments),
    /// Have rights looked at from now on. It takes a token that administers everything (`*:admin`).
    Close(ChangeArguments),
    /// Open access: rights are not looked at, and every client that reaches the port may do everything.
    Open(ChangeArguments),
    /// Give a principal rights besides those that it has.
    Allow(GrantArguments),
    /// Take rights from a principal; without any, all. What waits by them ends.
    Deny(DenyArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// As JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ChangeArguments {
    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct GrantArguments {
    /// The principal of tokens, `anonymous` for everybody, `cert:CN=..` or `object:TYPE/NAME`.
    principal: String,

    /// `lock/build:*`, `queue/*:put,query`, `*:admin`.
    #[arg(value_name = "TYPE/NAME:RIGHT,..", required = true)]
    rights: Vec<String>,

    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DenyArguments {
    /// The principal.
    principal: String,

    /// Rights, each on the objects on which it was given [default: all].
    #[arg(value_name = "TYPE/NAME:RIGHT,..")]
    rights: Vec<String>,

    #[command(flatten)]
    access: AccessArguments,
}

/// Runs one.
pub(super) fn run(command: &RightsCommand, out: &mut impl Write) -> Done {
    match command {
        RightsCommand::Show(arguments) => show(arguments, out),
        RightsCommand::Close(arguments) => set(&arguments.access, "close", out),
        RightsCommand::Open(arguments) => set(&arguments.access, "open", out),
        RightsCommand::Allow(arguments) => {
            let GrantArguments { principal, rights, access } = arguments;
            change(access, "allow", &json!({ "principal": principal, "allow": rights }), out)
        }
        RightsCommand::Deny(arguments) => {
            let DenyArguments { principal, rights, access } = arguments;
            let body = match rights.is_empty() {
                true => json!({ "principal": principal }),
                false => json!({ "principal": principal, "deny": rights }),
            };
            change(access, "deny", &body, out)
        }
    }
}

/// A request that may be repeated, with a body.
pub(super) fn post(path: String, body: &str) -> Request<'_> {
    let headers = vec![("Content-Type", String::from("application/json"))];
    Request { method: "POST", path, headers, body: body.as_bytes(), is_repeatable: true }
}

/// A time of the group's clock, for people.
pub(super) fn time(ms: i64) -> String {
    node_threads::calendar::short_date(ms / 1_000)
}

fn set(access: &AccessArguments, how: &str, out: &mut impl Write) -> Done {
    let reply = access.ask(&post(format!("/v1/access/{how}"), "{}"))?;
    writeln!(out, "access is {}", reply.body["access"].as_str().unwrap_or_default())?;
    Ok(())
}

fn change(access: &AccessArguments, how: &str, body: &Value, out: &mut impl Write) -> Done {
    let reply = access.ask(&post(format!("/v1/access/{how}"), &body.to_string()))?;
    let principal = reply.body["principal"].as_str().unwrap_or_default();
    writeln!(out, "{principal}: {}", shown(&reply.body["allow"]))?;
    Ok(())
}

fn shown(rights: &Value) -> String {
    let rights: Vec<_> = rights.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if rights.is_empty() { String::from("no rights") } else { rights.join(" ") }
}

fn show(arguments: &ShowArguments, out: &mut impl Write) -> Done {
    let ShowArguments { json, access } = arguments;
    let mut shown_all = access.ask(&Request::get("/v1/access".into()))?.body;
    // Page by page.
    while let Some(next) = shown_all["next"].as_str().map(String::from) {
        let mut more = access.ask(&Request::get(format!("/v1/access?after={}", escaped(&next))))?.body;
        if let (Some(all), Some(page)) =
            (shown_all["principals"].as_array_mut(), more["principals"].as_array_mut())
        {
            all.append(page);
        }
        shown_all["next"] = more["next"].take();
    }
    if *json {
        writeln!(out, "{shown_all:#}")?;
        return Ok(());
    }
    let text = |name: &str| shown_all[name].as_str().unwrap_or_default();
    writeln!(out, "access is {}", text("access"))?;
    writeln!(out, "you are {}: {}", text("principal"), shown(&shown_all["allow"]))?;
    if let Some(principals) = shown_all["principals"].as_array() {
        let head = ["PRINCIPAL", "RIGHTS"].map(String::from).to_vec();
        let row = |one: &Value| {
            vec![one["principal"].as_str().unwrap_or_default().to_owned(), shown(&one["allow"])]
        };
        table::write(out, 0, &std::iter::once(head).chain(principals.iter().map(row)).collect::<Vec<_>>())?;
    }
    Ok(())
}
