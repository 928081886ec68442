//! A run in two chapters: the ensemble is lost but for one member, of which its operator makes a new one, and clients go on
//! there. Each chapter is judged by itself: the first as it was when it ended, the second by a record that begins with the log
//! that the survivor held. What clients were told of anything that it did not hold counts in the first alone.

use super::Run;
use crate::oracle::Oracle;
use crate::random::Random;
use crate::record::Record;
use base::LogIndex;

/// How often, of this many moments, the operator looks for machines with old data.
const LOOKS_EVERY: u64 = 2_000;

/// When the ensemble is lost, in hundredths of the time under faults, and what decides the rest.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    percent: u64,
    chance: Random,
}

impl Loss {
    /// A draw.
    pub(super) fn draw(mut chance: Random) -> Self {
        Self { percent: 20 + chance.below(65), chance }
    }

    /// Whether it is time.
    pub(super) const fn is_due(&self, now_ms: u64, faulty_ms: u64) -> bool {
        now_ms * 100 >= faulty_ms * self.percent
    }
}

impl Run {
    /// The ensemble is lost. Gives what is wrong with what was until then.
    pub(super) fn lose(&mut self, loss: Loss) -> Vec<String> {
        let mut chance = loss.chance;
        self.ensemble.end_double();
        let number = self.ensemble.survivor(&mut chance);
        self.ensemble.black_out();
        self.load.part_all(&mut self.ensemble, &mut self.history);
        let survivor = number.and_then(|number| self.ensemble.force_new_ensemble(number, &mut chance));
        let Some(survivor) = survivor else {
            self.ensemble.start_all();
            return Vec::new();
        };
        self.history.link(&self.ensemble.sequences);
        self.history.ended_ms = self.ensemble.now_ms();
        let before: Record = std::mem::take(&mut self.ensemble.record);
        let oracle = Oracle::of(&before);
        let wrongs = self.apply_rules(&before, &oracle);

        let voters_min = before.voters_min();
        let (record, kept) = before.resume(self.ensemble.now_ms(), &survivor, oracle.last_zxid());
        self.ensemble.record = record;
        let cut = kept.checked_sub(1).map_or(0, |last| oracle.zxids[last]);
        self.forget_behind(cut, LogIndex::ZERO.plus(kept as u64), &oracle);
        self.ensemble.lose_all_but(survivor.member, voters_min, &mut chance);
        self.ensemble.start(survivor.member);
        self.looks = Some(chance);
        wrongs
    }

    /// What the survivor does not hold was never told.
    fn forget_behind(&mut self, zxid: i64, kept: LogIndex, oracle: &Oracle) {
        let ahead = self.load.ahead_of(zxid);
        self.ensemble.count("client ahead of a new ensemble", ahead as u64);
        let lost = self.history.forget_behind(
            zxid,
            |grant| {
                let story = oracle.sessions.get(&grant.session);
                let mut all = story.into_iter().flat_map(|story| &story.generations);
                all.any(|(generation, index, _)| *generation == grant.generation && *index <= kept)
            },
            |session| {
                let story = oracle.sessions.get(&session);
                let end = story.map(|story| story.ended.as_ref());
                end.is_none_or(|end| end.is_some_and(|end| end.index <= kept))
            },
        );
        self.ensemble.count("acknowledged write lost with its ensemble", lost as u64);
    }

    /// The operator of a new ensemble looks, now and then, for machines with data of the old one.
    pub(super) fn look_for_outsiders(&mut self) {
        if self.looks.as_mut().is_some_and(|chance| chance.below(LOOKS_EVERY) == 0) {
            self.ensemble.empty_outsiders();
        }
    }
}
