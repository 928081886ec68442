//! A change of replicas that a controller has asked this leader for.

use base::MonoTime;
use replication_appointed::{Replica, ReplicaId, Voters};
use replication_controller::{Change, PartitionId, Record, Version};

use crate::settings::Settings;

/// How far a change has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Of the next voters, one that is new or too many of all lack entries that are committed. If those voters counted, nothing
    /// would commit meanwhile.
    CatchesUp,
    /// Entries commit on enough of both sets of voters.
    Counted,
    /// The record was sent to the configuration at that time. The outcome is not known, so the voters stay asked for: the
    /// configuration may have them already, and then the leader of the next epoch relies on their disks.
    Sent(MonoTime),
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct VoterChange {
    pub(crate) version: Version,
    pub(crate) record: Record,
    state: State,
    /// When it is given up if it is not asked for again, and was not sent.
    until: MonoTime,
}

/// What a change needs next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// These voters count from now on.
    Count(Voters),
    /// The record is to be written.
    Write(Box<Change>),
    /// Nobody asks for it any more.
    GiveUp,
}

impl VoterChange {
    pub(crate) fn new(version: Version, record: Record, now: MonoTime, settings: &Settings) -> Self {
        Self { version, record, state: State::CatchesUp, until: now.plus_ms(settings.task_ms) }
    }

    /// It is asked for again.
    pub(crate) fn prolong(&mut self, now: MonoTime, settings: &Settings) {
        self.until = now.plus_ms(settings.task_ms);
    }

    /// The next thing to do; it is done by the caller.
    pub(crate) fn next(
        &mut self,
        partition: PartitionId,
        replica: &Replica,
        now: MonoTime,
        settings: &Settings,
    ) -> Option<Next> {
        let voters = &self.record.config.voters;
        let is_written_now = match self.state {
            State::CatchesUp if have_caught_up(voters, replica) => {
                self.state = State::Counted;
                return Some(Next::Count(voters.clone()));
            }
            State::CatchesUp => false,
            State::Counted => replica.are_voters_ready(),
            State::Sent(at) if now < at.plus_ms(settings.task_ms) => return None,
            State::Sent(_) => true,
        };
        if is_written_now {
            self.state = State::Sent(now);
            let (version, record) = (self.version, self.record.clone());
            return Some(Next::Write(Box::new(Change { partition, version, record })));
        }
        (self.until <= now).then_some(Next::GiveUp)
    }

    /// When to look at it again.
    pub(crate) fn deadline(&self, settings: &Settings) -> MonoTime {
        match self.state {
            State::CatchesUp | State::Counted => self.until,
            State::Sent(at) => at.plus_ms(settings.task_ms),
        }
    }
}

/// Whether entries can commit on these voters from now on: each that is new has everything, and so have as many of all as entries
/// have to be on. One that votes already may be dead: it is no reason to wait, or no change could ever replace it.
fn have_caught_up(voters: &Voters, replica: &Replica) -> bool {
    let present = replica.leading_config().map(|config| config.voters.replicas());
    let is_new = |id: &ReplicaId| present.is_none_or(|present| !present.contains(id));
    let has_all = |id: &ReplicaId| replica.durable_on(*id).is_some_and(|end| end >= replica.committed());
    let (of_all, all) = (voters.replicas().iter().filter(|id| has_all(id)).count(), voters.replicas());
    of_all >= voters.durable_on() && all.iter().filter(|id| is_new(id)).all(has_all)
}
