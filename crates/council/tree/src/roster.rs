//! The members that an ensemble is to have, as `/zookeeper/config` and the `server.` lines of files write them.
//!
//! A line is `server.N=host:quorumPort[:electionPort][:role][;[clientHost:]clientPort]`, `N` from 1 to 255; a last line
//! `version=` has the zxid of the change that made it so, in hexadecimal. Members need one port; the one for elections
//! is ZooKeeper's, and only kept.
//!
//! Two forms of a member must not be mixed up. What [`Member::parse`] reads and `Display` writes is part of the state
//! that all builds must agree upon: a text gives the same text for ever. [`Member::published`] is the form that
//! ZooKeeper's own parser reads as well, with two ports. A leader brings a member into that form before it puts it into
//! the log, so builds that do not know the form apply the same text as builds that do.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

use base::MemberNumber;
use council_wire::{ErrorCode, Reconfig};

/// One member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its number, 1 to 255.
    pub number: MemberNumber,
    /// Where it is.
    pub host: String,
    /// The port at which it answers other members.
    pub peer_port: u16,
    /// ZooKeeper's port for elections, or 0.
    pub election_port: u16,
    /// Whether it votes: a `participant`, and no `observer`.
    pub votes: bool,
    /// Where its clients connect, as it was written.
    pub client: Option<String>,
}

impl Member {
    /// Reads what stands behind `server.N=`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(number: &str, value: &str) -> Result<Self, &'static str> {
        let number = number.trim().parse().ok().filter(|number| *number != 0).map(MemberNumber);
        let number = number.ok_or("its number is none from 1 to 255")?;
        let (address, client) = match value.split_once(';') {
            Some((address, client)) => (address, Some(client.split(';').next().unwrap_or_default().trim())),
            None => (value, None),
        };
        // Where several addresses are named, the first is taken.
        let address = address.split('|').next().unwrap_or_default().trim();
        let (host, rest) = match address.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            Some((host, rest)) => (host, rest.strip_prefix(':').unwrap_or_default()),
            None => address.split_once(':').unwrap_or((address, "")),
        };
        if host.is_empty() || host.contains([',', '\n', '=']) {
            return Err("it names no host");
        }
        let mut parts = rest.split(':').map(str::trim).peekable();
        let is_port = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let mut port = |what| match parts.next_if(is_port) {
            Some(text) => text.parse().map(Some).map_err(|_| what),
            None => Ok(None),
        };
        let peer_port = port("its first port is none")?.ok_or("it names no port for the other members")?;
        let election_port = port("its second port is none")?.unwrap_or(0);
        let votes = match parts.next() {
            None => true,
            Some(role) if role.eq_ignore_ascii_case("participant") => true,
            Some(role) if role.eq_ignore_ascii_case("observer") => false,
            Some(_) => return Err("its role is neither `participant` nor `observer`"),
        };
        let (host, client) = (String::from(host), client.filter(|text| !text.is_empty()).map(String::from));
        Ok(Self { number, host, peer_port, election_port, votes, client })
    }
}

/// How far ZooKeeper's usual ports for members (2888) and for elections (3888) are apart.
const ELECTION_PORT_DISTANCE: u16 = 1_000;

impl Member {
    /// Whether ZooKeeper's parser can read this member once it is [published](Self::published). A file or a client that
    /// names a member is held to this; what the log holds already is not.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), &'static str> {
        let unreadable = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '[' | ']' | '\\' | '#');
        if self.host.contains(unreadable) {
            return Err("its host holds a character that no host has");
        }
        match &self.client {
            Some(client) if client_address(client).is_none() => {
                Err("what stands behind `;` is no `PORT` and no `HOST:PORT`")
            }
            Some(client) if client.contains(unreadable_in_client) => {
                Err("its client address holds a character that no address has")
            }
            _ => Ok(()),
        }
    }

    /// Host and port of where its clients connect, if it says a port; `0.0.0.0` stands for every address.
    #[must_use]
    pub fn client_address(&self) -> Option<(&str, u16)> {
        self.client.as_deref().and_then(client_address)
    }

    /// The same member as clients are to read it in `/zookeeper/config`. ZooKeeper's parser, which Curator hands the
    /// text to, wants two ports that differ and a client address that ends in a port: a missing port for elections
    /// becomes the usual one, a client port alone one at every address, and what is no client address is left out.
    #[must_use]
    pub fn published(&self) -> Self {
        let mut member = self.clone();
        if self.election_port == 0 || self.election_port == self.peer_port {
            let above = self.peer_port.checked_add(ELECTION_PORT_DISTANCE);
            member.election_port =
                above.unwrap_or_else(|| self.peer_port.saturating_sub(ELECTION_PORT_DISTANCE));
        }
        member.client = self.client.as_deref().and_then(client_address).map(|(host, port)| {
            if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
        });
        member
    }
}

fn unreadable_in_client(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '\\' | '=' | ',' | '#')
}

/// Host and port of where clients connect. A port alone, and `*`, mean every address.
fn client_address(text: &str) -> Option<(&str, u16)> {
    let (host, port) = match text.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')?),
        None => text.rsplit_once(':').unwrap_or(("", text)),
    };
    let port = Some(port).filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()?;
    Some((if matches!(host, "" | "*") { "0.0.0.0" } else { host }, port))
}

impl fmt::Display for Member {
    /// As ZooKeeper writes it behind `server.N=`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, peer_port, election_port, votes, client, .. } = self;
        match host.contains(':') {
            true => write!(f, "[{host}]:{peer_port}")?,
            false => write!(f, "{host}:{peer_port}")?,
        }
        if *election_port != 0 {
            write!(f, ":{election_port}")?;
        }
        f.write_str(if *votes { ":participant" } else { ":observer" })?;
        match client {
            None => Ok(()),
            Some(client) if client.contains(':') => write!(f, ";{client}"),
            Some(port) => write!(f, ";0.0.0.0:{port}"),
        }
    }
}

/// All members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roster {
    members: BTreeMap<MemberNumber, Member>,
    /// The zxid of the change that made it so; 0 for the founders of the ensemble.
    pub version: i64,
}

impl Roster {
    /// The members that files name.
    pub fn new(members: impl IntoIterator<Item = Member>) -> Self {
        Self { members: members.into_iter().map(|member| (member.number, member)).collect(), version: 0 }
    }

    /// Reads the text of `/zookeeper/config`; nothing when it names no member.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = core::str::from_utf8(text).ok()?;
        let mut roster = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            match line.split_once('=')? {
                ("version", version) => roster.version = i64::from_str_radix(version, 16).ok()?,
                (key, value) => {
                    let member = Member::parse(key.strip_prefix("server.")?, value).ok()?;
                    roster.members.insert(member.number, member);
                }
            }
        }
        (!roster.members.is_empty()).then_some(roster)
    }

    /// The text of `/zookeeper/config`.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (number, member) in &self.members {
            // A string takes everything.
            let _ = writeln!(text, "server.{number}={member}");
        }
        let _ = write!(text, "version={:x}", self.version);
        text
    }

    /// The same members as clients are to read them: see [`Member::published`].
    #[must_use]
    pub fn published(&self) -> Self {
        Self { version: self.version, ..Self::new(self.members().map(Member::published)) }
    }

    /// The members of a reconfig's list as they are to stand in the log: see [`Member::published`].
    ///
    /// # Errors
    /// ZooKeeper's code for a list that is none, or has a member that ZooKeeper's parser cannot read.
    pub fn published_list(list: &str) -> Result<String, ErrorCode> {
        let mut text = String::new();
        for member in members_of(list)? {
            member.check().map_err(|_| ErrorCode::BadArguments)?;
            let separator = if text.is_empty() { "" } else { "," };
            // A string takes everything.
            let _ = write!(text, "{separator}server.{}={}", member.number, member.published());
        }
        Ok(text)
    }

    /// The members, by number.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    /// A member.
    #[must_use]
    pub fn member(&self, number: MemberNumber) -> Option<&Member> {
        self.members.get(&number)
    }

    /// The numbers of the voters.
    #[must_use]
    pub fn participants(&self) -> Vec<MemberNumber> {
        self.members().filter(|member| member.votes).map(|member| member.number).collect()
    }

    /// What a reconfig makes of it.
    ///
    /// # Errors
    /// ZooKeeper's code: of a configuration that is not the present one, or of nonsense.
    pub fn changed(&self, change: &Reconfig<'_>) -> Result<Self, ErrorCode> {
        if change.config_id != -1 && change.config_id != self.version {
            return Err(ErrorCode::BadVersion);
        }
        let mut next = match change.members {
            Some(members) => Self::new(members_of(members)?),
            None => self.clone(),
        };
        if change.members.is_none() {
            for number in entries(change.leaving.unwrap_or_default()) {
                let number: u64 = number.parse().map_err(|_| ErrorCode::BadArguments)?;
                // No member has a larger number than fits.
                if let Ok(number) = MemberNumber::try_from(number) {
                    next.members.remove(&number);
                }
            }
            for member in members_of(change.joining.unwrap_or_default())? {
                next.members.insert(member.number, member);
            }
        }
        if next.participants().is_empty() {
            return Err(ErrorCode::BadArguments);
        }
        Ok(next)
    }
}

fn entries(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', '\n']).map(str::trim).filter(|entry| !entry.is_empty())
}

fn members_of(text: &str) -> Result<Vec<Member>, ErrorCode> {
    let member = |entry: &str| {
        let (key, value) = entry.split_once('=')?;
        Member::parse(key.trim().strip_prefix("server.")?, value.trim()).ok()
    };
    let lines = entries(text).filter(|entry| !entry.starts_with("version="));
    let members: Option<Vec<_>> = lines.map(member).collect();
    let members = members.ok_or(ErrorCode::BadArguments)?;
    // Two members at one address are one too many.
    let mut seen: Vec<_> =
        members.iter().map(|member| format!("{}:{}", member.host, member.peer_port)).collect();
    seen.sort_unstable();
    let all = seen.len();
    seen.dedup();
    if seen.len() == all { Ok(members) } else { Err(ErrorCode::BadArguments) }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    fn three() -> Roster {
        let text = b"server.1=a:1:2:participant;0.0.0.0:2181\nserver.2=b:1:2:participant\nserver.3=c:1:2:observer\nversion=0";
        let roster = Roster::parse(text).expect("three members");
        assert_eq!(roster.text().as_bytes(), text);
        roster
    }

    fn change<'a>(joining: Option<&'a str>, leaving: Option<&'a str>, config_id: i64) -> Reconfig<'a> {
        Reconfig { joining, leaving, members: None, config_id }
    }

    #[test]
    fn every_form_of_zookeeper_is_understood() {
        let written = |value| Member::parse("3", value).expect("a member").to_string();
        assert_eq!(written("zk3:2888:3888"), "zk3:2888:3888:participant");
        assert_eq!(written("10.0.0.1:1:2:observer;127.0.0.1:2181"), "10.0.0.1:1:2:observer;127.0.0.1:2181");
        assert_eq!(written("[::1]:1:2:PARTICIPANT;2181"), "[::1]:1:2:participant;0.0.0.0:2181");
        assert_eq!(written("a:5:6|b:7:8"), "a:5:6:participant");
        assert_eq!(written("a:5"), "a:5:participant");
    }

    #[test]
    fn published_member_has_two_ports_and_a_whole_client_address() {
        let published = |value| Member::parse("3", value).expect("a member").published().to_string();
        for (written, expected) in [
            ("a:5", "a:5:1005:participant"),
            ("a:5:observer;2181", "a:5:1005:observer;0.0.0.0:2181"),
            ("a:5:6;*:2181", "a:5:6:participant;0.0.0.0:2181"),
            ("a:2888:2888;h:2181", "a:2888:3888:participant;h:2181"),
            ("a:65000", "a:65000:64000:participant"),
            ("[::1]:5:6;[::1]:2181", "[::1]:5:6:participant;[::1]:2181"),
            ("a:5:6;::1:2181", "a:5:6:participant;[::1]:2181"),
            ("a:5:6;nonsense", "a:5:6:participant"),
            ("a:5:6;h:", "a:5:6:participant"),
        ] {
            assert_eq!(published(written), expected, "{written}");
            assert_eq!(published(expected), expected, "published twice");
        }
    }

    #[test]
    fn published_roster_is_the_same_roster_for_whoever_reads_one_port() {
        let stored =
            Roster::parse(b"server.1=a:1:participant;2181\nserver.2=b:1\nversion=a0").expect("two members");
        let text = "server.1=a:1:1001:participant;0.0.0.0:2181\nserver.2=b:1:1001:participant\nversion=a0";
        assert_eq!(stored.published().text(), text);
        assert_eq!(
            stored.text(),
            "server.1=a:1:participant;0.0.0.0:2181\nserver.2=b:1:participant\nversion=a0"
        );
        let list = Roster::published_list("server.4=d:1;9\nserver.5=e:1:2,version=7").expect("two members");
        assert_eq!(list, "server.4=d:1:1001:participant;0.0.0.0:9,server.5=e:1:2:participant");
        assert_eq!(Roster::published_list(""), Ok(String::new()));
    }

    #[test]
    fn member_that_zookeepers_parser_cannot_read_is_refused() {
        for value in ["a:5;port", "a:5;h:", "a:5;h:99999", "a b:5", "a\\n:5", "a:5;h x:1"] {
            let member = Member::parse("4", value).expect("the log may hold it");
            assert!(member.check().is_err(), "{value}");
            let list = format!("server.4={value}");
            assert_eq!(Roster::published_list(&list), Err(ErrorCode::BadArguments), "{value}");
        }
        assert_eq!(Member::parse("4", "a:5:5;[::1]:9").expect("a member").check(), Ok(()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (value, what) in [
            ("", "no host"),
            ("a", "no port"),
            ("a:x:1", "no port"),
            ("a:99999:1", "first port"),
            ("a:1:2:leader", "role"),
        ] {
            assert!(Member::parse("1", value).expect_err("wrong").contains(what), "{value}");
        }
        assert!(Member::parse("0", "a:1:2").is_err() && Member::parse("256", "a:1:2").is_err());
    }

    #[test]
    fn members_join_and_leave_and_change_their_part() {
        let next = three().changed(&change(Some("server.4=d:1:2;2184,server.3=c:1:2"), Some("1"), -1));
        let next = next.expect("it is fine");
        assert_eq!(next.participants(), [2, 3, 4].map(MemberNumber));
        assert!(next.member(MemberNumber(1)).is_none());
        let unchanged = three().changed(&change(None, Some("256,18446744073709551615"), -1));
        assert_eq!(unchanged, Ok(three()), "no member has such a number");
        let all = Reconfig { members: Some("server.2=b:1:2"), ..change(None, None, 0) };
        assert_eq!(three().changed(&all).expect("it is fine").members().count(), 1);
    }

    #[test]
    fn nonsense_has_zookeepers_codes() {
        let refused = |change: &Reconfig<'_>| three().changed(change).expect_err("refused");
        assert_eq!(refused(&change(None, Some("3"), 7)), ErrorCode::BadVersion);
        assert_eq!(refused(&change(None, Some("1,2"), -1)), ErrorCode::BadArguments);
        assert_eq!(refused(&change(Some("server.x=a:1:2"), None, -1)), ErrorCode::BadArguments);
        assert_eq!(refused(&change(Some("4=d:1:2"), None, -1)), ErrorCode::BadArguments);
        assert_eq!(refused(&change(Some("server.4=d:1,server.5=d:1"), None, -1)), ErrorCode::BadArguments);
    }
}
