//! The feature level of the log: what a command may say. A newer build may say more, but only once every member
//! understands it: the leader raises the level that is kept in the tree when all members are known to be of such builds.
//! A build that does not understand the level of the tree stops, and says so, before it can misread anything. An ensemble
//! in which nothing has happened yet begins at the level of those who are there: a member that is not there does not hold
//! it back.

use consensus_raft::MemberId;
use council_tree::Tree;

use crate::Fault;
use crate::view::View;

/// The highest level that this build understands. At 1 a session is opened once: a command that comes twice does not
/// bring back one that has ended. At 2 what is refused for want of room is one command for a run of a session's, and
/// a multi that makes a quota in the slot of another's node is not judged by that.
pub const FEATURE_LEVEL: u32 = 2;

/// The level from which on the log says `RefuseMany`.
pub(crate) const REFUSE_MANY_LEVEL: u32 = 2;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct FeatureLevel {
    /// The level that was proposed last in this leader's term.
    proposed: u32,
}

impl FeatureLevel {
    /// This member begins to lead: what it proposed before may be lost.
    pub(crate) const fn term_began(&mut self) {
        self.proposed = 0;
    }

    /// The level to which a leader is to raise the tree's, if all members understand a higher one.
    pub(crate) fn raise(&mut self, tree: &Tree, view: &View) -> Option<u32> {
        let begins = tree.last_zxid().epoch() <= 1 && tree.last_zxid().count() == 0;
        let known = |peer: &MemberId| view.peers.level(*peer).or((!begins).then_some(0));
        let level = view.others().iter().filter_map(known).fold(view.config.feature_level, u32::min);
        let rises = level > tree.feature_level() && level > self.proposed;
        rises.then(|| {
            self.proposed = level;
            level
        })
    }
}

/// The level of the tree, if this build, which understands levels up to `understood`, can read it.
///
/// # Errors
/// It cannot.
pub(crate) fn check_level(tree: &Tree, understood: u32) -> Result<u32, Fault> {
    let level = tree.feature_level();
    if level > understood {
        return Err(Fault::NewerData { level, understood });
    }
    Ok(level)
}

#[cfg(test)]
mod tests {
    use council_tree::{Changes, Command, Operation, Stamp};

    use super::*;
    use crate::test_support::view;

    fn apply(tree: &mut Tree, operation: Operation<'_>) {
        let _ = tree.apply(Stamp { time_ms: 1 }, &Command::internal(operation), &mut Changes::new());
    }

    #[test]
    fn level_rises_once_all_members_understand_it() {
        let (mut tree, mut level) = (Tree::new(), FeatureLevel::default());
        apply(&mut tree, Operation::RaiseEpoch);
        apply(&mut tree, Operation::RaiseEpoch);
        let mut view = view(1, &[1, 2, 3]);
        view.peers.understands(MemberId(2), 2);
        assert_eq!(level.raise(&tree, &view), None, "nothing is known of the third");
        view.peers.understands(MemberId(3), 1);
        assert_eq!((level.raise(&tree, &view), level.raise(&tree, &view)), (Some(1), None));
        level.term_began();
        assert_eq!(level.raise(&tree, &view), Some(1), "the first may be lost");
        apply(&mut tree, Operation::FeatureLevel(1));
        level.term_began();
        assert_eq!(level.raise(&tree, &view), None);
    }

    #[test]
    fn level_of_a_new_ensemble_is_that_of_those_who_are_there() {
        let (tree, mut level) = (Tree::new(), FeatureLevel::default());
        let mut view = view(1, &[1, 2, 3]);
        view.peers.understands(MemberId(2), 1);
        assert_eq!(level.raise(&tree, &view), Some(1));
    }

    #[test]
    fn level_beyond_what_is_understood_is_a_fault() {
        let mut tree = Tree::new();
        apply(&mut tree, Operation::FeatureLevel(2));
        assert_eq!(check_level(&tree, 2), Ok(2));
        assert_eq!(check_level(&tree, 1), Err(Fault::NewerData { level: 2, understood: 1 }));
    }
}
