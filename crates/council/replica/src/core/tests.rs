//! Reads behind a write: the core makes a bounded number of bytes of replies before readers are let in again, and still
//! applies nothing between a write and the reads that came behind it.

use base::Now;
use consensus_replica::{JournalEvent, JournalRequest, MemberId};
use council_frontend::{FromCore, ToCore};
use council_tree::{Command, Identities, IdentityList, Operation, Origin, Outcome, Policy, Tree};
use council_wire::{Acl, ErrorCode, OpCode, SessionId, Writer, Zxid};
use net_event_loop::ConnId;

use crate::test_support::seat;
use crate::{Core, CoreConfig};

const NOW: Now = Now::of_ms(1_000, 1_700_000_000_000);
/// Nearly as much as a read may have that shards give to the core.
const VALUE_BYTES: usize = 60_000;
const READS: usize = 100;

/// A member that is alone, with a disk that keeps everything at once.
struct Alone {
    core: Core,
    tree: Tree,
}

/// One client.
#[derive(Clone, Copy)]
struct Client {
    conn: ConnId,
    session: SessionId,
}

impl Alone {
    fn new() -> Self {
        let tree = Tree::new();
        let mut alone = Self {
            core: Core::new(&CoreConfig::new(MemberId(1), 1), &seat(&[1]), &tree, [7; 32], NOW),
            tree,
        };
        while !alone.core.is_serving() {
            alone.turn();
        }
        alone
    }

    /// One turn: what it put into the shard's stream.
    fn turn(&mut self) -> Vec<FromCore> {
        self.core.advance(NOW);
        for effect in self.core.take_requests() {
            if let JournalRequest::Persist { number, .. } = effect {
                self.core.journal(JournalEvent::Persisted { number }, NOW).expect("nothing is amiss");
            }
        }
        self.core.advance(NOW);
        if self.core.has_work(0) {
            self.core.apply(&mut self.tree, NOW).expect("the log can be read");
        }
        std::mem::take(self.core.stream(0))
    }

    fn connect(&mut self, slot: u32) -> Client {
        let conn = ConnId { slot, generation: 1 };
        let connect = ToCore::Connect {
            conn,
            session: SessionId::NONE,
            password: [0; 16],
            timeout_ms: 10_000,
            last_zxid_seen: Zxid(0),
            read_only: false,
        };
        self.core.receive(0, connect, &self.tree);
        for _ in 0..100 {
            let connected = self.turn().into_iter().find_map(|item| match item {
                FromCore::Connected { session, .. } => Some(Client { conn, session }),
                _ => None,
            });
            if let Some(client) = connected {
                return client;
            }
        }
        panic!("no session");
    }

    fn write(&mut self, client: Client, sequence: u64, opcode: OpCode, body: &[u8]) {
        let command = Command {
            origin: Some(Origin { session: client.session, generation: 1, sequence }),
            policy: Policy::standard(),
            identities: Identities::NONE,
            operation: Operation::Client { opcode, body },
        };
        let mut encoded = Vec::new();
        command.encode(&mut encoded);
        let Client { conn, session } = client;
        let (xid, command) = (sequence as i32, encoded);
        let message = ToCore::Command { conn, session, generation: 1, sequence, xid, opcode, command };
        self.core.receive(0, message, &self.tree);
    }

    fn read(&mut self, client: Client, after: u64, xid: i32) {
        let message = ToCore::Read {
            conn: client.conn,
            session: client.session,
            after,
            xid,
            opcode: OpCode::GetData,
            body: body(|writer| {
                writer.text("/node").bool(false);
            }),
            identities: IdentityList::new(),
            policy: Policy::standard(),
        };
        self.core.receive(0, message, &self.tree);
    }
}

fn body(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut body = Vec::new();
    write(&mut Writer::new(&mut body));
    body
}

fn set(byte: u8) -> Vec<u8> {
    body(|writer| {
        writer.text("/node").buffer(Some(&[byte; VALUE_BYTES])).i32(-1);
    })
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn reads_behind_a_write_are_made_in_bounded_turns_before_the_next_command() {
    let mut alone = Alone::new();
    let (a, b) = (alone.connect(1), alone.connect(2));
    let create = body(|writer| {
        writer.text("/node").buffer(None);
        Acl::write_all(&[Acl::open()], writer);
        writer.i32(0);
    });
    alone.write(a, 1, OpCode::Create, &create);
    while alone.tree.node("/node").is_none() {
        alone.turn();
    }
    alone.write(a, 2, OpCode::SetData, &set(b'a'));
    (0..READS).for_each(|xid| alone.read(a, 2, xid as i32));
    alone.write(b, 1, OpCode::SetData, &set(b'b'));
    let (mut answered, mut turns) = (0, 0);
    loop {
        let stream = alone.turn();
        let (mut bytes, mut done) = (0, false);
        for item in &stream {
            match item {
                FromCore::ReadDone { xid, reply, .. } => {
                    assert_eq!((*xid, reply.error), (answered, ErrorCode::Ok));
                    assert!(reply.frame[24..24 + VALUE_BYTES].iter().all(|byte| *byte == b'a'));
                    answered += 1;
                    bytes += reply.frame.len();
                }
                FromCore::Outcome { conn, outcome, .. } if *conn == b.conn => {
                    assert!(matches!(outcome, Outcome::DataSet { .. }));
                    done = true;
                }
                _ => {}
            }
        }
        assert!(bytes < 1_200_000, "{bytes} bytes of replies in one turn");
        turns += usize::from(bytes > 0);
        if done {
            break;
        }
    }
    assert_eq!(answered as usize, READS, "all came before the other client's write");
    assert!(turns >= 5, "{turns}");
    assert!(!alone.core.has_work(0));
}

#[test]
fn read_that_comes_after_its_write_is_answered_also_when_a_turn_has_nothing_left() {
    let mut alone = Alone::new();
    let a = alone.connect(1);
    let create = body(|writer| {
        writer.text("/node").buffer(Some(&[b'a'; VALUE_BYTES]));
        Acl::write_all(&[Acl::open()], writer);
        writer.i32(0);
    });
    alone.write(a, 1, OpCode::Create, &create);
    while alone.tree.node("/node").is_none() {
        alone.turn();
    }
    (0..READS).for_each(|xid| alone.read(a, 1, xid as i32));
    let mut answered = 0;
    for _ in 0..READS {
        let stream = alone.turn();
        answered += stream.iter().filter(|item| matches!(item, FromCore::ReadDone { .. })).count();
    }
    assert_eq!(answered, READS);
}
