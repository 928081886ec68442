//! `diwan object token`: tokens, by which programs and people prove who they are.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::access::{AccessArguments, Request, escaped};
use super::rights;
use crate::log::failure::{Done, Failure};
use crate::table;

/// Commands of tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token for a principal, and print it: it is shown this once.
    Create(CreateArguments),
    /// Show the tokens; never their secrets.
    List(ListArguments),
    /// Revoke a token by its number, or all tokens and rights of a principal by its name. What waits by them ends.
    Revoke(RevokeArguments),
}

#[derive(Debug, Args)]
pub(crate) struct CreateArguments {
    /// The principal: letters, digits and `._-@`. It may have several tokens.
    #[arg(long, value_name = "NAME")]
    name: String,

    /// A right that it gets besides those that it has: `lock/build:*`, `queue/*:put,query`, `*:admin`.
    #[arg(long, value_name = "TYPE/NAME:RIGHT,..")]
    allow: Vec<String>,

    /// After how long the token ends: `90m`, `24h`, `30d` [default: never].
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    lives: Option<u64>,

    /// Write the token to this file, which its owner alone can read, instead of printing it.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// As JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// As JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArguments {
    /// The number of a token (`diwan object token list` shows it), or the name of a principal.
    #[arg(value_name = "NUMBER|NAME")]
    which: String,

    #[command(flatten)]
    access: AccessArguments,
}

/// Runs one.
pub(super) fn run(command: &TokenCommand, out: &mut impl Write) -> Done {
    match command {
        TokenCommand::Create(arguments) => create(arguments, out),
        TokenCommand::List(arguments) => list(arguments, out),
        TokenCommand::Revoke(arguments) => revoke(arguments, out),
    }
}

fn milliseconds(text: &str) -> Result<u64, String> {
    let units = [("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let parse = |(unit, ms): &(&str, u64)| text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(*ms);
    units.iter().find_map(parse).ok_or_else(|| String::from("a time is written `30s`, `90m`, `24h` or `30d`"))
}

fn create(arguments: &CreateArguments, out: &mut impl Write) -> Done {
    let CreateArguments { name, allow, lives, out: file, json, access } = arguments;
    let mut body = json!({ "name": name, "allow": allow });
    if let Some(ms) = lives {
        body["lives_ms"] = json!(ms);
    }
    // The file is made first: a token that cannot be kept is of no use.
    let kept = file.as_deref().map(|file| private_file(file).map(|opened| (opened, file))).transpose()?;
    let reply = access.ask(&rights::post("/v1/tokens".into(), &body.to_string()))?;
    let token = reply.body["token"].as_str().unwrap_or_default();
    if let Some((mut opened, file)) = kept {
        writeln!(opened, "{token}").map_err(|error| unwritable(file, &error))?;
        writeln!(out, "token {} of {name} is in {}", reply.body["number"], file.display())?;
    } else if *json {
        writeln!(out, "{:#}", reply.body)?;
    } else {
        writeln!(out, "{token}")?;
    }
    Ok(())
}

fn private_file(file: &std::path::Path) -> Done<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let opened = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    opened.map_err(|error| unwritable(file, &error))
}

fn unwritable(file: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::hinted(
        format!("cannot write the token to `{}`: {error}", file.display()),
        "name a file that is not there yet, in a folder of your own",
    )
}

fn list(arguments: &ListArguments, out: &mut impl Write) -> Done {
    let reply = arguments.access.ask(&Request::get("/v1/tokens".into()))?;
    if arguments.json {
        writeln!(out, "{:#}", json!({ "tokens": reply.body["tokens"] }))?;
        return Ok(());
    }
    let head = ["NUMBER", "PRINCIPAL", "MARK", "CREATED", "BY", "ENDS"].map(String::from).to_vec();
    let row = |token: &Value| {
        let text = |name: &str| token[name].as_str().unwrap_or_default().to_owned();
        let time = |name: &str| token[name].as_i64().map_or_else(|| String::from("never"), rights::time);
        let number = token["number"].to_string();
        vec![number, text("principal"), text("mark"), time("since_ms"), text("by"), time("ends_ms")]
    };
    let tokens = reply.body["tokens"].as_array().into_iter().flatten().map(row);
    table::write(out, 0, &std::iter::once(head).chain(tokens).collect::<Vec<_>>())?;
    Ok(())
}

fn revoke(arguments: &RevokeArguments, out: &mut impl Write) -> Done {
    let RevokeArguments { which, access } = arguments;
    let is_number = which.bytes().all(|byte| byte.is_ascii_digit());
    let path = match is_number {
        true => format!("/v1/tokens/{which}"),
        false => format!("/v1/principals/{}", escaped(which)),
    };
    let request = Request { method: "DELETE", path, headers: Vec::new(), body: &[], is_repeatable: true };
    let reply = access.ask(&request)?;
    match (reply.body["revoked"].as_u64(), is_number) {
        (Some(0), true) => Err(Failure::hinted(
            format!("there is no token {which}"),
            "`diwan object token list` shows the tokens",
        )),
        (count, true) => Ok(writeln!(out, "token {which} revoked ({})", count.unwrap_or(0))?),
        (count, false) => {
            Ok(writeln!(out, "{which} has no rights and no tokens ({} revoked)", count.unwrap_or(0))?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(milliseconds("90m"), Ok(5_400_000));
        assert_eq!((milliseconds("30d"), milliseconds("1s")), (Ok(2_592_000_000), Ok(1_000)));
        for wrong in ["", "90", "m", "-1h", "1.5h", "99999999999999999d"] {
            assert!(milliseconds(wrong).is_err(), "{wrong}");
        }
    }
}
