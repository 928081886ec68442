//! What a broker counts while it works: what went into a partition and out of it, and requests. Knows neither the partition nor
//! the broker.

use log_wire::ApiKey;

/// What went into a partition and out of it since this broker has led it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Records that producers have appended.
    pub records_in: u64,
    /// Bytes of their batches, as they were sent.
    pub bytes_in: u64,
    /// Bytes of batches that were given to fetches.
    pub bytes_out: u64,
    /// Batches that were appended, and reads that gave something.
    pub requests: u64,
    /// Batches that were refused.
    pub refused: u64,
}

impl Traffic {
    /// Adds what another partition of the topic has.
    pub(crate) fn add(&mut self, other: &Self) {
        self.records_in += other.records_in;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.requests += other.requests;
        self.refused += other.refused;
    }
}

/// Counts requests by API.
#[derive(Clone, Debug)]
pub(crate) struct RequestCounts([u64; APIS]);

/// More than there are keys.
const APIS: usize = 128;

impl Default for RequestCounts {
    fn default() -> Self {
        Self([0; APIS])
    }
}

impl RequestCounts {
    pub(crate) fn one_more(&mut self, api: ApiKey) {
        if let Some(count) = usize::try_from(api as i16).ok().and_then(|key| self.0.get_mut(key)) {
            *count += 1;
        }
    }

    /// How many there were.
    pub(crate) fn of(&self, api: ApiKey) -> u64 {
        usize::try_from(api as i16).ok().and_then(|key| self.0.get(key)).copied().unwrap_or(0)
    }
}
