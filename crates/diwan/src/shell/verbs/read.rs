//! Verbs that read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use council_client::{Error, ErrorCode, Watcher};

use super::super::Shell;
use super::super::failure::Failure;
use super::super::show;
use super::super::words::Arguments;
use super::{Done, Next, Verb, path};

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "ls",
        usage: "ls [-s] [-w] [-R] path",
        about: "list children; -s with the stat, -w watch, -R all below",
        options: &["s", "w", "R"],
        words_min: 1,
        run: ls,
    },
    Verb {
        name: "get",
        usage: "get [-s] [-w] [-b] [-x] path",
        about: "show data; -s with the stat, -w watch, -b as base64, -x in hexadecimal",
        options: &["s", "w", "b", "x"],
        words_min: 1,
        run: get,
    },
    Verb {
        name: "stat",
        usage: "stat [-w] path",
        about: "show the stat; -w watch",
        options: &["w"],
        words_min: 1,
        run: stat,
    },
    Verb {
        name: "getAcl",
        usage: "getAcl [-s] path",
        about: "show the ACL of a node; -s with the stat",
        options: &["s"],
        words_min: 1,
        run: get_acl,
    },
    Verb {
        name: "getAllChildrenNumber",
        usage: "getAllChildrenNumber path",
        about: "count all below a node",
        options: &[],
        words_min: 1,
        run: all_children_number,
    },
    Verb {
        name: "getEphemerals",
        usage: "getEphemerals [path]",
        about: "list this session's own ephemeral nodes",
        options: &[],
        words_min: 0,
        run: ephemerals,
    },
    Verb {
        name: "sync",
        usage: "sync path",
        about: "wait until the server has seen all that is committed",
        options: &[],
        words_min: 1,
        run: sync,
    },
];

fn ls(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let path = path(arguments);
    let watcher = watcher(shell, arguments, "ls path [watch]", "ls [-w] path")?;
    if arguments.has("R") {
        return ls_recursive(shell, path, watcher.as_ref());
    }
    let listing = match &watcher {
        Some(watcher) => shell.client.watch_children_and_stat(path, watcher),
        None => shell.client.children_and_stat(path),
    };
    let (mut names, stat) = shell.wait(listing, path)?;
    names.sort();
    writeln!(shell.out, "[{}]", names.join(", "))?;
    if arguments.has("s") {
        show::stat(shell.out, &stat)?;
    }
    Ok(Next::Go)
}

/// The watcher to leave, if one is wanted. ZooKeeper's older shells took a second word for that.
fn watcher(
    shell: &mut Shell<'_>,
    arguments: &Arguments,
    old: &str,
    new: &str,
) -> Result<Option<Watcher>, Failure> {
    let old_form = arguments.word(1).is_some();
    if old_form {
        shell.note(&format!("'{old}' has been deprecated. Please use '{new}' instead."))?;
    }
    Ok(shell.watcher_if(old_form || arguments.has("w"), false))
}

/// All below a node: a node's children one after the other, then what is below each of them.
fn ls_recursive(shell: &mut Shell<'_>, root: &str, watcher: Option<&Watcher>) -> Done {
    let data = match watcher {
        Some(watcher) => shell.client.watch_data(root, watcher),
        None => shell.client.data(root),
    };
    shell.wait(data, root)?;
    writeln!(shell.out, "{root}")?;
    let mut open = vec![String::from(root)];
    while let Some(parent) = open.pop() {
        let listing = match watcher {
            Some(watcher) => shell.client.watch_children(&parent, watcher),
            None => shell.client.children(&parent),
        };
        let mut names = match shell.wait(listing, &parent) {
            // It went while we looked.
            Err(Failure::Refused(error, _)) if error.is(ErrorCode::NoNode) => continue,
            names => names?,
        };
        names.sort();
        let above = parent.trim_end_matches('/');
        let paths: Vec<String> = names.iter().map(|name| format!("{above}/{name}")).collect();
        for path in &paths {
            writeln!(shell.out, "{path}")?;
        }
        open.extend(paths.into_iter().rev());
    }
    Ok(Next::Go)
}

fn get(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let path = path(arguments);
    let reading = match watcher(shell, arguments, "get path [watch]", "get [-s] [-w] path")? {
        Some(watcher) => shell.client.watch_data(path, &watcher),
        None => shell.client.data(path),
    };
    let (data, stat) = shell.wait(reading, path)?;
    let data = data.unwrap_or_else(|| b"null".to_vec());
    if arguments.has("x") {
        writeln!(shell.out, "{}", show::hex_dump(&data))?;
    } else if arguments.has("b") {
        writeln!(shell.out, "{}", STANDARD.encode(&data))?;
    } else {
        shell.out.write_all(&data)?;
        writeln!(shell.out)?;
    }
    if arguments.has("s") {
        show::stat(shell.out, &stat)?;
    }
    Ok(Next::Go)
}

fn stat(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let path = path(arguments);
    let reading = match watcher(shell, arguments, "stat path [watch]", "stat [-w] path")? {
        Some(watcher) => shell.client.watch_exists(path, &watcher),
        None => shell.client.exists(path),
    };
    let Some(stat) = shell.wait(reading, path)? else {
        let error = Error::Refused { code: ErrorCode::NoNode, path: path.into() };
        return Err(Failure::Refused(error, path.into()));
    };
    show::stat(shell.out, &stat)?;
    Ok(Next::Go)
}

fn get_acl(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let (acl, stat) = shell.wait(shell.client.acl(path(arguments)), path(arguments))?;
    show::acl(shell.out, &acl)?;
    if arguments.has("s") {
        show::stat(shell.out, &stat)?;
    }
    Ok(Next::Go)
}

fn all_children_number(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let number = shell.wait(shell.client.all_children_number(path(arguments)), path(arguments))?;
    writeln!(shell.out, "{number}")?;
    Ok(Next::Go)
}

fn ephemerals(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let path = arguments.word(0).unwrap_or("/");
    let mut paths = shell.wait(shell.client.ephemerals(path), path)?;
    paths.sort();
    writeln!(shell.out, "[{}]", paths.join(", "))?;
    Ok(Next::Go)
}

fn sync(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    shell.wait(shell.client.sync(path(arguments)), path(arguments))?;
    writeln!(shell.out, "Sync is OK")?;
    Ok(Next::Go)
}
