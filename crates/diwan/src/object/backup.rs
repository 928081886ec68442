//! `diwan object backup`, `verify` and `restore`: all objects at one position, as a file; and the data of a stopped server out of it.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::{MemberNumber, WallTime};
use clap::Args;
use jiff::Timestamp;
use objects_service::backup::{self, Backup, Summary};
use objects_service::{GroupConfig, ObjectsConfig};

use super::access::{AccessArguments, Request};
use crate::config::{self, Configuration, OBJECTS_DIRECTORY, Problem, Sources};
use crate::http::Page;
use crate::log::failure::{Done, Failure};
use crate::partial::{self, Partial};

/// How long a server may be silent: longer than it gives a snapshot itself.
const PATIENCE: Duration = Duration::from_secs(16 * 60);
const OPTION: &str = "--out";

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// Where the backup is kept. It appears under this name only when it is whole and was checked.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,

    /// Replace a file that is there.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The backup.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// The backup.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The configuration of the server that is to have the objects: a `diwan.toml`, or a `zoo.cfg` taken as it is.
    #[arg(short, long, value_name = "FILE", required_unless_present = "data_dir")]
    config: Option<PathBuf>,

    /// Set a key of the configuration, by ZooKeeper's name or Diwan's own.
    #[arg(short = 'D', value_name = "KEY=VALUE", requires = "config")]
    properties: Vec<String>,

    /// The data directory of a server without a configuration: the objects lie in `objects` below it.
    #[arg(short, long, value_name = "DIRECTORY", conflicts_with = "config")]
    data_dir: Option<PathBuf>,

    /// The number of the member that the data directory is for, if it is one of several.
    #[arg(long, value_name = "N", requires = "data_dir", value_parser = clap::value_parser!(u8).range(1..))]
    member: Option<u8>,
}

/// Has a member take a backup, and keeps it.
pub(super) fn backup(arguments: &BackupArguments, out: &mut impl Write) -> Done {
    let BackupArguments { out: target, force, access } = arguments;
    if !force {
        partial::refuse_existing(target, OPTION)?;
    }
    let mut partial = Partial::create(target, ".part")?;
    let (server, page) = begun(access)?;
    let announced = page.header("diwan-position").and_then(|text| text.parse::<u64>().ok());
    receive(&server, page, &mut partial)?;
    let summary = match backup::read(&partial.path) {
        Ok(backup) => backup.summary,
        Err(error) => {
            let what = format!("what `{server}` sent is no sound backup: {error}");
            return Err(Failure::hinted(what, "nothing was kept; run it again"));
        }
    };
    if announced != Some(summary.position) {
        let sent = summary.position;
        return Err(Failure::new(format!("`{server}` announced position {announced:?} and sent {sent}")));
    }
    partial.publish(target, *force, OPTION)?;
    Ok(tell(out, target, &summary)?)
}

/// The first server that gives a backup.
fn begun(access: &AccessArguments) -> Done<(String, Page)> {
    let mut last = None;
    for server in &access.server {
        match access.open(server, &Request::get("/v1/backup".into()), PATIENCE) {
            Ok(page) => return Ok((server.clone(), page)),
            Err(Failure::Told(problem)) if is_for_another(&problem) => last = Some(Failure::Told(problem)),
            Err(failure) => return Err(failure),
        }
    }
    Err(last.unwrap_or_else(|| Failure::new("no server is named")))
}

/// Whether another member may do what this one does not.
fn is_for_another(problem: &Problem) -> bool {
    let passing = ["objects cannot be reached", "no-leader:", "rate:", "type-not-ready:", "disk-full:"];
    passing.iter().any(|begin| problem.what.starts_with(begin))
}

fn receive(server: &str, page: Page, partial: &mut Partial) -> Done {
    let mut body = page.into_body();
    let mut buffer = vec![0; 256 << 10];
    loop {
        let count = body.read(&mut buffer).map_err(|error| {
            let what = format!("the backup of `{server}` broke off: {error}");
            Failure::hinted(what, "nothing was kept; run it again, or name another server")
        })?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
        partial.file.write_all(bytes).map_err(|error| partial::unwritable(&partial.path, &error))?;
    }
}

/// Checks a file as a whole, and says what it holds.
pub(super) fn verify(VerifyArguments { file }: &VerifyArguments, out: &mut impl Write) -> Done {
    let backup = read(file)?;
    Ok(tell(out, file, &backup.summary)?)
}

fn read(file: &Path) -> Done<Backup> {
    backup::read(file).map_err(|error| {
        Failure::hinted(format!("`{}` is no backup: {error}", file.display()), "nothing was changed")
    })
}

/// Makes the objects of a stopped server of it.
pub(super) fn restore(arguments: &RestoreArguments, out: &mut impl Write) -> Done {
    let backup = read(&arguments.file)?;
    let config = target(arguments)?;
    let (summary, since) = (backup.summary, SystemTime::now().duration_since(UNIX_EPOCH));
    let now = WallTime::of_ms(since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)));
    let position = backup::restore(backup, &config, now).map_err(told)?;
    tell(out, &arguments.file, &summary)?;
    let directory = config.data_dir.display();
    writeln!(out, "restored  {directory}, to go on behind position {position}\n")?;
    match &config.group {
        None => writeln!(out, "Next: start the server.")?,
        Some(group) => writeln!(
            out,
            "Next:\n  1. see that no other member runs, and that their `objects` directories are moved away\n  2. start member {}, \
             and wait until `diwan object list` answers there\n  3. start each of the others without an `objects` directory: it \
             is let in\nWhat other members still have of the old group is refused by the new one.",
            group.own
        )?,
    }
    Ok(())
}

/// Where the objects are to lie, and for which member.
fn target(arguments: &RestoreArguments) -> Done<ObjectsConfig> {
    if let Some(data_dir) = &arguments.data_dir {
        let group = arguments.member.map(|number| GroupConfig {
            own: MemberNumber(number),
            members: vec![(MemberNumber(number), true)],
            election_tick_ms: 0,
            lease_ms: 0,
        });
        return Ok(ObjectsConfig::new(data_dir.join(OBJECTS_DIRECTORY), group));
    }
    let (file, properties) = (arguments.config.clone(), arguments.properties.clone());
    let Configuration { council, objects, .. } =
        config::load(&Sources { file, properties, flags: Vec::new() }).result.map_err(|problems| {
            problems.into_iter().next().unwrap_or_else(|| Problem::new("the configuration is unusable"))
        })?;
    let none = || {
        Failure::hinted(
            "this configuration serves no objects",
            "`-D objects.listen=HOST:PORT` has it serve them",
        )
    };
    let plan = objects.ok_or_else(none)?;
    let members = council.as_ref().and_then(|council| council.ensemble.as_ref());
    let members = members.map(|ensemble| vec![(ensemble.number, true)]).unwrap_or_default();
    Ok(plan.service_config(council.as_ref(), members))
}

/// An error of the service, whose hint stands on a line of its own, or behind a semicolon.
fn told(error: objects_service::StartError) -> Failure {
    let text = error.to_string().replace("; hint: ", "\nhint: ");
    match text.split_once("\nhint: ") {
        Some((what, hint)) => Failure::hinted(what, hint),
        None => Failure::new(text),
    }
}

fn tell(out: &mut impl Write, file: &Path, summary: &Summary) -> io::Result<()> {
    let Summary { position, counts: [objects, sessions, waiting, keys], types, bytes, created, digest } =
        summary;
    let mut text = format!("file      {}\n", file.display());
    if let Ok(taken) = Timestamp::from_millisecond(created.ms()) {
        let _ = writeln!(text, "taken     {taken:.0}");
    }
    let _ = write!(
        text,
        "position  {position}\nobjects   {objects}\nsessions  {sessions}\nwaiting   {waiting}\nkeys      {keys}\ntypes     \
         {types}\nbytes     {bytes}\ndigest    {digest:016x}\n"
    );
    out.write_all(text.as_bytes())
}
