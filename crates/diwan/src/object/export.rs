//! `diwan object export` and `import`: objects as lines of JSON.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use serde_json::Value;

use super::access::{AccessArguments, ObjectName, Request};
use super::{care, list};
use crate::log::failure::{Done, Failure};

/// Bytes of a line that a server takes.
const LINE_BYTES_MAX: usize = 4 << 20;

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The object.
    #[arg(value_name = "TYPE/NAME", required_unless_present = "all")]
    object: Option<ObjectName>,

    /// All objects, a line for each: each as it is at a moment of its own.
    #[arg(long, conflicts_with = "object")]
    all: bool,

    /// Only those of this type.
    #[arg(long = "type", value_name = "TYPE", requires = "all")]
    kind: Option<String>,

    /// Only those whose names begin so.
    #[arg(long, value_name = "PREFIX", default_value = "", requires = "all")]
    prefix: String,

    /// Where it is written, if not to standard output. The file must not be there.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// What `export` has written.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Another name than it had, of the same type. The file has one object.
    #[arg(long = "as", value_name = "TYPE/NAME")]
    name: Option<ObjectName>,

    /// Leave objects alone that are there; otherwise the first one ends the command.
    #[arg(long)]
    skip_existing: bool,

    #[command(flatten)]
    access: AccessArguments,
}

/// Exports. Of all objects, those that cannot be exported are told and the others are written.
pub(super) fn export(arguments: &ExportArguments, out: &mut impl Write) -> Done {
    let ExportArguments { object, kind, prefix, out: file, access, .. } = arguments;
    let objects = match (object, kind) {
        (Some(object), _) => vec![object.clone()],
        (None, Some(kind)) => named_all(&list::of_type(access, kind, prefix)?),
        (None, None) => named_all(&list::of_all_types(access, prefix)?),
    };
    let Some(file) = file else { return write_all(arguments, &objects, out) };
    let created = File::create_new(file);
    let mut created = created.map_err(|error| unwritable(file, &error))?;
    write_all(arguments, &objects, &mut created)?;
    created.sync_all().map_err(|error| unwritable(file, &error))?;
    writeln!(out, "{} objects are in {}", objects.len(), file.display())?;
    Ok(())
}

fn write_all(arguments: &ExportArguments, objects: &[ObjectName], out: &mut impl Write) -> Done {
    let mut failed = 0;
    for object in objects {
        match care::care(&arguments.access, object, "export", &Value::Object(Default::default()), true) {
            // As it came: a number in it may have more digits than this program reads.
            Ok(reply) => writeln!(out, "{}", reply.text)?,
            Err(Failure::Told(problem)) if arguments.all => {
                // It may have gone meanwhile.
                if !problem.what.starts_with("no-such-object") {
                    failed += 1;
                    eprintln!("{object} is not exported: {}", problem.what);
                }
            }
            Err(failure) => return Err(failure),
        }
    }
    match failed {
        0 => Ok(()),
        1 => Err(Failure::new("one object is not exported: a line above says why")),
        _ => Err(Failure::new(format!("{failed} objects are not exported: lines above say why"))),
    }
}

fn named_all(objects: &[Value]) -> Vec<ObjectName> {
    let named = |object: &Value| {
        let (kind, name) = (object["type"].as_str()?, object["name"].as_str()?);
        Some(ObjectName { kind: kind.into(), name: name.into() })
    };
    objects.iter().filter_map(named).collect()
}

/// Imports: an object for each line.
pub(super) fn import(arguments: &ImportArguments, out: &mut impl Write) -> Done {
    let ImportArguments { file, name, skip_existing, access } = arguments;
    let opened = File::open(file);
    let opened =
        opened.map_err(|error| Failure::new(format!("{} cannot be read: {error}", file.display())))?;
    let lines: Result<Vec<String>, _> = BufReader::new(opened).lines().collect();
    let lines = lines.map_err(|error| Failure::new(format!("{} cannot be read: {error}", file.display())))?;
    let lines: Vec<_> = lines.iter().filter(|line| !line.trim().is_empty()).collect();
    if name.is_some() && lines.len() != 1 {
        return Err(Failure::new(format!(
            "`--as` names one object, and {} has {}",
            file.display(),
            lines.len()
        )));
    }
    let key = drawn_key();
    for (number, line) in (1..).zip(&lines) {
        let (kind, named) = named(line, number)?;
        let object = name.clone().unwrap_or(ObjectName { kind, name: named });
        let headers = vec![
            ("Content-Type", String::from("application/json")),
            ("Idempotency-Key", format!("\"{key}-{number}\"")),
        ];
        let path = format!("{}:import", object.path());
        let request = Request { method: "POST", path, headers, body: line.as_bytes(), is_repeatable: true };
        match access.ask(&request) {
            Ok(_) => writeln!(out, "{object} is imported")?,
            Err(Failure::Told(problem)) if *skip_existing && problem.what.starts_with("exists:") => {
                writeln!(out, "{object} is there already")?;
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(())
}

/// The object of which a line is an export.
fn named(line: &str, number: usize) -> Done<(String, String)> {
    let wrong = |why: &str| Failure::new(format!("line {number} is no export: {why}"));
    if line.len() > LINE_BYTES_MAX {
        return Err(wrong("it is longer than 4 MiB"));
    }
    let json: Value = serde_json::from_str(line).map_err(|_| wrong("it is no JSON"))?;
    let text = |name: &str| json[name].as_str().map(String::from);
    match (json["export"].is_u64(), text("type"), text("name")) {
        (true, Some(kind), Some(name)) => Ok((kind, name)),
        _ => Err(wrong("it has no `export`, `type` and `name`")),
    }
}

/// No other command has it: a copy of a request that comes late does nothing.
fn drawn_key() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("import-{}-{}", std::process::id(), now.as_nanos())
}

fn unwritable(file: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{} cannot be written: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_names_its_object_or_is_none() {
        let line = r#"{"export":1,"type":"lock","name":"a/b","position":7}"#;
        assert!(matches!(named(line, 1), Ok((kind, name)) if kind == "lock" && name == "a/b"));
        for wrong in
            ["", "{", "{}", r#"{"export":"1","type":"lock","name":"a"}"#, r#"{"export":1,"name":"a"}"#]
        {
            assert!(named(wrong, 1).is_err(), "{wrong}");
        }
    }
}
