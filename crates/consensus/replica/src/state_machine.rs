//! What a group replicates: the state, how it is kept in snapshots, and what its commands mean.

use base::{MonoTime, Now, WallTime};
use consensus_raft::{LogIndex, Malformed, MemberId};

use crate::group::Group;
use crate::peer_message::MachineMessage;

/// When the leader made an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// What the leader's wall clock said.
    pub wall: WallTime,
}

/// How far a snapshot has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanProgress {
    /// There is more.
    More,
    /// Everything is scanned; this is the digest of the state as it was when the scan began.
    Done {
        /// The digest.
        digest: u64,
    },
    /// The memory has changed by itself: what was scanned is not the state of which the digest was made, and no snapshot.
    Rotten,
}

/// Bytes that this build cannot read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// A state that is read from the chunks of a snapshot.
pub trait SnapshotLoader {
    /// The state.
    type State;

    /// Takes the next chunk in.
    ///
    /// # Errors
    /// It is none of a snapshot's.
    fn chunk(&mut self, bytes: &[u8]) -> Result<(), Unreadable>;

    /// All chunks are taken in.
    ///
    /// # Errors
    /// They are not a whole snapshot.
    fn finish(self) -> Result<Self::State, Unreadable>;
}

/// A state that commands change, that snapshots hold, and that members compare.
///
/// Implemented by a name for the state, not by the state: that need not know of replication.
pub trait ReplicatedState {
    /// The state.
    type State;
    /// Reads a snapshot of it.
    type Loader: SnapshotLoader<State = Self::State>;

    /// Begins to read a snapshot, with the seed of its hash tables.
    fn loader(seed: u64) -> Self::Loader;
    /// The seed of the state's hash tables.
    fn seed(state: &Self::State) -> u64;
    /// The number of the last transaction. It rises with each, on every member alike.
    fn position(state: &Self::State) -> i64;
    /// Of equal states equal.
    fn digest(state: &Self::State) -> u64;
    /// The feature level that the state's log has reached.
    fn feature_level(state: &Self::State) -> u32;
    /// A snapshot begins: from now on what commands change is kept as it is until it is scanned.
    fn snapshot_begin(state: &mut Self::State);
    /// Bytes that are kept for the snapshot though commands have changed them.
    fn snapshot_side_bytes(state: &Self::State) -> usize;
    /// Appends the next chunk of the snapshot, of about so many bytes.
    fn snapshot_chunk(state: &mut Self::State, out: &mut Vec<u8>, bytes: usize) -> ScanProgress;
    /// Puts another state in the place of this one, and gives the old one.
    fn replace(state: &mut Self::State, next: Self::State) -> Self::State;
}

/// The group as a machine is lent it.
pub type GroupOf<M> = Group<<M as StateMachine>::Message, <M as StateMachine>::Waiter>;

/// What a machine says of entries that go to the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Persisting {
    /// How many of its commands they hold, for metrics.
    pub commands: u64,
    /// Whether they may use the space kept for when the disk is full.
    pub reserved: bool,
}

/// What the commands of a group mean, and who waits for them. A [`crate::Replica`] calls it, in the order of the log and
/// of the driver's calls, and lends it the [`Group`].
pub trait StateMachine: ReplicatedState + Sized {
    /// What machines of different members say to each other.
    type Message: MachineMessage;
    /// What waits until everything is applied that was committed when it came ([`Group::wait`]).
    type Waiter;
    /// How long a member whose state is another than a majority's has to tell the others what it knows of that, before it stops;
    /// it neither serves nor applies anything meanwhile. 0: it stops at once.
    const PARTING_MS: u64 = 0;

    /// Whether a command can be read by this build. One that cannot must not come into the log: it would stop every member
    /// that applies it, at each start anew.
    fn is_readable(command: &[u8]) -> bool;
    /// Appends the first command of a leader's term. Applying it, the machine calls [`Group::begin_term`].
    fn first_command(&self, out: &mut Vec<u8>);

    /// This member leads: what waits is put into the log ([`Group::propose`]), as much as has room.
    fn propose_waiting(&mut self, group: &mut GroupOf<Self>);
    /// This member does not lead: what waits is given to the leader, if there is one ([`Group::send`]).
    fn forward_waiting(&mut self, leader: Option<MemberId>, group: &mut GroupOf<Self>);
    /// Entries go to the journal under that number, in so many bytes.
    fn persisting(&mut self, number: u64, log_bytes: u64) -> Persisting;
    /// The journal has taken everything up to that number and has room for so many bytes more.
    fn journal_room(&mut self, after: u64, bytes: u64);
    /// Whether the disk has room for writes.
    fn disk_space(&mut self, writable: bool);
    /// Another leads, or leads in another term: it may not have been given what is under way.
    fn leader_changed(&mut self, leads: bool, now: Now);
    /// What is under way may be lost, and is to be given to the leader once more.
    fn give_again(&mut self, now: Now);
    /// Whether what is under way seems to be lost.
    fn is_stuck(&mut self, group: &GroupOf<Self>) -> bool;

    /// A turn of applying begins.
    fn begin_turn(&mut self, state: &Self::State, group: &mut GroupOf<Self>);
    /// Whether something has to be done before any other command is applied, for which a further turn is wanted.
    fn holds_up(&self) -> bool;
    /// Whether nothing is to be applied for now, and no turn is wanted meanwhile. The machine's deadlines say when it is asked
    /// again.
    fn must_wait(&self) -> bool {
        false
    }
    /// What it will cost to apply this command, in about bytes.
    fn cost_to_apply(state: &Self::State, command: &[u8]) -> u64;
    /// These commands are applied next: what they need of a large state may be brought near. Gives for how many of them
    /// that was done.
    fn prefetch<'a>(state: &Self::State, commands: impl Iterator<Item = &'a [u8]>) -> usize;
    /// Applies a command. Gives what it cost, in about bytes.
    ///
    /// # Errors
    /// This build cannot read it: this member must stop.
    fn apply(
        &mut self,
        state: &mut Self::State,
        stamp: Stamp,
        command: &[u8],
        group: &mut GroupOf<Self>,
    ) -> Result<usize, Malformed>;
    /// So many commands of one entry were applied in this turn.
    fn commands_applied(&mut self, stamp: Stamp, commands: u64, group: &GroupOf<Self>);
    /// Entries up to this one are applied.
    fn entry_applied(&mut self, index: LogIndex);
    /// A turn of applying ends.
    fn end_turn(&mut self, state: &Self::State, now: Now);
    /// What waited may go on.
    fn go_on(&mut self, waiter: Self::Waiter, state: &Self::State, group: &mut GroupOf<Self>);
    /// Another state has taken the place of the old one.
    fn state_replaced(&mut self, state: &Self::State, group: &mut GroupOf<Self>);

    /// Another voter's state was found to be another than this member's. Called again while that is known.
    fn disagrees(&mut self, _group: &mut GroupOf<Self>) {}
    /// A message of another member's machine.
    fn message(&mut self, from: MemberId, message: Self::Message, group: &mut GroupOf<Self>);
    /// Whether that member serves clients, as far as the log says. One that serves none and has asked for nothing lately is
    /// not told at once what is committed.
    fn serves_clients(&self, member: MemberId) -> bool;
    /// Clients are served here from now on, or no more.
    fn serving(&mut self, serves: bool);
    /// This process stood still for so long.
    fn stood_still(&mut self, for_ms: u64, now: Now);
    /// What a leader looks at from time to time.
    fn lead(&mut self, state: &Self::State, group: &mut GroupOf<Self>);
    /// This member does not lead any more.
    fn lead_ended(&mut self);
    /// The members have changed.
    fn members_changed(&mut self);
    /// When [`crate::Replica::tick`] should be called though nothing else happens.
    fn deadlines(&self, now: Now) -> impl Iterator<Item = MonoTime>;
}
