//! Verbs that change nodes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use client::{Acl, CreateMode};

use super::super::Shell;
use super::super::failure::Failure;
use super::super::show;
use super::super::words::Arguments;
use super::{Done, Next, Verb, number, path};

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
        about: "say who may do what; -s show the stat, -v only at this version, -R also all below",
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
    let created = shell.wait(shell.client.create_with(path, data, &acl, mode), path)?;
    writeln!(shell.out, "Created {created}")?;
    Ok(Next::Go)
}

fn create_mode(arguments: &Arguments) -> Result<CreateMode, Failure> {
    let (ephemeral, sequential, container) = (arguments.has("e"), arguments.has("s"), arguments.has("c"));
    let ttl = match arguments.value("t") {
        Some(text) => {
            Some(text.parse().map_err(|_| Failure::said("-t argument must be a number of milliseconds"))?)
        }
        None => None,
    };
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
    let stat = shell.wait(shell.client.set_data(path, data, number(arguments, "v", -1)?), path)?;
    if arguments.has("s") {
        show::stat(shell.out, &stat)?;
    }
    Ok(Next::Go)
}

fn delete(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let path = path(arguments);
    shell.wait(shell.client.delete(path, number(arguments, "v", -1)?), path)?;
    Ok(Next::Go)
}

fn delete_all(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let path = path(arguments);
    let batch = number(arguments, "b", BATCH)?;
    shell.client.delete_subtree(path, batch).map_err(|error| Failure::Refused(error, path.into()))?;
    Ok(Next::Go)
}

fn set_acl(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let path = path(arguments);
    let acl = show::parse_acl(arguments.word(1).unwrap_or_default()).map_err(Failure::said)?;
    let version = number(arguments, "v", -1)?;
    if arguments.has("R") {
        let paths = shell.client.subtree(path).map_err(|error| Failure::Refused(error, path.into()))?;
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
