//! What a member's lifecycle asks of its driver, and what the driver answers. Data only.

use consensus_raft::{MemberId, Term};
use storage_raft_log::{Identity, Recovered};

use crate::founding::Cluster;
use crate::{Tenure, start};

/// What the driver does next. It does one at a time, and answers each with one [`Event`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Open the data directory: finish what a crash interrupted there, then say what it holds. The answer is
    /// [`Event::Opened`] or [`Event::Damaged`].
    Open,
    /// Remove an identity that was written and never used. The answer is [`Event::Done`].
    Forget,
    /// Put the data aside and leave a mark that there was some. The answer is [`Event::Done`].
    PutAside(Reason),
    /// Ask the other members, with this claim: hand over what they say, and the time, until a command comes of it.
    AskOthers(Claim),
    /// Write this into the data directory, which holds no data. It is durable before it is answered with
    /// [`Event::Written`].
    Write(NewMembership),
    /// Load the snapshot and replay the log. The answer is [`Event::Loaded`] or [`Event::Damaged`].
    Load,
    /// Tell the other members that this member has this identity, and run the core. Once the core has ended, this member
    /// has no identity: connections to other members end, and [`Event::Ended`] is the answer.
    Run(Identity),
    /// Replace all data by the snapshot that was sent. The answer is [`Event::Done`], whether it succeeded or not.
    Restore,
    /// End. If something failed or the data is damaged, the driver reports that.
    Stop,
}

/// What came of a command, or happened meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The data directory is open and holds this.
    Opened(DiskContent),
    /// The data directory holds bytes that are not those that were written.
    Damaged,
    /// The data directory belongs to this identity for good.
    Written(Identity),
    /// The data is loaded.
    Loaded,
    /// It is done.
    Done,
    /// The core has ended.
    Ended(Ending),
    /// The process is told to stop.
    Stopped,
    /// Something failed that no other member can make good.
    Failed,
}

/// What a data directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskContent {
    /// No data.
    Nothing {
        /// Whether data was put aside here.
        had_data: bool,
    },
    /// An identity, and nothing that was ever written under it: a crash came first.
    Unused(Identity),
    /// Data.
    Data(Identity),
}

impl DiskContent {
    /// What a journal holds that was opened.
    #[must_use]
    pub fn of(recovered: &Recovered) -> Self {
        if start::is_unfounded(recovered) && recovered.hard_state.term == Term::ZERO {
            Self::Unused(recovered.identity)
        } else {
            Self::Data(recovered.identity)
        }
    }
}

/// What an empty data directory becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMembership {
    /// Who it belongs to.
    pub identity: Identity,
    /// Who bootstraps the ensemble; nobody if there is one already.
    pub founders: Option<Vec<MemberId>>,
}

impl NewMembership {
    /// That of a server that is an ensemble of its own.
    #[must_use]
    pub fn alone(cluster: Cluster, incarnation: [u8; 16]) -> Self {
        Self {
            identity: Identity { cluster, incarnation, member: MEMBER_ALONE },
            founders: Some(vec![MEMBER_ALONE]),
        }
    }
}

/// The id of a member that is alone.
pub const MEMBER_ALONE: MemberId = MemberId(1);

/// What a member tells the others of its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It never held a membership: it may bootstrap an ensemble.
    Blank,
    /// It held one: this member bootstraps nothing, and waits to be admitted.
    HadData,
    /// It holds one in this ensemble, which has not come into being.
    Unconfirmed(Cluster),
}

/// Why data is put aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is damaged, and the other members have theirs.
    Damaged,
    /// A majority of the voters says that this member's number was given to another disk.
    Evicted,
    /// The ensemble that this member was to bootstrap has not come into being, and another has.
    AnotherEnsemble,
    /// Its state is another than that on which a majority agrees.
    Diverged,
    /// This member was admitted and received nothing before it ended, or for long. Its id may be in the log of others, so it is not
    /// taken by anybody who may bootstrap an ensemble.
    NothingReceived,
}

/// How a core ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its membership is another disk's.
    Evicted,
    /// The ensemble that it was to bootstrap has not come into being for long.
    Unconfirmed,
    /// It was let in, and has heard of no leader for long.
    NothingReceived,
    /// A snapshot is to replace its data.
    Restore,
    /// Its state was found to be another than that on which a majority agrees, and the others have theirs.
    Diverged,
    /// Its memory was found to have changed by itself, and its disk has what it should.
    Rotten,
    /// The process is told to stop.
    Stopped,
    /// It found itself or its disk broken.
    Failed,
}

impl Ending {
    /// How a core has ended whose membership is in this state; nothing if it goes on.
    #[must_use]
    pub const fn of(tenure: Tenure) -> Option<Self> {
        match tenure {
            Tenure::Sound => None,
            Tenure::Doubtful => Some(Self::Unconfirmed),
            Tenure::Unreceived => Some(Self::NothingReceived),
            Tenure::Lost => Some(Self::Evicted),
        }
    }
}
