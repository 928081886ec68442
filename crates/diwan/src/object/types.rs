//! `diwan object type` and `put`: types that users make.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use objects_state::{DESCRIPTION_SECTION, custom_section};
use serde_json::{Value, json};

use super::access::{AccessArguments, Request, escaped};
use super::build;
use crate::log::failure::{Done, Failure};
use crate::table;

/// Characters of a version that are shown, and that name one if no other begins so.
const SHORT: usize = 12;
/// How long members may take to compile a version.
const COMPILING_MAX: Duration = Duration::from_secs(600);

/// Commands of types.
#[derive(Debug, Subcommand)]
pub(crate) enum TypeCommand {
    /// Upload a WebAssembly module as a new version of a type.
    Put(FileArguments),
    /// Show the types and their versions.
    List(ListArguments),
    /// Show one type: its versions and what it says of itself.
    Inspect(InspectArguments),
    /// Delete a version that no object has.
    Delete(VersionArguments),
    /// Let objects of a version be created again whose creation has killed members.
    Release(VersionArguments),
}

#[derive(Debug, Args)]
pub(crate) struct FileArguments {
    /// The module.
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,

    /// The type's name [default: as the module says, or the file's].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct PutArguments {
    /// A folder with a crate of Rust or a package of Go, a module, or a source for a runner.
    #[arg(value_name = "DIR|FILE")]
    path: PathBuf,

    /// The type's name [default: as the module says, or the file's].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The runner of a source that is no module: its own module.
    #[arg(long, value_name = "FILE.wasm")]
    runner: Option<PathBuf>,

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
pub(crate) struct InspectArguments {
    /// The type.
    #[arg(value_name = "TYPE")]
    name: String,

    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct VersionArguments {
    /// The type.
    #[arg(value_name = "TYPE")]
    name: String,

    /// The version: as many of its first characters as name no other.
    #[arg(value_name = "VERSION")]
    version: String,

    #[command(flatten)]
    access: AccessArguments,
}

/// Runs one.
pub(super) fn run(command: &TypeCommand, out: &mut impl Write) -> Done {
    match command {
        TypeCommand::Put(arguments) => {
            put_module(&arguments.access, &arguments.file, arguments.name.as_deref(), out).map(drop)
        }
        TypeCommand::List(arguments) => list_types(arguments, out),
        TypeCommand::Inspect(arguments) => inspect(arguments, out),
        TypeCommand::Delete(arguments) => delete(arguments, out),
        TypeCommand::Release(arguments) => release(arguments, out),
    }
}

/// Builds, if there is something to build, and uploads.
pub(super) fn put(arguments: &PutArguments, out: &mut impl Write) -> Done {
    let PutArguments { path, name, runner, access } = arguments;
    put_path(access, path, name.as_deref(), runner.as_deref(), out).map(drop)
}

/// The same. Gives the type's name and its version.
pub(super) fn put_path(
    access: &AccessArguments,
    path: &Path,
    name: Option<&str>,
    runner: Option<&Path>,
    out: &mut impl Write,
) -> Done<(String, String)> {
    if let Some(module) = build::module_of(path)? {
        return put_module(access, &module, name, out);
    }
    let source = build::source_of(path)?;
    let Some(runner) = runner else {
        let what = format!("`{}` is neither a crate of Rust, a package of Go nor a module", source.display());
        return Err(Failure::hinted(what, "name the module of its runner with `--runner FILE.wasm`"));
    };
    put_source(access, (&source, runner), name, out)
}

/// A type's name of a file's.
fn name_of(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    stem.replace(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-', "_")
}

/// Uploads a module. Gives its type's name and its version.
fn put_module(
    access: &AccessArguments,
    file: &Path,
    name: Option<&str>,
    out: &mut impl Write,
) -> Done<(String, String)> {
    let module = fs::read(file).map_err(|error| build::unreadable(file, &error))?;
    let section = custom_section(&module, DESCRIPTION_SECTION);
    let said = section.and_then(|section| serde_json::from_slice::<Value>(section).ok());
    let said = said.as_ref().and_then(|said| said["name"].as_str());
    let name = name.or(said).map_or_else(|| name_of(file), String::from);
    let reply = upload(access, &name, ("application/wasm", &module))?;
    told(&name, &reply, out)
}

fn upload(access: &AccessArguments, name: &str, (kind, body): (&str, &[u8])) -> Done<Value> {
    let headers = vec![("Content-Type", String::from(kind))];
    let path = format!("/v1/types/{}", escaped(name));
    // The same module is the same version, however often it comes.
    let request = Request { method: "POST", path, headers, body, is_repeatable: true };
    let began = Instant::now();
    loop {
        match access.ask(&request) {
            Ok(reply) => return Ok(reply.body),
            Err(_) if began.elapsed() < COMPILING_MAX && is_preparing(access, name) => {
                eprintln!("{name}: the members still compile it, {} s so far", began.elapsed().as_secs());
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// Whether a version of that type has come, and is not ready yet.
fn is_preparing(access: &AccessArguments, name: &str) -> bool {
    let types = user_types(access).unwrap_or_default();
    let versions = types.iter().filter(|kind| kind["name"] == name).map(|kind| &kind["versions"]);
    versions.filter_map(Value::as_array).flatten().any(|version| version["state"] == "preparing")
}

fn told(name: &str, reply: &Value, out: &mut impl Write) -> Done<(String, String)> {
    let version = reply["version"].as_str().unwrap_or_default();
    let state = reply["state"].as_str().unwrap_or_default();
    writeln!(out, "{name} {} {state}", short(version))?;
    Ok((name.into(), version.into()))
}

pub(super) fn short(version: &str) -> &str {
    version.get(..SHORT).unwrap_or(version)
}

/// Uploads a runner, and a source for it.
fn put_source(
    access: &AccessArguments,
    (source, runner): (&Path, &Path),
    name: Option<&str>,
    out: &mut impl Write,
) -> Done<(String, String)> {
    let text = fs::read_to_string(source).map_err(|error| build::unreadable(source, &error))?;
    let (runner, version) = put_module(access, runner, None, out)?;
    let shown = access.ask(&Request::get(format!("/v1/types/{}/{version}", escaped(&runner))))?;
    let body = json!({ "runner": shown.body["module"], "source": text }).to_string();
    let name = name.map_or_else(|| name_of(source), String::from);
    let reply = upload(access, &name, ("application/json", body.as_bytes()))?;
    told(&name, &reply, out)
}

/// The types of users.
fn user_types(access: &AccessArguments) -> Done<Vec<Value>> {
    let reply = access.ask(&Request::get(String::from("/v1/types")))?;
    let types = reply.body["types"].as_array().cloned().unwrap_or_default();
    Ok(types.into_iter().filter(|kind| kind["built_in"] == false).collect())
}

fn list_types(arguments: &ListArguments, out: &mut impl Write) -> Done {
    let types = user_types(&arguments.access)?;
    if arguments.json {
        writeln!(out, "{:#}", json!({ "types": types }))?;
        return Ok(());
    }
    let mut rows = vec![["TYPE", "VERSION", "STATE", "OBJECTS"].map(String::from).to_vec()];
    for kind in &types {
        for version in kind["versions"].as_array().into_iter().flatten() {
            let text = |name: &str| version[name].as_str().unwrap_or_default();
            let is_latest = kind["version"] == version["version"];
            let mut state = String::from(text("state"));
            if is_latest {
                state += ", latest";
            }
            if !text("creations_stopped").is_empty() {
                state += ", creates nothing";
            }
            let name = kind["name"].as_str().unwrap_or_default();
            let objects = version["objects"].as_u64().unwrap_or(0).to_string();
            rows.push(vec![name.into(), short(text("version")).into(), state, objects]);
        }
    }
    table::write(out, 0, &rows)?;
    Ok(())
}

fn inspect(arguments: &InspectArguments, out: &mut impl Write) -> Done {
    let reply = arguments.access.ask(&Request::get(format!("/v1/types/{}", escaped(&arguments.name))))?;
    writeln!(out, "{:#}", reply.body)?;
    Ok(())
}

/// The whole name of a version that begins so.
pub(super) fn version_named(access: &AccessArguments, name: &str, begin: &str) -> Done<String> {
    let reply = access.ask(&Request::get(format!("/v1/types/{}", escaped(name))))?;
    let versions = reply.body["versions"].as_array().cloned().unwrap_or_default();
    let all = versions.iter().filter_map(|version| version["version"].as_str());
    let mut found: Vec<_> = all.filter(|version| version.starts_with(begin)).collect();
    match (found.pop(), found.is_empty()) {
        (Some(version), true) => Ok(version.into()),
        (found, _) => Err(Failure::hinted(
            format!(
                "{} of type `{name}` begins with `{begin}`",
                if found.is_some() { "more than one version" } else { "no version" }
            ),
            "`diwan object type list` shows the versions",
        )),
    }
}

fn release(arguments: &VersionArguments, out: &mut impl Write) -> Done {
    let VersionArguments { name, version, access } = arguments;
    let version = version_named(access, name, version)?;
    let path = format!("/v1/types/{}/{version}:release", escaped(name));
    let request = Request { method: "POST", path, headers: Vec::new(), body: &[], is_repeatable: false };
    let reply = access.ask(&request)?;
    let what = if reply.body["released"] == true { "released" } else { "nothing is stopped of" };
    writeln!(out, "{what} {name} {}", short(&version))?;
    Ok(())
}

fn delete(arguments: &VersionArguments, out: &mut impl Write) -> Done {
    let VersionArguments { name, version, access } = arguments;
    let version = version_named(access, name, version)?;
    let path = format!("/v1/types/{}/{version}", escaped(name));
    let request = Request { method: "DELETE", path, headers: Vec::new(), body: &[], is_repeatable: false };
    access.ask(&request)?;
    writeln!(out, "deleted {name} {}", short(&version))?;
    Ok(())
}
