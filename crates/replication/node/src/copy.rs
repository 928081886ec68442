//! What the machine asks of the owner's logs. It knows no entry, no file and no queue.

use replication_appointed::{
    Appended, Config, Diverged, Epoch, LeadError, Refused, Replica, ReplicaId, Voters,
};
use replication_controller::PartitionId;

/// One copy of a partition's log: a [`Replica`], the entries, and the queue of the disk.
///
/// Each method that changes the replica does all that follows for the owner too: it gives to the disk what is to be made
/// durable, in order, and looks at what became committed.
pub trait LogCopy {
    /// The replica.
    fn replica(&self) -> &Replica;

    /// [`Replica::fence`]. The promise is given to the disk.
    ///
    /// # Errors
    /// A higher epoch is promised.
    fn fence(&mut self, epoch: Epoch) -> Result<(), Refused>;

    /// [`Replica::lead`]. The beginning of the epoch is given to the disk.
    ///
    /// # Errors
    /// [`LeadError`]: nothing was changed.
    fn lead(&mut self, own: ReplicaId, config: &Config) -> Result<(), LeadError>;

    /// Something that needs no disk happens to the replica. More may be committed afterwards, and the log may have to be
    /// [cut](Replica::start_to_take).
    fn apply(&mut self, input: Input);

    /// [`Replica::take_answer`].
    fn take_answer(&mut self) -> Option<(ReplicaId, Appended)>;
}

/// The copies of a node.
pub trait Copies {
    /// One of them, borrowed.
    type Copy<'a>: LogCopy
    where
        Self: 'a;

    /// The copy of that partition. Nothing if there is none, or it is not ready yet ([`Effect::Create`](crate::Effect::Create)).
    fn copy(&mut self, partition: PartitionId) -> Option<Self::Copy<'_>>;
}

/// Something that needs no disk happens to a replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A follower has made entries durable.
    Appended(ReplicaId, Appended),
    /// A follower does not have what is before the entries.
    Diverged(ReplicaId, Diverged),
    /// A higher epoch is promised, or begun, elsewhere.
    Refused(Refused),
    /// The connection to that follower is new.
    SendAgain(ReplicaId),
    /// The connection to the leader is new.
    TellAgain,
    /// Other voters are asked for: entries commit on enough of both.
    AskForVoters(Voters),
    /// Those are given up.
    GiveUpVoters,
}

impl Input {
    /// It happens to the replica.
    pub fn apply_to(self, replica: &mut Replica) {
        match self {
            Self::Appended(from, answer) => replica.receive_appended(from, answer),
            Self::Diverged(from, answer) => replica.receive_diverged(from, answer),
            Self::Refused(answer) => replica.receive_refused(answer),
            Self::SendAgain(to) => replica.send_again(to),
            Self::TellAgain => replica.tell_again(),
            Self::AskForVoters(voters) => replica.ask_for_voters(voters),
            Self::GiveUpVoters => replica.give_up_voters(),
        }
    }
}

impl<T: LogCopy + ?Sized> LogCopy for &mut T {
    fn replica(&self) -> &Replica {
        (**self).replica()
    }

    fn fence(&mut self, epoch: Epoch) -> Result<(), Refused> {
        (**self).fence(epoch)
    }

    fn lead(&mut self, own: ReplicaId, config: &Config) -> Result<(), LeadError> {
        (**self).lead(own, config)
    }

    fn apply(&mut self, input: Input) {
        (**self).apply(input);
    }

    fn take_answer(&mut self) -> Option<(ReplicaId, Appended)> {
        (**self).take_answer()
    }
}
