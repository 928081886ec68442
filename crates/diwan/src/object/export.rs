//! `diwan object export` and `import`: objects as lines of JSON.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read as _, Write};
use std::path::{Path, PathBuf};
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
    let Some(file) = file else { return write_all(arguments, &objects, out)?.done() };
    if file.exists() {
        return Err(unwritable(file, &ErrorKind::AlreadyExists.into()));
    }
    let begun = begun(file);
    let created = match File::create_new(&begun) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let what =
                format!("{} is there: another export writes it, or one was interrupted", begun.display());
            return Err(Failure::hinted(what, "remove it if no export is running"));
        }
        created => created.map_err(|error| unwritable(&begun, &error))?,
    };
    let exported = write_file(arguments, &objects, created, (&begun, file));
    if exported.is_err() {
        // It is of no use, and it may be what has filled the disk.
        let _ = std::fs::remove_file(&begun);
    }
    let exported = exported?;
    let what = if exported.written == 1 { "object is" } else { "objects are" };
    writeln!(out, "{} {what} in {}", exported.written, file.display())?;
    exported.done()
}

/// Where a file is written until it is whole.
fn begun(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// What is there under the name that was asked for is whole.
fn write_file(
    arguments: &ExportArguments,
    objects: &[ObjectName],
    mut created: File,
    (begun, file): (&Path, &Path),
) -> Done<Exported> {
    let exported = write_all(arguments, objects, &mut created)?;
    created.sync_all().map_err(|error| unwritable(begun, &error))?;
    std::fs::rename(begun, file).map_err(|error| unwritable(file, &error))?;
    Ok(exported)
}

/// How many objects were exported, and how many could not be.
#[derive(Default)]
struct Exported {
    /// Fewer than there were if some were deleted meanwhile.
    written: usize,
    failed: usize,
}

impl Exported {
    fn done(&self) -> Done {
        match self.failed {
            0 => Ok(()),
            1 => Err(Failure::new("one object is not exported: a line above says why")),
            failed => Err(Failure::new(format!("{failed} objects are not exported: lines above say why"))),
        }
    }
}

fn write_all(arguments: &ExportArguments, objects: &[ObjectName], out: &mut impl Write) -> Done<Exported> {
    let mut exported = Exported::default();
    for object in objects {
        match care::care(&arguments.access, object, "export", &Value::Object(Default::default()), true) {
            // As it came: a number in it may have more digits than this program reads.
            Ok(reply) => {
                writeln!(out, "{}", reply.text)?;
                exported.written += 1;
            }
            // It has gone meanwhile.
            Err(Failure::Told(problem)) if arguments.all && problem.what.starts_with("no-such-object") => {}
            Err(Failure::Told(problem)) if arguments.all => {
                exported.failed += 1;
                eprintln!("{object} is not exported: {}", problem.what);
            }
            Err(failure) => return Err(failure),
        }
    }
    out.flush()?;
    Ok(exported)
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
    let ImportArguments { file, name, .. } = arguments;
    let unreadable = |error: io::Error| Failure::new(format!("{} cannot be read: {error}", file.display()));
    let mut lines = Lines { reader: BufReader::new(File::open(file).map_err(unreadable)?), number: 0 };
    let key = drawn_key();
    let mut next = lines.next().map_err(unreadable)?;
    if next.is_none() && name.is_some() {
        return Err(Failure::new(format!("`--as` names one object, and {} has none", file.display())));
    }
    while let Some((number, line)) = next {
        next = lines.next().map_err(unreadable)?;
        if name.is_some() && next.is_some() {
            return Err(Failure::new(format!("`--as` names one object, and {} has more", file.display())));
        }
        import_one(arguments, &key, (number, &line), out)?;
    }
    Ok(())
}

/// The lines of a file in which there is something, with their numbers. None of them is kept longer than a server takes it.
struct Lines<R> {
    reader: R,
    number: usize,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> io::Result<Option<(usize, String)>> {
        loop {
            let mut line = Vec::new();
            // One byte more than a line may have, and the end of the line.
            let read = (&mut self.reader).take(LINE_BYTES_MAX as u64 + 2).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            let line = String::from_utf8(line).map_err(|_| {
                io::Error::new(ErrorKind::InvalidData, format!("line {} is no text", self.number))
            })?;
            let line = line.trim_end_matches(['\n', '\r']);
            if line.len() > LINE_BYTES_MAX {
                let why = format!("line {} is longer than 4 MiB", self.number);
                return Err(io::Error::new(ErrorKind::InvalidData, why));
            }
            if !line.trim().is_empty() {
                return Ok(Some((self.number, line.into())));
            }
        }
    }
}

fn import_one(
    ImportArguments { name, skip_existing, access, .. }: &ImportArguments,
    key: &str,
    (number, line): (usize, &str),
    out: &mut impl Write,
) -> Done {
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
    Ok(())
}

/// The object of which a line is an export.
fn named(line: &str, number: usize) -> Done<(String, String)> {
    let wrong = |why: &str| Failure::new(format!("line {number} is no export: {why}"));
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

pub(super) fn unwritable(file: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{} cannot be written: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_one_by_one_and_none_is_longer_than_a_server_takes() {
        let mut lines = Lines { reader: &b"one\n\n  \r\ntwo\r\nthree"[..], number: 0 };
        let mut all = Vec::new();
        while let Some(line) = lines.next().expect("lines") {
            all.push(line);
        }
        assert_eq!(all, [(1, "one".into()), (4, "two".into()), (5, "three".into())]);
        let mut whole = vec![b'x'; LINE_BYTES_MAX];
        whole.push(b'\n');
        let mut lines = Lines { reader: &whole[..], number: 0 };
        assert!(matches!(lines.next(), Ok(Some((1, line))) if line.len() == LINE_BYTES_MAX));
        whole.insert(0, b'x');
        assert!(Lines { reader: &whole[..], number: 0 }.next().is_err());
        whole.resize(4 * LINE_BYTES_MAX, b'x');
        assert!(Lines { reader: &whole[..], number: 0 }.next().is_err());
        assert!(Lines { reader: &b"\xff\n"[..], number: 0 }.next().is_err());
    }

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
