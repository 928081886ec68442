use std::sync::{Arc, Mutex};

use council_wire::{Frame, Request, next_frame};

use super::*;
use crate::event::Events;
use crate::watch::Table;

struct Bench {
    session: Session,
    states: Events,
    status: Status,
}

fn bench() -> Bench {
    let (watcher, states) = Watcher::new();
    let status = Status::default();
    let session = Session::new(&Options::new().watcher(&watcher), "", status.clone());
    Bench { session, states, status }
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

    fn connect(&mut self) {
        self.session.begin([1; 16]);
        let bytes = std::mem::take(self.session.out());
        let Frame::Whole(frame) = next_frame(&bytes, 100) else { panic!() };
        assert_eq!(ConnectRequest::read(&mut Reader::new(frame)).unwrap().read_only, Some(false));
        self.session.receive(&response(5, 4000)).unwrap();
    }

    fn ask(&mut self, opcode: OpCode) -> Arc<Mutex<Vec<Result<i32, Error>>>> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let sink =
            move |answer: Answer<'_>, _: &mut Context| sink.lock().unwrap().push(answer.map(|(err, _)| err));
        self.session.submit(Submission { opcode, body: Vec::new(), sink: Box::new(sink) });
        seen
    }

    fn states(&self) -> Vec<KeeperState> {
        std::iter::from_fn(|| self.states.try_recv()).map(|event| event.state).collect()
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

#[test]
fn requests_wait_for_the_handshake_and_are_answered_in_order() {
    let mut bench = bench();
    let first = bench.ask(OpCode::Ping);
    bench.connect();
    assert_eq!(bench.status.ticket(), Ticket { session: 5, password: [7; 16] });
    let second = bench.ask(OpCode::Sync);
    assert_eq!(bench.sent().iter().map(|sent| (sent.0, sent.1)).collect::<Vec<_>>(), [(1, 11), (2, 9)]);
    bench.session.receive(&reply(1, 10, 0)).unwrap();
    bench.session.receive(&reply(2, 11, -101)).unwrap();
    assert_eq!((&*first.lock().unwrap(), &*second.lock().unwrap()), (&vec![Ok(0)], &vec![Ok(-101)]));
    assert_eq!(bench.states(), [KeeperState::SyncConnected]);
}

#[test]
fn a_reply_out_of_order_breaks_the_connection() {
    let mut bench = bench();
    bench.connect();
    let first = bench.ask(OpCode::Sync);
    assert!(bench.session.receive(&reply(2, 1, 0)).is_err());
    assert_eq!(*first.lock().unwrap(), [Err(Error::ConnectionLost)]);
    assert!(bench.session.receive(&reply(9, 1, 0)).is_err());
    assert!(bench.session.receive(&[0; 3]).is_err());
}

#[test]
fn what_was_under_way_is_lost_with_the_connection_and_watches_are_set_again() {
    let mut bench = bench();
    bench.connect();
    let (watcher, _events) = Watcher::new();
    bench.session.context().watches.add(Table::Child, "/w", &watcher);
    bench.ask(OpCode::Sync);
    bench.session.receive(&reply(1, 77, 0)).unwrap();
    let under_way = bench.ask(OpCode::Sync);
    bench.session.lost();
    assert_eq!(*under_way.lock().unwrap(), [Err(Error::ConnectionLost)]);
    let waits = bench.ask(OpCode::Sync);
    bench.connect();
    let sent = bench.sent();
    assert_eq!(sent.iter().map(|sent| (sent.0, sent.1)).collect::<Vec<_>>(), [(-8, 105), (3, 9)]);
    let Ok(Request::SetWatches2(set)) = Request::decode(OpCode::SetWatches2, &sent[0].2) else { panic!() };
    assert_eq!((set.relative_zxid, set.child.iter().collect::<Vec<_>>()), (77, vec![Some("/w")]));
    bench.session.receive(&reply(-8, 77, 0)).unwrap();
    bench.session.receive(&reply(3, 77, 0)).unwrap();
    assert_eq!(*waits.lock().unwrap(), [Ok(0)]);
    let states = bench.states();
    assert_eq!(states, [KeeperState::SyncConnected, KeeperState::Disconnected, KeeperState::SyncConnected]);
}

#[test]
fn expiry_is_the_end_and_all_are_told() {
    let mut bench = bench();
    let (watcher, events) = Watcher::new();
    bench.session.context().watches.add(Table::Data, "/w", &watcher);
    let waits = bench.ask(OpCode::Sync);
    bench.session.begin([1; 16]);
    bench.session.receive(&response(0, 0)).unwrap();
    assert_eq!(bench.session.over(), Some(&Error::SessionExpired));
    assert_eq!(*waits.lock().unwrap(), [Err(Error::SessionExpired)]);
    assert_eq!(events.try_recv().unwrap().state, KeeperState::Expired);
    assert_eq!(*bench.ask(OpCode::Sync).lock().unwrap(), [Err(Error::SessionExpired)]);
    assert_eq!(bench.status.state(), SessionState::Expired);
}

#[test]
fn identities_are_sent_first_on_every_connection() {
    let mut bench = bench();
    let (completer, waits) = crate::pending::pending();
    bench.session.add_auth("digest".into(), b"u:p".to_vec(), completer);
    assert_eq!(waits.wait(), Ok(()));
    bench.ask(OpCode::Sync);
    bench.connect();
    assert_eq!(bench.sent().iter().map(|sent| sent.0).collect::<Vec<_>>(), [-4, 1]);
    bench.session.receive(&reply(-4, 0, 0)).unwrap();
    let (completer, waits) = crate::pending::pending();
    bench.session.add_auth("nonsense".into(), Vec::new(), completer);
    bench.session.receive(&reply(-4, 0, -115)).unwrap();
    assert_eq!(waits.wait(), Err(Error::AuthFailed));
    assert_eq!(bench.session.over(), Some(&Error::AuthFailed));
}

#[test]
fn an_event_is_told_with_its_zxid_and_does_not_count_as_seen() {
    let mut bench = bench();
    bench.connect();
    let (watcher, events) = Watcher::new();
    bench.session.context().watches.add(Table::Data, "/w", &watcher);
    let mut bytes = Vec::new();
    let state = KeeperState::SyncConnected;
    WatcherEvent { event: council_wire::EventType::NodeDataChanged, state, path: "/w" }
        .write(99, &mut Writer::new(&mut bytes));
    bench.session.receive(&bytes).unwrap();
    let event = events.try_recv().unwrap();
    assert_eq!(event.to_string(), "WatchedEvent state:SyncConnected type:NodeDataChanged path:/w zxid: 99");
    assert_eq!(bench.session.last_zxid, 0);
    bench.session.receive(&bytes).unwrap();
    assert_eq!(events.try_recv(), None);
}

#[test]
fn a_closed_session_ends_after_its_reply() {
    let mut bench = bench();
    bench.connect();
    bench.session.submit(Submission {
        opcode: OpCode::CloseSession,
        body: Vec::new(),
        sink: Box::new(|_, context| context.closed = true),
    });
    assert_eq!(bench.session.over(), None);
    bench.session.receive(&reply(1, 1, 0)).unwrap();
    assert_eq!(bench.session.over(), Some(&Error::Closed));
    assert_eq!(bench.states(), [KeeperState::SyncConnected, KeeperState::Closed]);
}
