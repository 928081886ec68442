//! What can happen next.

use replication_appointed::{Epoch, ReplicaId};

/// One step of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// A leader appends a value.
    Propose(ReplicaId),
    /// A leader sends to a replica.
    Send(ReplicaId, ReplicaId),
    /// A message arrives: its place among those on their way.
    Deliver(usize),
    /// A message is lost with its connection, and both sides know.
    Reconnect(ReplicaId, ReplicaId),
    /// A disk does one thing.
    Disk(ReplicaId),
    /// A process dies.
    Crash(ReplicaId),
    /// It starts again.
    Restart(ReplicaId),
    /// A replica reads what the council says.
    ReadConfig(ReplicaId),
    /// A controller begins to appoint a leader, for that epoch.
    Begin(Epoch),
    /// A controller asks a replica for a promise: its number, and the replica.
    Fence(usize, ReplicaId),
    /// A replica's answer reaches the controller.
    Collect(usize, ReplicaId),
    /// A controller writes its choice.
    Appoint(usize),
    /// A leader asks for other voters: their place in the list.
    AskForVoters(ReplicaId, usize),
    /// A leader writes the voters that it has asked for.
    WriteVoters(ReplicaId),
    /// A leader gives up the voters that it has asked for and not written.
    GiveUpVoters(ReplicaId),
    /// A replica removes what is committed, for itself.
    CutStart(ReplicaId),
    /// A leader deletes what is committed, for a client.
    Delete(ReplicaId),
    /// A leader asks whether it still leads.
    Confirm(ReplicaId),
}
