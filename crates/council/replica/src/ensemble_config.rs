//! Who is to be a member of the ensemble, as `/zookeeper/config` says, and the text of that node, which a new leader sees to.

use base::{MonoTime, Now};
use consensus_replica::WantedMembers;
use council_tree::{AclRef, Roster, Tree};

use crate::CoreConfig;

/// After this many milliseconds a leader proposes the text of `/zookeeper/config` again.
const TELL_AGAIN_MS: u64 = 5_000;

/// See the module.
#[derive(Debug)]
pub(crate) struct EnsembleConfig {
    /// The members as this one's own configuration names them.
    configured: Option<Roster>,
    /// Whether members are changed at run time.
    reconfig_enabled: bool,
    /// Who is to be a member.
    roster: Option<Roster>,
    /// Counts how often that changed.
    roster_changes: u64,
    /// The ACL of `/zookeeper/config`, if there is that node.
    acl: Option<AclRef>,
    /// When this leader proposed the text of `/zookeeper/config`, while that is not applied.
    text_proposed: Option<MonoTime>,
}

impl EnsembleConfig {
    pub(crate) fn new(config: &CoreConfig, tree: &Tree) -> Self {
        Self {
            configured: config.roster.clone(),
            reconfig_enabled: config.reconfig_enabled,
            roster: tree.roster().or_else(|| config.roster.clone()),
            roster_changes: 1,
            acl: tree.roster_acl().cloned(),
            text_proposed: None,
        }
    }

    /// `/zookeeper/config` may say something else now. Says whether other members are to be.
    pub(crate) fn read(&mut self, tree: &Tree) -> bool {
        self.read_acl(tree);
        let roster = tree.roster().or_else(|| self.configured.clone());
        if roster == self.roster {
            return false;
        }
        self.roster = roster;
        self.roster_changes += 1;
        true
    }

    /// The ACL of `/zookeeper/config` may be another now.
    pub(crate) fn read_acl(&mut self, tree: &Tree) {
        self.acl = tree.roster_acl().cloned();
    }

    /// The ACL of `/zookeeper/config`, if there is that node.
    pub(crate) const fn acl(&self) -> Option<&AclRef> {
        self.acl.as_ref()
    }

    /// The members that are to be, as far as this member knows.
    pub(crate) const fn roster(&self) -> Option<&Roster> {
        self.roster.as_ref()
    }

    /// Counts how often they have changed.
    pub(crate) const fn roster_changes(&self) -> u64 {
        self.roster_changes
    }

    /// The same as the replica wants to know it.
    pub(crate) fn wanted(&self) -> Option<WantedMembers> {
        let members = self.roster.as_ref()?.members();
        Some(members.map(|member| (member.number, member.votes)).collect())
    }

    /// A new leader sees to it that `/zookeeper/config` names the members: at first those of its own configuration.
    /// Where members are not changed at run time, those that its configuration has and the others have not are added,
    /// and where they are is taken from it; no member is removed that way. In each case the text is in the form that
    /// ZooKeeper's own parser reads, also where an older build wrote another.
    ///
    /// What is to be proposed replaces the whole text. Until it is applied the leader refuses clients' changes
    /// (`reconfig_judge`), for one that came between would be undone.
    pub(crate) fn roster_to_propose(&mut self, tree: &Tree, now: Now) -> Option<Roster> {
        self.text_proposed = None;
        let known = tree.roster();
        let own = self.configured.as_ref()?;
        let next = match &known {
            None => own.published(),
            Some(known) if self.reconfig_enabled => known.published(),
            Some(known) => {
                let mut next = Roster::new(known.members().chain(own.members()).cloned());
                next.version = known.version;
                next.published()
            }
        };
        if known.as_ref() == Some(&next) {
            return None;
        }
        self.text_proposed = Some(now.mono());
        Some(next)
    }

    /// The text that a leader proposed may have been lost with a proposal that raft refused: whether it is to be proposed
    /// again.
    pub(crate) fn proposes_again(&self, now: Now) -> bool {
        self.text_proposed.is_some_and(|since| now.mono() >= since.plus_ms(TELL_AGAIN_MS))
    }

    /// The text that was proposed is applied, or this member does not lead any more.
    pub(crate) const fn settled(&mut self) {
        self.text_proposed = None;
    }

    /// Whether a text is proposed and not applied.
    pub(crate) const fn is_proposing(&self) -> bool {
        self.text_proposed.is_some()
    }
}
