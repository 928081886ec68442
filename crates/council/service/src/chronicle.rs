//! What an operator wants to find in the log of a running server: sessions that end, members that come, go and vote.
//!
//! A line costs more than what it tells of, so sessions are told up to a rate and then counted.

use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use base::{MemberId, MemberNumber};
use council_replica::{Core, SessionEnd};
use council_tree::Roster;

use crate::session_clients::SessionClients;

/// Expired sessions that are told one by one in each interval.
const EXPIRED_MAX: u64 = 100;
const INTERVAL: Duration = Duration::from_secs(1);

/// What the log has said last.
#[derive(Debug, Default)]
pub(crate) struct Chronicle {
    roster: Option<Roster>,
    /// The voters.
    voters: Option<Vec<MemberId>>,
    told: u64,
    untold: u64,
    since: Option<Instant>,
}

impl Chronicle {
    /// Tells of sessions that have ended.
    pub(crate) fn sessions(&mut self, core: &mut Core, clients: &SessionClients) {
        if !core.has_endings() && self.untold == 0 {
            return;
        }
        let now = Instant::now();
        if self.since.is_none_or(|since| now.saturating_duration_since(since) >= INTERVAL) {
            if self.untold > 0 {
                tracing::info!(sessions = self.untold, "more sessions have ended than were told one by one");
            }
            (self.told, self.untold, self.since) = (0, 0, Some(now));
        }
        let (endings, more) = core.take_endings();
        self.untold += more;
        for SessionEnd { session, timeout_ms, expired } in endings {
            let client = Client(clients.take(session));
            let session = format_args!("{:#x}", session.0);
            if !expired {
                tracing::debug!(%session, %client, "a session was closed by its client");
            } else if self.told < EXPIRED_MAX {
                self.told += 1;
                tracing::info!(
                    %session,
                    timeout_ms,
                    %client,
                    "a session has expired: nothing was heard of its client for its timeout"
                );
            } else {
                self.untold += 1;
            }
        }
    }

    /// Tells of members that were added, removed, or given another address.
    pub(crate) fn members(&mut self, core: &Core) {
        let Some(next) = core.roster() else { return };
        let Some(before) = self.roster.replace(next.clone()) else { return };
        if before.version == next.version {
            // The same members in another form.
            return;
        }
        let config_version = format!("{:#x}", next.version);
        for line in changes(&before, next) {
            tracing::info!(config_version, "{line}");
        }
        let own = core.id().number();
        if core.is_leaving() && before.member(own).is_some() {
            tracing::warn!(
                member = own.0,
                config_version,
                "this member was removed from the ensemble: its clients are told to go elsewhere, and it serves no client \
                 until it is added again"
            );
        }
    }

    /// Tells of members that vote or do no more.
    pub(crate) fn votes(&mut self, core: &Core) {
        let voters = &core.membership().voters;
        if self.voters.as_ref() == Some(voters) {
            return;
        }
        let before = self.voters.replace(voters.clone());
        let Some(before) = before else { return };
        let numbers = |ids: &[MemberId], not: &[MemberId]| -> Vec<MemberNumber> {
            ids.iter().filter(|id| !not.contains(id)).map(|id| id.number()).collect()
        };
        for MemberNumber(member) in numbers(voters, &before) {
            tracing::info!(member, "member {member} has caught up and votes from now on");
        }
        for MemberNumber(member) in numbers(&before, voters) {
            tracing::info!(member, "member {member} votes no more");
        }
    }
}

/// Where a session's client was last seen, as the log says it.
struct Client(Option<SocketAddr>);

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => address.fmt(f),
            None => f.write_str("not of this server"),
        }
    }
}

/// One line for each member that differs.
fn changes(before: &Roster, next: &Roster) -> Vec<String> {
    let mut lines = Vec::new();
    for member in next.members() {
        let (number, address) = (member.number, format!("{}:{}", member.host, member.peer_port));
        let kind = if member.votes { "participant" } else { "observer" };
        match before.member(number) {
            None => lines.push(format!("member {number} was added: {address}, {kind}")),
            Some(known) if known != member => {
                lines.push(format!("member {number} was changed: {address}, {kind}"))
            }
            Some(_) => {}
        }
    }
    let gone = before.members().filter(|member| next.member(member.number).is_none());
    lines.extend(
        gone.map(|member| {
            format!("member {} was removed: {}:{}", member.number, member.host, member.peer_port)
        }),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_member_that_differs_has_its_line() {
        let roster = |text: &[u8]| Roster::parse(text).expect("a roster");
        let before = roster(b"server.1=a:1:2:participant;3\nserver.2=b:1:2:participant;3\n");
        let next = roster(b"server.2=b:1:2:observer;3\nserver.3=c:1:2:participant;3\n");
        assert_eq!(
            changes(&before, &next),
            [
                "member 2 was changed: b:1, observer",
                "member 3 was added: c:1, participant",
                "member 1 was removed: a:1"
            ]
        );
        assert!(changes(&next, &next).is_empty());
    }
}
