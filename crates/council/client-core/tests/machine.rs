//! The client against a scripted server: bytes and times.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::net::SocketAddr;
use std::time::Duration;

use council_client_core::sasl::SaslUser;
use council_client_core::{
    Action, ConnectFailure, DataClient, Error, ErrorCode, Event, EventKind, KeeperState, Output, Random,
    Reply, Request, RequestId, SessionId, Settings, StateChange, Ticket, WatcherId, Zxid,
};
use council_wire::{
    ConnectRequest, ConnectResponse, EventType, Frame, OpCode, Reader, ReplyHeader, RequestHeader, Stat,
    WatcherEvent, Writer, end_frame, next_frame, start_frame,
};

const STATES: WatcherId = WatcherId(1);
const WATCHER: WatcherId = WatcherId(2);
const ENTROPY: [u8; 16] = [3; 16];

/// A client, the time, and whether it is connected.
struct Bench {
    client: DataClient,
    now: Duration,
}

fn bench(settings: Settings) -> Bench {
    let hosts = (0..2).map(|index| (format!("s{index}"), 2181 + index)).collect();
    let now = Duration::from_secs(100);
    let mut client = DataClient::new(Settings { hosts, ..settings }, now);
    client.machine.listen(STATES, &mut client.outputs);
    Bench { client, now }
}

impl Bench {
    fn tick(&mut self) {
        self.client.machine.tick(self.now, &mut self.client.outputs);
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.tick();
    }

    /// Goes on until the client connects; to which port.
    fn dial(&mut self) -> u16 {
        for _ in 0..100 {
            match self.client.machine.action() {
                Some(Action::Resolve { port, .. }) => {
                    let address = SocketAddr::from(([127, 0, 0, 1], port));
                    self.client.machine.resolved(Ok(vec![address]), &mut self.client.outputs);
                }
                Some(Action::Connect(target)) => return target.port,
                Some(Action::Close) => {}
                None => {
                    self.now = self.now.max(self.client.machine.deadline().unwrap());
                    self.tick();
                }
            }
        }
        panic!("it does not connect");
    }

    /// Connects; what the client asks of the session.
    fn connect(&mut self) -> (i64, [u8; 16], i64) {
        self.dial();
        self.client.machine.connected(self.now, ENTROPY);
        let bytes = self.sent();
        let Frame::Whole(frame) = next_frame(&bytes, 1000) else { panic!("{bytes:?}") };
        let request = ConnectRequest::read(&mut Reader::new(frame)).unwrap();
        (request.session_id, request.password.unwrap().try_into().unwrap(), request.last_zxid_seen)
    }

    fn open(&mut self) {
        self.connect();
        self.receive(&handshake(7, 9000));
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.client.machine.received(self.now, bytes, &mut self.client.outputs);
    }

    fn lose(&mut self, failure: ConnectFailure) {
        self.client.machine.disconnected(self.now, failure, &mut self.client.outputs);
    }

    /// Takes what is to be sent.
    fn sent(&mut self) -> Vec<u8> {
        let bytes = self.client.machine.output().to_vec();
        self.client.machine.sent(self.now, bytes.len());
        bytes
    }

    /// Takes the operations that are to be sent.
    fn operations(&mut self) -> Vec<OpCode> {
        let bytes = self.sent();
        let mut rest = bytes.as_slice();
        let mut operations = Vec::new();
        while let Frame::Whole(frame) = next_frame(rest, 1 << 20) {
            let header = RequestHeader::read(&mut Reader::new(frame)).unwrap();
            operations.push(OpCode::from_code(header.operation).unwrap());
            rest = &rest[4 + frame.len()..];
        }
        operations
    }

    fn submit(&mut self, id: u64, request: &Request) {
        self.client.submit(RequestId(id), request, Some(WATCHER));
    }

    fn outputs(&mut self) -> Vec<Output> {
        std::iter::from_fn(|| self.client.output()).collect()
    }
}

fn frame(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let at = start_frame(&mut bytes);
    write(&mut Writer::new(&mut bytes));
    end_frame(&mut bytes, at);
    bytes
}

fn handshake(session_id: i64, timeout_ms: i32) -> Vec<u8> {
    let password = Some(&[5; 16][..]);
    frame(|writer| {
        ConnectResponse { protocol_version: 0, timeout_ms, session_id, password, read_only: Some(false) }
            .write(writer);
    })
}

fn reply(xid: i32, err: i32, body: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    frame(|writer| {
        ReplyHeader { xid, zxid: i64::from(xid) + 100, err }.write(writer);
        body(writer);
    })
}

fn event(event: EventType, path: &str) -> Vec<u8> {
    frame(|writer| WatcherEvent { event, state: KeeperState::SyncConnected, path }.write(150, writer))
}

fn data(path: &str, watch: bool) -> Request {
    Request::Data { path: String::from(path), watch }
}

fn is_lost(output: &Output) -> bool {
    matches!(output, Output::Replied(_, replied) if replied.result == Err(Error::ConnectionLost))
}

fn state(state: KeeperState, session: i64) -> Output {
    Output::State(STATES, StateChange { state, session: SessionId(session) })
}

/// Three requests, their replies, and an event between them.
fn conversation() -> Vec<u8> {
    let mut bytes = handshake(7, 9000);
    bytes.extend(reply(1, 0, |writer| {
        writer.buffer(Some(b"one"));
        Stat::default().write(writer);
    }));
    bytes.extend(event(EventType::NodeDataChanged, "/a"));
    bytes.extend(reply(2, ErrorCode::NoNode.code(), |_| {}));
    bytes.extend(reply(3, 0, |writer| Stat { version: 4, ..Stat::default() }.write(writer)));
    bytes
}

fn talk(pieces: &[&[u8]]) -> (Bench, Vec<Output>) {
    let mut bench = bench(Settings::default());
    bench.submit(1, &data("/a", true));
    bench.submit(2, &data("/b", true));
    bench.submit(3, &Request::SetData { path: "/a".into(), data: None, version: 3 });
    bench.connect();
    for piece in pieces {
        bench.receive(piece);
    }
    let outputs = bench.outputs();
    (bench, outputs)
}

#[test]
fn conversation_is_told_in_the_order_of_the_connection() {
    let (_, outputs) = talk(&[&conversation()]);
    let [up, Output::Replied(RequestId(1), one), Output::Event(WATCHER, changed), two, three] = &outputs[..]
    else {
        panic!("{outputs:?}");
    };
    assert_eq!(*up, state(KeeperState::SyncConnected, 7));
    assert_eq!((one.zxid, &one.result), (Zxid(101), &Ok(Reply::Data(Some(b"one".into()), Stat::default()))));
    assert_eq!((changed.kind, changed.zxid), (EventKind::NodeDataChanged, Zxid(150)));
    let refused = Error::Refused { code: ErrorCode::NoNode, path: "/b".into() };
    assert!(matches!(two, Output::Replied(RequestId(2), replied) if replied.result == Err(refused)));
    assert!(matches!(three, Output::Replied(RequestId(3), replied)
        if matches!(replied.result, Ok(Reply::Set(Stat { version: 4, .. })))));
}

#[test]
fn bytes_may_come_in_any_pieces() {
    let bytes = conversation();
    let (_, whole) = talk(&[&bytes]);
    for cut in 0..=bytes.len() {
        assert_eq!(talk(&[&bytes[..cut], &bytes[cut..]]).1, whole, "cut at {cut}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(talk(&single).1, whole);
}

#[test]
fn connection_that_breaks_at_any_byte_leaves_the_rest_unknown_and_the_session_goes_on() {
    let bytes = conversation();
    let (_, whole) = talk(&[&bytes]);
    let opened = handshake(7, 9000).len();
    for cut in 0..bytes.len() {
        let (mut bench, before) = talk(&[&bytes[..cut]]);
        assert_eq!(before, whole[..before.len()], "cut at {cut}");
        bench.lose(ConnectFailure::Closed);
        let after = bench.outputs();
        let answered = before.iter().filter(|output| matches!(output, Output::Replied(..))).count();
        let (session, password, zxid) = bench.connect();
        if cut < opened {
            // Nothing was sent yet: the requests still wait.
            assert_eq!((after.len(), session, zxid), (0, 0, 0), "cut at {cut}");
            continue;
        }
        assert_eq!(after.iter().filter(|output| is_lost(output)).count(), 3 - answered, "cut at {cut}");
        assert_eq!(after.last(), Some(&state(KeeperState::Disconnected, 7)));
        let seen = if answered == 0 { 0 } else { 100 + answered as i64 };
        assert_eq!((session, password, zxid), (7, [5; 16], seen), "cut at {cut}");
        bench.receive(&handshake(7, 9000));
        // A watch that was left and is not used up is set again, before anything else.
        let has_event = before.iter().any(|output| matches!(output, Output::Event(..)));
        let expected: &[OpCode] = if answered > 0 && !has_event { &[OpCode::SetWatches2] } else { &[] };
        assert_eq!(bench.operations(), expected, "cut at {cut}");
    }
}

#[test]
fn noise_breaks_the_connection_and_nothing_else() {
    for seed in 0..2000 {
        let mut random = Random::new(seed);
        let mut bench = bench(Settings { frame_bytes_max: 1000, ..Settings::default() });
        bench.open();
        bench.submit(1, &data("/a", true));
        let mut noise: Vec<u8> = (0..random.below(40)).map(|_| random.number() as u8).collect();
        if random.below(2) == 0 {
            // A frame of the right length, full of noise.
            let length = noise.len() as u32;
            noise.splice(0..0, length.to_be_bytes());
        }
        bench.receive(&noise);
        bench.tick();
        bench.lose(ConnectFailure::Closed);
        bench.dial();
    }
}

#[test]
fn silent_server_is_asked_and_then_left() {
    let mut bench = bench(Settings::default());
    bench.open();
    assert_eq!(bench.client.machine.deadline(), Some(bench.now + Duration::from_secs(3)));
    bench.pass(Duration::from_secs(3));
    assert_eq!(bench.operations(), [OpCode::Ping]);
    // A reply that comes late still counts.
    bench.pass(Duration::from_millis(2900));
    bench.receive(&reply(-2, 0, |_| {}));
    bench.pass(Duration::from_millis(200));
    assert_eq!(bench.operations(), [OpCode::Ping]);
    bench.pass(Duration::from_millis(5800));
    assert_eq!(bench.client.machine.action(), Some(Action::Close));
    assert_eq!(bench.outputs().last(), Some(&state(KeeperState::Disconnected, 7)));
}

#[test]
fn silent_server_is_left_sooner_if_there_are_others_and_later_if_those_are_slow_too() {
    let silence = Duration::from_millis(900);
    let mut bench = bench(Settings { server_silence: Some(silence), ..Settings::default() });
    bench.open();
    // Behind one that was heard for long the next one gets no more time.
    for (expected, is_heard_for_long) in
        [(900, true), (900, false), (1800, false), (3600, true), (900, false)]
    {
        let pinged = bench.client.machine.deadline().unwrap() - bench.now;
        assert!(pinged <= Duration::from_millis(expected / 3), "{pinged:?}");
        for _ in 0..if is_heard_for_long { 3 } else { 0 } {
            bench.pass(Duration::from_millis(500));
            bench.receive(&reply(-2, 0, |_| {}));
        }
        bench.pass(Duration::from_millis(expected - 1));
        assert!(bench.client.machine.is_up());
        bench.pass(Duration::from_millis(1));
        assert!(!bench.client.machine.is_up());
        bench.open();
    }
}

#[test]
fn server_that_opens_no_session_in_time_is_left_for_the_next() {
    let mut bench = bench(Settings { session_timeout: Duration::from_secs(6), ..Settings::default() });
    let first = bench.dial();
    bench.client.machine.connected(bench.now, ENTROPY);
    bench.pass(Duration::from_millis(2999));
    assert_eq!(bench.client.machine.action(), None);
    bench.pass(Duration::from_millis(1));
    assert_eq!(bench.client.machine.action(), Some(Action::Close));
    assert_ne!(bench.dial(), first);
}

#[test]
fn requests_fail_after_each_round_in_vain_and_rounds_come_slower() {
    let mut bench = bench(Settings { seed: 5, ..Settings::default() });
    let mut starts = Vec::new();
    for round in 0..8 {
        bench.submit(round, &data("/a", false));
        let mut ports = vec![bench.dial()];
        starts.push(bench.now);
        bench.lose(ConnectFailure::Refused);
        ports.push(bench.dial());
        bench.lose(ConnectFailure::Refused);
        ports.sort();
        assert_eq!(ports, [2181, 2182]);
        bench.tick();
        bench.tick();
        let outputs = bench.outputs();
        assert!(matches!(&outputs[..], [one] if is_lost(one)), "{outputs:?}");
    }
    let pauses: Vec<Duration> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses[0] <= Duration::from_millis(20) && pauses[6] >= Duration::from_millis(500), "{pauses:?}");
}

#[test]
fn name_without_an_address_is_passed_over() {
    let mut bench = bench(Settings::default());
    bench.tick();
    let Some(Action::Resolve { port, .. }) = bench.client.machine.action() else { panic!("a name") };
    assert_eq!(bench.client.machine.deadline(), None);
    bench.client.machine.resolved(Err("no such host".into()), &mut bench.client.outputs);
    assert_ne!(bench.dial(), port);
}

#[test]
fn wrong_password_and_expiry_end_the_session() {
    let ticket = Ticket { session: SessionId(9), password: [1; 16] };
    let mut resumed = bench(Settings { resume: Some(ticket), ..Settings::default() });
    assert_eq!(resumed.connect(), (9, [1; 16], 0));
    resumed.submit(1, &data("/a", false));
    resumed.receive(&handshake(0, 0));
    assert_eq!(resumed.client.machine.over(), Some(&Error::SessionExpired));
    assert_eq!(resumed.client.machine.deadline(), None);
    let outputs = resumed.outputs();
    assert_eq!(outputs[0], state(KeeperState::Expired, 9));
    assert!(matches!(&outputs[1], Output::Replied(_, one) if one.result == Err(Error::SessionExpired)));
}

#[test]
fn renewed_session_follows_on_a_connection_of_its_own() {
    let mut bench = bench(Settings { renew: true, ..Settings::default() });
    bench.open();
    bench.submit(1, &data("/a", true));
    bench.receive(&reply(1, ErrorCode::NoNode.code(), |_| {}));
    bench.submit(2, &Request::Exists { path: "/b".into(), watch: true });
    bench.receive(&reply(2, ErrorCode::NoNode.code(), |_| {}));
    bench.lose(ConnectFailure::Closed);
    bench.connect();
    bench.outputs();
    bench.receive(&handshake(0, 0));
    let expired = Event { kind: EventKind::None, state: KeeperState::Expired, path: None, zxid: Zxid(-1) };
    assert_eq!(bench.outputs(), [state(KeeperState::Expired, 7), Output::Event(WATCHER, expired)]);
    assert_eq!(bench.client.machine.action(), Some(Action::Close));
    assert_eq!(bench.connect(), (0, [0; 16], 102));
    bench.receive(&handshake(8, 9000));
    assert_eq!(bench.outputs(), [state(KeeperState::SyncConnected, 8)]);
    // The watches are gone with the session.
    assert_eq!(bench.operations(), []);
}

#[test]
fn sasl_user_that_is_refused_ends_the_session() {
    let sasl = Some(SaslUser::new("bob", "wrong"));
    let mut refused = bench(Settings { sasl: sasl.clone(), ..Settings::default() });
    refused.open();
    refused.submit(1, &data("/a", false));
    assert_eq!(refused.operations(), [OpCode::Sasl]);
    refused.receive(&reply(1, ErrorCode::AuthFailed.code(), |_| {}));
    assert_eq!(refused.client.machine.over(), Some(&Error::AuthFailed));
    // Nor is a server believed that does not know the password itself.
    let mut deceived = bench(Settings { sasl, ..Settings::default() });
    deceived.open();
    let challenge = b"realm=\"r\",nonce=\"n\",charset=utf-8,algorithm=md5-sess";
    deceived.operations();
    deceived.receive(&reply(1, 0, |writer| {
        writer.buffer(Some(challenge));
    }));
    assert_eq!(deceived.operations(), [OpCode::Sasl]);
    deceived.receive(&reply(2, 0, |writer| {
        writer.buffer(Some(b"rspauth=00"));
    }));
    assert_eq!(deceived.client.machine.over(), Some(&Error::AuthFailed));
}

#[test]
fn port_that_expects_tls_is_told_apart() {
    let mut bench = bench(Settings::default());
    let first = bench.dial();
    bench.client.machine.connected(bench.now, ENTROPY);
    bench.receive(&[21, 3, 3, 0, 2]);
    assert_eq!(bench.client.machine.action(), Some(Action::Close));
    assert_ne!(bench.dial(), first);
}

#[test]
fn closing_waits_a_short_time_for_the_server() {
    let mut bench = bench(Settings::default());
    bench.open();
    bench.client.machine.close(bench.now, &mut bench.client.outputs);
    assert_eq!(bench.operations(), [OpCode::CloseSession]);
    bench.pass(Duration::from_millis(1999));
    assert_eq!(bench.client.machine.over(), None);
    bench.pass(Duration::from_millis(1));
    assert_eq!(bench.client.machine.over(), Some(&Error::Closed));
    assert_eq!(bench.outputs().last(), Some(&state(KeeperState::Closed, 7)));
}

#[test]
fn path_that_is_none_is_refused_before_it_is_sent() {
    let mut bench = bench(Settings::default());
    bench.submit(1, &data("a", false));
    let outputs = bench.outputs();
    assert!(matches!(&outputs[..], [Output::Replied(RequestId(1), one)]
        if matches!(one.result, Err(Error::InvalidPath { .. }))));
}
