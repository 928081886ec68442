//! What the tests share: bodies of requests as clients write them, and a world that sends them.
#![allow(dead_code, reason = "each test uses its part")]

use base::WallTime;
use std::collections::BTreeMap;

use council_tree::{Change, Changes, Command, IdentityList, Operation, Origin, Outcome, Policy, Stamp, Tree};
use council_wire::{Acl, ErrorCode, MultiHeader, OpCode, SessionId, Writer};

/// One write of a client, before it is encoded.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Create { opcode: OpCode, path: String, data: Option<Vec<u8>>, acl: Vec<Acl>, flags: i32, ttl_ms: i64 },
    Delete { path: String, version: i32 },
    SetData { path: String, data: Option<Vec<u8>>, version: i32 },
    SetAcl { path: String, acl: Vec<Acl>, version: i32 },
    Check { path: String, version: i32 },
    Multi(Vec<Write>),
}

impl Write {
    pub(crate) fn opcode(&self) -> OpCode {
        match self {
            Self::Create { opcode, .. } => *opcode,
            Self::Delete { .. } => OpCode::Delete,
            Self::SetData { .. } => OpCode::SetData,
            Self::SetAcl { .. } => OpCode::SetAcl,
            Self::Check { .. } => OpCode::Check,
            Self::Multi(_) => OpCode::Multi,
        }
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        self.write(&mut Writer::new(&mut body));
        body
    }

    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Self::Create { opcode, path, data, acl, flags, ttl_ms } => {
                writer.text(path).buffer(data.as_deref());
                Acl::write_all(acl, writer);
                writer.i32(*flags);
                if *opcode == OpCode::CreateTtl {
                    writer.i64(*ttl_ms);
                }
            }
            Self::Delete { path, version } | Self::Check { path, version } => {
                writer.text(path).i32(*version);
            }
            Self::SetData { path, data, version } => {
                writer.text(path).buffer(data.as_deref()).i32(*version);
            }
            Self::SetAcl { path, acl, version } => {
                writer.text(path);
                Acl::write_all(acl, writer);
                writer.i32(*version);
            }
            Self::Multi(writes) => {
                for write in writes {
                    MultiHeader { operation: write.opcode().code(), done: false, err: -1 }.write(writer);
                    write.write(writer);
                }
                MultiHeader::END.write(writer);
            }
        }
    }
}

/// A session as its client knows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    pub(crate) generation: u32,
    pub(crate) sequence: u64,
    pub(crate) identities: IdentityList,
}

/// A tree, the time, and the clients that write to it.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) tree: Tree,
    pub(crate) time_ms: i64,
    pub(crate) policy: Policy,
    pub(crate) clients: BTreeMap<i64, Client>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { time_ms: 1_000, policy: Policy::standard(), ..Self::default() }
    }

    /// Applies a command after a round through its encoded form.
    pub(crate) fn apply(&mut self, command: &Command<'_>) -> (Outcome, Vec<Change>) {
        let mut encoded = Vec::new();
        command.encode(&mut encoded);
        let decoded = Command::decode(&encoded).expect("what was encoded can be decoded");
        assert_eq!(*command, decoded, "nothing is lost on the way");
        let mut changes = Changes::new();
        let outcome = self.tree.apply(Stamp { time: WallTime::of_ms(self.time_ms) }, &decoded, &mut changes);
        (outcome, changes.into_vec())
    }

    pub(crate) fn internal(&mut self, operation: Operation<'_>) -> (Outcome, Vec<Change>) {
        self.apply(&Command { policy: self.policy, ..Command::internal(operation) })
    }

    pub(crate) fn open(&mut self, id: i64, timeout_ms: i32) -> (Outcome, Vec<Change>) {
        let result = self.internal(Operation::CreateSession {
            session: SessionId(id),
            timeout_ms,
            password: [id as u8; 16],
        });
        if result.0 == Outcome::SessionCreated {
            let mut client = Client { generation: 1, ..Client::default() };
            client.identities.add("ip", "127.0.0.1");
            self.clients.insert(id, client);
        }
        result
    }

    /// Sends the next command of a session.
    pub(crate) fn send(&mut self, id: i64, operation: Operation<'_>) -> (Outcome, Vec<Change>) {
        let client = self.clients.entry(id).or_default();
        client.sequence += 1;
        let client = client.clone();
        let origin =
            Origin { session: SessionId(id), generation: client.generation, sequence: client.sequence };
        self.apply(&Command {
            origin: Some(origin),
            policy: self.policy,
            identities: client.identities.identities(),
            operation,
        })
    }

    pub(crate) fn write(&mut self, id: i64, write: &Write) -> (Outcome, Vec<Change>) {
        let body = write.body();
        self.send(id, Operation::Client { opcode: write.opcode(), body: &body })
    }
}

/// Takes a whole snapshot in pieces of that size.
pub(crate) fn take_snapshot(tree: &mut Tree, chunk: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while tree.snapshot_chunk(&mut out, chunk) == council_tree::SnapshotProgress::More {}
    out
}

/// The tree, through a snapshot of its own: its digest must be that of its content.
pub(crate) fn reloaded(tree: &mut Tree) -> Result<Tree, council_wire::Malformed> {
    tree.snapshot_begin();
    load(&take_snapshot(tree, 100), 1000)
}

/// Loads a snapshot given in pieces of that size.
pub(crate) fn load(snapshot: &[u8], chunk: usize) -> Result<Tree, council_wire::Malformed> {
    let mut loader = Tree::loader(0);
    for piece in snapshot.chunks(chunk.max(1)) {
        loader.chunk(piece)?;
    }
    loader.finish()
}

/// Every node by path, with what a client can see of it, and the sessions.
pub(crate) fn dump(tree: &Tree) -> Vec<String> {
    let mut lines = Vec::new();
    let mut paths = vec![String::from("/")];
    while let Some(path) = paths.pop() {
        let node = tree.node(&path).expect("a listed node is there");
        let mut children: Vec<_> = node.children().collect();
        children.sort_unstable();
        let above = if path == "/" { "" } else { &path };
        paths.extend(children.iter().map(|child| format!("{above}/{child}")));
        lines.push(format!(
            "{path} {:?} {:?} {:?} container={} ttl={:?}",
            node.data(),
            node.stat(),
            node.acl(),
            node.is_container(),
            node.ttl_ms()
        ));
    }
    lines.sort();
    for session in tree.sessions() {
        let owned: Vec<_> = tree.ephemerals_of(session.id).collect();
        assert_eq!(owned, ephemerals_in_pieces(tree, session.id, 2), "in pieces as in one");
        lines.push(format!(
            "{} {} {} {} {:?} {owned:?}",
            session.id, session.timeout_ms, session.generation, session.sequence, session.password
        ));
    }
    lines.push(format!(
        "{} nodes={} size={} ephemerals={} acls={} level={} config={}",
        tree.last_zxid(),
        tree.node_count(),
        tree.approximate_data_size(),
        tree.ephemeral_count(),
        tree.acl_count(),
        tree.feature_level(),
        tree.config_version()
    ));
    lines
}

fn ephemerals_in_pieces(tree: &Tree, session: SessionId, max: usize) -> Vec<String> {
    let (mut nodes, mut after) = (Vec::new(), None);
    loop {
        let piece = tree.ephemerals_piece(session, after, max);
        assert!(piece.nodes.len() <= max);
        nodes.extend(piece.nodes);
        after = piece.next;
        if after.is_none() {
            return council_tree::in_zookeepers_order(nodes);
        }
    }
}

/// Numbers that look random and are the same each time.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn one_in(&mut self, chance: usize) -> bool {
        self.below(chance) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// An error's code as an outcome.
pub(crate) fn refused(code: ErrorCode) -> Outcome {
    Outcome::Refused(code)
}
