//! `diwan force-new-ensemble`: one survivor of a lost majority becomes a new ensemble, after its operator has seen what
//! may be lost. Its objects become a new group with it.
//!
//! Both or neither: the new data of both is whole, beside the old, before a mark says that both take the old data's place.
//! The mark is there until both have, and whoever finds it, this command or a start, goes on where a crash has interrupted.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use council_service::ServerConfig;
use council_service::force_new_ensemble::{self, Survivor};
use objects_service::{ObjectsConfig, revival};

use crate::config::{self, Configuration, OBJECTS_DIRECTORY, Problem, Sources};

/// In the council's directory: what was prepared there takes the place of what is there, and so it does in the objects' directory,
/// which it names. The dot keeps the journal from taking it for something foreign.
const MARK: &str = ".new-ensemble-unfinished";
const MARK_NEW: &str = ".new-ensemble-unfinished.new";

/// What a server of both has.
struct Survivors {
    council: Survivor,
    objects: Option<revival::Survivor>,
    /// Objects that the configuration does not serve.
    left: Option<PathBuf>,
}

/// Says what would be done, or does it.
pub(crate) fn run(sources: &Sources, yes: bool, out: &mut impl Write) -> io::Result<ExitCode> {
    match revive(sources, yes) {
        Ok(survivors) => tell(&survivors, yes, out).map(|()| ExitCode::SUCCESS),
        Err(problems) => {
            problems.iter().for_each(|problem| eprintln!("error: {problem}"));
            Ok(ExitCode::FAILURE)
        }
    }
}

fn revive(sources: &Sources, yes: bool) -> Result<Survivors, Vec<Problem>> {
    let Configuration { council, objects, .. } = config::load(sources).result?;
    let none = || vec![Problem::new("this configuration serves no council").hint("name that of a council")];
    let council = council.ok_or_else(none)?;
    finish(&council).map_err(|what| vec![Problem::new(what)])?;
    let objects = objects.map(|plan| {
        let members = council.ensemble.as_ref().map(|ensemble| vec![(ensemble.number, true)]);
        plan.service_config(Some(&council), members.unwrap_or_default())
    });
    let survivors = if yes { make(&council, objects.as_ref()) } else { inspect(&council, objects.as_ref()) };
    let beside = council.storage.data_dir.parent().map(|node| node.join(OBJECTS_DIRECTORY));
    let left = beside.filter(|directory| objects.is_none() && directory.join("meta").exists());
    survivors.map(|survivors| Survivors { left, ..survivors }).map_err(|problem| vec![problem])
}

fn inspect(council: &ServerConfig, objects: Option<&ObjectsConfig>) -> Result<Survivors, Problem> {
    let of_council = force_new_ensemble::inspect(council).map_err(problem)?;
    let of_objects = objects.map(revival::inspect).transpose().map_err(of_objects)?.flatten();
    Ok(Survivors { council: of_council, objects: of_objects, left: None })
}

fn make(council: &ServerConfig, objects: Option<&ObjectsConfig>) -> Result<Survivors, Problem> {
    let of_council = force_new_ensemble::prepare(council).map_err(problem)?;
    let of_objects = objects.map(revival::prepare).transpose().map_err(of_objects)?.flatten();
    let directory = objects.filter(|_| of_objects.is_some()).map(|objects| objects.data_dir.as_path());
    set_mark(council, directory).map_err(|error| Problem::new(unmarked(council, &error)))?;
    finish(council).map_err(Problem::new)?;
    Ok(Survivors { council: of_council, objects: of_objects, left: None })
}

/// Ends what a crash of this command has interrupted once it was decided, and says so.
///
/// # Errors
/// A directory cannot be used.
pub(crate) fn finish(council: &ServerConfig) -> Result<(), String> {
    let mark = council.storage.data_dir.join(MARK);
    let named = match fs::read(&mark) {
        Ok(named) => named,
        // What is wrong with a directory that is none, the start says.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(()),
        Err(error) => return Err(unmarked(council, &error)),
    };
    force_new_ensemble::ensure_installed(council).map_err(|error| error.to_string())?;
    if !named.is_empty() {
        let objects = PathBuf::from(OsString::from_vec(named));
        revival::ensure_installed(&objects).map_err(|error| error.to_string())?;
    }
    let removed = fs::remove_file(&mark).and_then(|()| sync(&council.storage.data_dir));
    removed.map_err(|error| unmarked(council, &error))
}

/// Says durably that what was prepared in both directories takes its place.
fn set_mark(council: &ServerConfig, objects: Option<&Path>) -> io::Result<()> {
    let directory = &council.storage.data_dir;
    let objects = objects.map(std::path::absolute).transpose()?.unwrap_or_default();
    let new = directory.join(MARK_NEW);
    let mut file = File::create(&new)?;
    file.write_all(objects.as_os_str().as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, directory.join(MARK))?;
    sync(directory)
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn unmarked(council: &ServerConfig, error: &io::Error) -> String {
    let directory = council.storage.data_dir.display();
    format!("`{MARK}` in `{directory}` cannot be read or written: {error}")
}

/// An error of a service, whose hint stands on a line of its own, or behind a semicolon.
fn problem(error: impl std::fmt::Display) -> Problem {
    let text = error.to_string().replace("; hint: ", "\nhint: ");
    match text.split_once("\nhint: ") {
        Some((what, hint)) => Problem::new(what).hint(hint),
        None => Problem::new(text),
    }
}

fn of_objects(error: impl std::fmt::Display) -> Problem {
    let Problem { what, hint } = problem(error);
    let go_on = "nothing was changed; to go on without the objects, move their directory away";
    Problem::new(format!("the objects: {what}"))
        .hint(hint.map_or(go_on.into(), |hint| format!("{hint}; {go_on}")))
}

fn tell_objects(objects: &revival::Survivor, out: &mut impl Write) -> io::Result<()> {
    let revival::Survivor { voters, position, last_index, committed, counts } = objects;
    let [count, sessions, waits, keys] = counts;
    writeln!(out, "objects     {count}; their group had {} voters when its log began", voters.len())?;
    writeln!(out, "            {sessions} sessions, {waits} calls that wait, {keys} keys")?;
    writeln!(out, "            up to position {position}")?;
    writeln!(out, "            log up to entry {last_index}; known to be committed up to {committed}")
}

fn tell_left(left: &Path, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "objects     those in `{}` are left as they are: this configuration serves none\nhint: with \
             `-D objects.listen=HOST:PORT` they begin anew, too",
        left.display()
    )
}

fn tell(survivors: &Survivors, is_done: bool, out: &mut impl Write) -> io::Result<()> {
    let Survivors { council, objects, left } = survivors;
    let Survivor { voters, last_zxid, last_index, committed, nodes, sessions } = council;
    writeln!(out, "voters      {} when its log began", voters.len())?;
    writeln!(out, "znodes      {nodes}")?;
    writeln!(out, "sessions    {sessions}")?;
    writeln!(out, "last zxid   0x{:x}", last_zxid.0)?;
    writeln!(out, "log         up to entry {last_index}; known to be committed up to {committed}")?;
    if let Some(objects) = objects {
        tell_objects(objects, out)?;
    }
    if let Some(left) = left {
        tell_left(left, out)?;
    }
    writeln!(out)?;
    writeln!(
        out,
        "What other members acknowledged and this one never received is lost. What this one received and no majority \
         had acknowledged is kept."
    )?;
    if is_done {
        writeln!(
            out,
            "Done: this member is an ensemble of its own now. Its data as it was is in the newest folder of `put-aside` in \
             each directory: to go back, stop this member and move `meta`, `log` and `snapshot` from there to where they \
             were.\nStart it. The others must not start with the data that they have: two of them could be a majority of \
             the old ensemble, and clients would write to both. Empty their data directories first; then this member lets \
             them in."
        )
    } else {
        let positions = if objects.is_some() { ", and the last position of its objects," } else { "" };
        writeln!(
            out,
            "Nothing was changed. Compare the last zxid{positions} of every member that is left, and take the one with the \
             highest.\nhint: run this again with `--yes` to make an ensemble of this member alone"
        )
    }
}
