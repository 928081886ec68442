//! How much CPU time the most expensive writes take to apply that the default limits allow.
//!
//! `cargo run --release -p council-tree --example worst`

use base::WallTime;
use std::time::{Duration, Instant};

use council_tree::{
    Changes, Command, CostLimits, IdentityList, Operation, Origin, Outcome, Policy, Stamp, SubOutcome, Tree,
};
use council_wire::{Acl, MultiHeader, OpCode, Request, SessionId, Writer};

/// Bytes of one request, as `jute.maxbuffer` has it.
const REQUEST_BYTES: usize = 1_000_000;
/// Each write is measured so often; the shortest counts.
const ROUNDS: usize = 3;

fn main() {
    println!("{:<58} {:>8} {:>9} {:>9} {:>9}", "write", "bytes", "estimate", "steps", "apply");
    small_creates();
    checks_behind_one_acl();
    checks_behind_many_acls();
    creates_with_auth();
    creates_with_long_acls();
    recounts();
    writes_below_quotas();
    set_of_a_megabyte();
    end_of_a_session();
}

/// CPU time of this thread, where the system tells: what does not change when others use the machine too.
fn cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

struct Bench {
    tree: Tree,
    identities: IdentityList,
    sequence: u64,
}

impl Bench {
    fn new(identities: usize) -> Self {
        let mut list = IdentityList::new();
        for number in 0..identities {
            list.add("digest", &format!("user{number}:fyVmFCwVbTJYrznoSu1koqYEYF0="));
        }
        let mut bench = Self { tree: Tree::seeded(7), identities: list, sequence: 0 };
        bench.apply(Operation::CreateSession { session: SessionId(1), timeout_ms: 1, password: [0; 16] });
        bench
    }

    fn apply(&mut self, operation: Operation<'_>) -> (Outcome, Duration, u64) {
        let client = matches!(operation, Operation::Client { .. });
        self.sequence += u64::from(client);
        let origin = Origin { session: SessionId(1), generation: 1, sequence: self.sequence };
        let mut encoded = Vec::new();
        Command {
            origin: client.then_some(origin),
            policy: Policy::standard(),
            identities: self.identities.identities(),
            operation,
        }
        .encode(&mut encoded);
        self.tree.take_work();
        let (begin, before) = (Instant::now(), cpu());
        let command = Command::decode(&encoded).expect("what was encoded can be decoded");
        let outcome = self.tree.apply(Stamp { time: WallTime::of_ms(1) }, &command, &mut Changes::new());
        let took = cpu().zip(before).map_or_else(|| begin.elapsed(), |(after, before)| after - before);
        (outcome, took, self.tree.take_work())
    }

    fn client(&mut self, opcode: OpCode, body: &[u8]) -> (Duration, u64) {
        let (outcome, took, steps) = self.apply(Operation::Client { opcode, body });
        let failed =
            matches!(&outcome, Outcome::Multi(all) if matches!(all.first(), Some(SubOutcome::Failed(_))));
        assert!(!failed && !matches!(outcome, Outcome::Refused(_) | Outcome::Rejected(_)), "{outcome:?}");
        (took, steps)
    }

    fn create(&mut self, path: &str, acl: &[Acl]) {
        self.client(OpCode::Create, &create_body(path, b"", acl, 0));
    }

    fn estimate(&self, opcode: OpCode, body: &[u8]) -> u64 {
        let request = Request::decode(opcode, body).expect("it is well-formed");
        let cost = self.tree.cost(&request, self.identities.identities(), Policy::standard());
        if let Some(excess) = cost.excess(&CostLimits::default(), self.tree.session(SessionId(1))) {
            println!("-- refused: {excess}");
        }
        cost.steps
    }
}

fn create_body(path: &str, data: &[u8], acl: &[Acl], flags: i32) -> Vec<u8> {
    let mut body = Vec::new();
    let mut writer = Writer::new(&mut body);
    writer.text(path).buffer(Some(data));
    Acl::write_all(acl, &mut writer);
    writer.i32(flags);
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

/// A multi of operations until the request is full or they end.
fn multi(operations: impl Iterator<Item = (OpCode, Vec<u8>)>) -> Vec<u8> {
    let mut body = Vec::new();
    for (opcode, operation) in operations {
        if body.len() + operation.len() + 18 > REQUEST_BYTES {
            break;
        }
        MultiHeader { operation: opcode.code(), done: false, err: -1 }.write(&mut Writer::new(&mut body));
        body.extend_from_slice(&operation);
    }
    MultiHeader::END.write(&mut Writer::new(&mut body));
    body
}

fn entries(count: usize, tag: usize) -> Vec<Acl> {
    let digest = |number| Acl { permissions: 31, scheme: "digest".into(), id: format!("{tag}-{number}:b") };
    (0..count).map(digest).collect()
}

/// Measures a write on fresh trees.
fn measure(name: &str, make: impl Fn() -> Bench, opcode: OpCode, body: &[u8]) {
    let mut best = (Duration::MAX, 0, 0);
    for _ in 0..ROUNDS {
        let mut bench = make();
        let estimate = bench.estimate(opcode, body);
        let (took, steps) = bench.client(opcode, body);
        best = best.min((took, steps, estimate));
    }
    let (took, steps, estimate) = best;
    println!("{name:<58} {:>8} {estimate:>9} {steps:>9} {took:>9.1?}", body.len());
}

fn small_creates() {
    let creates = (0..).map(|n| (OpCode::Create, create_body(&format!("/{n:x}"), b"", &[Acl::open()], 0)));
    measure("multi of the smallest creates", || Bench::new(1), OpCode::Multi, &multi(creates));
}

fn checks_behind_one_acl() {
    let make = || {
        let mut bench = Bench::new(100);
        let own = Acl { permissions: 31, scheme: "auth".into(), id: String::new() };
        bench.create("/p", &[entries(800, 0), vec![own]].concat());
        bench
    };
    let checks = core::iter::repeat_with(|| (OpCode::Check, path_body("/p")));
    measure("multi of checks behind one ACL of 900 entries", make, OpCode::Multi, &multi(checks));
}

fn checks_behind_many_acls() {
    let make = || {
        let mut bench = Bench::new(100);
        let own = Acl {
            permissions: 31,
            scheme: "digest".into(),
            id: "user99:fyVmFCwVbTJYrznoSu1koqYEYF0=".into(),
        };
        for number in 0..2000 {
            bench.create(&format!("/{number}"), &[entries(999, number), vec![own.clone()]].concat());
        }
        bench
    };
    let checks = (0..142).map(|number| (OpCode::Check, path_body(&format!("/{number}"))));
    measure("multi of checks behind 142 ACLs of 1000, 100 identities", make, OpCode::Multi, &multi(checks));
}

fn creates_with_auth() {
    let own = [Acl { permissions: 31, scheme: "auth".into(), id: String::new() }];
    let creates = (0..1000).map(|n| (OpCode::Create, create_body(&format!("/{n:x}"), b"", &own, 0)));
    measure(
        "multi of 1000 creates with `auth`, 100 identities",
        || Bench::new(100),
        OpCode::Multi,
        &multi(creates),
    );
}

fn creates_with_long_acls() {
    let creates = (0..).map(|n| (OpCode::Create, create_body(&format!("/{n:x}"), b"", &entries(1000, n), 0)));
    measure("multi of creates with ACLs of 1000 entries", || Bench::new(1), OpCode::Multi, &multi(creates));
}

fn recounts() {
    let make = || {
        let mut bench = Bench::new(1);
        bench.create("/big", &[Acl::open()]);
        let creates = (0..100_000)
            .map(|n| (OpCode::Create, create_body(&format!("/big/{n}"), b"x", &[Acl::open()], 0)))
            .collect::<Vec<_>>();
        for some in creates.chunks(10_000) {
            bench.client(OpCode::Multi, &multi(some.iter().cloned()));
        }
        bench.create("/zookeeper/quota/big", &[Acl::open()]);
        bench
    };
    let stats = "/zookeeper/quota/big/zookeeper_stats";
    let again =
        [(OpCode::Create, create_body(stats, b"", &[Acl::open()], 0)), (OpCode::Delete, path_body(stats))];
    let body = multi(again.iter().cycle().take(480).cloned());
    measure("multi of 240 quotas begun above 100,000 nodes", make, OpCode::Multi, &body);
}

fn writes_below_quotas() {
    let text = format!("count=0,bytes=0=;{}x=1", "y=1;".repeat(245));
    let make = || {
        let mut bench = Bench::new(1);
        for number in 0..1000 {
            let (top, quota) = (format!("/{number}"), format!("/zookeeper/quota/{number}"));
            bench.create(&top, &[Acl::open()]);
            bench.create(&quota, &[Acl::open()]);
            bench.create(&format!("{quota}/zookeeper_limits"), &[Acl::open()]);
            bench.create(&format!("{quota}/zookeeper_stats"), &[Acl::open()]);
            bench.client(OpCode::SetData, &set_body(&format!("{quota}/zookeeper_stats"), text.as_bytes()));
        }
        bench
    };
    let sets = (0..).map(|number| (OpCode::SetData, set_body(&format!("/{}", number % 1000), b"")));
    measure("multi of sets below 1000 quotas with texts of 1 KB", make, OpCode::Multi, &multi(sets));
}

fn set_of_a_megabyte() {
    let make = || {
        let mut bench = Bench::new(1);
        bench.create("/a", &[Acl::open()]);
        bench
    };
    measure("setData of a megabyte", make, OpCode::SetData, &set_body("/a", &vec![1; REQUEST_BYTES - 20]));
}

fn end_of_a_session() {
    let mut bench = Bench::new(1);
    let creates: Vec<_> = (0..200_000)
        .map(|n| (OpCode::Create, create_body(&format!("/member-{n:08}"), b"", &[Acl::open()], 1)))
        .collect();
    for some in creates.chunks(10_000) {
        bench.client(OpCode::Multi, &multi(some.iter().cloned()));
    }
    let (outcome, took, steps) = bench.apply(Operation::CloseSession { session: SessionId(1) });
    assert_eq!(outcome, Outcome::SessionClosed);
    println!(
        "{:<58} {:>8} {:>9} {steps:>9} {took:>9.1?}",
        "end of a session with 200,000 ephemeral nodes", 0, "-"
    );
}
