//! When all is quiet: every member holds the same, and what it holds is what the clients were told.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use client::{Client, CreateMode, ErrorCode, Options, Pending, Stat};

use super::Failure;
use super::members::Ensemble;
use super::writer::{Writer, ephemeral, register};
use crate::peer::word;

/// How long a member may take to let a new client in.
const CONNECT_MAX: Duration = Duration::from_secs(60);
const SESSION: Duration = Duration::from_secs(30);
/// Reads that are under way at once.
const PIPELINE: usize = 500;

/// A member's nodes by path.
type Dump = BTreeMap<String, (Option<Vec<u8>>, Stat)>;

/// The parent of the common queue.
pub(super) fn make_queue(servers: &str) -> Result<(), Failure> {
    let client = connect(servers)?;
    match client.create("/queue", b"", CreateMode::Persistent).wait() {
        Err(error) if !error.is(ErrorCode::NodeExists) => {
            Err(Failure::client("cannot create `/queue`")(error))
        }
        _ => Ok(()),
    }
}

/// Compares these members with each other and with what the writers know; says how many nodes there are.
pub(super) fn judge(ensemble: &Ensemble, members: &[usize], writers: &[Writer]) -> Result<usize, Failure> {
    let mut wrong = Vec::new();
    let mut first: Option<(usize, Dump)> = None;
    for member in members {
        let dump = dump(&ensemble.connect_string(&[*member]))?;
        match &first {
            None => first = Some((*member, dump)),
            Some((other, known)) => wrong.extend(differences(*other, known, *member, &dump)),
        }
    }
    wrong.extend(digests_differ(ensemble, members)?);
    let Some((_, dump)) = first else { return Ok(0) };
    for writer in writers {
        check_writer(&dump, writer, &mut wrong);
    }
    check_queue(&dump, writers, &mut wrong);
    if wrong.is_empty() { Ok(dump.len()) } else { Err(Failure::Broken(wrong)) }
}

fn connect(servers: &str) -> Result<Client, Failure> {
    let client = Options::new().session_timeout(SESSION).connect(servers);
    let client = client.map_err(|error| Failure::broken(error.to_string()))?;
    if client.wait_connected(CONNECT_MAX) {
        Ok(client)
    } else {
        Err(Failure::broken(format!("nobody at {servers} lets a client in for {CONNECT_MAX:?}")))
    }
}

fn dump(server: &str) -> Result<Dump, Failure> {
    let client = connect(server)?;
    client.sync("/").wait().map_err(Failure::client("cannot sync"))?;
    let paths = client.subtree("/").map_err(Failure::client("cannot list all nodes"))?;
    let mut dump = Dump::new();
    let mut under_way: VecDeque<(String, Pending<_>)> = VecDeque::new();
    let mut paths = paths.into_iter().map(|path| path.replace("//", "/"));
    loop {
        while under_way.len() < PIPELINE
            && let Some(path) = paths.next()
        {
            let pending = client.data(&path);
            under_way.push_back((path, pending));
        }
        let Some((path, pending)) = under_way.pop_front() else { return Ok(dump) };
        dump.insert(path, pending.wait().map_err(Failure::client("cannot read a node"))?);
    }
}

fn differences(one: usize, dump: &Dump, other: usize, others: &Dump) -> Vec<String> {
    let paths: std::collections::BTreeSet<_> = dump.keys().chain(others.keys()).collect();
    let differ = paths.into_iter().filter(|path| dump.get(*path) != others.get(*path));
    let tell = |path: &String| {
        let (left, right) = (dump.get(path), others.get(path));
        format!("{path} is {left:?} at member {one}, and {right:?} at member {other}")
    };
    differ.take(3).map(tell).collect()
}

/// The members' digests at the same transactions.
fn digests_differ(ensemble: &Ensemble, members: &[usize]) -> Result<Vec<String>, Failure> {
    let mut known: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for member in members {
        let text = word(ensemble.address(*member), "hash", Duration::from_secs(10));
        let text = text.map_err(Failure::io("the word `hash`"))?;
        for (zxid, digest) in text.lines().filter_map(|line| line.split_once(": ")) {
            let (first, found) = known.entry(zxid.to_owned()).or_insert_with(|| (*member, digest.to_owned()));
            if found != digest {
                wrong.push(format!("the digests at {zxid}: {found} at member {first}, {digest} at {member}"));
            }
        }
    }
    Ok(wrong)
}

fn check_writer(dump: &Dump, writer: &Writer, wrong: &mut Vec<String>) {
    let (name, known) = (writer.name, writer.shared.acknowledged(writer.name));
    match dump.get(&register(name)) {
        Some((_, stat)) if i64::from(stat.version) == i64::try_from(known).unwrap_or(-1) => {}
        found => wrong.push(format!("the register of client {name} is {found:?}, {known} was acknowledged")),
    }
    match dump.get(&ephemeral(name)) {
        Some((_, stat)) if stat.ephemeral_owner == writer.client.session_id() => {}
        found => wrong.push(format!("the ephemeral node of client {name} is {found:?}")),
    }
}

/// Each number at most once, in order, and every acknowledged one.
fn check_queue(dump: &Dump, writers: &[Writer], wrong: &mut Vec<String>) {
    let mut found: Vec<BTreeMap<u64, u32>> = vec![BTreeMap::new(); writers.len()];
    let mut last = vec![0; writers.len()];
    // Names end with ten digits: their order is the order of creation.
    for (path, (data, _)) in dump.range(String::from("/queue/")..String::from("/queue0")) {
        let text = String::from_utf8_lossy(data.as_deref().unwrap_or_default()).into_owned();
        let numbers = text
            .split_once(' ')
            .and_then(|(name, number)| Some((name.parse::<usize>().ok()?, number.parse::<u64>().ok()?)));
        let Some((name, number)) = numbers.filter(|(name, _)| *name < writers.len()) else {
            wrong.push(format!("{path} holds `{text}`"));
            continue;
        };
        if number <= last[name] {
            wrong.push(format!("{path}: number {number} of client {name} stands behind {}", last[name]));
        }
        last[name] = number;
        *found[name].entry(number).or_default() += 1;
    }
    for writer in writers {
        for (number, acknowledged) in &writer.queued {
            let times = found[writer.name].get(number).copied().unwrap_or(0);
            if times > 1 || (times == 0 && *acknowledged) {
                let name = writer.name;
                wrong.push(format!(
                    "number {number} of client {name} took effect {times} times; acknowledged: {acknowledged}"
                ));
            }
        }
    }
}
