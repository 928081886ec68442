use council_wire::{Frame, Request, next_frame};

use super::*;
use crate::operation::{self, Answer, Operation};
use crate::settings::Limits;

/// What the session told, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Reply(u32, Result<i32, Error>),
    Event(char, Event),
    State(char, KeeperState, SessionId),
}

#[derive(Default)]
struct Journal(Vec<Told>);

impl Handler<u32, char> for Journal {
    fn reply(&mut self, tag: u32, answer: Answer<'_>, _: &Chroot) {
        self.0.push(Told::Reply(tag, answer.map(|answered| answered.err)));
    }

    fn event(&mut self, watcher: &char, event: &Event) {
        self.0.push(Told::Event(*watcher, event.clone()));
    }

    fn state(&mut self, listener: &char, change: StateChange) {
        self.0.push(Told::State(*listener, change.state, change.session));
    }
}

struct Bench {
    session: Session<u32, char>,
    told: Journal,
}

fn bench() -> Bench {
    bench_with(Settings::default())
}

fn bench_with(settings: Settings) -> Bench {
    let mut bench = Bench { session: Session::new(&settings), told: Journal::default() };
    bench.session.listen('s', &mut bench.told);
    bench
}

impl Bench {
    /// Takes what was sent: header and body of each frame.
    fn sent(&mut self) -> Vec<(i32, i32, Vec<u8>)> {
        let bytes = std::mem::take(self.session.out());
        let mut rest = bytes.as_slice();
        let mut frames = Vec::new();
        while let Frame::Whole(frame) = next_frame(rest, 1 << 20) {
            let mut reader = Reader::new(frame);
            let header = RequestHeader::read(&mut reader).unwrap();
            frames.push((header.xid, header.operation, reader.rest().to_vec()));
            rest = &rest[4 + frame.len()..];
        }
        assert!(rest.is_empty());
        frames
    }

    fn numbers(&mut self) -> Vec<(i32, i32)> {
        self.sent().iter().map(|sent| (sent.0, sent.1)).collect()
    }

    fn receive(&mut self, frame: &[u8]) -> Result<(), Malformed> {
        self.session.receive(frame, &mut self.told)
    }

    fn connect(&mut self) {
        self.session.begin([1; 16]);
        let bytes = std::mem::take(self.session.out());
        let Frame::Whole(frame) = next_frame(&bytes, 100) else { panic!() };
        assert_eq!(ConnectRequest::read(&mut Reader::new(frame)).unwrap().read_only, Some(false));
        self.receive(&response(5, 4000)).unwrap();
    }

    fn submit<R>(&mut self, tag: u32, operation: Operation<R>, watcher: Option<char>) {
        self.session.submit(operation.into_parts(watcher).0, tag, &mut self.told);
    }

    fn ask(&mut self, tag: u32) {
        self.submit(tag, operation::sync(&Chroot::default(), "/").unwrap(), None);
    }

    /// Takes what was told.
    fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told.0)
    }
}

fn response(session_id: i64, timeout_ms: i32) -> Vec<u8> {
    let mut bytes = Vec::new();
    ConnectResponse {
        protocol_version: 0,
        timeout_ms,
        session_id,
        password: Some(&[7; 16]),
        read_only: Some(false),
    }
    .write(&mut Writer::new(&mut bytes));
    bytes
}

fn reply(xid: i32, zxid: i64, err: i32) -> Vec<u8> {
    let mut bytes = Vec::new();
    ReplyHeader { xid, zxid, err }.write(&mut Writer::new(&mut bytes));
    bytes
}

fn changed(path: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let state = KeeperState::SyncConnected;
    WatcherEvent { event: council_wire::EventType::NodeDataChanged, state, path }
        .write(99, &mut Writer::new(&mut bytes));
    bytes
}

const UP: Told = Told::State('s', KeeperState::SyncConnected, SessionId(5));
const DOWN: Told = Told::State('s', KeeperState::Disconnected, SessionId(5));

#[test]
fn requests_wait_for_the_handshake_and_are_answered_in_order() {
    let mut bench = bench();
    bench.ask(1);
    bench.connect();
    assert_eq!(*bench.session.ticket(), Ticket { session: SessionId(5), password: [7; 16] });
    bench.ask(2);
    assert_eq!(bench.numbers(), [(1, 9), (2, 9)]);
    bench.receive(&reply(1, 10, 0)).unwrap();
    bench.receive(&reply(2, 11, -101)).unwrap();
    assert_eq!(bench.told(), [UP, Told::Reply(1, Ok(0)), Told::Reply(2, Ok(-101))]);
}

#[test]
fn reply_out_of_order_breaks_the_connection() {
    let mut bench = bench();
    bench.connect();
    bench.ask(1);
    assert!(bench.receive(&reply(2, 1, 0)).is_err());
    assert_eq!(bench.told(), [UP, Told::Reply(1, Err(Error::ConnectionLost))]);
    assert!(bench.receive(&reply(9, 1, 0)).is_err());
    assert!(bench.receive(&[0; 3]).is_err());
}

#[test]
fn lost_connection_loses_what_was_under_way_and_watches_are_set_again() {
    let mut bench = bench();
    bench.connect();
    bench.session.watches.add(Table::Child, "/w", &'w');
    bench.ask(1);
    bench.receive(&reply(1, 77, 0)).unwrap();
    bench.ask(2);
    bench.session.lost(&mut bench.told);
    assert_eq!(bench.told(), [UP, Told::Reply(1, Ok(0)), Told::Reply(2, Err(Error::ConnectionLost)), DOWN]);
    bench.ask(3);
    bench.connect();
    let sent = bench.sent();
    assert_eq!(sent.iter().map(|sent| (sent.0, sent.1)).collect::<Vec<_>>(), [(-8, 105), (3, 9)]);
    let Ok(Request::SetWatches2(set)) = Request::decode(OpCode::SetWatches2, &sent[0].2) else { panic!() };
    assert_eq!((set.relative_zxid, set.child.iter().collect::<Vec<_>>()), (77, vec![Some("/w")]));
    bench.receive(&reply(-8, 77, 0)).unwrap();
    bench.receive(&reply(3, 77, 0)).unwrap();
    assert_eq!(bench.told(), [UP, Told::Reply(3, Ok(0))]);
}

#[test]
fn expiry_is_the_end_and_all_are_told() {
    let mut bench = bench();
    bench.session.watches.add(Table::Data, "/w", &'w');
    bench.ask(1);
    bench.session.begin([1; 16]);
    bench.receive(&response(0, 0)).unwrap();
    assert_eq!(bench.session.over(), Some(&Error::SessionExpired));
    bench.ask(2);
    let expired = Event { kind: EventKind::None, state: KeeperState::Expired, path: None, zxid: Zxid(-1) };
    assert_eq!(
        bench.told(),
        [
            Told::State('s', KeeperState::Expired, SessionId(0)),
            Told::Event('w', expired),
            Told::Reply(1, Err(Error::SessionExpired)),
            Told::Reply(2, Err(Error::SessionExpired)),
        ]
    );
}

#[test]
fn renewed_session_begins_without_watches_and_never_goes_back_in_time() {
    let mut bench = bench_with(Settings { renew: true, ..Settings::default() });
    bench.connect();
    bench.session.watches.add(Table::Data, "/w", &'w');
    bench.ask(1);
    bench.receive(&reply(1, 77, 0)).unwrap();
    bench.session.lost(&mut bench.told);
    bench.ask(2);
    bench.session.begin([1; 16]);
    bench.told();
    bench.receive(&response(0, 0)).unwrap();
    assert_eq!(bench.session.over(), None);
    let told = bench.told();
    assert_eq!(told.first(), Some(&Told::State('s', KeeperState::Expired, SessionId(5))));
    assert_eq!(told.last(), Some(&Told::Reply(2, Err(Error::SessionExpired))));
    bench.session.begin([1; 16]);
    let bytes = std::mem::take(bench.session.out());
    let Frame::Whole(frame) = next_frame(&bytes, 100) else { panic!() };
    let request = ConnectRequest::read(&mut Reader::new(frame)).unwrap();
    assert_eq!((request.session_id, request.last_zxid_seen, request.timeout_ms), (0, 77, 30_000));
    bench.receive(&response(6, 4000)).unwrap();
    assert_eq!(bench.told(), [Told::State('s', KeeperState::SyncConnected, SessionId(6))]);
    assert_eq!(bench.sent(), []);
}

#[test]
fn identities_are_sent_first_on_every_connection() {
    let mut bench = bench();
    bench.session.add_auth("digest".into(), b"u:p".to_vec(), 1, &mut bench.told);
    assert_eq!(bench.told(), [Told::Reply(1, Ok(0))]);
    bench.ask(2);
    bench.connect();
    assert_eq!(bench.sent().iter().map(|sent| sent.0).collect::<Vec<_>>(), [-4, 1]);
    bench.receive(&reply(-4, 0, 0)).unwrap();
    bench.session.add_auth("nonsense".into(), Vec::new(), 3, &mut bench.told);
    bench.receive(&reply(-4, 0, -115)).unwrap();
    assert_eq!(bench.told().last(), Some(&Told::Reply(3, Err(Error::AuthFailed))));
    assert_eq!(bench.session.over(), Some(&Error::AuthFailed));
}

#[test]
fn event_is_told_with_its_zxid_and_does_not_count_as_seen() {
    let mut bench = bench();
    bench.connect();
    bench.session.watches.add(Table::Data, "/w", &'w');
    bench.told();
    bench.receive(&changed("/w")).unwrap();
    let [Told::Event('w', event)] = &bench.told()[..] else { panic!("one event") };
    assert_eq!(event.to_string(), "WatchedEvent state:SyncConnected type:NodeDataChanged path:/w zxid: 99");
    assert_eq!(bench.session.last_zxid, Zxid(0));
    bench.receive(&changed("/w")).unwrap();
    assert_eq!(bench.told(), []);
}

#[test]
fn watch_is_left_by_the_reply_and_not_by_the_request() {
    let mut bench = bench();
    bench.connect();
    let exists = || operation::exists(&Chroot::default(), "/w", true).unwrap();
    let data = || operation::data(&Chroot::default(), "/w", true).unwrap();
    bench.submit(1, exists(), Some('a'));
    bench.submit(2, data(), Some('b'));
    assert!(!bench.session.watches.has(WatcherType::Any, "/w"));
    // The node is not there: that leaves a watch for its creation, and none for its data.
    bench.receive(&reply(1, 1, -101)).unwrap();
    bench.receive(&reply(2, 1, -101)).unwrap();
    bench.told();
    bench.receive(&changed("/w")).unwrap();
    assert!(matches!(bench.told()[..], [Told::Event('a', _)]));
}

#[test]
fn requests_beyond_the_limits_are_refused_and_not_sent() {
    let limits = Limits { requests_max: 2, request_bytes_max: 1 << 20 };
    let mut bench = bench_with(Settings { limits, ..Settings::default() });
    bench.ask(1);
    bench.connect();
    bench.ask(2);
    bench.ask(3);
    assert_eq!(bench.numbers().len(), 2);
    assert_eq!(bench.told(), [UP, Told::Reply(3, Err(Error::TooManyRequests))]);
    bench.receive(&reply(1, 1, 0)).unwrap();
    bench.ask(4);
    assert_eq!(bench.numbers(), [(3, 9)]);
    let limits = Limits { requests_max: 100, request_bytes_max: 15 };
    let mut bench = bench_with(Settings { limits, ..Settings::default() });
    for tag in 0..4 {
        bench.ask(tag);
    }
    assert_eq!(bench.told(), [Told::Reply(3, Err(Error::TooManyRequests))]);
}

#[test]
fn closed_session_ends_after_its_reply() {
    let mut bench = bench();
    bench.connect();
    bench.session.close();
    assert_eq!(bench.session.over(), None);
    bench.receive(&reply(1, 1, 0)).unwrap();
    assert_eq!(bench.session.over(), Some(&Error::Closed));
    assert_eq!(bench.told(), [UP, Told::State('s', KeeperState::Closed, SessionId(5))]);
}
