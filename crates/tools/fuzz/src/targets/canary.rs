//! A planted bug of the kind that real decoders have: a length from the wire is trusted. A driver that does not find
//! it within seconds finds nothing.

use council_wire::OpCode;

use crate::golden;

/// Reads the data out of a captured setData as a careless decoder would.
pub(crate) fn run(bytes: &[u8]) {
    let word = |at: usize| -> Option<usize> {
        let bytes: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(i32::from_be_bytes(bytes)).ok()
    };
    if word(4) != usize::try_from(OpCode::SetData.code()).ok() {
        return;
    }
    let Some(data_at) = word(8).map(|path| 12 + path) else { return };
    let Some(length) = word(data_at) else { return };
    let data = &bytes[data_at + 4..data_at + 4 + length];
    assert!(data.len() == length);
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    golden::of_kind("request").into_iter().map(|frame| frame.bytes).collect()
}
