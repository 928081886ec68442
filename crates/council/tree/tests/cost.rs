//! What a write costs on a tree, and what the estimate says of it before: the estimate must not be smaller than the
//! cost.

use council_tree::{
    Changes, Command, Cost, CostLimits, Excess, IdentityList, Operation, Origin, Outcome, Policy,
    SnapshotProgress, Stamp, SubOutcome, Tree,
};
use council_wire::{Acl, MultiHeader, OpCode, Request, SessionId, Writer};

const SESSION: SessionId = SessionId(1);
const EPHEMERAL: i32 = 1;

/// A tree, and the session that writes to it.
struct World {
    tree: Tree,
    identities: IdentityList,
    sequence: u64,
}

impl World {
    fn new() -> Self {
        let mut world = Self { tree: Tree::seeded(3), identities: IdentityList::new(), sequence: 0 };
        let opened = Operation::CreateSession { session: SESSION, timeout_ms: 1, password: [0; 16] };
        world.apply(opened);
        world
    }

    fn apply(&mut self, operation: Operation<'_>) -> (Outcome, u64) {
        let client = matches!(operation, Operation::Client { .. });
        self.sequence += u64::from(client);
        let origin = Origin { session: SESSION, generation: 1, sequence: self.sequence };
        let command = Command {
            origin: client.then_some(origin),
            policy: Policy::standard(),
            identities: self.identities.identities(),
            operation,
        };
        self.tree.take_work();
        let outcome = self.tree.apply(Stamp::default(), &command, &mut Changes::new());
        (outcome, self.tree.take_work())
    }

    /// Applies a client's write that must succeed; says how many steps it took.
    fn write(&mut self, opcode: OpCode, body: &[u8]) -> u64 {
        let (outcome, steps) = self.apply(Operation::Client { opcode, body });
        let failed =
            matches!(&outcome, Outcome::Multi(all) if matches!(all.first(), Some(SubOutcome::Failed(_))));
        let refused = matches!(outcome, Outcome::Refused(_) | Outcome::Rejected(_) | Outcome::Dropped(_));
        assert!(!failed && !refused, "{outcome:?}");
        steps
    }

    fn cost(&self, opcode: OpCode, body: &[u8]) -> Cost {
        let request = Request::decode(opcode, body).expect("it is well-formed");
        self.tree.cost(&request, self.identities.identities(), Policy::standard())
    }

    fn excess(&self, opcode: OpCode, body: &[u8]) -> Option<Excess> {
        self.cost(opcode, body).excess(&CostLimits::default(), self.tree.session(SESSION))
    }
}

fn create(path: &str, acl: &[Acl], flags: i32) -> Vec<u8> {
    let mut body = Vec::new();
    let mut writer = Writer::new(&mut body);
    writer.text(path).buffer(Some(b""));
    Acl::write_all(acl, &mut writer);
    writer.i32(flags);
    body
}

fn set_acl(path: &str, acl: &[Acl]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut writer = Writer::new(&mut body);
    writer.text(path);
    Acl::write_all(acl, &mut writer);
    writer.i32(-1);
    body
}

fn set(path: &str) -> Vec<u8> {
    let mut body = Vec::new();
    Writer::new(&mut body).text(path).buffer(Some(b"x")).i32(-1);
    body
}

fn delete(path: &str) -> Vec<u8> {
    let mut body = Vec::new();
    Writer::new(&mut body).text(path).i32(-1);
    body
}

fn multi(operations: impl IntoIterator<Item = (OpCode, Vec<u8>)>) -> Vec<u8> {
    let mut body = Vec::new();
    for (opcode, operation) in operations {
        MultiHeader { operation: opcode.code(), done: false, err: -1 }.write(&mut Writer::new(&mut body));
        body.extend_from_slice(&operation);
    }
    MultiHeader::END.write(&mut Writer::new(&mut body));
    body
}

fn entry(scheme: &str, id: String, permissions: i32) -> Acl {
    Acl { permissions, scheme: scheme.into(), id }
}

/// Entries that no other tag has.
fn entries(count: usize, tag: usize) -> Vec<Acl> {
    (0..count).map(|number| entry("digest", format!("{tag}-{number}:b"), 31)).collect()
}

/// The tree as a member has it that loads a snapshot of this one.
fn reloaded(tree: &mut Tree) -> Tree {
    let (mut snapshot, mut loader) = (Vec::new(), Tree::loader(5));
    tree.snapshot_begin();
    while let SnapshotProgress::More = tree.snapshot_chunk(&mut snapshot, 1 << 20) {}
    loader.chunk(&snapshot).expect("it is sound");
    loader.finish().expect("it is whole")
}

#[test]
fn auth_passes_once_however_many_identities_and_not_many_times() {
    let mut world = World::new();
    for number in 0..100 {
        world.identities.add("digest", &format!("user{number}:fyVmFCwVbTJYrznoSu1koqYEYF0="));
    }
    let auth = |count: i32| -> Vec<_> { (0..count).map(|id| entry("auth", id.to_string(), 31)).collect() };
    assert_eq!(world.excess(OpCode::Create, &create("/a", &auth(1), 0)), None);
    for acl in [auth(9), (1..10).map(|permissions| entry("auth", String::new(), permissions)).collect()] {
        let body = create("/a", &acl, 0);
        assert!(matches!(world.excess(OpCode::Create, &body), Some(Excess::AuthAgain(..))));
        let inside = multi([(OpCode::Create, body)]);
        assert!(matches!(world.excess(OpCode::Multi, &inside), Some(Excess::AuthAgain(..))));
    }
    let mut modest = World::new();
    modest.identities.add("digest", "user:fyVmFCwVbTJYrznoSu1koqYEYF0=");
    assert_eq!(modest.excess(OpCode::Create, &create("/a", &auth(9), 0)), None, "what it adds is little");
}

#[test]
fn estimate_counts_acls_that_the_deletes_of_a_multi_free() {
    let mut world = World::new();
    let paths: Vec<_> = (0..300).map(|number| format!("/{number}")).collect();
    for (tag, path) in paths.iter().enumerate() {
        world.write(OpCode::Create, &create(path, &entries(900, tag), 0));
    }
    let deletes = |count: usize| multi(paths.iter().take(count).map(|path| (OpCode::Delete, delete(path))));
    assert!(matches!(world.excess(OpCode::Multi, &deletes(300)), Some(Excess::Steps(..))));
    let body = deletes(100);
    assert_eq!(world.excess(OpCode::Multi, &body), None);
    let estimate = world.cost(OpCode::Multi, &body).steps;
    let steps = world.write(OpCode::Multi, &body);
    assert!((400_000..=estimate).contains(&steps), "{steps} steps, {estimate} estimated");
}

#[test]
fn ephemeral_bytes_are_the_same_after_a_snapshot_is_loaded() {
    let mut world = World::new();
    world.write(OpCode::Create, &create("/größe", &[Acl::open()], 0));
    for path in ["/größe/ä", "/größe/水", "/plain"] {
        world.write(OpCode::Create, &create(path, &entries(3, 0), EPHEMERAL));
    }
    let bytes = |tree: &Tree| tree.session(SESSION).expect("it is open").ephemeral_bytes();
    let before = bytes(&world.tree);
    assert!(before > 0);
    assert_eq!(bytes(&reloaded(&mut world.tree)), before);
}

/// Creates a node and deletes it, so many times.
fn again(path: &str, times: usize) -> Vec<(OpCode, Vec<u8>)> {
    let pair = [(OpCode::Create, create(path, &[Acl::open()], 0)), (OpCode::Delete, delete(path))];
    pair.into_iter().cycle().take(2 * times).collect()
}

#[test]
fn estimate_of_recounts_counts_what_the_multi_creates() {
    let mut world = World::new();
    for path in ["/q", "/zookeeper/quota/q"] {
        world.write(OpCode::Create, &create(path, &[Acl::open()], 0));
    }
    let operations = |creates: usize, times: usize| {
        let below = (0..creates).map(|number| create(&format!("/q/{number}"), &[Acl::open()], 0));
        let below = below.map(|body| (OpCode::Create, body));
        multi(below.chain(again("/zookeeper/quota/q/zookeeper_stats", times)))
    };
    assert!(matches!(world.excess(OpCode::Multi, &operations(3900, 4000)), Some(Excess::Steps(..))));
    let body = operations(300, 100);
    assert_eq!(world.excess(OpCode::Multi, &body), None);
    let estimate = world.cost(OpCode::Multi, &body).steps;
    let steps = world.write(OpCode::Multi, &body);
    // The first count is not part of the estimate.
    assert!((30_000..=estimate + 301).contains(&steps), "{steps} steps, {estimate} estimated");
}

#[test]
fn estimate_of_recounts_below_zookeeper_counts_quotas_that_have_changed() {
    let mut world = World::new();
    let node = |path: &str| create(path, &[Acl::open()], 0);
    for path in ["/zookeeper/quota/zookeeper", "/zookeeper/quota/zookeeper/quota"] {
        world.write(OpCode::Create, &node(path));
    }
    let quotas: Vec<_> = (0..200).map(|number| format!("/a{number}")).collect();
    for path in &quotas {
        world.write(OpCode::Create, &node(path));
        world.write(OpCode::Create, &node(&format!("/zookeeper/quota{path}")));
        for kind in ["limits", "stats"] {
            world.write(OpCode::Create, &node(&format!("/zookeeper/quota{path}/zookeeper_{kind}")));
        }
    }
    let body = |times: usize| {
        let changed = quotas.iter().map(|path| (OpCode::SetData, set(path)));
        multi(changed.chain(again("/zookeeper/quota/zookeeper/quota/zookeeper_stats", times)))
    };
    let nodes = world.tree.node_count() as u64;
    let estimate = world.cost(OpCode::Multi, &body(20)).steps;
    let steps = world.write(OpCode::Multi, &body(20));
    // Each time the 200 changed quotas are looked at, each five levels deep; the tree of 800 nodes is counted, too.
    assert!((20 * 200 * 2..=estimate + nodes).contains(&steps), "{steps} steps, {estimate} estimated");
    assert!(estimate >= 20 * 200 * 5 + 19 * nodes, "{estimate} estimated");
}

#[test]
fn acls_of_ephemeral_nodes_count_for_their_session() {
    let mut world = World::new();
    let bytes = |tree: &Tree| tree.session(SESSION).expect("it is open").ephemeral_bytes();
    world.write(OpCode::Create, &create("/open", &[Acl::open()], EPHEMERAL));
    assert_eq!(bytes(&world.tree), 5, "the path alone");
    world.write(OpCode::Create, &create("/long", &entries(900, 0), EPHEMERAL));
    assert_eq!(bytes(&world.tree), 5 + 5 + 900 * 64);
    world.write(OpCode::SetAcl, &set_acl("/open", &entries(10, 1)));
    assert_eq!(bytes(&world.tree), 10 + 910 * 64);
    let failing = [(OpCode::Delete, delete("/open")), (OpCode::Delete, delete("/missing"))];
    world.apply(Operation::Client { opcode: OpCode::Multi, body: &multi(failing) });
    assert_eq!(bytes(&world.tree), 10 + 910 * 64, "a multi that fails leaves no trace");
    assert_eq!(bytes(&reloaded(&mut world.tree)), 10 + 910 * 64);
    for path in ["/open", "/long"] {
        world.write(OpCode::Delete, &delete(path));
    }
    assert_eq!(bytes(&world.tree), 0);
}

#[test]
fn acls_of_ephemeral_nodes_are_refused_before_their_session_costs_too_much() {
    let mut world = World::new();
    world.write(OpCode::Create, &create("/own", &[Acl::open()], EPHEMERAL));
    let limits = CostLimits { ephemeral_bytes_max: 100_000, ..CostLimits::default() };
    let excess = |world: &World, opcode, body: &[u8]| {
        world.cost(opcode, body).excess(&limits, world.tree.session(SESSION))
    };
    let second = create("/second", &entries(900, 2), EPHEMERAL);
    let longer = set_acl("/own", &entries(900, 3));
    assert_eq!(excess(&world, OpCode::SetAcl, &longer), None);
    assert_eq!(excess(&world, OpCode::Create, &second), None);
    world.write(OpCode::Create, &create("/first", &entries(900, 1), EPHEMERAL));
    for (opcode, body) in [(OpCode::Create, &second), (OpCode::SetAcl, &longer)] {
        assert!(matches!(excess(&world, opcode, body), Some(Excess::EphemeralBytes(_, 100_000))));
    }
    assert_eq!(excess(&world, OpCode::Create, &create("/other", &entries(900, 2), 0)), None);
    assert_eq!(excess(&world, OpCode::SetAcl, &set_acl("/first", &entries(5, 1))), None, "it gets shorter");
    let tight = CostLimits { ephemeral_bytes_max: 50_000, ..limits };
    let opened = world.cost(OpCode::SetAcl, &set_acl("/own", &[Acl::open()]));
    assert_eq!(opened.excess(&tight, world.tree.session(SESSION)), None, "the open ACL counts nothing");
    // What the end of the session frees counts as work.
    let (_, steps) = world.apply(Operation::CloseSession { session: SESSION });
    assert!(steps >= 900 * 5, "{steps}");
}
