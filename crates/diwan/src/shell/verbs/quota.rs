//! Verbs about quotas: limits are in nodes below `/zookeeper/quota`, which the client makes.

use council_client::{CreateMode, Error, ErrorCode};

use super::super::Shell;
use super::super::failure::Failure;
use super::super::show::Quota;
use super::super::words::Arguments;
use super::{Done, Next, Verb, path};

const ROOT: &str = "/zookeeper/quota";
const LIMITS: &str = "zookeeper_limits";
const COUNTS: &str = "zookeeper_stats";

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "setquota",
        usage: "setquota -n|-b|-N|-B val path",
        about: "limit all below a node: -n nodes, -b bytes (a warning), -N and -B the same (a refusal)",
        options: &["n=", "b=", "N=", "B="],
        words_min: 1,
        run: set_quota,
    },
    Verb {
        name: "listquota",
        usage: "listquota path",
        about: "show a node's limits and how much is used",
        options: &[],
        words_min: 1,
        run: list_quota,
    },
    Verb {
        name: "delquota",
        usage: "delquota [-n|-b|-N|-B] path",
        about: "take limits off a node, or all of them",
        options: &["n", "b", "N", "B"],
        words_min: 1,
        run: delete_quota,
    },
];

fn set_quota(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let path = path(arguments);
    if path.starts_with(ROOT) {
        return Err(Failure::said(format!("cannot set a quota under the path: {ROOT}")));
    }
    if path == "/" {
        return Err(Failure::said("the root has no quota"));
    }
    if !["n", "b", "N", "B"].iter().any(|option| arguments.has(option)) {
        return Err(Failure::Usage(VERBS[0].usage));
    }
    let mut wanted = Quota::NONE;
    merge(&mut wanted, arguments)?;
    if shell.wait(shell.client.exists(path), path)?.is_none() {
        return Err(Failure::said(format!("{path} does not exist.")));
    }
    refuse_nested(shell, path)?;
    let home = home(path);
    let (limits, counts) = (format!("{home}/{LIMITS}"), format!("{home}/{COUNTS}"));
    if shell.wait(shell.client.exists(&limits), path)?.is_some() {
        let mut quota = read(shell, &limits)?;
        merge(&mut quota, arguments)?;
        warn(shell, &quota, &counts)?;
        shell.wait(shell.client.set_data(&limits, quota.to_string(), -1), path)?;
        return Ok(Next::Go);
    }
    // A failed creation is a transaction too, so what is there already is looked for first.
    let below = home.char_indices().skip(ROOT.len() + 1).filter(|(_, character)| *character == '/');
    for at in below.map(|(at, _)| at).chain([home.len()]) {
        let parent = home.get(..at).unwrap_or(&home);
        if shell.wait(shell.client.exists(parent), parent)?.is_none() {
            make(shell, parent, None)?;
        }
    }
    make(shell, &limits, Some(wanted.to_string()))?;
    make(shell, &counts, Some(Quota::ZERO.to_string()))?;
    warn(shell, &wanted, &counts)?;
    Ok(Next::Go)
}

/// Takes over the limits that were said.
fn merge(quota: &mut Quota, arguments: &Arguments) -> Result<(), Failure> {
    if let Some(text) = arguments.value("n") {
        quota.count = limit(text, 1)?;
    }
    if let Some(text) = arguments.value("b") {
        quota.bytes = limit(text, 0)?;
    }
    if let Some(text) = arguments.value("N") {
        quota.count_hard_limit = Some(limit(text, 1)?);
    }
    if let Some(text) = arguments.value("B") {
        quota.byte_hard_limit = Some(limit(text, 0)?);
    }
    Ok(())
}

fn limit(text: &str, least: i64) -> Result<i64, Failure> {
    match text.parse() {
        Ok(number) if number >= least => Ok(number),
        _ => Err(Failure::said(format!("the quota must be a number not below {least}: {text}"))),
    }
}

/// One quota a way from the root to a leaf, as ZooKeeper's own tool demands.
fn refuse_nested(shell: &Shell<'_>, path: &str) -> Result<(), Failure> {
    let home = home(path);
    let below = match shell.client.subtree(&home) {
        Err(error) if error.is(ErrorCode::NoNode) => Vec::new(),
        found => found.map_err(|error| Failure::Refused(error, path.into()))?,
    };
    let own = format!("{home}/{LIMITS}");
    if let Some(child) = below.iter().filter(|found| **found != own).find_map(|found| owner(found)) {
        return Err(Failure::said(format!("{path} has a child {child} which has a quota")));
    }
    for (at, _) in path.char_indices().skip(1).filter(|(_, character)| *character == '/') {
        let above = path.get(..at).unwrap_or_default();
        let limits = format!("{}/{LIMITS}", self::home(above));
        if shell.wait(shell.client.exists(&limits), path)?.is_some() {
            return Err(Failure::said(format!("{path} has a parent {above} which has a quota")));
        }
    }
    Ok(())
}

/// The node whose limits a path holds.
fn owner(limits: &str) -> Option<&str> {
    limits.strip_prefix(ROOT)?.strip_suffix(LIMITS)?.strip_suffix('/')
}

fn warn(shell: &mut Shell<'_>, quota: &Quota, counts: &str) -> Result<(), Failure> {
    let used = read(shell, counts)?;
    let below = |limit: i64, used: i64| limit > -1 && limit < used;
    if below(quota.count, used.count) || below(quota.count_hard_limit.unwrap_or(-1), used.count) {
        let count = used.count;
        writeln!(shell.out, "[Warning]: the count quota you create is less than the existing count:{count}")?;
    }
    if below(quota.bytes, used.bytes) || below(quota.byte_hard_limit.unwrap_or(-1), used.bytes) {
        let bytes = used.bytes;
        writeln!(shell.out, "[Warning]: the bytes quota you create is less than the existing bytes:{bytes}")?;
    }
    Ok(())
}

fn list_quota(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let path = path(arguments);
    let home = home(path);
    shell.note(&format!("absolute path is {home}/{LIMITS}"))?;
    let limits = match read(shell, &format!("{home}/{LIMITS}")) {
        Err(Failure::Refused(error, _)) if error.is(ErrorCode::NoNode) => return Err(no_quota(path)),
        limits => limits?,
    };
    let counts = read(shell, &format!("{home}/{COUNTS}"))?;
    writeln!(shell.out, "Output quota for {path} {limits}")?;
    writeln!(shell.out, "Output stat for {path} {counts}")?;
    Ok(Next::Go)
}

fn delete_quota(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let path = path(arguments);
    let home = home(path);
    let limits = format!("{home}/{LIMITS}");
    if shell.wait(shell.client.exists(&limits), path)?.is_none() {
        return Err(Failure::said(format!("Quota does not exist for {path}")));
    }
    if ["n", "b", "N", "B"].iter().any(|option| arguments.has(option)) {
        let mut quota = read(shell, &limits)?;
        if arguments.has("n") {
            quota.count = -1;
        }
        if arguments.has("b") {
            quota.bytes = -1;
        }
        if arguments.has("N") {
            quota.count_hard_limit = Some(-1);
        }
        if arguments.has("B") {
            quota.byte_hard_limit = Some(-1);
        }
        shell.wait(shell.client.set_data(&limits, quota.to_string(), -1), path)?;
        return Ok(Next::Go);
    }
    for name in [LIMITS, COUNTS] {
        let child = format!("{home}/{name}");
        shell.wait(shell.client.delete(&child, -1), &child)?;
    }
    trim(shell, &home)
}

/// Deletes nodes below the quota root that hold nothing any more, upwards.
fn trim(shell: &Shell<'_>, home: &str) -> Done {
    let mut path = home;
    while path != ROOT {
        match shell.client.delete(path, -1).wait() {
            Ok(()) => {}
            Err(error) if error.is(ErrorCode::NotEmpty) => break,
            Err(error) => return Err(Failure::Refused(error, path.into())),
        }
        path = path.rsplit_once('/').map_or(ROOT, |(parent, _)| parent);
    }
    Ok(Next::Go)
}

fn home(path: &str) -> String {
    format!("{ROOT}{}", path.trim_end_matches('/'))
}

fn read(shell: &Shell<'_>, path: &str) -> Result<Quota, Failure> {
    let (data, _) = shell.wait(shell.client.data(path), path)?;
    Ok(Quota::parse(&data.unwrap_or_default()))
}

fn make(shell: &Shell<'_>, path: &str, data: Option<String>) -> Result<(), Failure> {
    let acl = [council_client::Acl::open()];
    let data = data.as_deref().map(str::as_bytes);
    match shell.client.create_with(path, data, &acl, CreateMode::Persistent).wait() {
        Ok(_) | Err(Error::Refused { code: ErrorCode::NodeExists, .. }) => Ok(()),
        Err(error) => Err(Failure::Refused(error, path.into())),
    }
}

fn no_quota(path: &str) -> Failure {
    Failure::Said(
        format!("quota for {path} does not exist."),
        Some(format!("`setquota -n 1000 {path}` sets one")),
    )
}
