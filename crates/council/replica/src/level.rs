//! The feature level of the log: what a command may say. A newer build may say more, but only once every member
//! understands it: the leader raises the level that is kept in the tree when all members are known to be of such builds.
//! A build that does not understand the level of the tree stops, and says so, before it can misread anything. An ensemble
//! in which nothing has happened yet begins at the level of those who are there: whoever is not is no reason to go without.

use council_tree::{Operation, Tree};

use crate::core::{Core, Fault};

/// The highest level that this build understands. At 1 a session is opened once: a command that comes twice does not
/// bring back one that has ended. At 2 what is refused for want of room is one command for a run of a session's, and
/// a multi that makes a quota in the slot of another's node is not judged by that.
pub const FEATURE_LEVEL: u32 = 2;

/// The level from which on the log says `RefuseMany`.
pub(crate) const REFUSE_MANY_LEVEL: u32 = 2;

impl Core {
    /// Another member's build understands this level.
    pub fn understands(&mut self, peer: u64, level: u32) {
        self.levels.insert(peer, level);
    }

    /// A leader raises the level to what all members understand.
    pub(crate) fn raise_level(&mut self, tree: &Tree) {
        let begins = tree.last_zxid().epoch() <= 1 && tree.last_zxid().count() == 0;
        let known = |peer: &u64| self.levels.get(peer).copied().or((!begins).then_some(0));
        let level = self.peers().iter().filter_map(known).fold(self.config.feature_level, u32::min);
        if level > tree.feature_level() && level > self.level_proposed {
            self.level_proposed = level;
            self.propose(Operation::FeatureLevel(level));
        }
    }

    /// Whether this build understands the tree.
    ///
    /// # Errors
    /// It does not.
    pub(crate) fn check_level(&mut self, tree: &Tree) -> Result<(), Fault> {
        let (level, own) = (tree.feature_level(), self.config.feature_level);
        self.level = level;
        if level > own {
            return Err(Fault(format!(
                "the data is of feature level {level}, and this build understands levels up to {own}; hint: start a \
                 build at least as new as those of the other members"
            )));
        }
        Ok(())
    }
}
