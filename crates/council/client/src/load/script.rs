//! What is asked: which operation, of which node, with which value.

use std::time::Instant;

use council_wire::{OpCode, RequestHeader, Writer, end_frame, start_frame};

use super::{Connection, Stamp};

/// The nodes that a load works on: `/bench/g00000/n0000000000` and so on, a thousand to a group; paths of 25 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Nodes {
    /// How many there are.
    pub count: u32,
    /// Bytes of each value.
    pub value_bytes: usize,
}

impl Nodes {
    /// The parent of all groups.
    pub const PARENT: &'static str = "/bench";
    /// Nodes under one parent.
    pub const PER_GROUP: u32 = 1000;

    /// The parent of some of them.
    #[must_use]
    pub fn group(number: u32) -> String {
        format!("{}/g{number:05}", Self::PARENT)
    }

    /// How many groups there are.
    #[must_use]
    pub const fn groups(self) -> u32 {
        self.count.div_ceil(Self::PER_GROUP)
    }

    /// The path of one of them.
    #[must_use]
    pub fn path(number: u32) -> String {
        let mut path = String::new();
        Self::write_path(number, &mut path);
        path
    }

    /// Puts the path of one of them into `path`.
    pub fn write_path(number: u32, path: &mut String) {
        path.clear();
        path.push_str(Self::PARENT);
        path.push_str("/g");
        push_digits(path, number / Self::PER_GROUP, 5);
        path.push_str("/n");
        push_digits(path, number, 10);
    }
}

/// As `{number:0width$}` does, in a tenth of the time: a load writes a million of them a second.
fn push_digits(path: &mut String, mut number: u32, width: usize) {
    let mut digits = [b'0'; 10];
    let mut at = digits.len();
    while number > 0 {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    let from = at.min(digits.len() - width);
    path.push_str(std::str::from_utf8(&digits[from..]).unwrap_or_default());
}

/// How many of the operations are writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// Of a thousand operations, so many are setData; the others are getData.
    pub writes_per_mille: u32,
}

impl Mix {
    /// getData alone.
    pub const READS: Self = Self { writes_per_mille: 0 };
    /// setData alone.
    pub const WRITES: Self = Self { writes_per_mille: 1000 };
}

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Each connection keeps so many outstanding.
    Closed {
        /// Requests outstanding on each connection.
        outstanding: usize,
    },
    /// So many a second in all, at fixed moments, spread over the connections in turn.
    Open {
        /// Requests a second.
        per_second: f64,
    },
}

/// What was asked for, as a tag that comes back with the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) node: u32,
    /// Sequence number of the write, if it was one.
    pub(super) write: Option<u32>,
}

impl Asked {
    /// Above 31 bits of the node and 32 of the write's number.
    const WRITE: u64 = 1 << 63;

    fn tag(self) -> u64 {
        let node = u64::from(self.node) << 32;
        self.write.map_or(node, |number| Self::WRITE | node | u64::from(number))
    }

    pub(super) fn of(tag: u64) -> Self {
        Self {
            node: ((tag & !Self::WRITE) >> 32) as u32,
            write: (tag & Self::WRITE != 0).then_some(tag as u32),
        }
    }
}

/// Draws operations from a seed: SplitMix64.
#[derive(Clone, Debug)]
pub(super) struct Dice {
    state: u64,
    /// Writes so far.
    writes: u32,
    /// Kept for its room.
    path: String,
}

impl Dice {
    pub(super) const fn new(seed: u64) -> Self {
        Self { state: seed, writes: 0, path: String::new() }
    }

    fn draw(&mut self, below: u32) -> u32 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u64::from((z ^ (z >> 31)) as u32) * u64::from(below)) >> 32) as u32
    }

    /// What is asked next.
    fn next(&mut self, nodes: Nodes, mix: Mix) -> Asked {
        let node = self.draw(nodes.count);
        let write = (self.draw(1000) < mix.writes_per_mille).then(|| {
            self.writes = self.writes.wrapping_add(1);
            self.writes
        });
        Asked { node, write }
    }

    /// Queues the next request.
    pub(super) fn ask(&mut self, connection: &mut Connection, asked: Instant, nodes: Nodes, mix: Mix) {
        let next = self.next(nodes, mix);
        Nodes::write_path(next.node, &mut self.path);
        let path = &self.path;
        connection.ask_tagged(asked, next.tag(), |xid, out| match next.write {
            Some(number) => append_write(out, xid, path, Stamp::new(next.node, 1, u64::from(number)), nodes),
            None => append(out, xid, OpCode::GetData, |writer| {
                writer.text(path).bool(false);
            }),
        });
    }
}

/// Appends a framed setData whose value is made where it is sent from.
fn append_write(out: &mut Vec<u8>, xid: i32, path: &str, stamp: Stamp, nodes: Nodes) {
    let at = start_frame(out);
    let mut writer = Writer::new(out);
    RequestHeader { xid, operation: OpCode::SetData.code() }.write(&mut writer);
    writer.text(path).length(nodes.value_bytes);
    stamp.append(nodes.value_bytes, out);
    Writer::new(out).i32(-1);
    end_frame(out, at);
}

/// Appends a framed request.
pub fn append(out: &mut Vec<u8>, xid: i32, opcode: OpCode, body: impl FnOnce(&mut Writer<'_>)) {
    let at = start_frame(out);
    let mut writer = Writer::new(out);
    RequestHeader { xid, operation: opcode.code() }.write(&mut writer);
    body(&mut writer);
    end_frame(out, at);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_25_bytes_and_lies_in_its_group() {
        assert_eq!(Nodes::path(123_456), "/bench/g00123/n0000123456");
        assert!(Nodes::path(999_999).starts_with(&Nodes::group(999)));
        assert_eq!((Nodes::path(0).len(), Nodes { count: 1001, value_bytes: 5 }.groups()), (25, 2));
    }

    #[test]
    fn digits_are_as_the_standard_library_has_them() {
        for number in [0, 9, 10, 99_999, 100_000, 123_456_789, u32::MAX] {
            let mut path = String::new();
            push_digits(&mut path, number, 5);
            assert_eq!(path, format!("{number:05}"));
        }
    }

    #[test]
    fn a_mix_holds_its_share_of_writes_and_reaches_every_node() {
        let mut dice = Dice::new(1);
        let nodes = Nodes { count: 7, value_bytes: 1 };
        let mix = Mix { writes_per_mille: 100 };
        let all: Vec<_> = (0..10_000).map(|_| dice.next(nodes, mix)).collect();
        let nodes: std::collections::BTreeSet<_> = all.iter().map(|asked| asked.node).collect();
        let writes = all.iter().filter(|asked| asked.write.is_some()).count();
        assert_eq!(nodes.len(), 7);
        assert!((800..1200).contains(&writes), "{writes}");
        assert!(all.iter().all(|asked| Asked::of(asked.tag()) == *asked));
    }

    #[test]
    fn a_write_is_a_request_with_its_stamp() {
        for value_bytes in [0, 5, 24, 100] {
            let (mut out, stamp) = (Vec::new(), Stamp::new(3, 1, 7));
            append_write(&mut out, 9, "/n", stamp, Nodes { count: 7, value_bytes });
            let council_wire::Frame::Whole(frame) = council_wire::next_frame(&out, 1000) else {
                panic!("{out:?}")
            };
            let reader = &mut council_wire::Reader::new(frame);
            let header = RequestHeader::read(reader).unwrap();
            assert_eq!((header.xid, header.operation), (9, OpCode::SetData.code()));
            assert_eq!(reader.text().unwrap(), "/n");
            let value = reader.buffer().unwrap().unwrap();
            assert!(value.len() == value_bytes && stamp.is_in(value));
            assert_eq!((reader.i32().unwrap(), reader.rest()), (-1, &[][..]));
        }
    }
}
