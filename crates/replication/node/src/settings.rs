//! Times and bounds.

/// Times and bounds of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a leader that prepares a hand-over appends nothing, from the last time that it was asked to.
    pub pause_ms: u64,
    /// How long a leader pursues a change of voters that a controller does not ask for again, and how long it waits for the
    /// outcome of a write before it sends the same again.
    pub task_ms: u64,
    /// How often a report is repeated that a controller has to hear.
    pub report_ms: u64,
    /// A read that was not answered for so long is asked for again.
    pub read_ms: u64,
    /// Partitions in one effect, and so in one message.
    pub message_max: usize,
    /// Partitions that are read although the node has no assignment for them: messages can name any.
    pub reads_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            pause_ms: 1_000,
            task_ms: 1_500,
            report_ms: 1_000,
            read_ms: 5_000,
            message_max: 1_024,
            reads_max: 65_536,
        }
    }
}
