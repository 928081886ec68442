//! Whether this member takes the seat that another one gives it in an ensemble that is there.

use base::MonoTime;
use std::collections::{BTreeMap, BTreeSet};

use consensus_raft::MemberId;

use super::heard::Heard;
use super::{Cluster, Founding, Outcome};

impl Founding {
    /// Takes the seat that another gives it, unless others contradict.
    pub(super) fn enter(&mut self, now: MonoTime) {
        let admitted: BTreeSet<_> = self.heard.values().filter_map(Heard::admits).collect();
        if admitted.is_empty() {
            self.admitted_since = None;
            return;
        }
        let since = *self.admitted_since.get_or_insert(now);
        if self.outcome.is_some() || !self.has_listened(Some(since), now) {
            return;
        }
        let mut members: BTreeMap<Cluster, usize> = BTreeMap::new();
        self.heard
            .values()
            .filter_map(Heard::voted_in)
            .for_each(|cluster| *members.entry(cluster).or_default() += 1);
        let is_uncontradicted = |cluster: &&Cluster| {
            let own = members.get(*cluster).copied().unwrap_or_default();
            members
                .iter()
                .filter(|(other, _)| other != cluster)
                .all(|(other, those)| if admitted.contains(other) { *those < own } else { *those <= own })
        };
        if let Some(cluster) = admitted.iter().find(is_uncontradicted) {
            self.outcome = Some(Outcome::Admitted { cluster: *cluster, id: self.id_if_admitted() });
        }
    }

    pub(super) const fn id_if_admitted(&self) -> MemberId {
        MemberId::admitted(self.number, self.incarnation)
    }
}
