//! Multis that delete and create the same nodes, so that slots are used again within one: one that succeeds leaves what
//! its writes leave one by one, one that fails leaves nothing.

mod support;

use council_tree::{Operation, Outcome, Policy, SubOutcome, Tree};
use council_wire::{Acl, OpCode};
use support::{Dice, World, Write, dump, reloaded};

const QUOTA: &str = "/zookeeper/quota";

/// Nodes that come and go: those of two quotas among them, and those that they count.
const PATHS: [&str; 14] = [
    "/a",
    "/a/x",
    "/a/x/deep",
    "/a/y",
    "/b",
    "/b/x",
    "/b/y",
    "/zookeeper/quota/a",
    "/zookeeper/quota/a/zookeeper_limits",
    "/zookeeper/quota/a/zookeeper_stats",
    "/zookeeper/quota/b",
    "/zookeeper/quota/b/zookeeper_limits",
    "/zookeeper/quota/b/zookeeper_stats",
    "/other",
];

fn write(dice: &mut Dice, tree: &Tree) -> Write {
    let path = (*dice.pick(&PATHS)).to_owned();
    let there = tree.node(&path).is_some();
    let data = match path.ends_with("_limits") {
        true => format!("count=-1,bytes=-1=;countHardLimit={}", 50 + dice.below(9)).into_bytes(),
        false => vec![b'x'; dice.below(30)],
    };
    let is_stats = path.ends_with("_stats");
    match dice.below(8) {
        0..3 => Write::Delete { path, version: -1 },
        3 if there && !is_stats => Write::SetData { path, data: Some(data), version: -1 },
        _ => {
            // Ephemeral nodes have no children.
            let flags = i32::from(dice.one_in(4) && (path.ends_with("/y") || path == "/other"));
            let acl = match dice.below(3) {
                0 => vec![Acl { permissions: 31, scheme: "ip".into(), id: "127.0.0.1".into() }, Acl::open()],
                _ => vec![Acl::open()],
            };
            Write::Create { opcode: OpCode::Create, path, data: Some(data), acl, flags, ttl_ms: 0 }
        }
    }
}

/// Writes of which each succeeds behind those before it, tried out one by one.
fn sound(dice: &mut Dice, trial: &mut World, most: usize) -> Vec<Write> {
    let mut writes = Vec::new();
    for _ in 0..most {
        let one = write(dice, &trial.tree);
        if !matches!(trial.write(1, &one).0, Outcome::Refused(_) | Outcome::Rejected(_)) {
            writes.push(one);
        }
    }
    writes
}

/// A node's path, data, ACL and owner.
type Content = (String, Option<Vec<u8>>, Vec<Acl>, i64);

/// What does not depend on how many transactions made it.
fn contents(tree: &Tree) -> Vec<Content> {
    let (mut all, mut paths) = (Vec::new(), vec![String::from("/")]);
    while let Some(path) = paths.pop() {
        let node = tree.node(&path).expect("a listed node is there");
        let above = if path == "/" { "" } else { &path };
        paths.extend(node.children().map(|child| format!("{above}/{child}")));
        let stat = node.stat();
        all.push((path, node.data().map(<[u8]>::to_vec), node.acl().to_vec(), stat.ephemeral_owner));
    }
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

/// What lies below a path, and its bytes, as a quota counts it.
fn usage(tree: &Tree, top: &str) -> (usize, usize) {
    let below = format!("{top}/");
    let counted = contents(tree).into_iter().filter(|(path, ..)| path == top || path.starts_with(&below));
    counted
        .fold((0, 0), |(count, bytes), (_, data, ..)| (count + 1, bytes + data.map_or(0, |data| data.len())))
}

fn sizes(tree: &Tree) -> (usize, usize, usize, usize, usize) {
    let session = tree.sessions().next().expect("one session");
    (
        tree.node_count(),
        tree.approximate_data_size() as usize,
        tree.ephemeral_count(),
        tree.acl_count(),
        session.ephemeral_bytes(),
    )
}

fn world() -> World {
    let mut world = World::new();
    world.open(1, 4_000);
    world
}

#[test]
fn multi_that_succeeds_leaves_what_its_writes_leave_one_by_one() {
    let (mut done, mut counted) = (0, 0);
    for seed in 0..60 {
        let mut dice = Dice::new(seed);
        let (mut at_once, mut one_by_one) = (world(), world());
        for _ in 0..60 {
            let writes = sound(&mut dice, &mut one_by_one, 12);
            if writes.is_empty() {
                continue;
            }
            done += 1;
            let (outcome, _) = at_once.write(1, &Write::Multi(writes.clone()));
            let Outcome::Multi(results) = &outcome else { panic!("{outcome:?}") };
            let failed = results.iter().any(|result| matches!(result, SubOutcome::Failed(_)));
            assert!(!failed, "seed {seed}: {writes:?}: {outcome:?}");
            assert_eq!(contents(&at_once.tree), contents(&one_by_one.tree), "seed {seed}: {writes:?}");
            assert_eq!(sizes(&at_once.tree), sizes(&one_by_one.tree), "seed {seed}: {writes:?}");
            let digest = at_once.tree.digest();
            assert_eq!(
                reloaded(&mut at_once.tree).expect("our own snapshot").digest(),
                digest,
                "seed {seed}"
            );
            counted += usize::from(is_counted(&at_once.tree, "/a"));
        }
    }
    assert!(done > 1_000 && counted > 100, "{done} multis, {counted} with a quota");
}

/// Whether a path has a quota whose stats node was made behind its limits, and so counts from then on: it must count
/// right.
fn is_counted(tree: &Tree, path: &str) -> bool {
    let node = |kind| tree.node(&format!("{QUOTA}{path}/zookeeper_{kind}"));
    let (Some(limits), Some(stats)) = (node("limits"), node("stats")) else { return false };
    if stats.stat().czxid <= limits.stat().czxid {
        return false;
    }
    let (count, bytes) = usage(tree, path);
    let text = format!("count={count},bytes={bytes}");
    assert_eq!(stats.data().map(String::from_utf8_lossy).as_deref(), Some(text.as_str()));
    true
}

#[test]
fn multi_that_fails_behind_deletes_and_creates_leaves_nothing() {
    for seed in 0..60 {
        let mut dice = Dice::new(seed);
        let (mut world, mut trial) = (world(), world());
        for _ in 0..40 {
            let mut writes = sound(&mut dice, &mut trial, 12);
            let before = dump(&world.tree);
            let mut failing = writes.clone();
            failing.push(Write::Check { path: "/missing".into(), version: -1 });
            let (outcome, changes) = world.write(1, &Write::Multi(failing));
            let Outcome::Multi(results) = &outcome else { panic!("{outcome:?}") };
            assert!(
                results.iter().all(|result| matches!(result, SubOutcome::Failed(_))) && changes.is_empty()
            );
            let nodes = |lines: &[String]| {
                lines.iter().filter(|line| line.starts_with('/')).cloned().collect::<Vec<_>>()
            };
            assert_eq!(nodes(&dump(&world.tree)), nodes(&before), "seed {seed}: {writes:?}");
            let digest = world.tree.digest();
            assert_eq!(reloaded(&mut world.tree).expect("our own snapshot").digest(), digest, "seed {seed}");
            // It goes on as if the multi had not run.
            for write in writes.drain(..) {
                world.write(1, &write);
            }
            assert_eq!(contents(&world.tree), contents(&trial.tree), "seed {seed}");
            assert_eq!(sizes(&world.tree), sizes(&trial.tree), "seed {seed}");
        }
    }
}

/// As in ZooKeeper, a multi is judged by the quotas before it, also where the nodes of one lie in the places of another's.
#[test]
fn multi_that_makes_a_quota_in_the_place_of_another_is_not_judged_by_either() {
    let mut world = world();
    let create = |path: &str, data: &str| {
        let (path, data) = (path.to_owned(), Some(data.as_bytes().to_vec()));
        Write::Create { opcode: OpCode::Create, path, data, acl: vec![Acl::open()], flags: 0, ttl_ms: 0 }
    };
    let limits = |path: &str| format!("{QUOTA}{path}/zookeeper_limits");
    for path in ["/a", "/b", "/b/c", "/b/d", "/zookeeper/quota/a", "/zookeeper/quota/b"] {
        world.write(1, &create(path, ""));
    }
    for path in ["/a", "/b"] {
        world.write(1, &create(&format!("{QUOTA}{path}/zookeeper_stats"), ""));
    }
    world.write(1, &create(&limits("/a"), "count=-1,bytes=-1=;countHardLimit=2"));
    world.internal(Operation::FeatureLevel(2));
    world.policy = world.policy.with(Policy::ENFORCE_QUOTA, true);
    let longer = Some(b"count=-1,bytes=-1=;countHardLimit=9".to_vec());
    let multi = Write::Multi(vec![
        Write::SetData { path: limits("/a"), data: longer, version: -1 },
        create("/a/x", ""),
        Write::Delete { path: limits("/a"), version: -1 },
        create(&limits("/b"), "count=-1,bytes=-1=;countHardLimit=4"),
        create("/b/x", ""),
    ]);
    let Outcome::Multi(results) = world.write(1, &multi).0 else { panic!("a multi") };
    assert!(!results.iter().any(|result| matches!(result, SubOutcome::Failed(_))), "{results:?}");
    let outcome = world.write(1, &create("/b/y", "")).0;
    assert_eq!(outcome, Outcome::Refused(council_wire::ErrorCode::QuotaExceeded), "from then on it counts");
}
