//! Commands that cost earlier builds hours or all memory to apply, and that may stand in a log: they are applied in
//! bounded time and memory. Counts steps and bytes, not time.

use council_tree::{Changes, Command, IdentityList, Operation, Outcome, Policy, Stamp, SubOutcome, Tree};
use council_wire::{Acl, MultiHeader, OpCode, Writer};
use tools_fuzz::heap;

#[global_allocator]
static ALLOCATOR: heap::Counting = heap::Counting;

/// What applying a command took.
#[derive(Clone, Copy, Debug)]
struct Took {
    steps: u64,
    peak_bytes: usize,
    taken_bytes: usize,
}

/// A tree and who writes to it.
struct World {
    tree: Tree,
    identities: IdentityList,
    policy: Policy,
}

impl World {
    fn new() -> Self {
        Self { tree: Tree::seeded(3), identities: IdentityList::new(), policy: Policy::standard() }
    }

    fn apply(&mut self, opcode: OpCode, body: &[u8]) -> (Outcome, Took) {
        let command = Command {
            origin: None,
            policy: self.policy,
            identities: self.identities.identities(),
            operation: Operation::Client { opcode, body },
        };
        let mut changes = Changes::new();
        self.tree.take_work();
        heap::forget();
        let outcome = self.tree.apply(Stamp::default(), &command, &mut changes);
        let (peak_bytes, taken_bytes) = (heap::peak_bytes(), heap::taken_bytes());
        (outcome, Took { steps: self.tree.take_work(), peak_bytes, taken_bytes })
    }

    fn create(&mut self, path: &str, data: &[u8]) -> Took {
        let (outcome, took) = self.apply(OpCode::Create, &create_body(path, data, &[Acl::open()]));
        assert!(matches!(outcome, Outcome::Created { .. }), "{path}: {outcome:?}");
        took
    }

    fn multi(&mut self, operations: &[(OpCode, Vec<u8>)]) -> (Vec<SubOutcome>, Took) {
        let mut body = Vec::new();
        for (opcode, operation) in operations {
            MultiHeader { operation: opcode.code(), done: false, err: -1 }.write(&mut Writer::new(&mut body));
            body.extend_from_slice(operation);
        }
        MultiHeader::END.write(&mut Writer::new(&mut body));
        match self.apply(OpCode::Multi, &body) {
            (Outcome::Multi(results), took) => (results, took),
            (other, _) => panic!("{other:?}"),
        }
    }

    /// A quota on `/q` whose text is as long as a client likes.
    fn quota(&mut self, text: &str) {
        self.create("/q", b"");
        self.create("/zookeeper/quota/q", b"");
        self.create("/zookeeper/quota/q/zookeeper_limits", b"count=1000000,bytes=-1");
        self.create("/zookeeper/quota/q/zookeeper_stats", b"");
        let body = set_body("/zookeeper/quota/q/zookeeper_stats", text.as_bytes());
        let (outcome, _) = self.apply(OpCode::SetData, &body);
        assert!(matches!(outcome, Outcome::DataSet { .. }), "{outcome:?}");
    }
}

fn create_body(path: &str, data: &[u8], acl: &[Acl]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut writer = Writer::new(&mut body);
    writer.text(path).buffer(Some(data));
    Acl::write_all(acl, &mut writer);
    writer.i32(0);
    body
}

fn set_body(path: &str, data: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    Writer::new(&mut body).text(path).buffer(Some(data)).i32(-1);
    body
}

fn path_body(path: &str) -> Vec<u8> {
    let mut body = Vec::new();
    Writer::new(&mut body).text(path).i32(-1);
    body
}

fn entry(scheme: &str, id: String, permissions: i32) -> Acl {
    Acl { permissions, scheme: scheme.into(), id }
}

/// `1=1;2=1;..`, a quarter of a megabyte of it.
fn long_text() -> String {
    let mut text = String::new();
    for number in 0.. {
        if text.len() >= 250_000 {
            break;
        }
        text += &format!("{number:x}=1;");
    }
    text
}

#[test]
fn quota_text_of_250_kb_is_read_and_written_once_for_3500_writes() {
    let text = long_text();
    let mut world = World::new();
    world.quota(&text);
    let set = (OpCode::SetData, set_body("/q", b""));
    let one = world.multi(std::slice::from_ref(&set)).1;
    // Read it again: the first write brought it into order.
    world.apply(OpCode::SetData, &set_body("/zookeeper/quota/q/zookeeper_stats", text.as_bytes()));
    let (results, took) = world.multi(&vec![set.clone(); 3500]);
    assert_eq!(results.len(), 3500);
    assert!(took.steps <= 150_000, "{took:?}");
    assert!(took.peak_bytes <= 16 << 20, "{took:?}");
    assert!(took.taken_bytes <= one.taken_bytes + 3500 * 2000, "{took:?}, one takes {one:?}");

    // The same, and then it fails.
    let mut failing = vec![set; 3500];
    failing.push((OpCode::Delete, path_body("/missing")));
    let before = world.tree.digest();
    let (results, took) = world.multi(&failing);
    assert!(matches!(results.first(), Some(SubOutcome::Failed(_))));
    assert!(took.steps <= 150_000 && took.peak_bytes <= 4 << 20, "{took:?}");
    let text = world.tree.node("/zookeeper/quota/q/zookeeper_stats").and_then(|node| node.data());
    assert!(text.is_some_and(|text| text.starts_with(b"count=-1,bytes=-1=;")), "usage was counted");
    assert_ne!(world.tree.digest(), before, "the zxid is another");
}

#[test]
fn nonsense_in_quota_texts_is_read_once_for_many_writes() {
    for enforced in [false, true] {
        let mut world = World::new();
        world.quota(&"nonsense".repeat(30_000));
        world.policy = world.policy.with(Policy::ENFORCE_QUOTA, enforced);
        let limits = format!("count=-1,bytes=-1=;{}", long_text());
        world.apply(OpCode::SetData, &set_body("/zookeeper/quota/q/zookeeper_limits", limits.as_bytes()));
        let (_, took) = world.multi(&vec![(OpCode::SetData, set_body("/q", b"")); 3500]);
        assert!(took.steps <= 150_000, "{took:?}");
        assert!(took.taken_bytes <= 40 << 20, "{took:?}");
    }
}

#[test]
fn quota_is_judged_from_numbers_however_many_writes_a_multi_has() {
    let mut world = World::new();
    world.quota(&format!("count=1,bytes=0;{}", long_text()));
    world.policy = world.policy.with(Policy::ENFORCE_QUOTA, true);
    // The multi writes the limits itself, so that those before it are what counts.
    let limits = "/zookeeper/quota/q/zookeeper_limits";
    let mut operations = vec![(OpCode::SetData, set_body(limits, b"count=0,bytes=0=;countHardLimit=0"))];
    let creates = (0..3000).map(|number| create_body(&format!("/q/{number}"), b"", &[Acl::open()]));
    operations.extend(creates.map(|body| (OpCode::Create, body)));
    let (results, took) = world.multi(&operations);
    assert!(matches!(results.last(), Some(SubOutcome::Created { .. })));
    assert!(took.steps <= 150_000, "{took:?}");
    let text = world.tree.node("/zookeeper/quota/q/zookeeper_stats").and_then(|node| node.data());
    assert!(text.is_some_and(|text| text.starts_with(b"count=3001,bytes=0=;")), "usage is wrong");
}

#[test]
fn acl_of_4000_entries_is_judged_once_for_700_checks_of_300_identities() {
    let mut world = World::new();
    for number in 0..300 {
        world.identities.add("digest", &format!("{number}:x"));
    }
    let mut acl: Vec<_> = (0..4000).map(|number| entry("digest", format!("a{number}:b"), 1)).collect();
    acl.push(entry("digest", "299:x".into(), 31));
    let (outcome, _) = world.apply(OpCode::Create, &create_body("/p", b"", &acl));
    assert!(matches!(outcome, Outcome::Created { .. }), "{outcome:?}");
    let (results, took) = world.multi(&vec![(OpCode::Check, path_body("/p")); 700]);
    assert_eq!(results, vec![SubOutcome::Checked; 700]);
    assert!(took.steps <= 50_000, "{took:?}");
    assert!(took.taken_bytes <= 1 << 20, "{took:?}");
}

#[test]
fn acl_of_one_frame_is_stored_or_refused_with_memory_for_its_entries() {
    let count = 40_000;
    let kept: Vec<_> = (0..count).map(|number| entry("ip", "::".into(), number + 32)).collect();
    let mut refused: Vec<_> = (0..count).map(|number| entry("ip", format!("::{number:x}"), 31)).collect();
    refused.push(entry("nobody", String::new(), 31));
    let mut world = World::new();
    let (outcome, took) = world.apply(OpCode::Create, &create_body("/kept", b"", &kept));
    assert!(matches!(outcome, Outcome::Created { .. }), "{outcome:?}");
    assert!(took.peak_bytes <= 24 << 20, "{took:?}");
    let (outcome, took) = world.apply(OpCode::Create, &create_body("/refused", b"", &refused));
    assert_eq!(outcome, Outcome::Refused(council_wire::ErrorCode::InvalidAcl));
    assert!(took.peak_bytes <= 24 << 20, "{took:?}");
    // The same entries twice are the same entries.
    let doubled = [kept.clone(), kept].concat();
    let (outcome, _) = world.apply(OpCode::Create, &create_body("/doubled", b"", &doubled));
    assert!(matches!(outcome, Outcome::Created { .. }), "{outcome:?}");
    assert_eq!(world.tree.node("/doubled").map(|node| node.acl().len()), Some(count as usize));
}

#[test]
fn large_part_of_a_tree_is_counted_once_however_often_a_quota_begins() {
    let mut world = World::new();
    world.create("/big", b"");
    for number in 0..20_000 {
        world.create(&format!("/big/{number}"), b"x");
    }
    world.create("/zookeeper/quota/big", b"");
    let stats = "/zookeeper/quota/big/zookeeper_stats";
    let again =
        [(OpCode::Create, create_body(stats, b"", &[Acl::open()])), (OpCode::Delete, path_body(stats))];
    let operations: Vec<_> = again.iter().cycle().take(2000).cloned().collect();
    let (results, took) = world.multi(&operations);
    assert_eq!(results.len(), 2000);
    assert!(matches!(results.last(), Some(SubOutcome::Deleted)));
    assert!(took.steps <= 25_000, "{took:?}");
    world.create("/big/one-more", b"yy");
    world.create(stats, b"");
    let text = world.tree.node(stats).and_then(|node| node.data());
    assert_eq!(text, Some(&b"count=20002,bytes=20002"[..]));
}

#[test]
fn deep_path_below_many_quotas_costs_its_length() {
    let mut world = World::new();
    let (mut path, mut quota) = (String::new(), String::from("/zookeeper/quota"));
    for level in 0..600 {
        path += "/a";
        quota += "/a";
        world.create(&path, b"");
        world.create(&quota, b"");
        if level % 2 == 0 {
            world.create(&format!("{quota}/zookeeper_limits"), b"count=1000000,bytes=-1");
        }
    }
    let one = world.multi(&[(OpCode::SetData, set_body(&path, b"x"))]).1;
    let (_, took) = world.multi(&vec![(OpCode::SetData, set_body(&path, b"x")); 300]);
    assert!(took.taken_bytes <= 300 * (one.taken_bytes + 1000), "{took:?}, one takes {one:?}");
    assert!(one.taken_bytes <= 20 * path.len() + 20_000, "{one:?}");
}

#[test]
fn multi_keeps_one_old_version_of_a_node_that_it_writes_often() {
    let mut world = World::new();
    world.create("/n", &[1; 100_000]);
    let (_, took) = world.multi(&vec![(OpCode::SetData, set_body("/n", &[2; 100_000])); 50]);
    assert!(took.peak_bytes <= 1 << 20, "{took:?}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn estimate_refuses_what_these_cost_and_lets_honest_writes_pass() {
    use council_tree::{CostLimits, Excess};
    use council_wire::Request;

    let mut world = World::new();
    for number in 0..90 {
        world.identities.add("digest", &format!("{number}:x"));
    }
    let limits = CostLimits::default();
    let excess = |world: &World, opcode, body: &[u8]| {
        let request = Request::decode(opcode, body).expect("it is well-formed");
        world.tree.cost(&request, world.identities.identities(), world.policy).excess(&limits, None)
    };
    let entries = |count: usize| -> Vec<_> {
        (0..count).map(|number| entry("digest", format!("a{number}:b"), 31)).collect()
    };
    let multi = |operations: &[(OpCode, Vec<u8>)]| {
        let mut body = Vec::new();
        for (opcode, operation) in operations {
            MultiHeader { operation: opcode.code(), done: false, err: -1 }.write(&mut Writer::new(&mut body));
            body.extend_from_slice(operation);
        }
        MultiHeader::END.write(&mut Writer::new(&mut body));
        body
    };
    let creates = |count: usize, acl: &[Acl]| -> Vec<_> {
        (0..count).map(|number| (OpCode::Create, create_body(&format!("/{number}"), b"x", acl))).collect()
    };
    let auth = [entry("auth", String::new(), 31)];
    for (opcode, body) in [
        (OpCode::Multi, multi(&creates(10_000, &[Acl::open()]))),
        (OpCode::Multi, multi(&creates(1_000, &auth))),
        (OpCode::Create, create_body("/a", b"", &entries(900))),
        (OpCode::SetData, set_body("/a", &vec![0; 1_000_000])),
    ] {
        assert_eq!(excess(&world, opcode, &body), None);
    }
    let acl: Vec<_> = (0..20).map(|number| entry("auth", String::new(), number)).collect();
    assert_eq!(
        excess(&world, OpCode::Create, &create_body("/a", b"", &acl)),
        Some(Excess::AclEntries(1800, 1000))
    );
    let stats = "/zookeeper/quota/q/zookeeper_stats";
    assert_eq!(
        excess(&world, OpCode::SetData, &set_body(stats, &[b'x'; 5000])),
        Some(Excess::QuotaText(5000, 1024))
    );
    let many = multi(&creates(2_000, &auth));
    assert!(matches!(excess(&world, OpCode::Multi, &many), Some(Excess::Steps(..))));
    // ACLs that an older build let in: to judge one costs little, to judge hundreds is too much.
    for number in 0..60 {
        let acl = [entries(4000), vec![entry("digest", format!("{number}:y"), 31)]].concat();
        world.apply(OpCode::Create, &create_body(&format!("/acl{number}"), b"", &acl));
    }
    let checks = |count: usize| -> Vec<_> {
        (0..count).map(|number| (OpCode::Check, path_body(&format!("/acl{}", number % 60)))).collect()
    };
    assert_eq!(excess(&world, OpCode::Multi, &multi(&checks(30))), None);
    assert_eq!(excess(&world, OpCode::Multi, &multi(&vec![checks(1)[0].clone(); 10_000])), None);
    assert!(matches!(excess(&world, OpCode::Multi, &multi(&checks(60))), Some(Excess::Steps(..))));
}
