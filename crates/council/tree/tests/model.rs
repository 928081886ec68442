//! Random operations, held step by step against the plain model; snapshots taken and loaded meanwhile.

#[path = "support/model.rs"]
mod model_file;
mod support;

use base::WallTime;
use std::collections::BTreeMap;

use council_tree::{Change, Changes, Command, Operation, Outcome, Policy, SnapshotProgress, Stamp, Tree};
use council_wire::{Acl, OpCode, SessionId};
use model_file::{Kind, Model, ModelChange, Writer};
use support::{Dice, World, Write, dump, load, take_snapshot};

/// A snapshot under way, and what it must hold.
struct Running {
    bytes: Vec<u8>,
    /// The same snapshot taken at a stroke.
    at_once: Vec<u8>,
    digest: u64,
    dump: Vec<String>,
    /// What has been applied since, encoded, with its stamps.
    log: Vec<(i64, Vec<u8>)>,
}

struct Run {
    dice: Dice,
    world: World,
    model: Model,
    identities: BTreeMap<i64, Vec<(&'static str, &'static str)>>,
    next_session: i64,
    running: Option<Running>,
    snapshots: usize,
}

const NAMES: [&str; 5] = ["a", "b", "c", "a-name-too-long-to-lie-in-a-record", "ä"];

impl Run {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let (mut world, mut model) = (World::new(), Model::new());
        model.extended = dice.one_in(2);
        model.enforce = dice.one_in(2);
        world.policy = Policy::standard()
            .with(Policy::EXTENDED_TYPES, model.extended)
            .with(Policy::ENFORCE_QUOTA, model.enforce);
        let mut run = Self {
            dice,
            world,
            model,
            identities: BTreeMap::new(),
            next_session: 1,
            running: None,
            snapshots: 0,
        };
        run.open_session();
        if run.dice.one_in(2) {
            run.set_quota();
        }
        run
    }

    fn set_quota(&mut self) {
        for (path, data) in [
            ("/a", ""),
            ("/zookeeper/quota/a", ""),
            ("/zookeeper/quota/a/zookeeper_limits", "count=-1,bytes=-1=;countHardLimit=9"),
            ("/zookeeper/quota/a/zookeeper_stats", "count=1,bytes=0"),
        ] {
            let write = Write::Create {
                opcode: OpCode::Create,
                path: path.into(),
                data: Some(data.into()),
                acl: vec![Acl::open()],
                flags: 0,
                ttl_ms: 0,
            };
            self.write(1, &write);
        }
        self.model.quota = Some(("/a".into(), 9));
    }

    fn open_session(&mut self) {
        let id = self.next_session;
        self.next_session += 1;
        self.model.zxid += 1;
        let (outcome, changes) = self.world.open(id, 4_000);
        assert_eq!((outcome, changes.len()), (Outcome::SessionCreated, 0));
        self.note(&Command::internal(Operation::CreateSession {
            session: SessionId(id),
            timeout_ms: 4_000,
            password: [id as u8; 16],
        }));
        let mut identities = vec![("ip", "127.0.0.1")];
        identities.extend(self.dice.one_in(2).then_some(("digest", "bob:x")));
        identities.extend(self.dice.one_in(9).then_some(("super", "")));
        if let Some(client) = self.world.clients.get_mut(&id) {
            identities.iter().for_each(|(scheme, id)| {
                client.identities.add(scheme, id);
            });
        }
        self.identities.insert(id, identities);
    }

    /// Remembers a command for the trees that are loaded later.
    fn note(&mut self, command: &Command<'_>) {
        let time_ms = self.world.time_ms;
        if let Some(running) = &mut self.running {
            let mut encoded = Vec::new();
            command.encode(&mut encoded);
            running.log.push((time_ms, encoded));
        }
    }

    /// The command that the client would send next, for [`Self::note`].
    fn note_client(&mut self, id: i64, operation: Operation<'_>) {
        let Some(client) = self.world.clients.get(&id).cloned() else { return };
        let policy = self.world.policy;
        self.note(&Command {
            origin: Some(council_tree::Origin {
                session: SessionId(id),
                generation: client.generation,
                sequence: client.sequence + 1,
            }),
            policy,
            identities: client.identities.identities(),
            operation,
        });
    }

    fn path(&mut self) -> String {
        if self.dice.one_in(3) && !self.model.nodes.is_empty() {
            let at = self.dice.below(self.model.nodes.len());
            if let Some(path) =
                self.model.nodes.keys().nth(at).filter(|path| !path.starts_with("/zookeeper/quota/"))
            {
                return path.clone();
            }
        }
        let depth = 1 + self.dice.below(3);
        let mut path: String = (0..depth).map(|_| format!("/{}", self.dice.pick(&NAMES))).collect();
        match self.dice.below(40) {
            0 => path.push('/'),
            1 => path.push_str("/.."),
            2 => path.insert(0, '/'),
            3 => drop(path.remove(0)),
            _ => {}
        }
        path
    }

    fn data(&mut self) -> Option<Vec<u8>> {
        match self.dice.below(10) {
            0 => None,
            1 => Some(Vec::new()),
            2 => Some(vec![self.dice.below(256) as u8; 5000 + self.dice.below(5000)]),
            3 => Some(vec![1; 23]),
            _ => Some(vec![self.dice.below(256) as u8; self.dice.below(22)]),
        }
    }

    fn acl(&mut self) -> Vec<Acl> {
        let entry = |permissions: i32, scheme: &str, id: &str| Acl {
            permissions,
            scheme: scheme.into(),
            id: id.into(),
        };
        match self.dice.below(12) {
            0 => vec![],
            1 => vec![entry(31, "auth", "")],
            2 => vec![entry(31, "nosuch", "x")],
            3 => vec![entry(31, "digest", "bob:x"), entry(1, "world", "anyone"), entry(1, "world", "anyone")],
            4 => vec![entry(31, "ip", "127.0.0.1")],
            5 => vec![entry(self.dice.below(32) as i32, "world", "anyone")],
            _ => vec![Acl::open()],
        }
    }

    fn version(&mut self) -> i32 {
        if self.dice.one_in(4) { self.dice.below(3) as i32 } else { -1 }
    }

    /// One write; within a multi only what may stand there, decoded as there.
    fn single(&mut self, in_multi: bool) -> Write {
        let path = self.path();
        match self.dice.below(10) {
            0..5 => {
                let opcodes = [OpCode::Create, OpCode::Create2, OpCode::CreateContainer, OpCode::CreateTtl];
                let opcode = *self.dice.pick(&opcodes);
                let flags = match opcode {
                    OpCode::CreateTtl => 5 + self.dice.below(2) as i32,
                    _ if in_multi => self.dice.below(4) as i32,
                    _ => self.dice.below(8) as i32,
                };
                let ttl_ms = self.dice.below(300) as i64;
                Write::Create { opcode, path, data: self.data(), acl: self.acl(), flags, ttl_ms }
            }
            5 | 6 => Write::Delete { path, version: self.version() },
            7 if in_multi => Write::Check { path, version: self.version() },
            7 => Write::SetAcl { path, acl: self.acl(), version: self.version() },
            _ => Write::SetData { path, data: self.data(), version: self.version() },
        }
    }

    fn write(&mut self, id: i64, write: &Write) {
        let body = write.body();
        self.note_client(id, Operation::Client { opcode: write.opcode(), body: &body });
        let (outcome, changes) = self.world.write(id, write);
        let identities = self.identities.get(&id).cloned().unwrap_or_default();
        let writer = Writer { session: id, identities: &identities };
        let (expected, expected_changes) = self.model.write(&writer, write);
        assert_eq!(outcome, expected, "{:?}", write.opcode());
        same_changes(&changes, &expected_changes, true);
    }

    fn close(&mut self, id: i64) {
        self.identities.remove(&id);
        let changes = if self.dice.one_in(2) {
            self.note_client(id, Operation::CloseSession { session: SessionId(id) });
            self.world.send(id, Operation::CloseSession { session: SessionId(id) }).1
        } else {
            let expire = Operation::Expire { session: SessionId(id), generation: 1 };
            self.note(&Command::internal(expire));
            self.world.internal(expire).1
        };
        same_changes(&changes, &self.model.close(id), false);
    }

    fn reap(&mut self) {
        let (path, never_used_ms) = (self.path(), self.dice.below(2) as i64 * 50);
        let due = self.world.tree.reapable(WallTime::of_ms(self.world.time_ms), never_used_ms, usize::MAX);
        let reap = Operation::Reap { path: &path, never_used_ms };
        self.note(&Command::internal(reap));
        let (outcome, changes) = self.world.internal(reap);
        let expected = self.model.reap(&path, never_used_ms);
        assert_eq!(outcome == Outcome::Reaped, expected.is_some(), "{path}");
        assert_eq!(due.contains(&path), expected.is_some(), "{path} in {due:?}");
        same_changes(&changes, &expected.unwrap_or_default(), true);
    }

    fn step(&mut self) {
        self.world.time_ms += self.dice.below(40) as i64;
        self.model.time_ms = self.world.time_ms;
        let sessions: Vec<i64> = self.identities.keys().copied().collect();
        match (self.dice.below(40), sessions.is_empty()) {
            (0, _) | (_, true) => self.open_session(),
            (1, false) => {
                let id = *self.dice.pick(&sessions);
                self.close(id);
            }
            (2..4, false) => self.reap(),
            (4..12, false) => {
                let id = *self.dice.pick(&sessions);
                let count = self.dice.below(7);
                let writes: Vec<_> = (0..count).map(|_| self.single(true)).collect();
                if self.model.extended || !has_ttl(&writes) {
                    self.write(id, &Write::Multi(writes));
                }
            }
            (_, false) => {
                let (id, write) = (*self.dice.pick(&sessions), self.single(false));
                self.write(id, &write);
            }
        }
        assert_eq!(self.world.tree.last_zxid().0, self.model.zxid);
        self.check_quota();
        self.snapshot();
    }

    fn check_quota(&self) {
        if self.model.quota.is_some()
            && let Some(stats) = self.world.tree.node("/zookeeper/quota/a/zookeeper_stats")
            && self.world.tree.node("/zookeeper/quota/a/zookeeper_limits").is_some()
        {
            let (count, bytes) = self.model.usage();
            let text = format!("count={count},bytes={bytes}");
            assert_eq!(stats.data().map(String::from_utf8_lossy).as_deref(), Some(text.as_str()));
        }
    }

    /// Begins, goes on with or finishes a snapshot, now and then.
    fn snapshot(&mut self) {
        let Some(mut running) = self.running.take() else {
            if self.dice.one_in(10) {
                let tree = &mut self.world.tree;
                let (digest, dump) = (tree.digest(), dump(tree));
                tree.snapshot_begin();
                let at_once = take_snapshot(tree, usize::MAX);
                tree.snapshot_begin();
                self.running = Some(Running { bytes: Vec::new(), at_once, digest, dump, log: Vec::new() });
            }
            return;
        };
        if self.dice.one_in(100) {
            self.world.tree.snapshot_abandon();
            assert_eq!(self.world.tree.snapshot_side_bytes(), 0);
            return;
        }
        let chunk = 1 + self.dice.below(400);
        match self.world.tree.snapshot_chunk(&mut running.bytes, chunk) {
            SnapshotProgress::More => self.running = Some(running),
            SnapshotProgress::Done { digest } => {
                assert_eq!(digest, running.digest);
                self.check_loaded(&running);
            }
        }
    }

    /// What is loaded is the beginning; and with the commands since then it becomes what the original is now.
    fn check_loaded(&mut self, running: &Running) {
        self.snapshots += 1;
        assert!(running.bytes == running.at_once, "to the byte what it would have been without the writes");
        let mut loaded = load(&running.bytes, 1 + self.dice.below(200)).expect("our own snapshot loads");
        assert_eq!(loaded.digest(), running.digest);
        assert_eq!(dump(&loaded), running.dump);
        for (time_ms, command) in &running.log {
            let command = Command::decode(command).expect("what was encoded can be decoded");
            loaded.apply(Stamp { time: WallTime::of_ms(*time_ms) }, &command, &mut Changes::new());
        }
        assert_eq!(loaded.digest(), self.world.tree.digest());
        assert_eq!(dump(&loaded), dump(&self.world.tree));
    }

    /// Every node against the model's.
    fn check_all(&self) {
        let tree: &Tree = &self.world.tree;
        assert_eq!(tree.node_count(), self.model.nodes.len() + 1);
        for path in self.model.nodes.keys() {
            let node = tree.node(path).unwrap_or_else(|| panic!("{path} is missing"));
            let (data, stat, acl, kind, children) = self.model.content(path);
            let mut names: Vec<_> = node.children().map(String::from).collect();
            names.sort();
            assert_eq!(names, children, "{path}");
            assert_eq!(node.acl(), acl, "{path}");
            assert_eq!(node.is_container(), kind == Kind::Container, "{path}");
            assert_eq!(
                node.ttl_ms(),
                if let Kind::Ttl(ttl_ms) = kind { Some(ttl_ms) } else { None },
                "{path}"
            );
            if !path.ends_with("zookeeper_stats") {
                assert_eq!(node.data(), data.as_deref(), "{path}");
                assert_eq!(node.stat(), stat, "{path}");
            }
        }
        let below: usize = tree.all_children_number("/a").unwrap_or_default();
        assert_eq!(below, self.model.nodes.keys().filter(|path| path.starts_with("/a/")).count());
    }
}

/// In a multi a TTL create needs TTL nodes switched on only when it is reached: the model knows no such difference.
fn has_ttl(writes: &[Write]) -> bool {
    writes.iter().any(|write| write.opcode() == OpCode::CreateTtl)
}

fn same_changes(changes: &[Change], expected: &[ModelChange], in_order: bool) {
    let mut told: Vec<ModelChange> = changes
        .iter()
        .map(|change| (change.kind, change.path.to_string(), change.acl.to_vec(), change.parent_acl.to_vec()))
        .collect();
    if !in_order {
        told.sort_by(|a, b| a.1.cmp(&b.1));
    }
    assert_eq!(told, expected);
}

#[test]
fn the_tree_behaves_as_its_model() {
    let mut snapshots = 0;
    for seed in 0..25 {
        let mut run = Run::new(seed);
        for _ in 0..40 {
            for _ in 0..25 {
                run.step();
            }
            run.check_all();
        }
        snapshots += run.snapshots;
    }
    assert!(snapshots > 100, "only {snapshots} snapshots were completed");
}

#[test]
fn a_failed_multi_leaves_no_trace() {
    for seed in 0..400 {
        let mut run = Run::new(seed);
        for _ in 0..60 {
            run.step();
        }
        run.running = None;
        run.world.tree.snapshot_abandon();
        let id = *run.identities.keys().next().unwrap_or(&1);
        if run.identities.is_empty() {
            continue;
        }
        let mut writes: Vec<Write> = (0..20).map(|_| run.single(true)).collect();
        // Only those that succeed after one another, then one that cannot.
        let identities = run.identities[&id].clone();
        let mut trial = run.model.clone();
        writes.retain(|write| {
            let writer = Writer { session: id, identities: &identities };
            let one = Write::Multi(vec![write.clone()]);
            !trial.write(&writer, &one).0.is_failed_multi()
        });
        writes.push(Write::Check { path: "/missing".into(), version: -1 });
        let before = dump(&run.world.tree);
        let outcome = run.world.write(id, &Write::Multi(writes)).0;
        assert!(outcome.is_failed_multi());
        let after = dump(&run.world.tree);
        // Except for the zxid and the session's sequence, which are in the last lines.
        let nodes =
            |lines: &[String]| lines.iter().filter(|line| line.starts_with('/')).cloned().collect::<Vec<_>>();
        assert_eq!(nodes(&before), nodes(&after));
        let mut tree = core::mem::take(&mut run.world.tree);
        tree.snapshot_begin();
        let digest = tree.digest();
        let loaded = load(&take_snapshot(&mut tree, 4096), 4096).expect("our own snapshot loads");
        assert_eq!(loaded.digest(), digest, "the digest kept up by hand is the one counted anew");
    }
}
