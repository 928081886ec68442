//! `diwan object dev`: three members on this machine run the type of a folder. Whenever its files change it is built and uploaded,
//! its objects are migrated, and the members' states are compared.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::access::{AccessArguments, ObjectName, Request};
use super::types::{self, short};
use super::{care, list};
use crate::log::failure::{Done, Failure};

const MEMBERS: usize = 3;
/// How long members may take to serve.
const STARTING_MAX: Duration = Duration::from_secs(60);
/// How long they may take to have applied the same.
const SETTLING_MAX: Duration = Duration::from_secs(10);
/// How often files are looked at.
const LOOK: Duration = Duration::from_millis(300);
/// The object that is made if there is none.
const FIRST: &str = "dev";
/// Folders that hold what is built.
const BUILT: [&str; 3] = ["target", ".git", "node_modules"];

#[derive(Debug, Args)]
pub(crate) struct DevArguments {
    /// A folder with a crate of Rust, or a source for a runner.
    #[arg(value_name = "DIR")]
    path: PathBuf,

    /// The type's name [default: as the module says, or the file's].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The runner of a source that is no module: its own module.
    #[arg(long, value_name = "FILE.wasm")]
    runner: Option<PathBuf>,

    /// Arguments of the constructor of the first object, a JSON object.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    arguments: String,

    /// Build, upload and compare once, and end.
    #[arg(long)]
    once: bool,
}

/// Runs until it is interrupted.
pub(super) fn dev(arguments: &DevArguments, out: &mut impl Write) -> Done {
    let is_over = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&is_over))?;
    }
    let mut members = Members::start(&is_over)?;
    writeln!(out, "three members serve objects at {}", members.access.server.join(", "))?;
    loop {
        let seen = newest(&arguments.path)?;
        let done = round(arguments, &members.access, out);
        if arguments.once {
            return done;
        }
        if let Err(failure) = done {
            failure.tell()?;
        }
        writeln!(out, "waiting for changes in `{}`; ctrl-c ends it", arguments.path.display())?;
        out.flush()?;
        while newest(&arguments.path).is_ok_and(|newest| newest == seen) {
            if is_over.load(Ordering::Relaxed) {
                return Ok(());
            }
            members.check()?;
            thread::sleep(LOOK);
        }
    }
}

/// When a file of the folder was changed last, and how many there are.
fn newest(path: &Path) -> Done<(SystemTime, usize)> {
    let unreadable = |error: io::Error| Failure::new(format!("`{}` cannot be read: {error}", path.display()));
    let about = fs::metadata(path).map_err(unreadable)?;
    let mut found = (about.modified()?, 1);
    if !about.is_dir() {
        return Ok(found);
    }
    for entry in fs::read_dir(path).map_err(unreadable)?.flatten() {
        if BUILT.iter().any(|built| entry.file_name() == *built) {
            continue;
        }
        // What was removed meanwhile is no longer of the folder.
        if let Ok((time, files)) = newest(&entry.path()) {
            found = (found.0.max(time), found.1 + files);
        }
    }
    Ok(found)
}

/// Builds and uploads, takes all objects to the new version, and compares the members.
fn round(arguments: &DevArguments, access: &AccessArguments, out: &mut impl Write) -> Done {
    let DevArguments { path, name, runner, .. } = arguments;
    let (name, version) = types::put_path(access, path, name.as_deref(), runner.as_deref(), out)?;
    let objects = list::of_type(access, &name, "")?;
    if objects.is_empty() {
        create(access, &name, &arguments.arguments, out)?;
    }
    for object in objects.iter().filter(|object| object["version"] != version.as_str()) {
        let object = object["name"].as_str().unwrap_or_default();
        let object = ObjectName { kind: name.clone(), name: object.into() };
        care::care(access, &object, "migrate", &json!({ "to": version }), true)?;
        writeln!(out, "{object} migrated to {}", short(&version))?;
    }
    compare(access, out)
}

fn create(access: &AccessArguments, kind: &str, arguments: &str, out: &mut impl Write) -> Done {
    let object = ObjectName { kind: kind.into(), name: FIRST.into() };
    let headers = vec![("Content-Type", String::from("application/json"))];
    let (path, body) = (object.path(), arguments.as_bytes());
    access.ask(&Request { method: "PUT", path, headers, body, is_repeatable: true })?;
    writeln!(out, "{object} created: `diwan object call {object} METHOD --server {}`", access.server[0])?;
    Ok(())
}

/// Whether all members have the same state at the same position.
fn compare(access: &AccessArguments, out: &mut impl Write) -> Done {
    let until = Instant::now() + SETTLING_MAX;
    loop {
        let counts: Vec<Value> = access
            .server
            .iter()
            .map(|server| {
                let one = AccessArguments { server: vec![server.clone()], ..access.clone() };
                one.ask(&Request::get(String::from("/v1/groups")))
                    .map(|reply| reply.body["groups"][0].clone())
            })
            .collect::<Done<_>>()?;
        let positions: Vec<_> = counts.iter().map(|count| count["position"].as_u64()).collect();
        if positions.iter().all(|position| *position == positions[0]) {
            if counts.iter().all(|count| count["digest"] == counts[0]["digest"]) {
                writeln!(out, "all members have the same state")?;
                return Ok(());
            }
            return Err(Failure::hinted(
                "the members have different states: the module's results depend on something else than its calls",
                "this is a mistake of Diwan: report it with the module",
            ));
        }
        if Instant::now() > until {
            return Err(Failure::new(format!("the members are at different positions: {positions:?}")));
        }
        thread::sleep(LOOK / 6);
    }
}

/// Three members, which `diwan up` starts in a folder of their own. Dropping it ends them.
struct Members {
    folder: PathBuf,
    up: Child,
    access: AccessArguments,
}

impl Members {
    fn start(is_over: &AtomicBool) -> Done<Self> {
        let folder = std::env::temp_dir().join(format!("diwan-object-dev-{}", std::process::id()));
        let count = MEMBERS.to_string();
        let mut up = Command::new(std::env::current_exe()?);
        up.args(["up", "--members", &count, "--dir"]).arg(&folder);
        up.args(["--client-port", "0", "--peer-port", "0", "--http-port", "0", "--objects-port", "0"]);
        let up = up.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        let mut members = Self { folder, up, access: AccessArguments::default() };
        let until = Instant::now() + STARTING_MAX;
        while !members.serve() {
            members.check()?;
            if is_over.load(Ordering::Relaxed) || Instant::now() > until {
                let what =
                    format!("the members do not serve: their logs are in `{}`", members.folder.display());
                return Err(Failure::new(what));
            }
            thread::sleep(LOOK / 3);
        }
        Ok(members)
    }

    /// Whether all serve objects.
    fn serve(&mut self) -> bool {
        let addresses = (1..=MEMBERS).map(|member| address(&self.folder.join(member.to_string())));
        let Some(addresses) = addresses.collect::<Option<Vec<_>>>() else { return false };
        let is_ready = |address: &String| {
            let page = crate::http::get(address, "/v1/ready", Duration::from_secs(1), &None);
            page.is_ok()
        };
        let are_ready = addresses.iter().all(is_ready);
        self.access.server = addresses;
        are_ready
    }

    /// Whether they go on.
    fn check(&mut self) -> Done {
        match self.up.try_wait()? {
            Some(status) => Err(Failure::new(format!("`diwan up` has ended: {status}"))),
            None => Ok(()),
        }
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.up.id().cast_signed()) {
            // It may have ended by itself.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let _ = self.up.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Where a member serves objects, as its configuration says.
fn address(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join("diwan.toml")).ok()?;
    let of_objects = text.split("[objects]").nth(1)?;
    let line = of_objects.lines().find_map(|line| line.strip_prefix("listen = \""))?;
    line.strip_suffix('"').map(String::from)
}
