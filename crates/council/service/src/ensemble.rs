//! An ensemble as one of its members shows it: who the members are, who leads, who is connected, who lags. Plain data
//! and where it comes from; how it is written is for words and pages.

use base::{MemberId, MemberNumber, Now};
use std::net::{IpAddr, ToSocketAddrs as _};
use std::ops::Deref;
use std::time::Instant;

use council_replica::CoreStatus;
use council_tree::Roster;
use council_wire::Zxid;
use net_peers::{OtherEnsembles, PeerNumber};

use crate::config::MemberConfig;
use crate::counters::leadership::{LeadershipCounters, Link, Stand};

/// By how much a member may be behind and count as in step, milliseconds.
const SYNCED_MS_MAX: u64 = 1_000;

/// What a view is made from, besides what the core says.
pub(crate) struct Around<'a> {
    /// This member's number.
    pub(crate) number: MemberNumber,
    /// Who the members are to be.
    pub(crate) roster: &'a Roster,
    pub(crate) settings: &'a [(String, String)],
    pub(crate) leadership: &'a LeadershipCounters,
    pub(crate) other_ensembles: &'a OtherEnsembles,
    /// The snapshot that this member started from.
    pub(crate) first_snapshot: Option<(Zxid, i64)>,
    pub(crate) now: Now,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct EnsembleView {
    /// This member's number.
    pub(crate) number: MemberNumber,
    /// The zxid of the change that made the members what they are.
    pub(crate) version: i64,
    pub(crate) stand: Stand,
    /// For how long this member may serve without another word of its leader, milliseconds.
    pub(crate) lease_ms: u64,
    /// The last snapshot's zxid and time in seconds, if there is one.
    pub(crate) last_snapshot: Option<(Zxid, i64)>,
    /// How often this member has handed the lead to another.
    pub(crate) handed_over: u64,
    /// Messages of other members that were refused.
    pub(crate) refused_messages: u64,
    /// Numbers of members that have data of another ensemble.
    pub(crate) other_ensembles: Vec<MemberNumber>,
    /// Since when this member leads, milliseconds ago.
    pub(crate) leading_ms: Option<u64>,
    /// In order of their numbers.
    pub(crate) members: Vec<MemberView>,
    /// ZooKeeper's settings of these names as they were given: they do nothing here.
    pub(crate) init_limit: u64,
    pub(crate) sync_limit: u64,
}

/// One member.
#[derive(Clone, Debug)]
pub(crate) struct MemberView {
    /// As it is written.
    pub(crate) config: MemberConfig,
    /// Whether it has a seat and its vote counts already, as far as is known here.
    pub(crate) votes_now: bool,
    /// The connection to it. This member itself has none.
    pub(crate) link: Option<Link>,
    /// How far it is behind: known to a leader alone.
    pub(crate) lag: Option<Lag>,
}

/// How far a member is behind its leader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lag {
    /// Entries of the log that are applied on the leader and not known to be durable there.
    pub(crate) entries: u64,
    /// For how long there have been such.
    pub(crate) ms: u64,
    /// The last transaction known to be durable there, if that is known.
    pub(crate) zxid: Option<Zxid>,
}

impl EnsembleView {
    /// What is known now.
    pub(crate) fn new(around: &Around<'_>, core: &CoreStatus) -> Self {
        let Around { number, roster, settings, leadership, other_ensembles, first_snapshot, now } = *around;
        let setting = |name: &str| {
            let given = settings.iter().rev().find(|(known, _)| known.rsplit('.').next() == Some(name));
            given.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
        };
        Self {
            number,
            version: roster.version,
            stand: leadership.stand(),
            lease_ms: core.lease_until.since(now.mono()),
            last_snapshot: last_snapshot(core).or(first_snapshot),
            handed_over: core.leads_transferred,
            refused_messages: core.refused_messages,
            other_ensembles: other_ensembles
                .numbers(Instant::now())
                .into_iter()
                .map(PeerNumber::member)
                .collect(),
            leading_ms: leadership.leading_since().map(|since| now.mono().since(since)),
            members: roster.members().map(|member| member_view(around, core, member)).collect(),
            init_limit: setting("initLimit"),
            sync_limit: setting("syncLimit"),
        }
    }

    /// This member.
    pub(crate) fn own(&self) -> Option<&MemberView> {
        self.members.iter().find(|member| member.number == self.number)
    }

    /// The others.
    pub(crate) fn others(&self) -> impl Iterator<Item = &MemberView> {
        self.members.iter().filter(|member| member.number != self.number)
    }

    /// Who leads.
    pub(crate) fn leader(&self) -> Option<&MemberView> {
        self.members.iter().find(|member| Some(member.number) == self.stand.leader)
    }

    /// What `mntr` and `monitor` say before any number.
    pub(crate) fn monitor(&self) -> Vec<(&'static str, String)> {
        let observes = self.own().is_some_and(|own| !own.votes);
        let state = match (self.stand.leads, observes) {
            (true, _) => "leading - broadcast",
            (false, true) => "observing - broadcast",
            (false, false) => "following - broadcast",
        };
        let mut lines = vec![("peer_state", String::from(state))];
        if let Some(leader) = self.stand.leader.filter(|_| observes) {
            lines.push(("observer_master_id", leader.to_string()));
        }
        lines
    }
}

/// The zxid and the time in seconds of the last snapshot of this life.
pub(crate) fn last_snapshot(core: &CoreStatus) -> Option<(Zxid, i64)> {
    core.last_snapshot.map(|last| (Zxid(last.position), last.began.ms() / 1000))
}

fn member_view(around: &Around<'_>, core: &CoreStatus, member: &MemberConfig) -> MemberView {
    let Around { leadership, now, .. } = *around;
    let number = member.number;
    let is_of_number = |id: MemberId| id.number() == number;
    // A number whose disk was replaced has two seats for a while.
    let progress = core.progress.iter().filter(|progress| is_of_number(progress.id));
    let progress = progress.max_by_key(|progress| (progress.active, progress.matched));
    let lag = progress.map(|progress| Lag {
        entries: core.applied_index.since(progress.matched),
        ms: leadership.trail.age_ms(progress.matched, now.mono()),
        zxid: leadership.trail.zxid(progress.matched),
    });
    MemberView {
        config: member.clone(),
        votes_now: core.membership.voters.iter().any(|voter| is_of_number(*voter)),
        link: (number != around.number).then(|| leadership.link_to(number).unwrap_or_default()),
        lag,
    }
}

impl MemberView {
    /// Whether this member is connected to it; it is to itself.
    pub(crate) fn is_connected(&self) -> bool {
        self.link.is_none_or(|link| link.since.is_some())
    }

    /// Whether it keeps up, as its leader sees it.
    pub(crate) fn is_synced(&self) -> bool {
        self.is_connected() && self.lag.is_some_and(|lag| lag.ms <= SYNCED_MS_MAX)
    }

    /// ZooKeeper's name for what it is to be.
    pub(crate) fn kind(&self) -> &'static str {
        if self.votes { "participant" } else { "observer" }
    }

    /// Its host with a port, an address of IPv6 in brackets.
    pub(crate) fn address(&self, port: u16) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{port}", self.host),
            false => format!("{}:{port}", self.host),
        }
    }

    /// Where its clients connect, as ZooKeeper writes it: a port alone is one at every address.
    pub(crate) fn client_address(&self) -> Option<String> {
        let client = self.client.as_ref()?;
        Some(if client.contains(':') { client.clone() } else { format!("0.0.0.0:{client}") })
    }

    /// Where a client that is not on its machine may connect: at its host, if the port is one at every address.
    pub(crate) fn client_target(&self) -> Option<String> {
        let client = self.client.as_ref()?;
        let (host, port) = client.rsplit_once(':').unwrap_or(("", client));
        let everywhere = ["", "0.0.0.0", "[::]", "*"].contains(&host);
        Some(if everywhere { self.address(port.parse().ok()?) } else { client.clone() })
    }

    /// Its address, if its host has one.
    pub(crate) fn ip(&self) -> Option<IpAddr> {
        let mut found = (self.host.as_str(), self.peer_port).to_socket_addrs().ok()?;
        found.next().map(|address| address.ip())
    }
}

impl Deref for MemberView {
    type Target = MemberConfig;

    fn deref(&self) -> &MemberConfig {
        &self.config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(host: &str, client: Option<&str>) -> MemberView {
        let config = MemberConfig {
            number: MemberNumber(3),
            host: String::from(host),
            peer_port: 2888,
            election_port: 3888,
            client: client.map(String::from),
            votes: true,
        };
        MemberView { config, votes_now: true, link: None, lag: None }
    }

    #[test]
    fn a_port_at_every_address_is_reached_at_the_member_s_host() {
        for (client, target) in
            [("2181", "zk:2181"), ("0.0.0.0:2181", "zk:2181"), ("10.0.0.1:2181", "10.0.0.1:2181")]
        {
            assert_eq!(member("zk", Some(client)).client_target().as_deref(), Some(target));
        }
        assert_eq!(member("zk", None).client_target(), None);
    }
}
