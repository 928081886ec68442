//! The feature level of the log: what a command may say. A newer build may say more, but only once every member
//! understands it: the leader raises the level that is kept in the state when all members are known to be of such builds.
//! A build that does not understand the level of the state stops, and says so, before it can misread anything. A group
//! in which nothing has happened yet begins at the level of those who are there: a member that is not there does not hold
//! it back.

use consensus_raft::MemberId;

use crate::Fault;
use crate::view::View;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct FeatureLevel {
    /// The level that was proposed last in this leader's term.
    proposed: u32,
}

impl FeatureLevel {
    /// What was proposed before may be lost: this member begins to lead, or its proposal was refused.
    pub(crate) const fn lost(&mut self) {
        self.proposed = 0;
    }

    /// The level to which a leader is to raise the `present` one, if all members understand a higher one. `is_new`:
    /// nothing has happened in the group yet.
    pub(crate) fn raise(&mut self, present: u32, is_new: bool, view: &View) -> Option<u32> {
        let known = |peer: &MemberId| view.peers.level(*peer).or((!is_new).then_some(0));
        let level = view.others().iter().filter_map(known).fold(view.config.feature_level, u32::min);
        let rises = level > present && level > self.proposed;
        rises.then(|| {
            self.proposed = level;
            level
        })
    }
}

/// Whether this build, which understands levels up to `understood`, can read a state of that level.
///
/// # Errors
/// It cannot.
pub(crate) const fn check_level(level: u32, understood: u32) -> Result<(), Fault> {
    if level > understood {
        return Err(Fault::NewerData { level, understood });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::view;

    #[test]
    fn level_rises_once_all_members_understand_it() {
        let mut level = FeatureLevel::default();
        let mut view = view(1, &[1, 2, 3]);
        view.config.feature_level = 2;
        view.peers.understands(MemberId(2), 2);
        assert_eq!(level.raise(0, false, &view), None, "nothing is known of the third");
        view.peers.understands(MemberId(3), 1);
        assert_eq!((level.raise(0, false, &view), level.raise(0, false, &view)), (Some(1), None));
        level.lost();
        assert_eq!(level.raise(0, false, &view), Some(1), "the first may be lost");
        level.lost();
        assert_eq!(level.raise(1, false, &view), None);
    }

    #[test]
    fn level_of_a_new_group_is_that_of_those_who_are_there() {
        let mut level = FeatureLevel::default();
        let mut view = view(1, &[1, 2, 3]);
        view.config.feature_level = 2;
        view.peers.understands(MemberId(2), 1);
        assert_eq!(level.raise(0, true, &view), Some(1));
    }

    #[test]
    fn level_beyond_what_is_understood_is_a_fault() {
        assert_eq!(check_level(2, 2), Ok(()));
        assert_eq!(check_level(2, 1), Err(Fault::NewerData { level: 2, understood: 1 }));
    }
}
