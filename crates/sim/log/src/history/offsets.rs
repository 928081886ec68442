//! Offsets of groups: each partition's is a register, and each commit writes a number of its own (L50, L51).

use std::collections::BTreeMap;

use super::{History, Place};

/// The offset of a partition in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Register {
    pub(crate) group: &'static str,
    pub(crate) place: Place,
}

/// A commit that was asked for.
#[derive(Clone, Copy, Debug)]
struct Commit {
    register: Register,
    member: u32,
    generation: i32,
    asked: u64,
    /// It took effect before then, for somebody was told.
    applied_by: Option<u64>,
    /// It takes no effect behind that moment.
    not_after: u64,
    is_refused: bool,
    /// Whoever asked was not of the group any more, as somebody had been told before.
    is_fenced: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Offsets {
    commits: BTreeMap<i64, Commit>,
    /// Numbers everything that happens.
    moment: u64,
}

impl History {
    /// The moment of something that happens now.
    pub(crate) const fn moment(&mut self) -> u64 {
        self.offsets.moment += 1;
        self.offsets.moment
    }

    /// A member is about to commit. Gives the offset: a number of its own.
    pub(crate) fn commit_offset(
        &mut self,
        register: Register,
        (member, generation): (u32, i32),
        is_fenced: bool,
    ) -> i64 {
        let asked = self.moment();
        let offset = self.offsets.commits.len() as i64 + 1;
        let (applied_by, not_after, is_refused) = (None, u64::MAX, false);
        let commit =
            Commit { register, member, generation, asked, applied_by, not_after, is_refused, is_fenced };
        self.offsets.commits.insert(offset, commit);
        offset
    }

    /// It was told that its commit is done.
    pub(crate) fn offset_committed(&mut self, offset: i64) {
        self.judge(50);
        self.acked += 1;
        let now = self.moment();
        let Some(commit) = self.offsets.commits.get_mut(&offset) else { return };
        commit.applied(now);
        if commit.is_fenced {
            let commit = *commit;
            self.wrong(50, format!("{commit:?} of {offset} was taken, though others had followed"));
        }
    }

    /// It was refused.
    pub(crate) fn offset_refused(&mut self, offset: i64) {
        self.judge(50);
        if let Some(commit) = self.offsets.commits.get_mut(&offset) {
            commit.is_refused = true;
        }
    }

    /// Commits of a generation before that one come too late from now on.
    pub(super) fn generation_follows(&mut self, group: &'static str, generation: i32) {
        let now = self.moment();
        let is_older = |commit: &&mut Commit| {
            commit.register.group == group && commit.generation >= 0 && commit.generation < generation
        };
        self.offsets.commits.values_mut().filter(is_older).for_each(|commit| commit.ends(now));
    }

    /// Commits of other members come too late from now on.
    pub(super) fn owner_follows(&mut self, register: Register, member: u32) {
        let now = self.moment();
        let is_other = |commit: &&mut Commit| commit.register == register && commit.member != member;
        self.offsets.commits.values_mut().filter(is_other).for_each(|commit| commit.ends(now));
    }

    /// Somebody who asked at that moment was told that this is the offset, or that there is none (L51).
    pub(crate) fn offset_read(&mut self, register: Register, asked: u64, offset: Option<i64>) {
        self.judge(51);
        let now = self.moment();
        let read = offset.map(|offset| (offset, self.offsets.commits.get(&offset).copied()));
        let not_after = match read {
            None => 0,
            Some((_, Some(commit))) if commit.register == register && !commit.is_refused => commit.not_after,
            Some((offset, commit)) => {
                return self.wrong(51, format!("{register:?} has {offset}: {commit:?}"));
            }
        };
        let mut of_register = self.offsets.commits.iter().filter(|(_, other)| other.register == register);
        let later = of_register.find(|(_, other)| {
            other.applied_by.is_some_and(|applied| applied < asked) && other.asked > not_after
        });
        if let Some((later, commit)) = later {
            let text = format!("{register:?} has {offset:?}, and had {later} before: {commit:?}");
            self.wrong(51, text);
        }
        if let Some(commit) = offset.and_then(|offset| self.offsets.commits.get_mut(&offset)) {
            commit.applied(now);
        }
    }
}

impl Commit {
    fn applied(&mut self, now: u64) {
        self.applied_by.get_or_insert(now);
        self.ends(now);
    }

    fn ends(&mut self, now: u64) {
        self.not_after = self.not_after.min(now);
    }
}
