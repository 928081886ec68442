//! Times and bounds.

/// Times and bounds of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A node that was silent for so long is suspected.
    pub silence_ms: u64,
    /// A node that was not heard of since the controller began is suspected after that time.
    pub greeting_ms: u64,
    /// A controller that looks for silence so much later than it should did not run itself, and begins to count anew.
    pub late_ms: u64,
    /// How long a choice that could be made waits for more voters that are alive.
    pub grace_ms: u64,
    /// What was not answered is sent again after that time.
    pub resend_ms: u64,
    /// The outcome of a proposal that was not answered for so long is read.
    pub proposal_ms: u64,
    /// How long a leader may take to prepare a hand-over, and how long the controller waits after one that failed.
    pub hand_over_ms: u64,
    /// How long a leader may take to go on with the voters that are left, before a choice is made among those.
    pub shrink_ms: u64,
    /// How long a node must be alive before it gets back the partitions that prefer it as leader; nothing if it never gets them
    /// back without being asked for.
    pub preferred_after_ms: Option<u64>,
    /// A node gets back the partitions that prefer it as leader only while more than this part of them, in percent, is led elsewhere.
    pub imbalance_percent: u64,
    /// Changes in one proposal. What is written in one place is written once: a batch of half as many costs twice as many rounds.
    pub changes_max: usize,
    /// Proposals that are under way at once.
    pub proposals_max: usize,
    /// Partitions in one message to a node, and in one read.
    pub message_max: usize,
    /// Hand-overs that are under way at once.
    pub hand_overs_max: usize,
    /// From which pauses between attempts are drawn when another controller is at work too.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            silence_ms: 300,
            greeting_ms: 1_000,
            late_ms: 100,
            grace_ms: 50,
            resend_ms: 500,
            proposal_ms: 5_000,
            hand_over_ms: 2_000,
            shrink_ms: 2_000,
            preferred_after_ms: Some(60_000),
            imbalance_percent: 0,
            changes_max: 4_096,
            proposals_max: 4,
            message_max: 4_096,
            hand_overs_max: 64,
            seed: 0,
        }
    }
}
