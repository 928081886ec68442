//! Any commands of the log.

use base::WallTime;
use council_tree::{
    Changes, Command, Identities, IdentityList, Operation, Origin, Policy, SnapshotProgress, Stamp, Tree,
};
use council_wire::{OpCode, RequestHeader, SessionId};

use crate::golden;
use crate::input::{Input, put_piece};

const SESSION: SessionId = SessionId(0x0100_0000_0000_0001);

/// The first byte says before which command a snapshot begins; then come commands.
pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let begin_at = input.byte().unwrap_or_default();
    let commands: Vec<&[u8]> = std::iter::from_fn(|| input.piece()).collect();
    let mut tree = Tree::new();
    let mut snapshot = Snapshot::default();
    for (number, bytes) in commands.iter().enumerate() {
        if number == usize::from(begin_at) {
            snapshot.begin(&mut tree);
        }
        apply(&mut tree, number, bytes);
        snapshot.step(&mut tree);
    }
    if snapshot.digest_then.is_none() {
        snapshot.begin(&mut tree);
    }
    while !snapshot.done {
        snapshot.step(&mut tree);
    }
    let mut loader = Tree::loader(0);
    loader.chunk(&snapshot.bytes).expect("our own snapshot loads");
    let loaded = loader.finish().expect("our own snapshot loads");
    assert_eq!(Some(loaded.digest()), snapshot.digest_then, "a snapshot is not of the moment it was begun");

    let mut again = Tree::new();
    commands.iter().enumerate().for_each(|(number, bytes)| apply(&mut again, number, bytes));
    assert_eq!(again.digest(), tree.digest(), "the same commands made another tree");
    assert_eq!(again.last_zxid(), tree.last_zxid());
    assert!(tree.reapable(WallTime::of_ms(i64::MAX), 1, 100).len() <= 100);
}

fn apply(tree: &mut Tree, number: usize, bytes: &[u8]) {
    if let Ok(command) = Command::decode(bytes) {
        let time_ms = 1_700_000_000_000 + 1000 * i64::try_from(number).unwrap_or_default();
        tree.apply(Stamp { time: WallTime::of_ms(time_ms) }, &command, &mut Changes::new());
    }
}

/// A snapshot taken in small steps while commands go on.
#[derive(Default)]
struct Snapshot {
    bytes: Vec<u8>,
    digest_then: Option<u64>,
    done: bool,
}

impl Snapshot {
    fn begin(&mut self, tree: &mut Tree) {
        self.digest_then = Some(tree.digest());
        tree.snapshot_begin();
    }

    fn step(&mut self, tree: &mut Tree) {
        if self.digest_then.is_none() || self.done {
            return;
        }
        if let SnapshotProgress::Done { digest } = tree.snapshot_chunk(&mut self.bytes, 200) {
            assert_eq!(Some(digest), self.digest_then);
            self.done = true;
        }
    }
}

/// The writes that a real client sent, each conversation on a session of its own that is closed in the end.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    golden::conversations().iter().map(|frames| script(frames)).chain([internal()]).collect()
}

/// A conversation's writes as commands of one session.
pub(crate) fn commands(frames: &[golden::Captured]) -> Vec<Vec<u8>> {
    let mut identities = IdentityList::new();
    identities.add("ip", "127.0.0.1");
    identities.add("digest", "super:abc");
    let policy = Policy::standard() | Policy::EXTENDED_TYPES | Policy::ENFORCE_QUOTA;
    let open = Operation::CreateSession { session: SESSION, timeout_ms: 10_000, password: [7; 16] };
    let mut commands = vec![encoded(&Command::internal(open))];
    let requests = frames.iter().filter(|frame| frame.kind == "request");
    for frame in requests.filter(|frame| frame.operation.is_some_and(is_write)) {
        let mut reader = council_wire::Reader::new(&frame.bytes);
        let header = RequestHeader::read(&mut reader).expect("a capture is whole");
        let opcode = OpCode::from_code(header.operation).expect("a capture's operation is known");
        let origin = Some(Origin { session: SESSION, generation: 1, sequence: commands.len() as u64 });
        let operation = Operation::Client { opcode, body: reader.rest() };
        commands.push(encoded(&Command { origin, policy, identities: identities.identities(), operation }));
    }
    commands
}

fn script(frames: &[golden::Captured]) -> Vec<u8> {
    let mut out = vec![2];
    let commands = commands(frames);
    commands.iter().for_each(|command| put_piece(&mut out, command));
    let origin = Some(Origin { session: SESSION, generation: 1, sequence: commands.len() as u64 });
    let close = Operation::CloseSession { session: SESSION };
    let close =
        Command { origin, policy: Policy::standard(), identities: Identities::NONE, operation: close };
    put_piece(&mut out, &encoded(&close));
    out
}

/// What the ensemble itself commands.
fn internal() -> Vec<u8> {
    let session = SESSION;
    let mut out = vec![1];
    for operation in [
        Operation::RaiseEpoch,
        Operation::CreateSession { session, timeout_ms: 4_000, password: [1; 16] },
        Operation::Attach { session, generation: 2, timeout_ms: 5_000 },
        Operation::SetConfig { text: b"server.1=localhost:2888:3888", version: 1 },
        Operation::FeatureLevel(3),
        Operation::Reap { path: "/zookeeper", never_used_ms: 1 },
        Operation::Refuse(council_wire::ErrorCode::SystemError),
        Operation::RefuseMany { refusal: council_wire::ErrorCode::SystemError, count: 3 },
        Operation::Expire { session, generation: 2 },
    ] {
        put_piece(&mut out, &encoded(&Command::internal(operation)));
    }
    out
}

fn is_write(opcode: OpCode) -> bool {
    matches!(
        opcode,
        OpCode::Create
            | OpCode::Create2
            | OpCode::CreateContainer
            | OpCode::CreateTtl
            | OpCode::Delete
            | OpCode::SetData
            | OpCode::SetAcl
            | OpCode::Check
            | OpCode::Multi
            | OpCode::DeleteContainer
            | OpCode::Reconfig
    )
}

fn encoded(command: &Command<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    command.encode(&mut out);
    out
}
