//! A million nodes: what they weigh, and how much CPU time creating, finding, changing, saving and loading them takes.
//!
//! `cargo run --release -p council-tree --example million [nodes]`

use base::WallTime;
use std::time::{Duration, Instant};

use council_tree::{
    Changes, Command, IdentityList, Operation, Origin, Outcome, Policy, SnapshotProgress, Stamp, Tree,
};
use council_wire::{Acl, OpCode, SessionId, Writer};

/// Commands encoded ahead of time, so that only their application is measured.
const BATCH: usize = 10_000;

fn main() {
    let nodes: usize =
        std::env::args().nth(1).map_or(1_000_000, |text| text.parse().expect("a number of nodes"));
    let mut pauses = Pauses { steps: vec![u32::MAX; nodes + 1001], next: 0 };
    let before = resident();
    let mut bench = Bench::new(pauses);
    bench.create_all(nodes);
    println!(
        "memory    {:.1} MB resident more, {:.1} bytes a node",
        (resident() - before) as f64 / 1e6,
        (resident() - before) as f64 / nodes as f64
    );
    bench.find_all(nodes);
    bench.set_some(nodes, 5);
    let snapshot = bench.save(nodes);
    load(&snapshot);
    pauses = core::mem::take(&mut bench.pauses);
    bench.set_some(nodes, 1024);
    for _ in 0..3 {
        pauses.next = 0;
        bench = Bench::new(pauses);
        bench.create_all(nodes);
        bench.set_some(nodes, 5);
        bench.save(nodes);
        pauses = core::mem::take(&mut bench.pauses);
    }
    println!(
        "longest step {:?}: write or piece of a snapshot, the shortest of four rounds each",
        pauses.longest()
    );
}

/// Bytes of memory that the process holds, where the system says so.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap_or_default() * 1024
}

/// CPU time of this thread: what does not change when others use the machine too. Wall time where the system does not
/// tell.
fn cpu(begin: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ')
        .next()
        .and_then(|nanos| nanos.parse().ok())
        .map_or_else(|| begin.elapsed(), Duration::from_nanos)
}

/// 25 bytes, a thousand parents.
fn path(n: usize) -> String {
    format!("/bench/dir-{:05}/n-{:08}", n % 1000, n)
}

/// A walk that looks random and visits every number below a million or so.
fn scatter(n: usize, nodes: usize) -> usize {
    (n.wrapping_mul(7_368_787) + 12_345) % nodes
}

struct Bench {
    tree: Tree,
    identities: IdentityList,
    sequence: u64,
    changes: Changes,
    begin: Instant,
    pauses: Pauses,
}

/// How long each step took by the wall, the shortest of all rounds: what others' use of the machine does to a step in
/// one round, it does not do to the same step in the next.
#[derive(Default)]
struct Pauses {
    steps: Vec<u32>,
    next: usize,
}

impl Pauses {
    fn note(&mut self, took: Duration) {
        let took = u32::try_from(took.as_nanos()).unwrap_or(u32::MAX);
        match self.steps.get_mut(self.next) {
            Some(shortest) => *shortest = took.min(*shortest),
            None => self.steps.push(took),
        }
        self.next += 1;
    }

    fn longest(&self) -> Duration {
        Duration::from_nanos(self.steps.iter().copied().max().unwrap_or_default().into())
    }
}

impl Bench {
    fn new(pauses: Pauses) -> Self {
        let mut identities = IdentityList::new();
        identities.add("ip", "127.0.0.1");
        let mut bench = Self {
            tree: Tree::new(),
            identities,
            sequence: 0,
            changes: Changes::new(),
            begin: Instant::now(),
            pauses,
        };
        let open = Operation::CreateSession { session: SessionId(1), timeout_ms: 30_000, password: [1; 16] };
        let command = Command::internal(open);
        bench.tree.apply(Stamp { time: WallTime::of_ms(0) }, &command, &mut bench.changes);
        bench
    }

    /// Encodes a client's command as the log carries it.
    fn encode(&mut self, opcode: OpCode, body: &[u8]) -> Vec<u8> {
        self.sequence += 1;
        let origin = Origin { session: SessionId(1), generation: 1, sequence: self.sequence };
        let mut encoded = Vec::new();
        Command {
            origin: Some(origin),
            policy: Policy::standard(),
            identities: self.identities.identities(),
            operation: Operation::Client { opcode, body },
        }
        .encode(&mut encoded);
        encoded
    }

    /// Decodes and applies commands; notes how long each took, and tells the CPU time of all.
    fn apply_all(&mut self, batch: &[Vec<u8>]) -> Duration {
        let before = cpu(self.begin);
        for encoded in batch {
            let begin = Instant::now();
            let command = Command::decode(encoded).expect("what was encoded can be decoded");
            let outcome = self.tree.apply(
                Stamp { time: WallTime::of_ms(1_700_000_000_000) },
                &command,
                &mut self.changes,
            );
            self.changes.clear();
            self.pauses.note(begin.elapsed());
            assert!(matches!(outcome, Outcome::Created { .. } | Outcome::DataSet { .. }));
        }
        cpu(self.begin) - before
    }

    fn encode_create(&mut self, path: &str, data: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        let mut writer = Writer::new(&mut body);
        writer.text(path).buffer(Some(data));
        Acl::write_all(&[Acl::open()], &mut writer);
        writer.i32(0);
        self.encode(OpCode::Create, &body)
    }

    fn encode_set(&mut self, path: &str, data: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        Writer::new(&mut body).text(path).buffer(Some(data)).i32(-1);
        self.encode(OpCode::SetData, &body)
    }

    fn create_all(&mut self, nodes: usize) {
        let mut parents = vec![self.encode_create("/bench", b"")];
        parents.extend((0..1000).map(|n| self.encode_create(&format!("/bench/dir-{n:05}"), b"")));
        self.apply_all(&parents);
        let mut spent = Duration::ZERO;
        for first in (0..nodes).step_by(BATCH) {
            let batch: Vec<Vec<u8>> =
                (first..nodes.min(first + BATCH)).map(|n| self.encode_create(&path(n), b"12345")).collect();
            spent += self.apply_all(&batch);
        }
        report("create", nodes, spent);
    }

    fn find_all(&mut self, nodes: usize) {
        let paths: Vec<String> = (0..nodes).map(|n| path(scatter(n, nodes))).collect();
        let before = cpu(self.begin);
        let found = paths
            .iter()
            .filter(|path| self.tree.node(path).is_some_and(|node| node.data().is_some()))
            .count();
        report("find", nodes, cpu(self.begin) - before);
        assert_eq!(found, nodes);
    }

    fn set_some(&mut self, nodes: usize, bytes: usize) {
        let (count, data) = ((nodes / 10).max(1), vec![7; bytes]);
        let batch: Vec<_> = (0..count).map(|n| self.encode_set(&path(scatter(n, nodes)), &data)).collect();
        let spent = self.apply_all(&batch);
        report(&format!("set {bytes} B"), count, spent);
    }

    /// Takes a snapshot with a hundred writes between any two pieces.
    fn save(&mut self, nodes: usize) -> Vec<u8> {
        let (mut snapshot, mut chunk) = (Vec::with_capacity(nodes * 80), Vec::with_capacity(1 << 20));
        let (mut spent, mut side, mut pieces, mut n) = (Duration::ZERO, 0, 0, 0);
        let begin = Instant::now();
        self.tree.snapshot_begin();
        self.pauses.note(begin.elapsed());
        loop {
            let (begin, before) = (Instant::now(), cpu(self.begin));
            let progress = self.tree.snapshot_chunk(&mut chunk, 64 << 10);
            self.pauses.note(begin.elapsed());
            (spent, pieces) = (spent + (cpu(self.begin) - before), pieces + 1);
            snapshot.extend_from_slice(&chunk);
            chunk.clear();
            side = side.max(self.tree.snapshot_side_bytes());
            if let SnapshotProgress::Done { .. } = progress {
                break;
            }
            let batch: Vec<_> =
                (n..n + 100).map(|n| self.encode_set(&path(scatter(n, nodes)), b"other")).collect();
            n += batch.len();
            self.apply_all(&batch);
        }
        report("save", nodes, spent);
        println!(
            "          {:.1} MB in {pieces} pieces, {n} writes meanwhile, {:.1} MB aside at the most",
            snapshot.len() as f64 / 1e6,
            side as f64 / 1e6
        );
        snapshot
    }
}

fn load(snapshot: &[u8]) {
    let before = resident();
    let begin = Instant::now();
    let started = cpu(begin);
    let mut loader = Tree::loader(0);
    for piece in snapshot.chunks(256 << 10) {
        loader.chunk(piece).expect("our own snapshot can be read");
    }
    let read = cpu(begin) - started;
    let tree = loader.finish().expect("our own snapshot is sound");
    let nodes = tree.node_count();
    report("load", nodes, cpu(begin) - started);
    println!(
        "          {:?} of it reading; {:.1} bytes a node",
        read,
        (resident() - before) as f64 / nodes as f64
    );
}

fn report(name: &str, count: usize, spent: Duration) {
    println!(
        "{name:<9} {:.0} ns each, {:.0} k/s, {:.3} s in all",
        spent.as_nanos() as f64 / count as f64,
        count as f64 / spent.as_secs_f64() / 1e3,
        spent.as_secs_f64()
    );
}
