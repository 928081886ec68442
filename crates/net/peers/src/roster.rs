//! Who the members are and where they answer each other: as much of it as connections need.

use std::collections::BTreeMap;

use net_peer_pairs::PeerNumber;

/// Where a member answers other members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberAddress {
    /// Its number, 1 to 255.
    pub number: PeerNumber,
    /// Its host.
    pub host: String,
    /// The port at which it answers other members.
    pub port: u16,
}

/// All members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roster {
    members: BTreeMap<PeerNumber, MemberAddress>,
    /// The later one of two has the greater version. 0 is what a file says: of two files neither is the later one.
    pub version: i64,
}

/// Reads the text in which members tell each other their rosters; nothing if it is none.
pub type ReadRoster = fn(text: &[u8]) -> Option<Roster>;

impl Roster {
    /// The roster of that version.
    pub fn new(members: impl IntoIterator<Item = MemberAddress>, version: i64) -> Self {
        Self { members: members.into_iter().map(|member| (member.number, member)).collect(), version }
    }

    /// The members, by number.
    pub fn members(&self) -> impl Iterator<Item = &MemberAddress> {
        self.members.values()
    }

    /// A member.
    #[must_use]
    pub fn member(&self, number: PeerNumber) -> Option<&MemberAddress> {
        self.members.get(&number)
    }
}
