//! The few segments that are open for writing: the last one of each partition that was written lately.

use std::collections::BTreeMap;

use log_partition::{PartitionId, SegmentId};
use storage_disk::{Disk, DiskError};

use crate::segment_name::segment_path;

/// See the module.
pub(crate) struct OpenFiles<F> {
    files: BTreeMap<PartitionId, OpenFile<F>>,
    limit: usize,
    clock: u64,
}

struct OpenFile<F> {
    segment: SegmentId,
    file: F,
    used: u64,
}

impl<F> OpenFiles<F> {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { files: BTreeMap::new(), limit, clock: 0 }
    }

    /// The segment, open. It is made, empty, if `create`; also if it is missing, so that a file that somebody removed stops
    /// one partition and not the broker.
    pub(crate) fn get<D: Disk<File = F>>(
        &mut self,
        disk: &mut D,
        id: PartitionId,
        segment: SegmentId,
        create: bool,
    ) -> Result<&F, DiskError> {
        self.clock += 1;
        let known = self.files.get(&id).is_some_and(|open| open.segment == segment);
        if !known || create {
            self.forget(id);
            self.make_room();
            let file = open(disk, &segment_path(id, segment), create)?;
            self.files.insert(id, OpenFile { segment, file, used: 0 });
        }
        let open = self.files.get_mut(&id).ok_or(DiskError::NotFound)?;
        open.used = self.clock;
        Ok(&open.file)
    }

    pub(crate) fn forget(&mut self, id: PartitionId) {
        self.files.remove(&id);
    }

    fn make_room(&mut self) {
        if self.files.len() < self.limit {
            return;
        }
        let oldest = self.files.iter().min_by_key(|(_, open)| open.used).map(|(id, _)| *id);
        if let Some(oldest) = oldest {
            self.forget(oldest);
        }
    }
}

/// Opens a file, and makes it if `create` or if it is missing.
pub(crate) fn open<D: Disk>(disk: &mut D, path: &str, create: bool) -> Result<D::File, DiskError> {
    if create {
        return disk.create(path);
    }
    match disk.open(path) {
        Err(DiskError::NotFound) => disk.create(path),
        opened => opened,
    }
}
