//! What is asked: which operation, of which node, with which value.

use std::fmt::Write as _;

use jute::{OpCode, RequestHeader, Writer, end_frame, start_frame};

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
        // Writing to a string cannot fail.
        let _ = write!(path, "{}/g{:05}/n{number:010}", Self::PARENT, number / Self::PER_GROUP);
    }
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

/// When requests are sent. (The simulator's cost mode has its own of this shape: neither crate may know the other.)
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

/// Draws operations from a seed: SplitMix64.
#[derive(Clone, Debug)]
pub(super) struct Dice {
    state: u64,
    /// Kept for its room.
    path: String,
}

impl Dice {
    pub(super) const fn new(seed: u64) -> Self {
        Self { state: seed, path: String::new() }
    }

    fn draw(&mut self, below: u32) -> u32 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u64::from((z ^ (z >> 31)) as u32) * u64::from(below)) >> 32) as u32
    }

    /// Appends the next request.
    pub(super) fn request(&mut self, xid: i32, nodes: Nodes, mix: Mix, value: &[u8], out: &mut Vec<u8>) {
        let number = self.draw(nodes.count);
        let writes = self.draw(1000) < mix.writes_per_mille;
        Nodes::write_path(number, &mut self.path);
        let path = &self.path;
        if writes {
            append(out, xid, OpCode::SetData, |writer| {
                writer.text(path).buffer(Some(value)).i32(-1);
            });
        } else {
            append(out, xid, OpCode::GetData, |writer| {
                writer.text(path).bool(false);
            });
        }
    }
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
    fn a_mix_holds_its_share_of_writes_and_reaches_every_node() {
        let mut dice = Dice::new(1);
        let nodes = Nodes { count: 7, value_bytes: 1 };
        let mut seen = std::collections::BTreeSet::new();
        let mut writes = 0;
        for xid in 0..10_000 {
            let mut out = Vec::new();
            dice.request(xid, nodes, Mix { writes_per_mille: 100 }, b"v", &mut out);
            let reader = &mut jute::Reader::new(&out[jute::FRAME_HEADER..]);
            let header = RequestHeader::read(reader).unwrap();
            seen.insert(reader.text().unwrap().to_owned());
            writes += u32::from(header.operation == OpCode::SetData.code());
        }
        assert_eq!(seen.len(), 7);
        assert!((800..1200).contains(&writes), "{writes}");
    }
}
