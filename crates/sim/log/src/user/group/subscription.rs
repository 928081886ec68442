//! What members of a classic group tell each other: subscriptions, and assignments with a mark of their own.

use bytes::Bytes;

use crate::user::operator::GROUP_TOPIC;

/// A subscription (version 0). The mark makes it another one.
pub(super) fn subscription(mark: u32) -> Bytes {
    let mut out = vec![0, 0, 0, 0, 0, 1];
    text(GROUP_TOPIC, &mut out);
    marked(mark, &mut out);
    Bytes::from(out)
}

/// An assignment (version 0) of some partitions. No two have one mark.
pub(super) fn assignment(partitions: &[i32], mark: u32) -> Bytes {
    let mut out = vec![0, 0, 0, 0, 0, 1];
    text(GROUP_TOPIC, &mut out);
    out.extend((partitions.len() as i32).to_be_bytes());
    partitions.iter().for_each(|partition| out.extend(partition.to_be_bytes()));
    marked(mark, &mut out);
    Bytes::from(out)
}

/// The partitions of such an assignment.
pub(super) fn assigned(bytes: &[u8]) -> Vec<i32> {
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, i32::from_be_bytes);
    let rest = bytes.get(8 + GROUP_TOPIC.len()..).unwrap_or_default();
    let (count, rest) = rest.split_at_checked(4).unwrap_or_default();
    rest.chunks_exact(4).take(number(count) as usize).map(number).collect()
}

fn text(text: &str, out: &mut Vec<u8>) {
    out.extend((text.len() as i16).to_be_bytes());
    out.extend(text.as_bytes());
}

fn marked(mark: u32, out: &mut Vec<u8>) {
    out.extend(4i32.to_be_bytes());
    out.extend(mark.to_be_bytes());
}
