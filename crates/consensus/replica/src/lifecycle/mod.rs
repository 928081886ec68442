//! How a member starts and lives, as a machine: what its disk holds, what the other members say, and how its core ended go
//! in; what the driver does next comes out, one command at a time. The threaded server and the simulator execute the same
//! commands. Knows no directory, no socket and no core: it decides in which order they are used.
//!
//! | state | answer | next command | next state |
//! |---|---|---|---|
//! | `Opening` | no data | ask the others with the claim that the disk allows | `WaitingToJoin` |
//! | | no data, and there are no others | write an ensemble of one | `Writing` |
//! | | a founder's identity without a word | forget it | `Repairing`, then `Opening` |
//! | | an admitted identity without a word | put it aside | `Repairing`, then `Opening` |
//! | | data | load it | `Loading` |
//! | `Opening`, `Loading` | damage, and there are others | put the data aside | `Repairing`, then `Opening` |
//! | `WaitingToJoin` | founded or admitted | write that | `Writing` |
//! | `Writing` | it is durable | load it | `Loading` |
//! | `Loading` | loaded | run | `Running` |
//! | `Running` | evicted | put the data aside | `Evicted`, then `Opening` |
//! | | diverged, and there are others | put the data aside | `Repairing`, then `Opening` |
//! | | its memory has rotted | open the data again | `Opening` |
//! | | unconfirmed | ask the others | `MembershipInDoubt` |
//! | | a snapshot is to be restored | restore it | `Restoring`, then `Opening` |
//! | `MembershipInDoubt` | kept | open the data again | `Opening` |
//! | | founded elsewhere | forget the identity | `Replacing`, then `Writing` |
//! | | admitted elsewhere | put the data aside | `Replacing`, then `Writing` |
//! | any | told to stop, or failed | stop | `Stopped` |
//!
//! # Invariants
//! - *Who had an id bootstraps nothing again.* A disk that ever held a membership that was used says so: by its data, or by
//!   the mark of data that was put aside. A member with such a disk claims that it had data, and waits to be admitted.
//! - *Data is never deleted*, only put aside. The one thing that is removed is a founder's identity without data: a crash came
//!   before anything else was written, or its member has neither voted nor received anything and founds with others.
//! - *A doubtful membership is asked about* before its data is used again.
//! - *Damage is not used.* A damaged disk is put aside, and its member joins as a new one.
//! - *Durable first.* The driver learns which identity to tell others only by [`Command::Run`], and that comes behind a
//!   `Load` of what is durable.
//! - *A crash may come between any two commands*, and within one: each start begins with what the disk holds, so what was
//!   interrupted is done again or found done.
//!
//! # Not done, and what that costs
//! A doubt is not written down. A member that is restarted while it asks runs its core first, and doubts again 10 s later;
//! until then it may vote in its own ensemble, which it has not given up.

mod command;
pub mod storage;
mod waiting;

use base::MonoTime;
pub use command::{Claim, Command, DiskContent, Ending, Event, MEMBER_ALONE, NewMembership, Reason};
pub use waiting::Reminder;

use core::fmt;

use consensus_raft::{MemberId, MemberNumber};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use storage_raft_log::Identity;

use crate::founding::{Cluster, FoundingMessage, Outcome};
use waiting::Waiting;

/// Who a member is by its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setup {
    /// It is an ensemble of its own.
    Alone,
    /// It is one of several.
    OneOfSeveral {
        /// Its number.
        number: MemberNumber,
        /// The numbers of all that vote when the ensemble is bootstrapped.
        voters: Vec<MemberNumber>,
    },
}

enum State {
    Opening,
    Repairing,
    WaitingToJoin(Waiting),
    Writing,
    Loading(Identity),
    Running(Identity),
    Evicted,
    MembershipInDoubt(Waiting),
    Replacing(NewMembership),
    Restoring,
    Stopped,
}

/// See the module.
pub struct MemberLifecycle {
    setup: Setup,
    random: ChaCha20Rng,
    state: State,
    outgoing: Vec<(MemberNumber, FoundingMessage)>,
}

impl MemberLifecycle {
    /// That of a process that starts; names are drawn from `seed`. The driver does [`Command::Open`] first.
    #[must_use]
    pub fn new(setup: Setup, seed: [u8; 32]) -> Self {
        let random = ChaCha20Rng::from_seed(seed);
        Self { setup, random, state: State::Opening, outgoing: Vec::new() }
    }

    /// The command that is under way was answered, or the process is told to stop. Gives the next command.
    ///
    /// # Panics
    /// The event does not answer the command that is under way.
    pub fn step(&mut self, event: Event) -> Command {
        let state = core::mem::replace(&mut self.state, State::Stopped);
        match (state, event) {
            (State::Opening | State::Loading(_), Event::Damaged) => self.damaged(),
            (_, Event::Stopped | Event::Failed | Event::Damaged) => Command::Stop,
            (State::Opening, Event::Opened(content)) => self.opened(content),
            (State::Writing, Event::Written(identity)) => self.load(identity),
            (State::Loading(identity), Event::Loaded) => {
                self.state = State::Running(identity);
                Command::Run(identity)
            }
            (State::Running(identity), Event::Ended(ending)) => self.ended(identity, ending),
            (State::Replacing(new), Event::Done) => self.write(new),
            (State::Repairing | State::Evicted | State::Restoring, Event::Done) => self.open(),
            (state, event) => unreachable!("{event:?} is no answer in the state {state:?}"),
        }
    }

    fn open(&mut self) -> Command {
        self.state = State::Opening;
        Command::Open
    }

    fn opened(&mut self, content: DiskContent) -> Command {
        match (content, self.is_alone()) {
            (DiskContent::Data(identity), _) => self.load(identity),
            (DiskContent::Nothing { .. } | DiskContent::Unused(_), true) => {
                let new = NewMembership::alone(self.draw(), self.draw());
                self.write(new)
            }
            (DiskContent::Nothing { had_data }, false) => {
                let claim = if had_data { Claim::HadData } else { Claim::Blank };
                self.state = State::WaitingToJoin(self.wait(claim));
                Command::AskOthers(claim)
            }
            (DiskContent::Unused(identity), false) => {
                self.state = State::Repairing;
                // A founder writes who else founds before anybody hears of it.
                let is_founder = identity.member.is_founder();
                if is_founder { Command::Forget } else { Command::PutAside(Reason::NothingReceived) }
            }
        }
    }

    /// A server that is alone has nobody to get its data from.
    fn damaged(&mut self) -> Command {
        if self.is_alone() {
            return Command::Stop;
        }
        self.state = State::Repairing;
        Command::PutAside(Reason::Damaged)
    }

    fn load(&mut self, identity: Identity) -> Command {
        self.state = State::Loading(identity);
        Command::Load
    }

    fn write(&mut self, new: NewMembership) -> Command {
        self.state = State::Writing;
        Command::Write(new)
    }

    fn ended(&mut self, identity: Identity, ending: Ending) -> Command {
        match ending {
            Ending::Evicted => {
                self.state = State::Evicted;
                Command::PutAside(Reason::Evicted)
            }
            Ending::NothingReceived => {
                self.state = State::Repairing;
                Command::PutAside(Reason::NothingReceived)
            }
            Ending::Unconfirmed => {
                let claim = Claim::Unconfirmed(identity.cluster);
                self.state = State::MembershipInDoubt(self.wait(claim));
                Command::AskOthers(claim)
            }
            Ending::Restore => {
                self.state = State::Restoring;
                Command::Restore
            }
            Ending::Diverged if !self.is_alone() => {
                self.state = State::Repairing;
                Command::PutAside(Reason::Diverged)
            }
            // Its log and its vote are sound: it gives up neither.
            Ending::Rotten => self.open(),
            Ending::Diverged | Ending::Stopped | Ending::Failed => Command::Stop,
        }
    }

    /// A member is connected while this one asks: by its id, which is [blank](MemberId::blank) for one that has none.
    pub fn connected(&mut self, id: MemberId) {
        if let Some(waiting) = self.waiting() {
            waiting.connected(id);
        }
    }

    /// A member is not connected any more.
    pub fn disconnected(&mut self, id: MemberId) {
        if let Some(waiting) = self.waiting() {
            waiting.disconnected(id);
        }
    }

    /// A member says something while this one asks.
    pub fn hear(&mut self, from: MemberId, message: FoundingMessage) {
        if let Some(waiting) = self.waiting() {
            waiting.hear(from, message);
        }
    }

    /// Time has passed while this member asks. Gives the next command once there is an outcome. What is in
    /// [`Self::take_outgoing`] is sent first.
    pub fn tick(&mut self, now: MonoTime) -> Option<Command> {
        let waiting = self.waiting()?;
        let outgoing = waiting.tick(now);
        let outcome = waiting.outcome().cloned();
        self.outgoing.extend(outgoing);
        Some(self.concluded(outcome?))
    }

    fn concluded(&mut self, outcome: Outcome) -> Command {
        let new = self.new_membership(outcome);
        match (core::mem::replace(&mut self.state, State::Stopped), new) {
            (State::MembershipInDoubt(_), None) => self.open(),
            (State::MembershipInDoubt(_), Some(new)) => {
                // Whoever doubts has nothing but its identity. With a mark of it, and a crash before the new one is written, it
                // could found nothing any more, while the others wait for it.
                let founds = new.founders.is_some();
                self.state = State::Replacing(new);
                if founds { Command::Forget } else { Command::PutAside(Reason::AnotherEnsemble) }
            }
            (State::WaitingToJoin(_), Some(new)) => self.write(new),
            (state, new) => unreachable!("{new:?} is no outcome in the state {state:?}"),
        }
    }

    /// What to write; nothing if the membership that this member holds is kept.
    fn new_membership(&mut self, outcome: Outcome) -> Option<NewMembership> {
        let (cluster, member, founders) = match outcome {
            Outcome::Founded { cluster, voters } => (cluster, MemberId::founder(self.number()), Some(voters)),
            Outcome::Admitted { cluster, id } => (cluster, id, None),
            Outcome::Kept => return None,
        };
        let identity = Identity { cluster, incarnation: self.draw(), member };
        Some(NewMembership { identity, founders })
    }

    /// What to send to other members, by number: which of them have an id is not known.
    pub fn take_outgoing(&mut self) -> Vec<(MemberNumber, FoundingMessage)> {
        core::mem::take(&mut self.outgoing)
    }

    /// What this member waits for, if it is time to remind an operator.
    pub fn reminder(&mut self, now: MonoTime) -> Option<Reminder> {
        self.waiting()?.reminder(now)
    }

    fn wait(&mut self, claim: Claim) -> Waiting {
        let names = (self.draw(), self.draw());
        let voters = match &self.setup {
            Setup::Alone => Vec::new(),
            Setup::OneOfSeveral { voters, .. } => voters.clone(),
        };
        Waiting::new(claim, self.number(), voters, names)
    }

    const fn waiting(&mut self) -> Option<&mut Waiting> {
        match &mut self.state {
            State::WaitingToJoin(waiting) | State::MembershipInDoubt(waiting) => Some(waiting),
            _ => None,
        }
    }

    fn draw(&mut self) -> Cluster {
        let mut name = [0; 16];
        self.random.fill_bytes(&mut name);
        name
    }

    const fn number(&self) -> MemberNumber {
        match self.setup {
            Setup::Alone => MEMBER_ALONE.number(),
            Setup::OneOfSeveral { number, .. } => number,
        }
    }

    const fn is_alone(&self) -> bool {
        matches!(self.setup, Setup::Alone)
    }

    /// What this member does, and whom it has heard while it asks: for people.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.state {
            State::WaitingToJoin(waiting) | State::MembershipInDoubt(waiting) => {
                format!("{:?}: {waiting:?}", self.state)
            }
            state => format!("{state:?}"),
        }
    }

    /// Who this member is, while its core runs.
    #[must_use]
    pub const fn identity(&self) -> Option<Identity> {
        match self.state {
            State::Running(identity) => Some(identity),
            _ => None,
        }
    }
}

impl fmt::Debug for State {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Opening => "Opening",
            Self::Repairing => "Repairing",
            Self::WaitingToJoin(_) => "WaitingToJoin",
            Self::Writing => "Writing",
            Self::Loading(_) => "Loading",
            Self::Running(_) => "Running",
            Self::Evicted => "Evicted",
            Self::MembershipInDoubt(_) => "MembershipInDoubt",
            Self::Replacing(_) => "Replacing",
            Self::Restoring => "Restoring",
            Self::Stopped => "Stopped",
        })
    }
}

#[cfg(test)]
mod tests;
