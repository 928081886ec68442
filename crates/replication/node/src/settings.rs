//! Times and bounds.

/// Times and bounds of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How far behind the next leader may be when the leader that hands over to it begins to append nothing: it has what was
    /// appended up to so long ago. A pause lasts about as long as the next leader is behind. So far behind may be the next voters, too,
    /// when they begin to count.
    pub near_ms: u64,
    /// How long a leader that hands over appends nothing at most.
    pub pause_ms: u64,
    /// A controller that has not asked again for a hand-over for so long has given it up: a pause does not begin any more.
    pub asked_ms: u64,
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
            // Clients notice a pause as they notice the death of a leader, which takes a controller 300 ms to find out. A hand-over
            // that is planned has to be better than that.
            near_ms: 100,
            pause_ms: 1_000,
            // Controllers ask every 500 ms.
            asked_ms: 750,
            task_ms: 1_500,
            report_ms: 1_000,
            read_ms: 5_000,
            message_max: 4_096,
            reads_max: 65_536,
        }
    }
}
