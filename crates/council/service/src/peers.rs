//! What the council says on the connections between members ([`net_peers`]): its channel, and its roster as text.

use council_replica::{FEATURE_LEVEL, peer_message_bytes_max};
use net_peers::{Channel, ChannelNumber, Hints, MemberAddress, Numbering, Settings, Timing};

use crate::config::{EnsembleConfig, Roster};

/// The council's channel. Its messages are those of [`council_replica::PeerMessage`], whose kinds are below `0x80`.
pub const CHANNEL: ChannelNumber = ChannelNumber::ZERO;

/// How messages of the connections call the settings of this server.
const HINTS: Hints = Hints {
    secret: "`diwan.ensembleSecretFile` (`council.ensemble.secret-file`)",
    tls: "`sslQuorum=true` (`council.ensemble.tls`)",
    foreign: "is it a ZooKeeper server, or a client?",
};

/// What is taken on the council's channel, by a member that takes requests of so many bytes.
#[must_use]
pub const fn channel(request_bytes_max: usize) -> Channel {
    Channel { number: CHANNEL, message_bytes_max: peer_message_bytes_max, request_bytes_max }
}

/// The members of a roster as connections know them.
#[must_use]
pub fn addresses(roster: &Roster) -> net_peers::Roster {
    let address = |member: &council_tree::Member| MemberAddress {
        number: member.number.into(),
        host: member.host.clone(),
        port: member.peer_port,
    };
    net_peers::Roster::new(roster.members().map(address), roster.version)
}

/// Reads the text of another member's roster; nothing if it is none.
#[must_use]
pub fn read_roster(text: &[u8]) -> Option<net_peers::Roster> {
    Roster::parse(text).as_ref().map(addresses)
}

/// What a member is told of itself and the others. `process` is when this process started, milliseconds since 1970.
pub(crate) fn settings(ensemble: &EnsembleConfig, process: u64) -> Settings {
    Settings {
        number: ensemble.number.into(),
        numbering: Numbering::OneByte,
        timing: Timing::DEFAULT,
        process,
        level: FEATURE_LEVEL,
        roster: addresses(&ensemble.roster()),
        read_roster,
        tls: ensemble.tls.clone(),
        secret: ensemble.secret.clone(),
        hints: HINTS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_roster_tells_where_members_answer_each_other() {
        let text = b"server.1=a:1:2:participant;0.0.0.0:2181\nserver.3=c:5:6:observer\nversion=1f";
        let read = read_roster(text).expect("a roster");
        let members: Vec<_> =
            read.members().map(|member| (member.number.0, &*member.host, member.port)).collect();
        assert_eq!((members, read.version), (vec![(1, "a", 1), (3, "c", 5)], 0x1f));
        assert_eq!(read_roster(b"nonsense"), None);
    }
}
