//! The text of `/zookeeper/config`, which a new leader sees to.

use base::Now;
use council_tree::{Roster, Tree};

use super::EnsembleMembership;
use crate::CoreConfig;

/// After this many milliseconds a leader proposes the text of `/zookeeper/config` again.
const TELL_AGAIN_MS: u64 = 5_000;

impl EnsembleMembership {
    /// A new leader sees to it that `/zookeeper/config` names the members: at first those of its own configuration.
    /// Where members are not changed at run time, those that its configuration has and the others have not are added,
    /// and where they are is taken from it; no member is removed that way. In each case the text is in the form that
    /// ZooKeeper's own parser reads, also where an older build wrote another.
    ///
    /// What is to be proposed replaces the whole text. Until it is applied the leader refuses clients' changes
    /// ([`super::ReconfigJudge`]), for one that came between would be undone.
    pub(crate) fn config_to_propose(&mut self, tree: &Tree, config: &CoreConfig, now: Now) -> Option<Roster> {
        self.text_proposed_ms = None;
        let known = tree.roster();
        let own = config.roster.as_ref()?;
        let next = match &known {
            None => own.published(),
            Some(known) if config.reconfig_enabled => known.published(),
            Some(known) => {
                let mut next = Roster::new(known.members().chain(own.members()).cloned());
                next.version = known.version;
                next.published()
            }
        };
        if known.as_ref() == Some(&next) {
            return None;
        }
        self.text_proposed_ms = Some(now.mono_ms());
        Some(next)
    }

    /// The text that a leader proposed may have been lost with a proposal that raft refused: whether it is to be proposed
    /// again.
    pub(crate) fn proposes_again(&self, now: Now) -> bool {
        self.text_proposed_ms.is_some_and(|since| now.mono_ms() >= since + TELL_AGAIN_MS)
    }

    /// The text that was proposed is applied, or this member does not lead any more.
    pub(crate) const fn config_settled(&mut self) {
        self.text_proposed_ms = None;
    }

    /// Whether a text is proposed and not applied.
    pub(crate) const fn is_proposing_config(&self) -> bool {
        self.text_proposed_ms.is_some()
    }
}
