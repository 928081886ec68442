//! Faults of ours that are known and still open: the differences that are not on purpose and not mended yet.
//!
//! Each is taken out when it is mended; a run of all scenes that does not meet one any more says so. The worst come first.

use crate::difference::Difference;

/// A fault.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What is wrong.
    pub what: &'static str,
    /// The kinds of differences that it shows as, by how their text begins.
    kinds: &'static [&'static str],
}

impl Fault {
    const fn of(what: &'static str, kinds: &'static [&'static str]) -> Self {
        Self { what, kinds }
    }
}

/// All of them.
pub const OPEN: &[Fault] = &[
    Fault::of(
        "what a client may do with a group is never told",
        &[
            "ConsumerGroupDescribe Groups[].AuthorizedOperations",
            "DescribeGroups Groups[].AuthorizedOperations",
        ],
    ),
    Fault::of(
        "OffsetFetch by an unknown topic id is 100",
        &["OffsetFetch Groups[].Topics[].Partitions[].ErrorCode: 100 / 0"],
    ),
    Fault::of(
        "OffsetFetch leaves out a topic of which no partition is asked for",
        &["OffsetFetch Topics: more / nothing", "OffsetFetch Groups[].Topics: more / nothing"],
    ),
];

/// The one of these faults that a difference belongs to.
#[must_use]
pub fn of(faults: &[Fault], difference: &Difference) -> Option<&'static str> {
    let kind = difference.kind();
    let is_it = |fault: &&Fault| fault.kinds.iter().any(|start| kind.starts_with(start));
    faults.iter().find(is_it).map(|fault| fault.what)
}
