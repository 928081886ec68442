//! What clients send, encoded once, and what they hear, counted. Knows no client.

use jute::{
    Acl, ConnectRequest, FRAME_HEADER, Frame, OpCode, RequestHeader, Writer, end_frame, next_frame,
    start_frame, xid,
};

/// How long a session lives without a word: longer than anything is simulated.
const TIMEOUT_MS: i32 = 60_000;
/// The number of every request: replies come in order, and a client counts them.
const XID: i32 = 1;
/// Where a reply's number and its error stand in a frame.
const REPLY_XID: std::ops::Range<usize> = 0..4;
const REPLY_ERROR: std::ops::Range<usize> = 12..16;

/// A request's place among all that there are.
pub(super) type RequestId = u32;

/// All requests that a load may send.
#[derive(Debug)]
pub(super) struct Requests {
    bytes: Vec<Box<[u8]>>,
    nodes: u32,
}

impl Requests {
    /// Asks for a session.
    pub(super) const CONNECT: RequestId = 0;

    /// For so many nodes with values of so many bytes.
    pub(super) fn new(nodes: u32, value_bytes: usize) -> Self {
        let value = vec![b'v'; value_bytes];
        let path = |number: u32| format!("/bench/n{number:010}");
        let mut bytes = vec![connect()];
        bytes.push(create("/bench", b""));
        bytes.extend((0..nodes).map(|number| create(&path(number), &value)));
        bytes.extend((0..nodes).map(|number| get(&path(number), false)));
        bytes.extend((0..nodes).map(|number| get(&path(number), true)));
        bytes.extend((0..nodes).map(|number| set(&path(number), &value)));
        Self { bytes, nodes }
    }

    pub(super) fn bytes(&self, request: RequestId) -> &[u8] {
        &self.bytes[request as usize]
    }

    /// Makes all nodes, parents first.
    pub(super) fn creates(&self) -> std::ops::Range<RequestId> {
        1..self.nodes + 2
    }

    pub(super) const fn get(&self, node: u32) -> RequestId {
        2 + self.nodes + node
    }

    pub(super) const fn watch(&self, node: u32) -> RequestId {
        2 + 2 * self.nodes + node
    }

    pub(super) const fn set(&self, node: u32) -> RequestId {
        2 + 3 * self.nodes + node
    }
}

/// What a client hears at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) replies: usize,
    pub(super) errors: usize,
    pub(super) events: usize,
    pub(super) bytes: usize,
}

impl Heard {
    /// Counts the frames of what a server sends; `greets` says that the first of them grants the session.
    pub(super) fn of(mut bytes: &[u8], greets: bool) -> Self {
        let mut heard = Self { bytes: bytes.len(), ..Self::default() };
        let mut greets = greets;
        while let Frame::Whole(frame) = next_frame(bytes, usize::MAX) {
            bytes = &bytes[FRAME_HEADER + frame.len()..];
            let number = |range| frame.get(range).and_then(|bytes: &[u8]| bytes.try_into().ok());
            let number = |range| number(range).map_or(0, i32::from_be_bytes);
            if std::mem::take(&mut greets) {
                heard.replies += 1;
            } else if number(REPLY_XID) == xid::NOTIFICATION {
                heard.events += 1;
            } else {
                heard.replies += 1;
                heard.errors += usize::from(number(REPLY_ERROR) != 0);
            }
        }
        assert!(bytes.is_empty(), "a server writes whole frames");
        heard
    }

    /// Together with what came later.
    pub(super) const fn and(self, later: Self) -> Self {
        Self {
            replies: self.replies + later.replies,
            errors: self.errors + later.errors,
            events: self.events + later.events,
            bytes: self.bytes + later.bytes,
        }
    }
}

fn framed(write: impl FnOnce(&mut Writer<'_>)) -> Box<[u8]> {
    let mut frame = Vec::new();
    let at = start_frame(&mut frame);
    write(&mut Writer::new(&mut frame));
    end_frame(&mut frame, at);
    frame.into_boxed_slice()
}

fn request(opcode: OpCode, body: impl FnOnce(&mut Writer<'_>)) -> Box<[u8]> {
    framed(|writer| {
        RequestHeader { xid: XID, operation: opcode.code() }.write(writer);
        body(writer);
    })
}

fn connect() -> Box<[u8]> {
    let asked = ConnectRequest {
        protocol_version: 0,
        last_zxid_seen: 0,
        timeout_ms: TIMEOUT_MS,
        session_id: 0,
        password: Some(&[0; 16]),
        read_only: Some(false),
    };
    framed(|writer| asked.write(writer))
}

fn create(path: &str, value: &[u8]) -> Box<[u8]> {
    request(OpCode::Create, |writer| {
        writer.text(path).buffer(Some(value));
        Acl::write_all(&[Acl::open()], writer);
        writer.i32(0);
    })
}

fn get(path: &str, watch: bool) -> Box<[u8]> {
    request(OpCode::GetData, |writer| {
        writer.text(path).bool(watch);
    })
}

fn set(path: &str, value: &[u8]) -> Box<[u8]> {
    request(OpCode::SetData, |writer| {
        writer.text(path).buffer(Some(value)).i32(-1);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_its_place() {
        let requests = Requests::new(3, 5);
        let operation = |request| {
            let bytes: [u8; 4] = requests.bytes(request)[8..12].try_into().expect("four bytes");
            i32::from_be_bytes(bytes)
        };
        assert!(requests.creates().all(|create| operation(create) == OpCode::Create.code()));
        assert_eq!(requests.creates().count(), 4);
        for node in 0..3 {
            assert_eq!(operation(requests.get(node)), OpCode::GetData.code());
            assert_eq!(operation(requests.watch(node)), OpCode::GetData.code());
            assert_eq!(operation(requests.set(node)), OpCode::SetData.code());
        }
        assert_eq!(requests.bytes(requests.watch(2)).last(), Some(&1));
    }

    #[test]
    fn replies_events_and_errors_are_told_apart() {
        let frame = |number: i32, error: i32| {
            framed(|writer| {
                writer.i32(number).i64(7).i32(error);
            })
        };
        let bytes = [frame(XID, 0), frame(xid::NOTIFICATION, 0), frame(XID, -101)].concat();
        let heard = Heard::of(&bytes, false);
        assert_eq!(heard, Heard { replies: 2, errors: 1, events: 1, bytes: 60 });
        assert_eq!(Heard::of(&frame(0, 9), true), Heard { replies: 1, errors: 0, events: 0, bytes: 20 });
        assert_eq!(heard.and(heard).bytes, 120);
    }
}
