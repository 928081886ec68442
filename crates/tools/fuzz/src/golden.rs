//! The frames captured from a real ZooKeeper, beside the wire's own tests: what seeds are made of.

use std::fs;
use std::path::Path;

use council_wire::OpCode;

/// One captured frame, without its length.
pub struct Captured {
    /// `request`, `reply`, `event`, `hello` or `welcome`.
    pub kind: String,
    /// The operation, if it is a request's or a reply's.
    pub operation: Option<OpCode>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The captures, one list a file: each is a conversation in order.
///
/// # Panics
/// When the checkout lacks them.
#[must_use]
pub fn conversations() -> Vec<Vec<Captured>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../council/wire/tests/golden");
    let entries = fs::read_dir(&folder).expect("the checkout holds the captures");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a folder can be read").path()).collect();
    files.sort();
    files.iter().map(|file| frames(&fs::read_to_string(file).expect("a capture is text"))).collect()
}

/// All captures of one kind.
pub fn of_kind(kind: &str) -> Vec<Captured> {
    conversations().into_iter().flatten().filter(|frame| frame.kind == kind).collect()
}

/// A frame with its length before it.
#[must_use]
pub fn framed(frame: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(council_wire::FRAME_HEADER + frame.len());
    let at = council_wire::start_frame(&mut out);
    out.extend_from_slice(frame);
    council_wire::end_frame(&mut out, at);
    out
}

fn frames(text: &str) -> Vec<Captured> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', ' ']));
    lines.filter_map(frame).collect()
}

fn frame(line: &str) -> Option<Captured> {
    let mut words = line.split(' ');
    let kind = words.next()?.to_owned();
    let hex = words.next_back()?.as_bytes();
    let name = words.next();
    let operation = OpCode::ALL.iter().copied().find(|operation| Some(operation.name()) == name);
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    Some(Captured { kind, operation, bytes: hex.chunks(2).map(byte).collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_frame_is_there() {
        assert!(of_kind("request").iter().filter_map(|frame| frame.operation).count() > 60);
        assert!(of_kind("reply").iter().all(|frame| frame.operation.is_some() && frame.bytes.len() >= 16));
        assert!(!of_kind("event").is_empty());
        assert_eq!((of_kind("hello").len(), of_kind("welcome").len()), (1, 1));
    }
}
