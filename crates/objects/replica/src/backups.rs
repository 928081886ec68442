//! Backups: snapshots of this member that a client is given, one at a time. From the client's question until its edge has said
//! that it is gone.
//!
//! The question waits as a linearizable query does; then a snapshot is taken as always, while commands go on. It covers all that
//! was applied by then, so nothing is missing that anybody was told before the question came. Who reads the file, and how fast, is
//! the edge's.

use base::MonoTime;
use consensus_raft::LogIndex;
use objects_state::{Origin, Principal, Problem, Slug};

use crate::edge::Answer;
use crate::mailboxes::Mailboxes;

/// How long a snapshot may take until who waits for it is refused, milliseconds. One of 10 GiB takes three minutes at the usual
/// pace.
const PATIENCE_MS: u64 = 15 * 60 * 1_000;
/// Behind a backup a member rests for as long as it took, so that whoever asks again and again has it take snapshots for half the
/// time at the most; but not longer than this, milliseconds, ...
const REST_MS_MAX: u64 = 60_000;
/// ... and so long at the least.
const REST_MS_MIN: u64 = 1_000;

/// How far a backup has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A snapshot is to be asked for.
    Asked,
    /// One that covers this entry is waited for.
    Awaits(LogIndex),
    /// The edge has it.
    Given,
}

#[derive(Debug)]
struct Backup {
    origin: Origin,
    principal: Principal,
    since: MonoTime,
    stage: Stage,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Backups {
    present: Option<Backup>,
    rests_until: MonoTime,
}

impl Backups {
    /// Takes a client's question in, which may be answered from the state of now.
    ///
    /// # Errors
    /// Another one is under way, or was until a moment ago.
    pub(crate) fn begin(
        &mut self,
        origin: Origin,
        principal: &Principal,
        now: MonoTime,
    ) -> Result<(), Problem> {
        if self.present.is_some() {
            return Err(refused("another client is given a backup by this member", REST_MS_MIN));
        }
        if now < self.rests_until {
            let detail = "this member gave a backup a moment ago, and rests for as long as that took";
            return Err(refused(detail, self.rests_until.since(now)));
        }
        self.present = Some(Backup { origin, principal: principal.clone(), since: now, stage: Stage::Asked });
        Ok(())
    }

    /// Whether a snapshot is to be asked for.
    pub(crate) fn wants_snapshot(&self) -> bool {
        self.present.as_ref().is_some_and(|backup| backup.stage == Stage::Asked)
    }

    /// A snapshot that covers this entry was asked for.
    pub(crate) fn awaits(&mut self, index: LogIndex) {
        if let Some(backup) = &mut self.present {
            backup.stage = Stage::Awaits(index);
        }
    }

    /// The newest snapshot on the disk covers this entry.
    pub(crate) fn saved(&mut self, index: LogIndex, out: &mut Mailboxes) {
        if let Some(backup) = &mut self.present
            && let Stage::Awaits(wanted) = backup.stage
            && wanted <= index
        {
            backup.stage = Stage::Given;
            let origin = backup.origin;
            out.tell(origin, Answer::Backup { origin, index });
        }
    }

    /// A snapshot could not be written.
    pub(crate) fn failed(&mut self, reason: &str, now: MonoTime, out: &mut Mailboxes) {
        let waits = |backup: &Backup| backup.stage != Stage::Given;
        if self.present.as_ref().is_some_and(waits) {
            let detail = format!("the snapshot could not be written: {reason}");
            self.refuse(Problem::new(Slug::DiskFull, detail), now, out);
        }
    }

    /// Time has passed: one that takes too long is refused.
    pub(crate) fn pass_time(&mut self, now: MonoTime, out: &mut Mailboxes) {
        let is_late =
            |backup: &Backup| backup.stage != Stage::Given && backup.since.plus_ms(PATIENCE_MS) <= now;
        if self.present.as_ref().is_some_and(is_late) {
            self.refuse(refused("the snapshot takes too long", REST_MS_MAX), now, out);
        }
    }

    /// Rights have changed: who may not have a backup any more is given no more of it.
    pub(crate) fn judge(
        &mut self,
        may: impl FnOnce(&Principal) -> Result<(), Problem>,
        now: MonoTime,
        out: &mut Mailboxes,
    ) {
        if let Some(Err(problem)) = self.present.as_ref().map(|backup| may(&backup.principal)) {
            self.refuse(problem, now, out);
        }
    }

    /// The edge is done with the request, or its client has gone. False if there is no such backup.
    pub(crate) fn leave(&mut self, origin: Origin, now: MonoTime) -> bool {
        let is_it = self.present.as_ref().is_some_and(|backup| backup.origin == origin);
        if is_it {
            self.end(now);
        }
        is_it
    }

    /// Whether one is under way.
    pub(crate) const fn is_under_way(&self) -> bool {
        self.present.is_some()
    }

    fn refuse(&mut self, problem: Problem, now: MonoTime, out: &mut Mailboxes) {
        if let Some(backup) = self.end(now) {
            out.refuse(backup.origin, problem);
        }
    }

    fn end(&mut self, now: MonoTime) -> Option<Backup> {
        let backup = self.present.take()?;
        self.rests_until = now.plus_ms(now.since(backup.since).clamp(REST_MS_MIN, REST_MS_MAX));
        Some(backup)
    }
}

fn refused(detail: &str, retry_after_ms: u64) -> Problem {
    Problem { retry_after_ms: Some(retry_after_ms), ..Problem::new(Slug::Rate, detail) }
}
