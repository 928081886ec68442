//! `diwan object access`: who may do what, and whether that is looked at.

use std::io::Write;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::access::{AccessArguments, Request, escaped};
use crate::log::failure::{Done, Failure};
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
    /// Set the rights of a role, all that it has from now on. What waits by those that it loses ends.
    Role(RoleArguments),
    /// Set the roles of a principal, all that it has from now on; without any it has none.
    Roles(RolesArguments),
    /// Set how much a namespace, or a principal, may have; without limits show the quotas, and what is used of them.
    Quota(QuotaArguments),
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

#[derive(Debug, Args)]
pub(crate) struct RoleArguments {
    /// Its name.
    role: String,

    /// `lock/build:*`, `queue/*:put,query`.
    #[arg(value_name = "TYPE/NAME:RIGHT,..", required_unless_present = "remove")]
    rights: Vec<String>,

    /// Remove the role, from its principals too.
    #[arg(long, conflicts_with = "rights")]
    remove: bool,

    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RolesArguments {
    /// The principal.
    principal: String,

    /// Names of roles [default: none].
    #[arg(value_name = "ROLE")]
    roles: Vec<String>,

    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct QuotaArguments {
    /// Of the objects whose names begin with this and a slash.
    #[arg(long, value_name = "NAME", conflicts_with = "principal")]
    namespace: Option<String>,

    /// Of the sessions and waiting calls of this principal.
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,

    /// Objects of the namespace.
    #[arg(long, value_name = "N")]
    objects: Option<u64>,

    /// Bytes of its objects, with what each record takes.
    #[arg(long, value_name = "N")]
    bytes: Option<u64>,

    /// Calls that wait.
    #[arg(long, value_name = "N")]
    waiters: Option<u64>,

    /// Sessions that the principal has open.
    #[arg(long, value_name = "N")]
    sessions: Option<u64>,

    /// Calls and queries that each member lets in within a second.
    #[arg(long, value_name = "N")]
    calls_per_second: Option<u64>,

    /// Take the quota away.
    #[arg(long, conflicts_with_all = ["objects", "bytes", "waiters", "sessions", "calls_per_second"])]
    remove: bool,

    /// As JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    access: AccessArguments,
}

impl QuotaArguments {
    /// What is to be set: those limits that are named, and no others.
    fn limits(&self) -> Vec<(&'static str, u64)> {
        let all = [
            ("objects", self.objects),
            ("bytes", self.bytes),
            ("waiters", self.waiters),
            ("sessions", self.sessions),
            ("calls_per_second", self.calls_per_second),
        ];
        all.into_iter().filter_map(|(name, limit)| Some((name, limit?))).collect()
    }

    /// Whose quota is meant.
    fn of(&self) -> Option<(&'static str, &str)> {
        let namespace = self.namespace.as_deref().map(|name| ("namespace", name));
        namespace.or_else(|| self.principal.as_deref().map(|name| ("principal", name)))
    }
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
        RightsCommand::Role(arguments) => {
            let RoleArguments { role, rights, remove: _, access } = arguments;
            let body = json!({ "role": role, "allow": rights }).to_string();
            let reply = access.ask(&post("/v1/access/role".into(), &body))?;
            writeln!(out, "role {role}: {}", shown(&reply.body["allow"]))?;
            Ok(())
        }
        RightsCommand::Roles(arguments) => {
            let RolesArguments { principal, roles, access } = arguments;
            let body = json!({ "principal": principal, "roles": roles }).to_string();
            let reply = access.ask(&post("/v1/access/role".into(), &body))?;
            writeln!(out, "{principal}: {}", words(&reply.body["roles"], "no roles"))?;
            Ok(())
        }
        RightsCommand::Quota(arguments) => quota(arguments, out),
    }
}

fn quota(arguments: &QuotaArguments, out: &mut impl Write) -> Done {
    let limits = arguments.limits();
    if limits.is_empty() && !arguments.remove {
        return show_quotas(arguments, out);
    }
    let Some((word, name)) = arguments.of() else {
        return Err(Failure::hinted(
            "it is not said whose quota is set",
            "name a namespace (`--namespace team`) or a principal (`--principal ci`)",
        ));
    };
    let mut body = json!({ word: name });
    for (name, limit) in limits {
        body[name] = json!(limit);
    }
    let body = body.to_string();
    let reply = arguments.access.ask(&post("/v1/access/quota".into(), &body))?;
    match arguments.json {
        true => writeln!(out, "{:#}", reply.body)?,
        false if arguments.remove => writeln!(out, "{word} {name} has no quota")?,
        false => write_quotas(&[reply.body], out)?,
    }
    Ok(())
}

fn show_quotas(arguments: &QuotaArguments, out: &mut impl Write) -> Done {
    let shown = arguments.access.ask(&Request::get("/v1/access".into()))?.body;
    let Some(all) = shown["quotas"].as_array() else {
        return Err(Failure::hinted(
            "quotas are shown to those who administer",
            "send a token with the right `*:admin`",
        ));
    };
    let is_meant = |quota: &&Value| arguments.of().is_none_or(|(word, name)| quota[word] == *name);
    let quotas: Vec<_> = all.iter().filter(is_meant).cloned().collect();
    if arguments.json {
        writeln!(out, "{:#}", Value::from(quotas))?;
        return Ok(());
    }
    write_quotas(&quotas, out)
}

/// A row for each limit that is set.
fn write_quotas(quotas: &[Value], out: &mut impl Write) -> Done {
    let mut rows = vec![["QUOTA OF", "WHAT", "USED", "LIMIT"].map(String::from).to_vec()];
    for quota in quotas {
        let of = |word: &str| quota[word].as_str().map(|name| format!("{word} {name}"));
        let whose = of("namespace").or_else(|| of("principal")).unwrap_or_default();
        let is_counting = if quota["counting"] == true { " and more" } else { "" };
        for what in ["objects", "bytes", "waiters", "sessions", "calls_per_second"] {
            let Some(limit) = quota[what].as_u64() else { continue };
            let used = quota["used"][what].as_u64().map_or_else(|| "-".into(), |used| used.to_string());
            rows.push(vec![whose.clone(), what.into(), used + is_counting, limit.to_string()]);
        }
    }
    Ok(table::write(out, 0, &rows)?)
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
    words(rights, "no rights")
}

fn words(list: &Value, none: &str) -> String {
    let words: Vec<_> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if words.is_empty() { String::from(none) } else { words.join(" ") }
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
        let head = ["PRINCIPAL", "ROLES", "RIGHTS"].map(String::from).to_vec();
        let row = |one: &Value| {
            let principal = one["principal"].as_str().unwrap_or_default().to_owned();
            vec![principal, words(&one["roles"], "-"), shown(&one["allow"])]
        };
        table::write(out, 0, &std::iter::once(head).chain(principals.iter().map(row)).collect::<Vec<_>>())?;
    }
    if let Some(roles) = shown_all["defined_roles"].as_array().filter(|roles| !roles.is_empty()) {
        let head = ["ROLE", "RIGHTS"].map(String::from).to_vec();
        let row =
            |one: &Value| vec![one["role"].as_str().unwrap_or_default().to_owned(), shown(&one["allow"])];
        table::write(out, 0, &std::iter::once(head).chain(roles.iter().map(row)).collect::<Vec<_>>())?;
    }
    Ok(())
}
