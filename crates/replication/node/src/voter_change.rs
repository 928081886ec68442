//! A change of replicas that a controller has asked this leader for.

use base::MonoTime;
use replication_appointed::{Replica, ReplicaId, Seq, Voters};
use replication_controller::{Change, PartitionId, Record, Version};

use crate::settings::Settings;

/// How far a change has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Of the next voters, one that is new or too many of all lack entries that are committed. If those voters counted, nothing
    /// would commit meanwhile. At that time the log ended there; the first time is not known.
    CatchesUp { end: Seq, since: Option<MonoTime> },
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
    pub(crate) fn new(
        (version, record): (Version, Record),
        replica: &Replica,
        now: MonoTime,
        settings: &Settings,
    ) -> Self {
        let state = State::CatchesUp { end: replica.log().end(), since: None };
        Self { version, record, state, until: now.plus_ms(settings.task_ms) }
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
        if self.have_caught_up(replica, now, settings) {
            self.state = State::Counted;
            return Some(Next::Count(self.record.config.voters.clone()));
        }
        let is_written_now = match self.state {
            State::CatchesUp { .. } => false,
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

    /// Whether the next voters may count from now on: they have everything that is committed, or are so near to it that entries wait
    /// for them no longer than for a leader that is handed over to. A replica that is farther away than the others never has
    /// everything while a log is busy.
    fn have_caught_up(&mut self, replica: &Replica, now: MonoTime, settings: &Settings) -> bool {
        let State::CatchesUp { end, since } = &mut self.state else { return false };
        let voters = &self.record.config.voters;
        if have(voters, replica, replica.committed()) {
            return true;
        }
        if !have(voters, replica, *end) {
            return false;
        }
        let is_near = since.is_some_and(|since| now <= since.plus_ms(settings.near_ms));
        (*end, *since) = (replica.log().end(), Some(now));
        is_near
    }

    /// When to look at it again.
    pub(crate) fn deadline(&self, settings: &Settings) -> MonoTime {
        match self.state {
            State::CatchesUp { .. } | State::Counted => self.until,
            State::Sent(at) => at.plus_ms(settings.task_ms),
        }
    }
}

/// Whether so much of the log is where it has to be for entries to commit on these voters: each that is new has it, and so have as many
/// of all as entries have to be on. One that votes already may be dead: it is no reason to wait, or no change could ever replace it.
fn have(voters: &Voters, replica: &Replica, end: Seq) -> bool {
    let present = replica.leading_config().map(|config| config.voters.replicas());
    let is_new = |id: &ReplicaId| present.is_none_or(|present| !present.contains(id));
    let has_it = |id: &ReplicaId| replica.durable_on(*id).is_some_and(|durable| durable >= end);
    let (of_all, all) = (voters.replicas().iter().filter(|id| has_it(id)).count(), voters.replicas());
    of_all >= voters.durable_on() && all.iter().filter(|id| is_new(id)).all(has_it)
}
