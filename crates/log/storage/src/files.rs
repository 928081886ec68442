//! Names of segments, and the few that are open for writing.

use std::collections::BTreeMap;

use log_partition::{Offset, PartitionId};
use storage_disk::{Disk, DiskError};

/// Where the segments of all partitions lie.
pub const SEGMENT_DIRECTORY: &str = "data";

/// The name of a segment: its partition and the offset at which it begins.
#[must_use]
pub fn segment_path(id: PartitionId, segment: Offset) -> String {
    let topic = u128::from_be_bytes(id.topic);
    format!("{SEGMENT_DIRECTORY}/{topic:032x}-{}-{:020}.log", id.index, segment.0)
}

/// The partition and the beginning of the segment of this name; nothing for another name.
pub(crate) fn parse_name(name: &str) -> Option<(PartitionId, Offset)> {
    let (topic, rest) = name.strip_suffix(".log")?.split_at_checked(32)?;
    let (index, base) = rest.strip_prefix('-')?.rsplit_once('-')?;
    let topic = u128::from_str_radix(topic, 16).ok()?.to_be_bytes();
    let found = (PartitionId { topic, index: index.parse().ok()? }, Offset(base.parse().ok()?));
    (segment_path(found.0, found.1).strip_prefix(SEGMENT_DIRECTORY)?.strip_prefix('/')? == name)
        .then_some(found)
}

/// Segments that are open for writing: the last one of each partition that was written lately.
pub(crate) struct OpenFiles<F> {
    files: BTreeMap<PartitionId, OpenFile<F>>,
    limit: usize,
    clock: u64,
}

struct OpenFile<F> {
    segment: Offset,
    file: F,
    used: u64,
}

impl<F> OpenFiles<F> {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { files: BTreeMap::new(), limit, clock: 0 }
    }

    /// The segment, open; it is made if `create`.
    pub(crate) fn get<D: Disk<File = F>>(
        &mut self,
        disk: &mut D,
        id: PartitionId,
        segment: Offset,
        create: bool,
    ) -> Result<&F, DiskError> {
        self.clock += 1;
        let known = self.files.get(&id).is_some_and(|open| open.segment == segment);
        if !known {
            self.forget(id);
            self.make_room();
            let path = segment_path(id, segment);
            let file = if create { disk.create(&path)? } else { disk.open(&path)? };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_segment_is_read_back_and_no_other_is() {
        let id = PartitionId { topic: [0xab; 16], index: 12 };
        let path = segment_path(id, Offset(345));
        let name = path.strip_prefix("data/").expect("it lies there");
        assert_eq!(parse_name(name), Some((id, Offset(345))));
        for other in ["x.log", "", "meta", &name.replace("12", "012"), &name.replace(".log", ".index")] {
            assert_eq!(parse_name(other), None, "{other}");
        }
    }
}
