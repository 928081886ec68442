//! `diwan member`: shows and changes the membership of a running ensemble, through one of its servers.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use council_client::{Client, Options};
use council_connect::Connection;
use council_service::config::{MemberConfig, MemberNumber, Roster};
use council_wire::{ErrorCode, Reconfig};

use crate::config::{Checked, Problem};

/// How long a connection may take: longer than a change of leader does.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is wanted.
#[derive(Clone, Debug)]
pub(crate) enum Wish {
    /// To see them.
    List,
    /// `N=HOST:PORT[:PORT][:observer][;[HOST:]CLIENT-PORT]` joins, or takes that form.
    Add(String),
    /// One leaves.
    Remove(u64),
    /// An observer votes from now on.
    Promote(u64),
}

/// Does it, or says what would be done.
pub(crate) fn run(access: &Connection, wish: &Wish, dry: bool, out: &mut impl Write) -> io::Result<ExitCode> {
    match attempt(access, wish, dry) {
        Ok(text) => {
            writeln!(out, "{text}")?;
            Ok(ExitCode::SUCCESS)
        }
        Err(problem) => {
            eprintln!("error: {}", problem.what);
            if let Some(hint) = problem.hint {
                eprintln!("hint: {hint}");
            }
            Ok(ExitCode::FAILURE)
        }
    }
}

fn attempt(access: &Connection, wish: &Wish, dry: bool) -> Checked<String> {
    let client = connect(access)?;
    let present = present(&client, access)?;
    let (joining, leaving) = match wish {
        Wish::List => return Ok(present.text()),
        Wish::Add(member) => (Some(wanted(member)?), None),
        Wish::Remove(number) => (None, Some(existing(&present, *number)?.number.to_string())),
        Wish::Promote(number) => {
            let mut member = existing(&present, *number)?.clone();
            member.votes = true;
            (Some(format!("server.{number}={}", member.published())), None)
        }
    };
    let change = Reconfig {
        joining: joining.as_deref(),
        leaving: leaving.as_deref(),
        members: None,
        config_id: present.version,
    };
    let next = present.changed(&change).map_err(|_| {
        let hint = "each member is at an address of its own, and at least one must vote";
        Problem::new("that makes no ensemble").hint(hint)
    })?;
    let changes = changes(&present, &next);
    if changes.is_empty() {
        // A change that changes nothing would still take a version of its own.
        return Ok(format!("{}\n{}Nothing was changed.", present.text(), already(wish, &present)));
    }
    let summary = format!("{}{}", changes.concat(), voters(&present, &next));
    if dry {
        permitted(&client, access)?;
        return Ok(format!("{}\n{summary}\nNothing was changed.", next.published().text()));
    }
    // Only on top of the configuration that was just read: another client may change it, too.
    let done = client.reconfig(joining.as_deref(), leaving.as_deref(), None, present.version);
    let (text, _) = done.wait_for(PATIENCE).map_err(|_| silent(access))?.map_err(|error| refusal(&error))?;
    let text = text.unwrap_or_default();
    Ok(format!("{}\n{summary}", String::from_utf8_lossy(&text)))
}

/// The members that there are.
fn present(client: &Client, access: &Connection) -> Checked<Roster> {
    let config = client.config(None).wait_for(PATIENCE);
    let (text, _) = config.map_err(|_| silent(access))?.map_err(|error| Problem::new(error.to_string()))?;
    text.as_deref().and_then(Roster::parse).ok_or_else(|| {
        Problem::new("this server is no member of an ensemble")
            .hint("name its members by `server.` lines; see docs/ensembles.md")
    })
}

/// A member to be added, in the form in which it is asked for.
fn wanted(text: &str) -> Checked<String> {
    let form = "write it like `4=zk4.example.com:2888;2181`: N=HOST:PORT[:PORT][:observer][;[HOST:]CLIENT-PORT], N from 1 to 255";
    let (number, value) =
        text.split_once('=').ok_or_else(|| Problem::new(format!("`{text}` is no member")).hint(form))?;
    let member = MemberConfig::parse(number, value).and_then(|member| member.check().map(|()| member));
    let member = member.map_err(|what| Problem::new(format!("`{text}` is no member: {what}")).hint(form))?;
    Ok(format!("server.{}={}", member.number, member.published()))
}

/// What changes for each member, a line each.
fn changes(present: &Roster, next: &Roster) -> Vec<String> {
    let (present, next) = (present.published(), next.published());
    let role = |member: &MemberConfig| if member.votes { "votes" } else { "observes" };
    let of_new = next.members().filter_map(|member| match present.member(member.number) {
        None => Some(format!("member {} joins and {}: {member}\n", member.number, role(member))),
        Some(before) if before == member => None,
        Some(before) if (&before.host, before.peer_port) != (&member.host, member.peer_port) => Some(format!(
            "member {} is to be found elsewhere: {before} -> {member}; move it there, for the others dial only that\n",
            member.number
        )),
        Some(before) if before.votes != member.votes => {
            Some(format!("member {} {} from now on\n", member.number, role(member)))
        }
        Some(before) => Some(format!("member {} changes: {before} -> {member}\n", member.number)),
    });
    let of_old = present.members().filter(|member| next.member(member.number).is_none());
    of_new.chain(of_old.map(|member| format!("member {} leaves: {member}\n", member.number))).collect()
}

fn voters(present: &Roster, next: &Roster) -> String {
    let (before, after) = (present.participants().len(), next.participants().len());
    let majority = |voters: usize| voters / 2 + 1;
    format!("voters {before} -> {after}, of which {} -> {} must be there", majority(before), majority(after))
}

/// Why a wish changes nothing.
fn already(wish: &Wish, present: &Roster) -> String {
    match wish {
        Wish::Promote(number) => format!("member {number} is a voter already. "),
        Wish::Add(member) => {
            let number = member.split('=').next().and_then(|number| number.parse().ok()).map(MemberNumber);
            let known = number.and_then(|number| present.member(number));
            known.map_or_else(String::new, |known| {
                format!("member {} is there already, just so. ", known.number)
            })
        }
        Wish::List | Wish::Remove(_) => String::new(),
    }
}

/// Asks for a change on top of a configuration that never existed: the server judges whether this identity may change
/// the members before it judges the rest, and then refuses.
fn permitted(client: &Client, access: &Connection) -> Checked<()> {
    let asked = client.reconfig(None, None, Some(""), i64::MAX);
    match asked.wait_for(PATIENCE).map_err(|_| silent(access))? {
        Err(error) if error.code() == Some(ErrorCode::BadVersion) => Ok(()),
        Err(error) => Err(refusal(&error)),
        Ok(_) => Ok(()),
    }
}

fn connect(access: &Connection) -> Checked<Client> {
    let client = access.open(Options::new())?;
    council_connect::reach(&client, &access.servers, CONNECT)?;
    Ok(client)
}

fn existing(roster: &Roster, number: u64) -> Checked<&MemberConfig> {
    MemberNumber::try_from(number).ok().and_then(|number| roster.member(number)).ok_or_else(|| {
        Problem::new(format!("there is no member {number}"))
            .hint("`diwan member list` shows those that there are")
    })
}

fn silent(access: &Connection) -> Problem {
    Problem::new(format!("no server answers at `{}`", access.servers))
        .hint("name one that serves with `--server HOST:PORT`")
}

fn refusal(error: &council_client::Error) -> Problem {
    let (what, hint) = match error.code() {
        Some(ErrorCode::ReconfigDisabled) => {
            ("members are not changed at run time here", "set `reconfigEnabled=true` for each member")
        }
        Some(ErrorCode::NoAuth) => (
            "this identity may not change the members: it may not write `/zookeeper/config`",
            "show who you are with `--auth digest:super`, which asks for the password; see \
             `DigestAuthenticationProvider.superDigest`",
        ),
        Some(ErrorCode::NewConfigNoQuorum) => (
            "a majority of the members that would vote is not running, or has not caught up",
            "start them first; `diwan status` shows which members run",
        ),
        Some(ErrorCode::ReconfigInProgress) => ("another change is under way", "try again in a moment"),
        Some(ErrorCode::BadVersion) => {
            ("the members were changed by another client meanwhile", "look again, then try again")
        }
        _ => return Problem::new(error.to_string()),
    };
    Problem::new(what).hint(hint)
}
