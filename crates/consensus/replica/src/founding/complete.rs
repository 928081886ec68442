//! Completes a founding that broke off: some members have written an ensemble down, and its proposer is gone.

use std::collections::BTreeMap;

use consensus_raft::MemberId;

use super::heard::Heard;
use super::{Cluster, Founding, Outcome};

impl Founding {
    /// A founding that broke off is completed when everybody is there and nobody has gone on without the others.
    pub(super) fn complete(&mut self) {
        if !(self.founds || self.holds.is_some())
            || !self.participants.contains(&self.number)
            || self.round.is_some()
            || self.outcome.is_some()
        {
            return;
        }
        let mut found: BTreeMap<Cluster, &Vec<MemberId>> = BTreeMap::new();
        for other in self.participants.iter().filter(|other| **other != self.number) {
            match self.heard.get(other) {
                Some(Heard::Blank) => {}
                Some(Heard::Seated(cluster, Some(voters))) => drop(found.insert(*cluster, voters)),
                _ => return,
            }
        }
        let Some((cluster, voters)) = found.first_key_value() else { return };
        if self.holds.is_some_and(|held| held <= *cluster) {
            self.outcome = Some(Outcome::Kept);
        } else if **voters == self.founders() {
            self.outcome = Some(Outcome::Founded { cluster: *cluster, voters: (*voters).clone() });
        }
    }
}
