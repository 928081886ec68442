//! The files that a start finds.

use std::collections::{BTreeMap, BTreeSet};

use log_partition::{PartitionId, SegmentId};
use storage_disk::Disk;
use storage_wal::Fault;

use crate::segment_name::{FileKind, SEGMENT_DIRECTORY, parse_name};

/// The files of segments, as they were listed.
pub(crate) struct Found {
    pub(crate) files: BTreeMap<PartitionId, BTreeSet<(SegmentId, FileKind)>>,
    pub(crate) adopted: BTreeSet<PartitionId>,
}

impl Found {
    pub(crate) fn list<D: Disk>(disk: &mut D) -> Result<Self, Fault> {
        let mut files = BTreeMap::<_, BTreeSet<_>>::new();
        let refused = |error| Fault::new(SEGMENT_DIRECTORY, "list", error);
        for name in disk.list(SEGMENT_DIRECTORY).map_err(refused)? {
            if let Some((id, segment, kind)) = parse_name(&name) {
                files.entry(id).or_default().insert((segment, kind));
            }
        }
        Ok(Self { files, adopted: BTreeSet::new() })
    }
}
