//! `diwan member`: who the members of a running ensemble are to be, seen and changed through one of its servers.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use client::{Client, Options};
use jute::{ErrorCode, Reconfig};
use server::config::Roster;

/// How long a connection may take: longer than a change of leader does.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whom to ask, and as whom.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// The connect string.
    pub(crate) servers: String,
    /// `scheme:credentials`.
    pub(crate) identities: Vec<String>,
}

/// What is wanted.
#[derive(Clone, Debug)]
pub(crate) enum Wish {
    /// To see them.
    List,
    /// `N=HOST:PORT[:observer][;CLIENT-PORT]` joins, or takes that form.
    Add(String),
    /// One leaves.
    Remove(u64),
    /// An observer votes from now on.
    Promote(u64),
}

/// What went wrong, and what to do about it.
struct Trouble(String, Option<&'static str>);

/// Does it, or says what would be done.
pub(crate) fn run(access: &Access, wish: &Wish, dry: bool, out: &mut impl Write) -> io::Result<ExitCode> {
    match attempt(access, wish, dry) {
        Ok(text) => {
            writeln!(out, "{text}")?;
            Ok(ExitCode::SUCCESS)
        }
        Err(Trouble(what, hint)) => {
            eprintln!("error: {what}");
            if let Some(hint) = hint {
                eprintln!("hint: {hint}");
            }
            Ok(ExitCode::FAILURE)
        }
    }
}

fn attempt(access: &Access, wish: &Wish, dry: bool) -> Result<String, Trouble> {
    let client = connect(access)?;
    let config = client.config(None).wait_for(PATIENCE);
    let (text, _) = config.map_err(|_| silent(access))?.map_err(|error| Trouble(error.to_string(), None))?;
    let present = text.as_deref().and_then(Roster::parse);
    let present = present.ok_or_else(|| {
        Trouble(
            String::from("this server is no member of an ensemble"),
            Some("name its members by `server.` lines; see docs/ensembles.md"),
        )
    })?;
    let (joining, leaving) = match wish {
        Wish::List => return Ok(present.text()),
        Wish::Add(member) => (Some(format!("server.{member}")), None),
        Wish::Remove(number) => (None, Some(existing(&present, *number)?.number.to_string())),
        Wish::Promote(number) => {
            let mut member = existing(&present, *number)?.clone();
            member.votes = true;
            (Some(format!("server.{number}={member}")), None)
        }
    };
    let change = Reconfig {
        joining: joining.as_deref(),
        leaving: leaving.as_deref(),
        members: None,
        config_id: present.version,
    };
    let next = present.changed(&change).map_err(|_| {
        Trouble(
            String::from("that makes no ensemble"),
            Some("a member is `N=HOST:PORT[:observer][;CLIENT-PORT]`, N from 1 to 255, each at an address of its own; \
                  somebody must vote"),
        )
    })?;
    let (before, after) = (present.participants().len(), next.participants().len());
    let majority = |voters: usize| voters / 2 + 1;
    let summary = format!(
        "voters {before} -> {after}, of which {} -> {} must be there",
        majority(before),
        majority(after)
    );
    if dry {
        return Ok(format!("{}\n{summary}\nNothing was changed.", next.text()));
    }
    // Only on top of what was just seen: somebody else may be at it, too.
    let done = client.reconfig(joining.as_deref(), leaving.as_deref(), None, present.version);
    let (text, _) = done.wait_for(PATIENCE).map_err(|_| silent(access))?.map_err(|error| refusal(&error))?;
    let text = text.unwrap_or_default();
    Ok(format!("{}\n{summary}", String::from_utf8_lossy(&text)))
}

fn connect(access: &Access) -> Result<Client, Trouble> {
    let mut options = Options::new();
    for identity in &access.identities {
        let (scheme, credentials) = identity.split_once(':').ok_or_else(|| {
            Trouble(
                String::from("an identity without a scheme"),
                Some("write it like `digest:user:password`"),
            )
        })?;
        options = options.identity(scheme, credentials.as_bytes());
    }
    let client = options.connect(&access.servers).map_err(|error| Trouble(error.to_string(), None))?;
    if client.wait_connected(CONNECT) { Ok(client) } else { Err(silent(access)) }
}

fn existing(roster: &Roster, number: u64) -> Result<&server::config::MemberConfig, Trouble> {
    roster.member(number).ok_or_else(|| {
        Trouble(
            format!("there is no member {number}"),
            Some("`diwan member list` shows those that there are"),
        )
    })
}

fn silent(access: &Access) -> Trouble {
    Trouble(
        format!("no server answers at `{}`", access.servers),
        Some("name one that serves with `--server HOST:PORT`"),
    )
}

fn refusal(error: &client::Error) -> Trouble {
    let (what, hint) = match error.code() {
        Some(ErrorCode::ReconfigDisabled) => {
            ("members are not changed at run time here", "set `reconfigEnabled=true` for each member")
        }
        Some(ErrorCode::NoAuth) => (
            "nobody but who may write `/zookeeper/config` may do this",
            "show who you are with `--auth digest:super:PASSWORD`; see \
             `DigestAuthenticationProvider.superDigest`",
        ),
        Some(ErrorCode::NewConfigNoQuorum) => (
            "a majority of those who would vote is not there, or has not caught up",
            "start them first; `diwan status` shows who is there",
        ),
        Some(ErrorCode::ReconfigInProgress) => ("another change is under way", "try again in a moment"),
        Some(ErrorCode::BadVersion) => {
            ("somebody else changed the members meanwhile", "look again, then try again")
        }
        _ => return Trouble(error.to_string(), None),
    };
    Trouble(String::from(what), Some(hint))
}
