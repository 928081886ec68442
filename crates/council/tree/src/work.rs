//! What applying has cost beyond the length of the commands: for code that divides time into turns, and for tests that
//! show that nothing grows without bound.
//!
//! Counts steps, not time. Members may differ by what is kept for a snapshot that runs: it may free ACLs later.

/// Bytes of text that are put together in about the time of one step, and taken apart.
const WRITTEN_BYTES_PER_STEP: usize = 64;
const READ_BYTES_PER_STEP: usize = 4;
/// Steps that the removal of a node takes.
const REMOVAL_STEPS: u64 = 100;
/// Steps that it takes to free one entry of an ACL with its texts.
pub(crate) const FREED_ENTRY_STEPS: u64 = 5;

/// Steps of about ten nanoseconds each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work(pub(crate) u64);

impl Work {
    pub(crate) const NONE: Self = Self(0);

    /// A text was put together.
    pub(crate) const fn text_written(&mut self, bytes: usize) {
        self.0 += (bytes / WRITTEN_BYTES_PER_STEP) as u64;
    }

    /// A text was taken apart.
    pub(crate) const fn text_read(&mut self, bytes: usize) {
        self.0 += (bytes / READ_BYTES_PER_STEP) as u64;
    }

    /// So many nodes were looked at.
    pub(crate) const fn nodes(&mut self, count: u64) {
        self.0 += count;
    }

    /// A node was removed for which there is no byte in the command.
    pub(crate) const fn removal(&mut self) {
        self.0 += REMOVAL_STEPS;
    }

    /// So many entries of ACLs were freed.
    pub(crate) const fn entries_freed(&mut self, count: usize) {
        self.0 += count as u64 * FREED_ENTRY_STEPS;
    }

    /// So many entries of an ACL were compared with identities.
    pub(crate) const fn entries(&mut self, count: u64) {
        self.0 += count;
    }
}
