//! Rounds of a shard over scripted sockets: what is done in which order, how much of it, and how connections end.

mod support;

use base::{Now, WallTime};
use council_frontend::{
    FromCore, Front, FrontConfig, FrontEvent, Peer, ShardDriver, ShardRound, ToCore, View,
};
use council_tree::Tree;
use council_wire::{Acl, ConnectRequest, OpCode, SessionId};
use net_event_loop::{Broken, ConnId, FilePart, NoFile, ReadOutcome, Readiness, SocketDriver};

use support::core::{Stream, ToyCore};
use support::{peer, rounds, wire};

/// The most that is read from one socket in a round, and the most that is written to one.
const READ_BYTES_MAX: usize = 64 << 10;
const WRITE_BYTES_MAX: usize = 256 << 10;
/// How long a connection may stay after the server has said goodbye.
const LINGER_MS: u64 = 1_000;

/// One connection, from outside.
#[derive(Default)]
struct Wire {
    token: u32,
    input: Vec<u8>,
    output: Vec<u8>,
    /// How many bytes the socket still takes.
    room: usize,
    /// Whether it opens only on command.
    opening: bool,
    has_ended: bool,
    is_broken: bool,
    goodbye: bool,
    closed: bool,
}

/// Sockets by their numbers, a core, and what was called.
struct Toy {
    wires: Vec<Wire>,
    core: ToyCore,
    stream: Vec<FromCore>,
    watches: bool,
    may_answer: bool,
    calls: Vec<&'static str>,
    sent: Vec<ToCore>,
}

struct Seen<'v>(&'v mut Toy);

impl View for Seen<'_> {
    fn tree(&self) -> &Tree {
        &self.0.core.tree
    }

    fn take_stream(&mut self, into: &mut Vec<FromCore>) {
        self.0.calls.push("stream");
        into.append(&mut self.0.stream);
    }

    fn set_watches(&mut self, any: bool) {
        self.0.watches = any;
    }

    fn may_answer(&self) -> bool {
        self.0.may_answer
    }
}

impl SocketDriver for Toy {
    type Socket = usize;
    type Peer = Peer;
    type File = NoFile;

    fn watch(&mut self, socket: &mut usize, token: u32) -> Result<(), Broken> {
        self.wires[*socket].token = token;
        Ok(())
    }

    fn prepare(&mut self, _: &mut usize) -> Result<bool, Broken> {
        Ok(true)
    }

    fn open(&mut self, socket: &mut usize) -> Result<Option<Peer>, Broken> {
        Ok((!self.wires[*socket].opening).then(peer))
    }

    fn read(&mut self, socket: &mut usize, buffer: &mut [u8]) -> Result<ReadOutcome, Broken> {
        self.calls.push("read");
        let wire = &mut self.wires[*socket];
        let length = wire.input.len().min(buffer.len());
        if wire.is_broken {
            return Err(Broken);
        }
        if length == 0 {
            return Ok(if wire.has_ended { ReadOutcome::End } else { ReadOutcome::Nothing });
        }
        buffer[..length].copy_from_slice(&wire.input[..length]);
        wire.input.drain(..length);
        Ok(ReadOutcome::Bytes { length, drained: wire.input.is_empty() })
    }

    fn write(&mut self, socket: &mut usize, bytes: &[u8]) -> Result<usize, Broken> {
        self.calls.push("write");
        let wire = &mut self.wires[*socket];
        let taken = bytes.len().min(wire.room);
        wire.room -= taken;
        wire.output.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn write_with_file(
        &mut self,
        _: &mut usize,
        _: &[u8],
        part: FilePart<'_, NoFile>,
    ) -> Result<usize, Broken> {
        match *part.file {}
    }

    fn wants_write(&self, _: &usize) -> bool {
        false
    }

    fn say_goodbye(&mut self, socket: &mut usize) {
        self.wires[*socket].goodbye = true;
    }

    fn close(&mut self, socket: usize, _: usize) {
        self.wires[socket].closed = true;
    }
}

impl ShardDriver for Toy {
    type View<'v> = Seen<'v>;

    fn has_stream(&self) -> bool {
        !self.stream.is_empty()
    }

    fn view(&mut self) -> Seen<'_> {
        self.calls.push("view");
        Seen(self)
    }

    fn send(&mut self, messages: &mut Vec<ToCore>, _: Now) {
        if !messages.is_empty() {
            self.calls.push("send");
        }
        self.sent.append(messages);
    }

    fn delivered(&mut self, _: &[FromCore]) {}

    fn connected(&mut self, _: ConnId, _: SessionId, _: u32, _: &usize) {
        self.calls.push("connected");
    }

    fn word(&mut self, _: ConnId, _: [u8; 4], _: Option<i64>) -> Option<Vec<u8>> {
        Some(b"word".to_vec())
    }

    fn note(&mut self, _: &FrontEvent, _: Option<&usize>) {}
}

/// A shard, its driver and the time.
struct Shard {
    round: ShardRound<usize>,
    toy: Toy,
    now: Now,
}

impl Shard {
    fn new() -> Self {
        Self::with(&FrontConfig::default())
    }

    fn with(config: &FrontConfig) -> Self {
        let toy = Toy {
            wires: Vec::new(),
            core: ToyCore::new(1),
            stream: Vec::new(),
            watches: false,
            may_answer: true,
            calls: Vec::new(),
            sent: Vec::new(),
        };
        let now = Now { mono_us: 1_000_000, wall: WallTime::of_ms(1_700_000_000_000) };
        Self { round: ShardRound::new(Front::new(config.clone(), 0)), toy, now }
    }

    fn accept(&mut self, opening: bool) -> usize {
        let number = self.toy.wires.len();
        self.toy.wires.push(Wire { room: usize::MAX, opening, ..Wire::default() });
        self.round.accept(&mut self.toy, number, 5_000, self.now);
        number
    }

    /// A client with a session, which has read the answer.
    fn client(&mut self) -> usize {
        let client = self.accept(false);
        self.send(client, &handshake());
        self.settle();
        assert!(!std::mem::take(&mut self.toy.wires[client].output).is_empty());
        self.toy.calls.clear();
        client
    }

    fn send(&mut self, client: usize, bytes: &[u8]) {
        self.toy.wires[client].input.extend_from_slice(bytes);
        self.announce(client, Readiness { readable: true, ..Readiness::default() });
    }

    fn announce(&mut self, client: usize, readiness: Readiness) {
        self.round.announced(self.toy.wires[client].token, readiness);
    }

    fn turn(&mut self) {
        self.round.turn(&mut self.toy, self.now);
    }

    /// The core executes its commands.
    fn core(&mut self) {
        self.toy.core.queue.extend(self.toy.sent.drain(..).map(|message| (0, message)));
        while let Some(stream) = self.toy.core.step() {
            self.tell(stream);
        }
    }

    fn tell(&mut self, stream: Stream) {
        self.toy.stream.extend(stream.into_iter().map(|(_, item)| item));
    }

    fn settle(&mut self) {
        for _ in 0..4 {
            self.turn();
            self.core();
        }
    }

    /// Writes to the tree as another server's client would.
    fn write(&mut self, opcode: OpCode, body: &[u8]) {
        let (stream, result) = self.toy.core.write(opcode, body);
        assert_eq!(result, Ok(()));
        self.tell(stream);
    }

    fn pass(&mut self, ms: u64) {
        self.now.mono_us += ms * 1_000;
        self.now.wall = self.now.wall.plus_ms(ms as i64);
    }

    fn output(&mut self, client: usize) -> Vec<u8> {
        std::mem::take(&mut self.toy.wires[client].output)
    }
}

fn handshake() -> Vec<u8> {
    wire::connect(&ConnectRequest {
        protocol_version: 0,
        last_zxid_seen: 0,
        timeout_ms: 10_000,
        session_id: 0,
        password: Some(&[0; 16]),
        read_only: Some(false),
    })
}

fn ping() -> Vec<u8> {
    wire::request(-2, OpCode::Ping.code(), &[])
}

fn get(xid: i32, path: &str, watch: bool) -> Vec<u8> {
    wire::request(xid, OpCode::GetData.code(), &wire::read(path, watch))
}

fn create(path: &str, data: &[u8]) -> Vec<u8> {
    wire::create(path, Some(data), &[Acl::open()], 0)
}

/// The xids of what a client was sent.
fn xids(mut bytes: &[u8]) -> Vec<i32> {
    let mut xids = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let (frame, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
        xids.push(i32::from_be_bytes(*frame.first_chunk().expect("an xid")));
        bytes = rest;
    }
    xids
}

#[test]
fn round_reads_then_takes_one_view_then_sends_then_writes() {
    let mut shard = Shard::new();
    let client = shard.client();
    shard.write(OpCode::Create, &create("/a", b""));
    let body = create("/b", b"");
    shard.send(client, &[ping(), wire::request(1, OpCode::Create.code(), &body)].concat());
    shard.turn();
    assert_eq!(shard.toy.calls, ["read", "view", "stream", "send", "write"]);
}

#[test]
fn event_of_the_stream_comes_before_what_was_sent_after_its_watch() {
    let mut shard = Shard::new();
    let client = shard.client();
    shard.write(OpCode::Create, &create("/a", b"1"));
    shard.send(client, &get(1, "/a", true));
    shard.turn();
    shard.write(OpCode::Delete, &rounds::path_and("/a", -1));
    shard.send(client, &get(2, "/a", false));
    shard.turn();
    assert_eq!(xids(&shard.output(client)), [1, -1, 2]);
}

#[test]
fn changes_alone_wake_a_shard_only_while_one_of_its_clients_watches() {
    let mut shard = Shard::new();
    let client = shard.client();
    shard.write(OpCode::Create, &create("/n", b"old"));
    assert!(!FromCore::wake_for(&shard.toy.stream, shard.toy.watches, 0), "nobody watches");
    assert!(FromCore::wake_for(&shard.toy.stream, false, 100), "it piles up");
    shard.send(client, &get(1, "/n", true));
    shard.settle();
    assert!(shard.toy.watches);
    shard.write(OpCode::Create, &create("/other", b""));
    assert!(FromCore::wake_for(&shard.toy.stream, shard.toy.watches, 0));
    shard.settle();
    shard.announce(client, Readiness { readable: true, hung_up: true, ..Readiness::default() });
    shard.toy.wires[client].has_ended = true;
    shard.settle();
    let watcher = shard.client();
    assert!(!shard.toy.watches, "the watch went with its client");
    shard.send(watcher, &ping());
    shard.settle();
    shard.toy.stream.push(FromCore::Writable(true));
    assert!(FromCore::wake_for(&shard.toy.stream, false, 0), "not a change");
}

#[test]
fn shard_past_its_lease_cuts_its_clients_and_evaluates_nothing_of_theirs() {
    let mut shard = Shard::new();
    let (client, silent) = (shard.client(), shard.client());
    shard.send(client, &get(1, "/", false));
    shard.toy.may_answer = false;
    shard.turn();
    assert!(shard.output(client).is_empty());
    assert!(shard.toy.wires[client].closed && shard.toy.wires[silent].closed);
    let gone = shard.toy.sent.iter().filter(|message| matches!(message, ToCore::Disconnected { .. }));
    assert_eq!(gone.count(), 2, "the core is told");
}

#[test]
fn shard_past_its_lease_answers_nobody_whose_session_ends_either() {
    let mut shard = Shard::new();
    let client = shard.client();
    shard.send(client, &wire::request(1, OpCode::Create.code(), &create("/a", b"")));
    shard.send(client, &get(2, "/", false));
    shard.send(client, &wire::request(3, OpCode::CloseSession.code(), &[]));
    shard.turn();
    assert!(shard.output(client).is_empty() && !shard.toy.wires[client].closed, "it waits for its write");
    shard.core();
    shard.toy.may_answer = false;
    shard.turn();
    assert!(shard.output(client).is_empty() && shard.toy.wires[client].closed);
}

#[test]
fn stall_of_the_shard_is_told_of_those_who_were_silent_before_it_too() {
    let mut shard = Shard::new();
    shard.client();
    let ask = |shard: &mut Shard, round| {
        shard.toy.stream.push(FromCore::TouchRound { round });
        shard.turn();
        let told = shard.toy.sent.drain(..).filter_map(|message| match message {
            ToCore::Touched { sessions, .. } => Some(sessions),
            _ => None,
        });
        told.flatten().map(|(_, heard)| heard.ms()).collect::<Vec<_>>()
    };
    let began_ms = shard.now.mono().ms();
    shard.pass(100);
    assert_eq!(ask(&mut shard, 1), [began_ms]);
    for _ in 0..40 {
        shard.pass(100);
        shard.turn();
    }
    assert!(ask(&mut shard, 2).is_empty(), "it has said nothing since");
    shard.pass(2_000);
    assert_eq!(ask(&mut shard, 3), [began_ms + 2_000]);
}

#[test]
fn socket_that_took_a_part_is_written_to_again_only_when_it_has_room() {
    let mut shard = Shard::new();
    let client = shard.client();
    shard.toy.wires[client].room = 10;
    shard.send(client, &ping());
    shard.turn();
    assert_eq!(shard.toy.wires[client].output.len(), 10);
    shard.toy.calls.clear();
    shard.toy.wires[client].room = usize::MAX;
    shard.send(client, &ping());
    shard.turn();
    assert_eq!(shard.toy.calls, ["read", "view", "stream"], "nothing says that there is room");
    shard.announce(client, Readiness { writable: true, ..Readiness::default() });
    shard.turn();
    assert_eq!(xids(&shard.output(client)), [-2, -2]);
}

#[test]
fn one_client_gets_its_share_of_a_round_and_the_rest_in_the_next_at_once() {
    let mut shard = Shard::new();
    let client = shard.client();
    shard.write(OpCode::Create, &create("/large", &vec![7; WRITE_BYTES_MAX + 100]));
    shard.send(client, &get(1, "/large", false));
    shard.turn();
    assert_eq!(shard.toy.wires[client].output.len(), WRITE_BYTES_MAX);
    assert_eq!(shard.round.wait_max_ms(), 0);
    shard.turn();
    assert_eq!(xids(&shard.output(client)), [1]);
    assert!(shard.round.wait_max_ms() > 0);
}

#[test]
fn each_socket_is_read_from_once_a_round_and_what_is_left_in_the_next_at_once() {
    let mut shard = Shard::new();
    let (busy, other) = (shard.client(), shard.client());
    let pings = ping().repeat(READ_BYTES_MAX / ping().len() + 100);
    shard.send(busy, &pings);
    shard.send(other, &ping());
    shard.turn();
    assert_eq!(shard.toy.wires[busy].input.len(), pings.len() - READ_BYTES_MAX);
    assert_eq!(xids(&shard.output(other)), [-2]);
    assert_eq!(shard.round.wait_max_ms(), 0);
    shard.turn();
    assert!(shard.toy.wires[busy].input.is_empty());
    assert_eq!(xids(&shard.output(busy)).len(), READ_BYTES_MAX / ping().len() + 100);
}

#[test]
fn finished_connection_lingers_until_its_peer_closes_or_for_a_second() {
    let mut shard = Shard::new();
    let clients = [shard.accept(false), shard.accept(false)];
    clients.iter().for_each(|client| shard.send(*client, b"ruok"));
    shard.turn();
    for client in clients {
        assert_eq!(shard.output(client), b"word");
        assert!(shard.toy.wires[client].goodbye && !shard.toy.wires[client].closed);
    }
    shard.toy.wires[clients[0]].has_ended = true;
    shard.announce(clients[0], Readiness { readable: true, hung_up: true, ..Readiness::default() });
    shard.turn();
    assert!(shard.toy.wires[clients[0]].closed && !shard.toy.wires[clients[1]].closed);
    shard.pass(LINGER_MS + 1);
    shard.turn();
    assert!(shard.toy.wires[clients[1]].closed);
}

#[test]
fn end_of_a_connection_is_none_of_whoever_has_its_slot_now() {
    let mut shard = Shard::new();
    let (first, second) = (shard.client(), shard.accept(true));
    // One round finds the first broken and the second open, which gets its slot in the front.
    shard.toy.wires[first].is_broken = true;
    shard.toy.wires[second].opening = false;
    shard.send(first, &ping());
    shard.announce(first, Readiness { writable: true, ..Readiness::default() });
    shard.send(second, &handshake());
    shard.settle();
    assert!(shard.toy.wires[first].closed && !shard.toy.wires[second].closed);
    assert!(!shard.output(second).is_empty(), "it has a session");
    assert!(shard.output(first).is_empty());
}

#[test]
fn parting_shard_answers_what_was_read_and_reads_no_more() {
    let mut shard = Shard::new();
    let client = shard.client();
    shard.send(client, &wire::request(1, OpCode::Create.code(), &create("/a", b"")));
    shard.turn();
    shard.round.begin_shutdown(true, shard.now);
    shard.send(client, &get(2, "/", false));
    shard.turn();
    assert!(!shard.toy.wires[client].goodbye, "an answer is owed");
    shard.core();
    shard.turn();
    assert_eq!(xids(&shard.output(client)), [1]);
    assert!(shard.toy.wires[client].goodbye && !shard.round.is_done());
    shard.toy.wires[client].has_ended = true;
    shard.announce(client, Readiness { readable: true, hung_up: true, ..Readiness::default() });
    shard.turn();
    shard.turn();
    assert!(shard.toy.wires[client].closed && shard.round.is_done());
}

#[test]
fn shard_of_a_removed_member_parts_and_serves_whoever_comes_next() {
    let mut shard = Shard::new();
    let client = shard.client();
    shard.round.begin_shutdown(false, shard.now);
    shard.turn();
    assert!(shard.toy.wires[client].goodbye);
    shard.pass(500);
    shard.turn();
    assert!(!shard.round.is_done());
    shard.client();
}
