//! An answer to ListOffsets.

use log_partition::{PartitionId, TimeLookup};
use log_wire::ErrorCode;
use log_wire::messages::offsets::ListOffsetsResponse;

use crate::segment_reader::{SegmentFault, SegmentReader};

/// An answer, of which some offsets are still to be looked for in batches.
#[derive(Clone, Debug)]
pub struct OffsetsResponse {
    pub(crate) response: ListOffsetsResponse,
    pub(crate) lookups: Vec<Lookup>,
}

#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    /// Topic and partition in the response.
    pub(crate) place: (usize, usize),
    pub(crate) id: PartitionId,
    pub(crate) lookup: TimeLookup,
}

impl OffsetsResponse {
    /// Looks for what is missing.
    #[must_use]
    pub fn complete(&self, reader: &mut impl SegmentReader) -> ListOffsetsResponse {
        let mut response = self.response.clone();
        for Lookup { place, id, lookup } in &self.lookups {
            let topic = response.topics.get_mut(place.0);
            let Some(partition) = topic.and_then(|topic| topic.partitions.get_mut(place.1)) else { continue };
            match reader.find_time(*id, lookup) {
                Ok(Some(found)) => {
                    partition.offset = found.offset.0;
                    partition.timestamp = found.timestamp_ms;
                    partition.leader_epoch = found.epoch.0;
                }
                Ok(None) => {}
                // A segment that is gone is looked for in vain: the client asks again.
                Err(SegmentFault::Gone) => partition.error_code = ErrorCode::LeaderNotAvailable.code(),
                Err(fault) => partition.error_code = fault.error().code(),
            }
        }
        response
    }
}
