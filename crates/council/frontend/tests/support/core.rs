//! A core for tests: one tree, commands applied one by one, at once or on request.

use base::WallTime;
use net_event_loop::ConnId;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use council_frontend::Asker;
use council_frontend::read::evaluate;
use council_frontend::{ConnectRefusal, FromCore, ToCore};
use council_tree::{Changes, Command, Operation, Origin, Outcome, Policy, SnapshotProgress, Stamp, Tree};
use council_wire::{Acl, ErrorCode, OpCode, SessionId};

use super::wire;

/// Applies commands and answers what shards ask.
pub struct ToyCore {
    pub tree: Tree,
    /// Messages not looked at yet, with the shard that sent each.
    pub queue: VecDeque<(usize, ToCore)>,
    pub held: bool,
    pub touched: Vec<(u64, Vec<SessionId>)>,
    shards: usize,
    next_session: i64,
    time_ms: i64,
    sequences: BTreeMap<ConnId, u64>,
}

/// Items for shards, in order; `None` is every shard.
pub type Stream = Vec<(Option<usize>, FromCore)>;

impl ToyCore {
    pub fn new(shards: usize) -> Self {
        Self {
            tree: Tree::new(),
            queue: VecDeque::new(),
            held: false,
            touched: Vec::new(),
            shards,
            next_session: 0x100,
            time_ms: 1_000,
            sequences: BTreeMap::new(),
        }
    }

    pub fn shards(&self) -> usize {
        self.shards
    }

    /// Looks at the oldest message; `None` when there is none.
    pub fn step(&mut self) -> Option<Stream> {
        let (shard, message) = self.queue.pop_front()?;
        let mut stream = Stream::new();
        match message {
            ToCore::Connect { conn, session, password, timeout_ms, .. } => {
                let item = self.connect(conn, session, password, timeout_ms, &mut stream);
                stream.push((Some(shard), item));
            }
            ToCore::Command { conn, sequence, command, .. } => {
                let last = self.sequences.insert(conn, sequence).unwrap_or(0);
                assert_eq!(sequence, last + 1, "commands of a connection are numbered without gaps");
                let command = Command::decode(&command).expect("a front encodes commands that decode");
                let outcome = self.apply(&command, &mut stream);
                let zxid = self.tree.last_zxid();
                stream.push((Some(shard), FromCore::Outcome { conn, sequence, zxid, outcome }));
            }
            ToCore::Read { conn, session, xid, opcode, body, identities, policy, .. } => {
                let asker = Asker { session, identities: identities.identities(), policy };
                let reply = evaluate(&self.tree, opcode, xid, &body, asker);
                stream.push((Some(shard), FromCore::ReadDone { conn, xid, reply }));
            }
            ToCore::Touched { round, sessions } => {
                self.touched.push((round, sessions.into_iter().map(|(session, _)| session).collect()));
            }
            ToCore::Disconnected { .. } => {}
        }
        Some(stream)
    }

    /// Expires a session.
    pub fn expire(&mut self, session: SessionId) -> Stream {
        let mut stream = Stream::new();
        let Some(generation) = self.tree.session(session).map(|session| session.generation) else {
            return stream;
        };
        self.apply(&Command::internal(Operation::Expire { session, generation }), &mut stream);
        stream
    }

    fn connect(
        &mut self,
        conn: ConnId,
        session: SessionId,
        password: [u8; 16],
        timeout_ms: i32,
        stream: &mut Stream,
    ) -> FromCore {
        if session == SessionId::NONE {
            self.next_session += 1;
            let session = SessionId(self.next_session);
            let password = [self.next_session as u8; 16];
            self.apply(
                &Command::internal(Operation::CreateSession { session, timeout_ms, password }),
                stream,
            );
            return FromCore::Connected {
                conn,
                session,
                generation: 1,
                timeout_ms,
                password,
                read_only: false,
            };
        }
        let known = self.tree.session(session).filter(|known| known.password == password);
        let Some(generation) = known.map(|known| known.generation + 1) else {
            return FromCore::ConnectRefused { conn, reason: ConnectRefusal::Expired };
        };
        let outcome =
            self.apply(&Command::internal(Operation::Attach { session, generation, timeout_ms }), stream);
        assert_eq!(outcome, Outcome::SessionAttached);
        stream.push((None, FromCore::Moved { session, generation }));
        FromCore::Connected { conn, session, generation, timeout_ms, password, read_only: false }
    }

    fn apply(&mut self, command: &Command<'_>, stream: &mut Stream) -> Outcome {
        self.time_ms += 1;
        let mut changes = Changes::new();
        let outcome = self.tree.apply(Stamp { time: WallTime::of_ms(self.time_ms) }, command, &mut changes);
        if !changes.is_empty() {
            stream.push((None, FromCore::Changes(Arc::from(changes.into_vec()))));
        }
        if matches!(outcome, Outcome::SessionClosed | Outcome::SessionExpired) {
            let session = match command.operation {
                Operation::CloseSession { session } | Operation::Expire { session, .. } => session,
                _ => SessionId::NONE,
            };
            stream.push((None, FromCore::SessionClosed { session, zxid: self.tree.last_zxid() }));
        }
        outcome
    }

    /// Writes straight to the tree, as another server's client would; for setting scenes.
    pub fn write(&mut self, opcode: OpCode, body: &[u8]) -> (Stream, Result<(), ErrorCode>) {
        self.write_as(None, opcode, body)
    }

    /// Creates an ephemeral node of a session that sends nothing itself, and reports it to no front.
    pub fn create_ephemeral(&mut self, session: SessionId, path: &str) {
        let sequence = self.tree.session(session).map_or(0, |session| session.sequence) + 1;
        let origin = Origin { session, generation: 1, sequence };
        let body = wire::create(path, None, &[Acl::open()], 1);
        self.write_as(Some(origin), OpCode::Create, &body).1.expect("a new node");
    }

    /// Replaces the tree by one loaded from its own snapshot, as a member that lags behind does; reports it to no
    /// front.
    pub fn replace_tree(&mut self) {
        let (mut bytes, mut loader) = (Vec::new(), Tree::loader(1));
        self.tree.snapshot_begin();
        while self.tree.snapshot_chunk(&mut bytes, 1 << 20) == SnapshotProgress::More {}
        loader.chunk(&bytes).expect("a sound snapshot");
        drop(self.tree.replace(loader.finish().expect("a whole snapshot")));
    }

    fn write_as(
        &mut self,
        origin: Option<Origin>,
        opcode: OpCode,
        body: &[u8],
    ) -> (Stream, Result<(), ErrorCode>) {
        let mut stream = Stream::new();
        let mut command = Command::internal(Operation::Client { opcode, body });
        command.origin = origin;
        command.policy = Policy::standard() | Policy::SKIP_ACL;
        let outcome = self.apply(&command, &mut stream);
        let result = match outcome {
            Outcome::Refused(error) | Outcome::Rejected(error) => Err(error),
            _ => Ok(()),
        };
        (stream, result)
    }
}
