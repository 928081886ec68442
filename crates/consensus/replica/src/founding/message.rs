//! What members say to each other while one of them has no seat.

use consensus_raft::{LogIndex, MemberId};

use super::Cluster;

/// What members say while one of them has no seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundingMessage {
    /// The sender's disk is blank: what is there to be had?
    Blank {
        /// Of this life of this disk.
        incarnation: [u8; 16],
        /// Whether it may found an ensemble. One that had a seat and lost its data may not.
        founds: bool,
    },
    /// The sender has a seat.
    Seated {
        /// In which ensemble.
        cluster: Cluster,
        /// Nothing has happened in it as far as the sender's disk knows: those who were to found it.
        untouched: Option<Vec<MemberId>>,
    },
    /// Found this ensemble together.
    Propose {
        /// Its id.
        cluster: Cluster,
        /// Who is to vote in it.
        voters: Vec<MemberId>,
    },
    /// The receiver's seat was given to another disk.
    Replaced {
        /// Which seat.
        id: MemberId,
        /// By a change of members not later than this in the log.
        index: LogIndex,
    },
    /// The receiver has a seat: it catches up with the others.
    Admitted {
        /// In which ensemble.
        cluster: Cluster,
        /// Under which id.
        id: MemberId,
        /// For which disk.
        incarnation: [u8; 16],
    },
}
