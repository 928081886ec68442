//! Verbs that change nodes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use council_client::{Acl, CreateMode, ErrorCode};

use super::super::Shell;
use super::super::failure::Failure;
use super::super::show;
use super::super::words::Arguments;
use super::{Done, Next, Verb, number, path};

/// The longest life of a TTL node, milliseconds: forty bits.
const TTL_MAX: i64 = 0xff_ffff_ffff;

/// Nodes that `deleteall` deletes in one transaction.
const BATCH: usize = 1000;

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "create",
        usage: "create [-s] [-e] [-c] [-t ttl] path [data] [acl]",
        about: "create a node; -s numbered, -e ephemeral, -c container, -t milliseconds to live",
        options: &["s", "e", "c", "t="],
        words_min: 1,
        run: create,
    },
    Verb {
        name: "set",
        usage: "set [-s] [-v version] [-b] path data",
        about: "replace data; -s show the stat, -v only at this version, -b data is base64",
        options: &["s", "v=", "b"],
        words_min: 2,
        run: set,
    },
    Verb {
        name: "delete",
        usage: "delete [-v version] path",
        about: "delete a node; -v only at this version",
        options: &["v="],
        words_min: 1,
        run: delete,
    },
    Verb {
        name: "deleteall",
        usage: "deleteall path [-b batch size]",
        about: "delete a node and all below it; -b so many at once",
        options: &["b="],
        words_min: 1,
        run: delete_all,
    },
    Verb {
        name: "setAcl",
        usage: "setAcl [-s] [-v version] [-R] path acl",
        about: "set the ACL of a node; -s show the stat, -v only at this version, -R also all below",
        options: &["s", "v=", "R"],
        words_min: 2,
        run: set_acl,
    },
];

fn create(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let path = path(arguments);
    let mode = create_mode(arguments)?;
    let acl = match arguments.word(2) {
        Some(text) => show::parse_acl(text).map_err(Failure::said)?,
        None => vec![Acl::open()],
    };
    let data = arguments.word(1).map(str::as_bytes);
    let created = shell.wait(shell.client.create_with(path, data, &acl, mode), path);
    let created = created.map_err(|failure| missing_parent(failure, path))?;
    writeln!(shell.out, "Created {created}")?;
    Ok(Next::Go)
}

/// It is never the node itself that a creation misses.
fn missing_parent(failure: Failure, path: &str) -> Failure {
    match (&failure, path.rsplit_once('/')) {
        (Failure::Refused(error, _), Some((parent, _))) if error.is(ErrorCode::NoNode) => {
            let hint = format!("a parent must exist before its child: `create {parent}`");
            Failure::Said(failure.text(), Some(hint))
        }
        _ => failure,
    }
}

fn create_mode(arguments: &Arguments) -> Result<CreateMode, Failure> {
    let (ephemeral, sequential, container) = (arguments.has("e"), arguments.has("s"), arguments.has("c"));
    let ttl = match arguments.value("t") {
        Some(text) => {
            Some(text.parse().map_err(|_| Failure::said("-t argument must be a number of milliseconds"))?)
        }
        None => None,
    };
    if ttl.is_some_and(|ttl| !(1..=TTL_MAX).contains(&ttl)) {
        return Err(Failure::said(format!("ttl must be positive and cannot be larger than: {TTL_MAX}")));
    }
    if container && (ephemeral || sequential) {
        return Err(Failure::said(
            "-c cannot be combined with -s or -e. Containers cannot be ephemeral or sequential.",
        ));
    }
    match (ephemeral, sequential, container, ttl) {
        (true, _, _, Some(_)) => Err(Failure::said("TTLs cannot be used with Ephemeral znodes")),
        (_, _, true, Some(_)) => Err(Failure::said("TTLs cannot be used with Container znodes")),
        (_, _, true, None) => Ok(CreateMode::Container),
        (true, true, _, None) => Ok(CreateMode::EphemeralSequential),
        (true, false, _, None) => Ok(CreateMode::Ephemeral),
        (false, true, _, Some(ttl)) => Ok(CreateMode::TtlSequential(ttl)),
        (false, false, _, Some(ttl)) => Ok(CreateMode::Ttl(ttl)),
        (false, true, _, None) => Ok(CreateMode::PersistentSequential),
        (false, false, _, None) => Ok(CreateMode::Persistent),
    }
}

fn set(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let path = path(arguments);
    let text = arguments.word(1).unwrap_or_default();
    let data = if arguments.has("b") {
        STANDARD.decode(text).map_err(|error| Failure::said(format!("the data is not base64: {error}")))?
    } else {
        text.as_bytes().to_vec()
    };
    let version = version(shell, arguments, 2, "set path data [version]", "set [-v version] path data")?;
    let stat = shell.wait(shell.client.set_data(path, data, version), path)?;
    if arguments.has("s") {
        show::stat(shell.out, &stat)?;
    }
    Ok(Next::Go)
}

fn delete(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let path = path(arguments);
    let version = version(shell, arguments, 1, "delete path [version]", "delete [-v version] path")?;
    shell.wait(shell.client.delete(path, version), path)?;
    Ok(Next::Go)
}

/// The version that is demanded. ZooKeeper's older shells took it as the last word: a user who still writes it there
/// must not change the node at any version.
fn version(
    shell: &mut Shell<'_>,
    arguments: &Arguments,
    place: usize,
    old: &str,
    new: &str,
) -> Result<i32, Failure> {
    let Some(text) = arguments.word(place) else { return number(arguments, "v", -1) };
    shell.note(&format!("'{old}' has been deprecated. Please use '{new}' instead."))?;
    text.parse().map_err(|_| Failure::said(format!("the version must be a number: {text}")))
}

fn delete_all(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let path = path(arguments);
    let batch = number(arguments, "b", BATCH)?;
    shell.client.delete_subtree(path, batch).map_err(|error| Failure::refused(error, path))?;
    Ok(Next::Go)
}

fn set_acl(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let path = path(arguments);
    let acl = show::parse_acl(arguments.word(1).unwrap_or_default()).map_err(Failure::said)?;
    let version = number(arguments, "v", -1)?;
    if arguments.has("R") {
        let paths = shell.client.subtree(path).map_err(|error| Failure::refused(error, path))?;
        let changes: Vec<_> = paths.iter().map(|path| shell.client.set_acl(path, &acl, version)).collect();
        for (path, change) in paths.iter().zip(changes) {
            shell.wait(change, path)?;
        }
        return Ok(Next::Go);
    }
    let stat = shell.wait(shell.client.set_acl(path, &acl, version), path)?;
    if arguments.has("s") {
        show::stat(shell.out, &stat)?;
    }
    Ok(Next::Go)
}
