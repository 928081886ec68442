//! A client that speaks real bytes: it keeps what it has sent, and pairs replies with requests.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::{Deref, DerefMut};

use council_wire::{
    Acl, ConnectRequest, ConnectResponse, Frame, OpCode, Reader, ReplyHeader, RequestHeader, SessionId,
    Writer, end_frame, next_frame, start_frame, xid,
};
use storage_raft_log::Disk;

use crate::node::{Node, SocketId};

/// What a client was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The request's number, or a reserved one.
    pub xid: i32,
    /// What the reply reflects.
    pub zxid: i64,
    /// 0 or an error.
    pub err: i32,
    /// What stands behind the header.
    pub body: Vec<u8>,
}

/// What a client says and hears, as bytes: it keeps what it was granted, and numbers its requests.
#[derive(Clone, Debug)]
pub struct Speech {
    /// The session, once the server has granted it.
    pub session: SessionId,
    /// Its password.
    pub password: [u8; 16],
    /// The timeout granted, milliseconds; 0 until then, or when the session was refused.
    pub timeout_ms: i32,
    connected: bool,
    next_xid: i32,
    /// The last transaction it has seen.
    pub last_zxid: i64,
    partial: Vec<u8>,
}

impl Default for Speech {
    fn default() -> Self {
        Self {
            session: SessionId::NONE,
            password: [0; 16],
            timeout_ms: 0,
            connected: false,
            next_xid: 1,
            last_zxid: 0,
            partial: Vec::new(),
        }
    }
}

impl Speech {
    /// What is said first on a connection: it asks for the session that it had.
    pub fn greet(&mut self, timeout_ms: i32) -> Vec<u8> {
        self.connected = false;
        self.partial.clear();
        let mut frame = Vec::new();
        let at = start_frame(&mut frame);
        ConnectRequest {
            protocol_version: 0,
            last_zxid_seen: self.last_zxid,
            timeout_ms,
            session_id: self.session.0,
            password: Some(&self.password),
            read_only: Some(false),
        }
        .write(&mut Writer::new(&mut frame));
        end_frame(&mut frame, at);
        frame
    }

    /// A request, and its number.
    pub fn ask(&mut self, opcode: OpCode, body: impl FnOnce(&mut Writer<'_>)) -> (i32, Vec<u8>) {
        let mut count = || {
            let number = self.next_xid;
            self.next_xid = following(number);
            number
        };
        let xid = match opcode {
            OpCode::Ping => xid::PING,
            OpCode::Auth => xid::AUTH,
            OpCode::SetWatches | OpCode::SetWatches2 => xid::SET_WATCHES,
            _ => count(),
        };
        let mut frame = Vec::new();
        let at = start_frame(&mut frame);
        let mut writer = Writer::new(&mut frame);
        RequestHeader { xid, operation: opcode.code() }.write(&mut writer);
        body(&mut writer);
        end_frame(&mut frame, at);
        (xid, frame)
    }

    /// Its requests are numbered from there on.
    pub const fn number_from(&mut self, first_xid: i32) {
        self.next_xid = first_xid;
    }

    /// Forgets its session, as if it had never had one.
    pub fn forget(&mut self) {
        (self.session, self.password, self.last_zxid) = (SessionId::NONE, [0; 16], 0);
    }

    /// Takes what came, and gives what is answered by that, in order.
    pub fn hear(&mut self, bytes: &[u8]) -> Vec<Reply> {
        self.partial.extend_from_slice(bytes);
        let mut replies = Vec::new();
        let mut used = 0;
        while let Frame::Whole(frame) = next_frame(&self.partial[used..], usize::MAX) {
            used += council_wire::FRAME_HEADER + frame.len();
            let mut reader = Reader::new(frame);
            if self.connected {
                let header = ReplyHeader::read(&mut reader).expect("the server writes whole headers");
                self.last_zxid = self.last_zxid.max(header.zxid);
                let ReplyHeader { xid, zxid, err } = header;
                replies.push(Reply { xid, zxid, err, body: reader.rest().to_vec() });
            } else {
                let response = ConnectResponse::read(&mut reader).expect("the server writes whole responses");
                self.connected = true;
                self.timeout_ms = response.timeout_ms;
                self.session = SessionId(response.session_id);
                self.password = response.password.and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
            }
        }
        self.partial.drain(..used);
        replies
    }

    /// Whether the handshake was answered.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        self.connected
    }
}

/// A client of a simulated member, with one connection at a time.
#[derive(Clone, Debug)]
pub struct Client {
    conn: SocketId,
    address: IpAddr,
    speech: Speech,
}

impl Deref for Client {
    type Target = Speech;

    fn deref(&self) -> &Speech {
        &self.speech
    }
}

impl DerefMut for Client {
    fn deref_mut(&mut self) -> &mut Speech {
        &mut self.speech
    }
}

impl Client {
    /// Connects and asks for a new session.
    pub fn connect<D: Disk>(node: &mut Node<D>, timeout_ms: i32) -> Self {
        Self::connect_to(0, IpAddr::V4(Ipv4Addr::LOCALHOST), node, timeout_ms)
    }

    /// As [`Self::connect`], to that shard, and from that address, now and later.
    pub fn connect_to<D: Disk>(shard: u16, address: IpAddr, node: &mut Node<D>, timeout_ms: i32) -> Self {
        let mut client = Self { conn: node.connect_from(address, shard), address, speech: Speech::default() };
        client.speech.timeout_ms = timeout_ms;
        let greeting = client.speech.greet(timeout_ms);
        node.send(client.conn, &greeting);
        client
    }

    /// Connects anew, to the first shard of this node or another life of it, and asks for the session it had.
    pub fn reconnect<D: Disk>(&mut self, node: &mut Node<D>, timeout_ms: i32) {
        self.reconnect_to(0, node, timeout_ms);
    }

    /// As [`Self::reconnect`], to that shard.
    pub fn reconnect_to<D: Disk>(&mut self, shard: u16, node: &mut Node<D>, timeout_ms: i32) {
        self.conn = node.connect_from(self.address, shard);
        let greeting = self.speech.greet(timeout_ms);
        node.send(self.conn, &greeting);
    }

    /// Sends a request; gives its number.
    pub fn ask<D: Disk>(
        &mut self,
        node: &mut Node<D>,
        opcode: OpCode,
        body: impl FnOnce(&mut Writer<'_>),
    ) -> i32 {
        let (xid, frame) = self.request(opcode, body);
        node.send(self.conn, &frame);
        xid
    }

    /// A request that is not sent yet, and its number.
    pub fn request(&mut self, opcode: OpCode, body: impl FnOnce(&mut Writer<'_>)) -> (i32, Vec<u8>) {
        self.speech.ask(opcode, body)
    }

    /// Creates a node that everybody may use.
    pub fn create<D: Disk>(&mut self, node: &mut Node<D>, path: &str, data: &[u8], flags: i32) -> i32 {
        self.ask(node, OpCode::Create, |writer| {
            writer.text(path).buffer(Some(data));
            Acl::write_all(&[Acl::open()], writer);
            writer.i32(flags);
        })
    }

    /// Replaces a node's data, whatever its version.
    pub fn set<D: Disk>(&mut self, node: &mut Node<D>, path: &str, data: &[u8]) -> i32 {
        self.ask(node, OpCode::SetData, |writer| {
            writer.text(path).buffer(Some(data)).i32(-1);
        })
    }

    /// Deletes a node, whatever its version.
    pub fn delete<D: Disk>(&mut self, node: &mut Node<D>, path: &str) -> i32 {
        self.ask(node, OpCode::Delete, |writer| {
            writer.text(path).i32(-1);
        })
    }

    /// Reads a node's data.
    pub fn get<D: Disk>(&mut self, node: &mut Node<D>, path: &str, watch: bool) -> i32 {
        self.ask(node, OpCode::GetData, |writer| {
            writer.text(path).bool(watch);
        })
    }

    /// Takes what was answered since the last call, in order.
    pub fn replies<D: Disk>(&mut self, node: &mut Node<D>) -> Vec<Reply> {
        let bytes = node.take(self.conn);
        self.speech.hear(&bytes)
    }

    /// Where it connects from.
    #[must_use]
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// The connection it has now.
    #[must_use]
    pub const fn conn(&self) -> SocketId {
        self.conn
    }
}

/// The number of the request behind that one: the last is followed by the first there is, and what is reserved is
/// passed over.
const fn following(mut number: i32) -> i32 {
    loop {
        number = number.wrapping_add(1);
        if !matches!(number, xid::NOTIFICATION | xid::PING | xid::AUTH | xid::SET_WATCHES) {
            return number;
        }
    }
}
