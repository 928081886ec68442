//! One connection to a server of the model: the bytes of the real protocol.

use std::cmp::Ordering;
use std::collections::{BTreeSet, VecDeque};

use council_wire::{
    ConnectRequest, ConnectResponse, ErrorCode, EventType, Frame, KeeperState, MultiHeader, MultiOperation,
    OpCode, Reader, ReplyHeader, Request, RequestHeader, SetWatches, WatcherEvent, Writer, end_frame,
    next_frame, start_frame, xid,
};

use crate::{Ensemble, Node, Outcome, Server, Session, Write, is_below};

const TIMEOUT_MS: i32 = 10_000;

/// A request whose turn it is, or will be.
#[derive(Clone, Debug)]
enum Turn {
    /// A frame that was not looked at yet.
    Frame(Vec<u8>),
    /// A write on its way to the leader.
    Travelling(i32, Write),
    /// To be answered once the server has applied so much.
    Waiting(i32, usize, Outcome),
}

#[derive(Clone, Debug, Default)]
pub struct Connection {
    pub server: usize,
    pub session: i64,
    /// Broken: nothing comes through any more.
    pub closed: bool,
    /// Arrived at the server, not looked at.
    pub input: Vec<u8>,
    /// On its way to the client.
    pub output: Vec<u8>,
    turns: VecDeque<Turn>,
    opened: bool,
    data: BTreeSet<String>,
    exist: BTreeSet<String>,
    child: BTreeSet<String>,
    persistent: BTreeSet<String>,
    recursive: BTreeSet<String>,
}

impl Connection {
    /// Whether the leader may still be given a write of it.
    pub fn is_travelling(&self) -> bool {
        matches!(self.turns.front(), Some(Turn::Travelling(..)))
    }

    pub fn watches_data(&self, path: &str) -> bool {
        self.data.contains(path)
    }

    pub fn is_idle(&self) -> bool {
        self.turns.is_empty() && self.input.is_empty()
    }

    /// A change, to the watches.
    pub fn tell(&mut self, kind: EventType, path: &str, zxid: i64) {
        let one_shot = match kind {
            EventType::NodeCreated | EventType::NodeDataChanged => {
                self.data.remove(path) | self.exist.remove(path)
            }
            EventType::NodeDeleted => {
                self.data.remove(path) | self.exist.remove(path) | self.child.remove(path)
            }
            EventType::NodeChildrenChanged => self.child.remove(path),
            EventType::None => false,
        };
        let above = |root: &String| root == "/" || is_below(path, root);
        let recursive = kind != EventType::NodeChildrenChanged && self.recursive.iter().any(above);
        if one_shot || recursive || self.persistent.contains(path) {
            let event = WatcherEvent { event: kind, state: KeeperState::SyncConnected, path };
            self.frame(|writer| event.write(zxid, writer));
        }
    }

    fn frame(&mut self, write: impl FnOnce(&mut Writer<'_>)) {
        let at = start_frame(&mut self.output);
        write(&mut Writer::new(&mut self.output));
        end_frame(&mut self.output, at);
    }

    fn reply(&mut self, xid: i32, zxid: i64, err: i32, body: impl FnOnce(&mut Writer<'_>)) {
        self.frame(|writer| {
            ReplyHeader { xid, zxid, err }.write(writer);
            body(writer);
        });
    }

    fn refuse(&mut self, xid: i32, zxid: i64, code: ErrorCode) {
        self.reply(xid, zxid, code.code(), |_| {});
    }

    fn answer(&mut self, xid: i32, zxid: i64, outcome: &Outcome) {
        match outcome {
            Outcome::Created(path, stat) => self.reply(xid, zxid, 0, |writer| {
                writer.text(path);
                stat.write(writer);
            }),
            Outcome::Set(stat) => self.reply(xid, zxid, 0, |writer| stat.write(writer)),
            Outcome::Deleted | Outcome::Done => self.reply(xid, zxid, 0, |_| {}),
            Outcome::Multi(outcomes) => self.reply(xid, zxid, 0, |writer| {
                outcomes.iter().for_each(|outcome| write_done(outcome, writer));
                MultiHeader::END.write(writer);
            }),
            Outcome::MultiRefused(at, of, code) => self.reply(xid, zxid, 0, |writer| {
                for place in 0..*of {
                    let err = match place.cmp(at) {
                        Ordering::Less => 0,
                        Ordering::Equal => code.code(),
                        Ordering::Greater => ErrorCode::RuntimeInconsistency.code(),
                    };
                    MultiHeader { operation: -1, done: false, err }.write(writer);
                    writer.i32(err);
                }
                MultiHeader::END.write(writer);
            }),
            Outcome::Refused(code) => self.refuse(xid, zxid, *code),
        }
    }

    /// Watches are set again.
    fn set_watches(&mut self, set: &SetWatches<'_>, server: &Server) {
        let zxid = server.applied as i64;
        let mut told = Vec::new();
        for path in set.data.iter().flatten() {
            match server.tree.get(path) {
                None => told.push((EventType::NodeDeleted, path)),
                Some(node) if node.stat.mzxid > set.relative_zxid => {
                    told.push((EventType::NodeDataChanged, path));
                }
                Some(_) => drop(self.data.insert(path.into())),
            }
        }
        for path in set.exist.iter().flatten() {
            match server.tree.get(path) {
                Some(_) => told.push((EventType::NodeCreated, path)),
                None => drop(self.exist.insert(path.into())),
            }
        }
        for (event, path) in told {
            let event = WatcherEvent { event, state: KeeperState::SyncConnected, path };
            self.frame(|writer| event.write(zxid, writer));
        }
        self.persistent.extend(set.persistent.iter().flatten().map(String::from));
        self.recursive.extend(set.persistent_recursive.iter().flatten().map(String::from));
    }

    #[expect(clippy::too_many_lines, reason = "one story, told in order")]
    fn read(&mut self, xid: i32, request: &Request<'_>, server: &Server) {
        let (zxid, tree) = (server.applied as i64, &server.tree);
        match request {
            Request::Exists { path, watch } => match tree.get(*path) {
                None => {
                    self.exist.extend(watch.then(|| String::from(*path)));
                    self.refuse(xid, zxid, ErrorCode::NoNode);
                }
                Some(node) => {
                    self.data.extend(watch.then(|| String::from(*path)));
                    self.reply(xid, zxid, 0, |writer| node.stat.write(writer));
                }
            },
            Request::GetData { path, watch } => match tree.get(*path) {
                None => self.refuse(xid, zxid, ErrorCode::NoNode),
                Some(node) => {
                    self.data.extend(watch.then(|| String::from(*path)));
                    self.reply(xid, zxid, 0, |writer| write_data(node, writer));
                }
            },
            Request::GetChildren2 { path, .. } => match tree.get(*path) {
                None => self.refuse(xid, zxid, ErrorCode::NoNode),
                Some(node) => self.reply(xid, zxid, 0, |writer| {
                    writer.texts(children(server, path).into_iter());
                    node.stat.write(writer);
                }),
            },
            Request::MultiRead(reads) => self.reply(xid, zxid, 0, |writer| {
                for read in &reads.operations {
                    write_read(read, server, writer);
                }
                MultiHeader::END.write(writer);
            }),
            Request::AddWatch { path, mode } => {
                let set = if *mode == 1 { &mut self.recursive } else { &mut self.persistent };
                set.insert(String::from(*path));
                self.reply(xid, zxid, 0, |_| {});
            }
            Request::SetWatches2(set) => {
                self.set_watches(set, server);
                self.reply(xid, zxid, 0, |_| {});
            }
            Request::Ping => self.reply(xid::PING, zxid, 0, |_| {}),
            other => panic!("the model has no {other:?}"),
        }
    }

    /// Looks at the first frame, if one is first; the log has so many entries.
    fn take_frame(&mut self, server: &Server, decided: usize) {
        let Some(Turn::Frame(frame)) = self.turns.pop_front() else { return };
        let mut reader = Reader::new(&frame);
        let header = RequestHeader::read(&mut reader).unwrap();
        let opcode = OpCode::from_code(header.operation).unwrap();
        let request = Request::decode(opcode, reader.rest()).unwrap();
        match write(opcode, &request) {
            Some(write) => self.turns.push_front(Turn::Travelling(header.xid, write)),
            None if opcode == OpCode::Sync => {
                self.turns.push_front(Turn::Waiting(header.xid, decided, Outcome::Done));
            }
            None => self.read(header.xid, &request, server),
        }
    }

    /// Answers the first write, if one is first.
    fn take_outcome(&mut self, zxid: i64) {
        match self.turns.pop_front() {
            Some(Turn::Waiting(CLOSING, ..)) => self.closed = true,
            Some(Turn::Waiting(xid, _, outcome)) => self.answer(xid, zxid, &outcome),
            _ => {}
        }
    }
}

impl Ensemble {
    pub fn connect(&mut self, server: usize) -> usize {
        self.connections.push(Connection { server, ..Connection::default() });
        self.connections.len() - 1
    }

    /// A server does the next thing for one connection: takes a frame, or answers.
    pub fn serve(&mut self, id: usize) {
        let connection = &mut self.connections[id];
        if let Frame::Whole(frame) = next_frame(&connection.input, 1 << 20) {
            let frame = frame.to_vec();
            connection.input.drain(..frame.len() + 4);
            if connection.opened {
                connection.turns.push_back(Turn::Frame(frame));
            } else {
                self.open(id, &frame);
            }
        }
        self.turn(id);
    }

    fn open(&mut self, id: usize, frame: &[u8]) {
        let request = ConnectRequest::read(&mut Reader::new(frame)).unwrap();
        let connection = &mut self.connections[id];
        connection.opened = true;
        if request.last_zxid_seen > self.servers[connection.server].applied as i64 {
            connection.closed = true;
            return;
        }
        let mut session_id = request.session_id;
        if session_id == 0 {
            session_id = 100 + self.sessions.len() as i64;
            self.sessions.insert(session_id, Session { alive: true, owner: id });
        }
        let password = [session_id as u8; 16];
        let session = self.sessions.get_mut(&session_id).unwrap();
        let known = request.session_id == 0 || request.password == Some(&password);
        let timeout_ms = if session.alive && known { TIMEOUT_MS } else { 0 };
        if timeout_ms == 0 {
            session_id = 0;
        } else {
            session.owner = id;
        }
        connection.session = session_id;
        connection.frame(|writer| {
            let password = Some(&password[..]);
            ConnectResponse { protocol_version: 0, timeout_ms, session_id, password, read_only: None }
                .write(writer);
        });
    }

    fn turn(&mut self, id: usize) {
        // No server is copied: clients ask all the time whether there is something to do.
        let Self { connections, servers, log, .. } = self;
        let connection = &mut connections[id];
        let server = &servers[connection.server];
        match connection.turns.front() {
            Some(Turn::Frame(_)) => connection.take_frame(server, log.len()),
            Some(Turn::Waiting(_, applied, _)) if server.applied >= *applied => {
                connection.take_outcome(server.applied as i64);
            }
            _ => {}
        }
    }

    /// The leader executes the write of a connection, if that is still its session's current one.
    pub fn execute_for(&mut self, id: usize) {
        let connection = &mut self.connections[id];
        let session = connection.session;
        let is_travelling = |turn: &mut Turn| matches!(turn, Turn::Travelling(..));
        let Some(Turn::Travelling(xid, write)) = connection.turns.pop_front_if(is_travelling) else { return };
        let may = self.sessions.get(&session).is_some_and(|session| session.alive && session.owner == id);
        if !may {
            self.connections[id].closed = true;
            return;
        }
        if matches!(write, Write::Close) {
            self.sessions.get_mut(&session).unwrap().alive = false;
        }
        let (at, outcome) = self.execute(session, &write);
        self.connections[id].turns.push_front(Turn::Waiting(xid, at, outcome));
    }
}

/// Not a number that a client gives.
const CLOSING: i32 = i32::MIN;

fn write(opcode: OpCode, request: &Request<'_>) -> Option<Write> {
    Some(match request {
        Request::Create(create) => Write::Create {
            path: create.path.into(),
            data: create.data.unwrap_or_default().to_vec(),
            flags: if opcode == OpCode::CreateContainer { 4 } else { create.flags },
        },
        Request::Delete { path, version } => Write::Delete { path: String::from(*path), version: *version },
        Request::Multi(multi) => Write::Multi(multi.operations.iter().map(write_of).collect()),
        Request::SetData { path, data, version } => Write::Set {
            path: String::from(*path),
            data: data.unwrap_or_default().to_vec(),
            version: *version,
        },
        Request::CloseSession => Write::Close,
        _ => return None,
    })
}

fn write_of(operation: &MultiOperation<'_>) -> Write {
    let owned = |path: &str| String::from(path);
    match operation {
        MultiOperation::Delete { path, version } => Write::Delete { path: owned(path), version: *version },
        MultiOperation::SetData { path, data, version } => {
            Write::Set { path: owned(path), data: data.unwrap_or_default().to_vec(), version: *version }
        }
        MultiOperation::Check { path, version } => Write::Check { path: owned(path), version: *version },
        other => panic!("the model has no {other:?} in a multi"),
    }
}

fn write_done(outcome: &Outcome, writer: &mut Writer<'_>) {
    let opcode = match outcome {
        Outcome::Set(_) => OpCode::SetData,
        Outcome::Deleted => OpCode::Delete,
        _ => OpCode::Check,
    };
    MultiHeader { operation: opcode.code(), done: false, err: 0 }.write(writer);
    if let Outcome::Set(stat) = outcome {
        stat.write(writer);
    }
}

fn children<'s>(server: &'s Server, path: &str) -> Vec<&'s str> {
    let prefix = format!("{}/", path.trim_end_matches('/'));
    let names = server.tree.keys().filter_map(|other| other.strip_prefix(&prefix));
    names.filter(|name| !name.is_empty() && !name.contains('/')).collect()
}

fn write_data(node: &Node, writer: &mut Writer<'_>) {
    writer.buffer(Some(&node.data));
    node.stat.write(writer);
}

fn write_read(read: &MultiOperation<'_>, server: &Server, writer: &mut Writer<'_>) {
    let (MultiOperation::GetData { path, .. } | MultiOperation::GetChildren { path, .. }) = read else {
        panic!("a read");
    };
    let path = path.unwrap();
    let Some(node) = server.tree.get(path) else {
        let err = ErrorCode::NoNode.code();
        MultiHeader { operation: -1, done: false, err }.write(writer);
        writer.i32(err);
        return;
    };
    MultiHeader { operation: read.opcode().code(), done: false, err: 0 }.write(writer);
    match read {
        MultiOperation::GetData { .. } => write_data(node, writer),
        _ => {
            writer.texts(children(server, path).into_iter());
        }
    }
}
