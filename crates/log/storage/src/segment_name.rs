//! Names of the files of segments.

use log_partition::{Offset, PartitionId, SegmentId};

/// Where the segments of all partitions lie.
pub const SEGMENT_DIRECTORY: &str = "data";

const BATCHES: &str = "log";
const INDEX: &str = "index";

/// What a file beside others of its segment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileKind {
    Batches,
    Index,
}

/// The name of a segment: its partition, the offset at which it begins, and its generation if it was compacted.
#[must_use]
pub fn segment_path(id: PartitionId, segment: SegmentId) -> String {
    path(id, segment, BATCHES)
}

/// The name of the file beside a segment that holds its index.
#[must_use]
pub fn index_path(id: PartitionId, segment: SegmentId) -> String {
    path(id, segment, INDEX)
}

fn path(id: PartitionId, segment: SegmentId, suffix: &str) -> String {
    let (topic, base) = (u128::from_be_bytes(id.topic), segment.base.0);
    let generation = match segment.generation {
        0 => String::new(),
        generation => format!("-{generation}"),
    };
    format!("{SEGMENT_DIRECTORY}/{topic:032x}-{}-{base:020}{generation}.{suffix}", id.index)
}

/// What the file of this name is; nothing for another name.
pub(crate) fn parse_name(name: &str) -> Option<(PartitionId, SegmentId, FileKind)> {
    let (stem, suffix) = name.split_once('.')?;
    let kind = match suffix {
        BATCHES => FileKind::Batches,
        INDEX => FileKind::Index,
        _ => return None,
    };
    let (topic, rest) = stem.split_at_checked(32)?;
    let mut numbers = rest.strip_prefix('-')?.split('-');
    let (index, base) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    let generation = numbers.next().map_or(Some(0), |text| text.parse().ok())?;
    let topic = u128::from_str_radix(topic, 16).ok()?.to_be_bytes();
    let (id, segment) = (PartitionId { topic, index }, SegmentId { base: Offset(base), generation });
    let is_exact = path(id, segment, suffix).strip_prefix(SEGMENT_DIRECTORY)?.strip_prefix('/')? == name;
    is_exact.then_some((id, segment, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_segment_is_read_back_and_no_other_is() {
        let id = PartitionId { topic: [0xab; 16], index: 12 };
        for segment in [SegmentId::appended(Offset(345)), SegmentId { base: Offset(0), generation: 7 }] {
            let paths =
                [(segment_path(id, segment), FileKind::Batches), (index_path(id, segment), FileKind::Index)];
            for (path, kind) in paths {
                let name = path.strip_prefix("data/").expect("it lies there");
                assert_eq!(parse_name(name), Some((id, segment, kind)));
                for other in
                    [&name.replace("12", "012"), &name.replace('.', "-0."), &name.replace("ab", "AB")]
                {
                    assert_eq!(parse_name(other), None, "{other}");
                }
            }
        }
        for other in ["x.log", "", "meta", "-.log", &format!("{:032x}-1-2-3-4.log", 5)] {
            assert_eq!(parse_name(other), None, "{other}");
        }
    }
}
