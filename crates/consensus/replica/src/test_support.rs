//! What tests begin with: a small machine, and components as a member finds them.

use base::{MonoTime, Now};
use bytes::{Buf, Bytes};
use consensus_raft::{
    Config, HardState, LogIndex, Malformed, MemberId, Membership, RaftNode, Recovered, Term,
};

use crate::membership::GroupMembership;
use crate::peers::Peers;
use crate::view::View;
use crate::{
    GroupOf, MachineMessage, MessageLength, OwnRole, Persisting, Replayed, ReplicaConfig, ReplicatedState,
    ScanProgress, SnapshotLoader, Stamp, StateMachine, Unreadable,
};

/// When tests begin.
pub(crate) const NOW: Now = Now::of_ms(100_000, 1_700_000_000_000);

/// What the member `own` sees among these voters.
pub(crate) fn view(own: u64, voters: &[u64]) -> View {
    let config = ReplicaConfig::new(MemberId(own));
    let members =
        Membership { voters: voters.iter().copied().map(MemberId).collect(), ..Membership::default() };
    let membership = GroupMembership::new(MemberId(own), members, None, NOW);
    View { config, membership, peers: Peers::default(), now: NOW }
}

/// An empty log among these voters.
pub(crate) fn recovered(voters: &[u64]) -> Recovered {
    Recovered {
        hard_state: HardState { term: Term(1), vote: None, commit: LogIndex(1) },
        membership: Membership {
            voters: voters.iter().copied().map(MemberId).collect(),
            ..Membership::default()
        },
        base_index: LogIndex(1),
        base_term: Term(1),
        entries: Vec::new(),
    }
}

/// The engine of the member `own` among these voters, with an empty log.
pub(crate) fn raft(own: u64, voters: &[u64]) -> RaftNode {
    RaftNode::new(&Config::new(MemberId(own), 7), &recovered(voters), LogIndex(1))
}

/// A note: what the machine of the tests has its members say, a command that it appends to its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note(pub(crate) u8);

const KIND: u8 = 1;
/// The first command of a term leaves no note.
const FIRST: u8 = 0;

impl MachineMessage for Note {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[KIND, self.0]);
    }

    fn decode(kind: u8, mut bytes: Bytes) -> Result<Self, Malformed> {
        match (kind, bytes.len()) {
            (KIND, 1) => Ok(Self(bytes.get_u8())),
            _ => Err(Malformed("no note")),
        }
    }

    fn is_bulky(&self) -> bool {
        false
    }

    fn may_be_said_to(&self, role: OwnRole) -> bool {
        role.leads
    }

    fn length(_: u8) -> MessageLength {
        MessageLength::UpTo(8)
    }
}

/// A machine whose state is a list of notes: each command appends one.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// What clients of this member asked for and what is not applied yet.
    pub(crate) waiting: Vec<u8>,
    /// Whether what waits was given to the present leader.
    given: bool,
    pub(crate) serves: bool,
    /// Members that serve no clients.
    pub(crate) without_clients: Vec<MemberId>,
    /// What went on, with the number of notes that were there.
    pub(crate) went_on: Vec<(u32, usize)>,
}

/// A note that its memory, and nobody else, has written.
pub(crate) const ROTTEN: u8 = 255;

/// Reads notes from the chunks of a snapshot.
#[derive(Default)]
pub(crate) struct NotesLoader(Vec<u8>);

impl SnapshotLoader for NotesLoader {
    type State = Vec<u8>;

    fn chunk(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self) -> Result<Vec<u8>, Unreadable> {
        Ok(self.0)
    }
}

impl ReplicatedState for Notes {
    type State = Vec<u8>;
    type Loader = NotesLoader;

    fn loader(_: u64) -> NotesLoader {
        NotesLoader::default()
    }

    fn seed(_: &Vec<u8>) -> u64 {
        0
    }

    fn position(state: &Vec<u8>) -> i64 {
        state.len() as i64
    }

    fn digest(state: &Vec<u8>) -> u64 {
        state.iter().fold(7, |digest: u64, note| digest.wrapping_mul(31).wrapping_add(u64::from(*note)))
    }

    fn feature_level(_: &Vec<u8>) -> u32 {
        0
    }

    fn snapshot_begin(_: &mut Vec<u8>) {}

    fn snapshot_side_bytes(_: &Vec<u8>) -> usize {
        0
    }

    fn snapshot_chunk(state: &mut Vec<u8>, out: &mut Vec<u8>, _: usize) -> ScanProgress {
        if state.contains(&ROTTEN) {
            return ScanProgress::Rotten;
        }
        out.extend_from_slice(state);
        ScanProgress::Done { digest: Self::digest(state) }
    }

    fn replace(state: &mut Vec<u8>, next: Vec<u8>) -> Vec<u8> {
        core::mem::replace(state, next)
    }
}

impl Replayed for Vec<u8> {
    fn apply(&mut self, _: Stamp, command: &[u8]) -> Result<(), Malformed> {
        match command {
            [FIRST] => {}
            [note] => self.push(*note),
            _ => return Err(Malformed("no note")),
        }
        Ok(())
    }
}

impl StateMachine for Notes {
    type Message = Note;
    type Waiter = u32;

    fn is_readable(command: &[u8]) -> bool {
        command.len() == 1
    }

    fn first_command(&self, out: &mut Vec<u8>) {
        out.push(FIRST);
    }

    fn propose_waiting(&mut self, group: &mut GroupOf<Self>) {
        if core::mem::replace(&mut self.given, true) {
            return;
        }
        let mut batch = crate::batch::BatchWriter::new(1 << 10);
        self.waiting.iter().for_each(|note| batch.push(&[*note], 1));
        let contents = batch.take(group.now().wall).into_iter().map(|sealed| sealed.content).collect();
        self.given = group.propose(contents);
    }

    fn forward_waiting(&mut self, leader: Option<MemberId>, group: &mut GroupOf<Self>) {
        if let Some(leader) = leader.filter(|leader| *leader != group.view().own())
            && !core::mem::replace(&mut self.given, true)
        {
            self.waiting.iter().for_each(|note| group.send(leader, Note(*note)));
        }
    }

    fn persisting(&mut self, _: u64, _: u64) -> Persisting {
        Persisting::default()
    }

    fn journal_room(&mut self, _: u64, _: u64) {}

    fn disk_space(&mut self, _: bool) {}

    fn leader_changed(&mut self, _: bool, _: Now) {
        self.given = false;
    }

    fn give_again(&mut self, _: Now) {
        self.given = false;
    }

    fn is_stuck(&mut self, _: &GroupOf<Self>) -> bool {
        false
    }

    fn begin_turn(&mut self, _: &Vec<u8>, _: &mut GroupOf<Self>) {}

    fn holds_up(&self) -> bool {
        false
    }

    fn cost_to_apply(_: &Vec<u8>, command: &[u8]) -> u64 {
        command.len() as u64
    }

    fn prefetch<'a>(_: &Vec<u8>, _: impl Iterator<Item = &'a [u8]>) -> usize {
        0
    }

    fn apply(
        &mut self,
        state: &mut Vec<u8>,
        stamp: Stamp,
        command: &[u8],
        group: &mut GroupOf<Self>,
    ) -> Result<usize, Malformed> {
        if command == [FIRST] {
            group.begin_term();
        } else if state.iter().any(|note| command == [*note]) {
            // Given twice: each note counts once.
            return Ok(1);
        }
        Replayed::apply(state, stamp, command)?;
        self.waiting.retain(|note| command != [*note]);
        Ok(1)
    }

    fn commands_applied(&mut self, _: Stamp, _: u64, _: &GroupOf<Self>) {}

    fn entry_applied(&mut self, _: LogIndex) {}

    fn end_turn(&mut self, _: &Vec<u8>, _: Now) {}

    fn go_on(&mut self, waiter: u32, state: &Vec<u8>, _: &mut GroupOf<Self>) {
        self.went_on.push((waiter, state.len()));
    }

    fn state_replaced(&mut self, _: &Vec<u8>, _: &mut GroupOf<Self>) {}

    fn message(&mut self, _: MemberId, Note(note): Note, _: &mut GroupOf<Self>) {
        self.waiting.push(note);
        self.given = false;
    }

    fn serves_clients(&self, member: MemberId) -> bool {
        !self.without_clients.contains(&member)
    }

    fn serving(&mut self, serves: bool) {
        self.serves = serves;
    }

    fn stood_still(&mut self, _: u64, _: Now) {}

    fn lead(&mut self, _: &Vec<u8>, _: &mut GroupOf<Self>) {}

    fn lead_ended(&mut self) {}

    fn members_changed(&mut self) {}

    fn deadlines(&self, _: Now) -> impl Iterator<Item = MonoTime> {
        core::iter::empty()
    }
}
