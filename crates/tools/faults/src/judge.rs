//! When all is quiet: every member holds the same, and what it holds is what the clients were told.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use council_client::{Client, CreateMode, ErrorCode, Options, Pending, Stat};
use sim_council::load::PEOPLE;
use tools_testbed::{Ensemble, Failure, word};

use crate::history::{NODES, contended};
use crate::ledger::{Ledger, ephemeral, register};

/// How long a member may take to let a new client in.
const CONNECT_MAX: Duration = Duration::from_secs(60);
const SESSION: Duration = Duration::from_secs(30);
/// Reads that are under way at once.
const PIPELINE: usize = 500;
/// How often all members are read, until nothing changes meanwhile: sessions that clients have left may still end.
const READS_MAX: usize = 10;

/// A member's nodes by path.
type Dump = BTreeMap<String, (Option<Vec<u8>>, Stat)>;

/// Makes what all clients use: the parent of the common queue, and the nodes that all of them write.
pub(super) fn make_common(servers: &str) -> Result<(), Failure> {
    let client = connect(servers)?;
    let mut paths = vec![String::from("/queue")];
    paths.extend((0..NODES).map(contended));
    for path in paths {
        match client.create(&path, b"0", CreateMode::Persistent).wait() {
            Err(error) if !error.is(ErrorCode::NodeExists) => {
                return Err(Failure::client("cannot create what all clients use")(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Compares these members with each other and with what the clients know; says how many nodes there are.
pub(super) fn judge(ensemble: &Ensemble, members: &[usize], ledgers: &[&Ledger]) -> Result<usize, Failure> {
    let dumps = unchanged(members, |member| dump(&ensemble.connect_string(&[member])))?;
    let mut wrong = check(&dumps, ledgers);
    wrong.extend(digests_differ(ensemble, members)?);
    let nodes = dumps.first().map_or(0, |(_, dump)| dump.len());
    if wrong.is_empty() { Ok(nodes) } else { Err(Failure::Broken(wrong)) }
}

/// What each member holds, read while the first did not change. Members are read one after the other: what changes in between
/// would be taken for a difference.
fn unchanged(
    members: &[usize],
    mut read: impl FnMut(usize) -> Result<Dump, Failure>,
) -> Result<Vec<(usize, Dump)>, Failure> {
    let Some(first) = members.first() else { return Ok(Vec::new()) };
    for _ in 0..READS_MAX {
        let dumps = members.iter().map(|member| Ok((*member, read(*member)?)));
        let dumps: Vec<_> = dumps.collect::<Result<_, Failure>>()?;
        if members.len() == 1 || dumps.first().map(|(_, dump)| dump) == Some(&read(*first)?) {
            return Ok(dumps);
        }
    }
    Err(Failure::broken(format!("member {first} changes on and on, though no client writes")))
}

/// What does not hold between members, or between them and what the clients know.
fn check(dumps: &[(usize, Dump)], ledgers: &[&Ledger]) -> Vec<String> {
    let Some(((first, dump), rest)) = dumps.split_first() else { return Vec::new() };
    let mut wrong: Vec<_> =
        rest.iter().flat_map(|(other, others)| differences(*first, dump, *other, others)).collect();
    for ledger in ledgers {
        check_client(dump, ledger, &mut wrong);
    }
    check_queue(dump, ledgers, &mut wrong);
    wrong
}

fn connect(servers: &str) -> Result<Client, Failure> {
    // Witnesses make nodes that not everybody may read.
    let options = PEOPLE.iter().fold(Options::new().session_timeout(SESSION), |options, person| {
        options.identity("digest", person.as_bytes())
    });
    let client = options.connect(servers);
    let client = client.map_err(|error| Failure::broken(error.to_string()))?;
    if client.wait_connected(CONNECT_MAX) {
        Ok(client)
    } else {
        Err(Failure::broken(format!("nobody at {servers} lets a client in for {CONNECT_MAX:?}")))
    }
}

/// What this member holds. A node that is listed and then cannot be found may have ended in between, with a session that a
/// client has left; whether it is listed on and on is looked at.
fn dump(server: &str) -> Result<Dump, Failure> {
    let client = connect(server)?;
    client.sync("/").wait().map_err(Failure::client("cannot sync"))?;
    let mut gone = String::new();
    for _ in 0..READS_MAX {
        match read_all(&client)? {
            Ok(dump) => return Ok(dump),
            Err(path) => gone = path,
        }
    }
    Err(Failure::broken(format!("{server} lists nodes again and again that cannot be read, {gone} the last")))
}

/// All nodes, or the path of one that is listed but cannot be found.
fn read_all(client: &Client) -> Result<Result<Dump, String>, Failure> {
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
        let Some((path, pending)) = under_way.pop_front() else { return Ok(Ok(dump)) };
        match pending.wait() {
            Err(error) if error.is(ErrorCode::NoNode) => return Ok(Err(path)),
            read => dump.insert(path, read.map_err(Failure::client("cannot read a node"))?),
        };
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

fn check_client(dump: &Dump, ledger: &Ledger, wrong: &mut Vec<String>) {
    let (name, known) = (ledger.name, ledger.register);
    match dump.get(&register(name)) {
        Some((_, stat)) if i64::from(stat.version) == i64::try_from(known).unwrap_or(-1) => {}
        found => wrong.push(format!("the register of client {name} is {found:?}, {known} was acknowledged")),
    }
    if let Err(what) = ledger.ephemeral(dump.get(&ephemeral(name)).map(|(_, stat)| stat)) {
        wrong.push(format!("client {name}: {what}"));
    }
}

/// Each number at most once, in order, and every acknowledged one.
fn check_queue(dump: &Dump, ledgers: &[&Ledger], wrong: &mut Vec<String>) {
    let mut found: Vec<BTreeMap<u64, u32>> = vec![BTreeMap::new(); ledgers.len()];
    let mut last = vec![0; ledgers.len()];
    // Names end with ten digits: their order is the order of creation.
    for (path, (data, _)) in dump.range(String::from("/queue/")..String::from("/queue0")) {
        let text = String::from_utf8_lossy(data.as_deref().unwrap_or_default()).into_owned();
        let numbers = text
            .split_once(' ')
            .and_then(|(name, number)| Some((name.parse::<usize>().ok()?, number.parse::<u64>().ok()?)));
        let Some((name, number)) = numbers.filter(|(name, _)| *name < ledgers.len()) else {
            wrong.push(format!("{path} holds `{text}`"));
            continue;
        };
        if number <= last[name] {
            wrong.push(format!("{path}: number {number} of client {name} stands behind {}", last[name]));
        }
        last[name] = number;
        *found[name].entry(number).or_default() += 1;
    }
    for ledger in ledgers {
        for (number, acknowledged) in &ledger.queued {
            let times = found[ledger.name].get(number).copied().unwrap_or(0);
            if times > 1 || (times == 0 && *acknowledged) {
                let name = ledger.name;
                wrong.push(format!(
                    "number {number} of client {name} took effect {times} times; acknowledged: {acknowledged}"
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One client that wrote 2 in its register and put 1 and 2 into the queue; 3 is unknown.
    fn ledger() -> Ledger {
        let mut ledger = Ledger::new(0, 1);
        ledger.session = 7;
        (1..=2).for_each(|version| ledger.written(version).unwrap());
        ledger.queued = vec![(1, true), (2, true), (3, false)];
        ledger
    }

    /// What a member should hold then, with these numbers in the queue.
    fn dump(queue: &[u64]) -> Dump {
        let mut dump = Dump::new();
        let of_version = |version| Stat { version, ..Stat::default() };
        dump.insert(register(0), (Some(b"2".to_vec()), of_version(2)));
        dump.insert(ephemeral(0), (Some(b"0".to_vec()), Stat { ephemeral_owner: 7, ..Stat::default() }));
        for (place, number) in queue.iter().enumerate() {
            let data = format!("0 {number}").into_bytes();
            dump.insert(format!("/queue/n-{place:010}"), (Some(data), of_version(0)));
        }
        dump
    }

    /// What is said of one member that holds this.
    fn said(dump: Dump) -> String {
        check(&[(1, dump)], &[&ledger()]).join("\n")
    }

    #[test]
    fn what_is_as_it_should_be_is_taken() {
        assert_eq!(said(dump(&[1, 2])), "");
        assert_eq!(said(dump(&[1, 2, 3])), "");
        assert!(check(&[(1, dump(&[1, 2])), (2, dump(&[1, 2]))], &[&ledger()]).is_empty());
    }

    #[test]
    fn a_lost_write_is_refused() {
        let mut lost = dump(&[1, 2]);
        lost.insert(register(0), (Some(b"1".to_vec()), Stat { version: 1, ..Stat::default() }));
        assert!(said(lost).contains("2 was acknowledged"));
        assert_eq!(said(dump(&[1])), "number 2 of client 0 took effect 0 times; acknowledged: true");
    }

    #[test]
    fn a_write_that_took_effect_twice_is_refused() {
        let twice = "number 2 of client 0 took effect 2 times; acknowledged: true";
        assert!(said(dump(&[1, 2, 2])).contains(twice));
    }

    #[test]
    fn writes_of_one_client_in_another_order_are_refused() {
        assert_eq!(said(dump(&[2, 1])), "/queue/n-0000000001: number 1 of client 0 stands behind 2");
    }

    #[test]
    fn an_ephemeral_that_is_gone_or_another_sessions_is_refused() {
        let mut gone = dump(&[1, 2]);
        gone.remove(&ephemeral(0));
        assert!(said(gone).starts_with("client 0: its ephemeral node is None"));
        let mut others = dump(&[1, 2]);
        others.insert(ephemeral(0), (None, Stat { ephemeral_owner: 8, ..Stat::default() }));
        assert!(said(others).starts_with("client 0: its ephemeral node is Some"));
    }

    #[test]
    fn change_between_two_reads_is_no_difference_and_one_that_stays_is() {
        let (before, after) = (dump(&[1]), dump(&[1, 2]));
        let mut reads = 0;
        let held = unchanged(&[1, 2], |_| {
            reads += 1;
            Ok(if reads == 1 { before.clone() } else { after.clone() })
        });
        assert!(held.expect("it rests").iter().all(|(_, held)| *held == after));
        assert_eq!(reads, 6);
        let held = unchanged(&[1, 2], |member| Ok(if member == 1 { before.clone() } else { after.clone() }));
        let held = held.expect("they rest");
        assert_ne!(held[0].1, held[1].1);
        let mut reads = 0;
        let restless = unchanged(&[1, 2], |_| {
            reads += 1;
            Ok(dump(&(0..reads).collect::<Vec<_>>()))
        });
        assert!(restless.is_err());
    }

    #[test]
    fn members_that_differ_are_refused() {
        let (one, mut other) = (dump(&[1, 2]), dump(&[1, 2]));
        other.insert(String::from("/more"), (None, Stat::default()));
        let wrong = check(&[(1, one), (2, other)], &[&ledger()]);
        assert!(wrong[0].starts_with("/more is None at member 1"), "{wrong:?}");
    }
}
