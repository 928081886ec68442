//! Where members serve their clients, as they tell each other: so that a client of another member can go to the leader's next.
//!
//! It is a hint. A member tells it to those of builds that read it, now and then, for one that lags may drop it; what was heard of
//! a member is forgotten when the connection to it breaks or stands anew.

use std::collections::BTreeMap;

use base::MonoTime;
use consensus_raft::MemberId;

use crate::SERVES_LEVEL;
use crate::group::Group;
use crate::message::{ObjectsMessage, is_address};

/// After how long a member is told again, milliseconds.
const TELL_AGAIN_MS: u64 = 10_000;

/// See the module.
#[derive(Debug)]
pub(crate) struct Addresses {
    own: Option<String>,
    /// When members were told.
    told: BTreeMap<MemberId, MonoTime>,
    /// What they have told.
    heard: BTreeMap<MemberId, String>,
}

impl Addresses {
    /// Of a member that serves its clients there, if others are to know it.
    pub(crate) fn new(own: Option<String>) -> Self {
        let own = own.filter(|own| is_address(own));
        Self { own, told: BTreeMap::new(), heard: BTreeMap::new() }
    }

    /// Tells those members who may not know it, and whose builds read it.
    pub(crate) fn tell(&mut self, group: &mut Group) {
        let Some(own) = &self.own else { return };
        let (view, now) = (group.view(), group.now().mono());
        let is_due = |peer: &MemberId| {
            let told = self.told.get(peer).is_some_and(|at| now < at.plus_ms(TELL_AGAIN_MS));
            !told && view.peers.is_connected(*peer) && view.peers.level(*peer) >= Some(SERVES_LEVEL)
        };
        let due: Vec<_> = view.others().into_iter().filter(is_due).collect();
        if !due.is_empty() {
            self.told.extend(due.iter().map(|peer| (*peer, now)));
            group.send_each(due, ObjectsMessage::Serves(own.clone()));
        }
    }

    /// A member tells where it serves its clients.
    pub(crate) fn hear(&mut self, from: MemberId, address: String, group: &Group) {
        let others = group.view().others();
        self.heard.retain(|known, _| others.contains(known));
        if others.contains(&from) {
            self.heard.insert(from, address);
        }
    }

    /// The connection to a member stands or broke, or something that it was sent was lost.
    pub(crate) fn forget(&mut self, peer: MemberId, is_other_process: bool) {
        self.told.remove(&peer);
        if is_other_process {
            self.heard.remove(&peer);
        }
    }

    /// Where a member serves its clients.
    pub(crate) fn of(&self, member: MemberId) -> Option<&str> {
        self.heard.get(&member).map(String::as_str)
    }
}
