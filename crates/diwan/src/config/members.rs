//! The members of an ensemble as files write them, and which of them this server is.

use std::path::Path;

use server::config::MemberConfig;

use super::value::{Checked, Problem};

/// Numbers that a member may have.
const NUMBERS: std::ops::RangeInclusive<u64> = 1..=255;

/// One member: `N` and `host:quorumPort:electionPort[:role][;[clientHost:]clientPort]`. The port for elections may be
/// left out: members need one port here.
pub(crate) fn member(key: &str, number: &str, value: &str) -> Checked<MemberConfig> {
    let problem = |what: &str| {
        Problem::new(format!("`{key}` is `{value}`: {what}"))
            .hint("write it like `server.1=host:2888:3888:participant;2181`")
    };
    let number = number.trim().parse().ok().filter(|number| NUMBERS.contains(number));
    let number = number.ok_or_else(|| problem("its number is none from 1 to 255"))?;
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
    if host.is_empty() {
        return Err(problem("it names no host"));
    }
    let mut parts = rest.split(':').map(str::trim).peekable();
    let is_port = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut port = |what: &str| match parts.next_if(is_port) {
        Some(text) => text.parse().map(Some).map_err(|_| problem(what)),
        None => Ok(None),
    };
    let peer_port = port("its first port is none")?;
    let peer_port = peer_port.ok_or_else(|| problem("it names no port for the other members"))?;
    let election_port = port("its second port is none")?.unwrap_or(0);
    let votes = match parts.next() {
        None => true,
        Some(role) if role.eq_ignore_ascii_case("participant") => true,
        Some(role) if role.eq_ignore_ascii_case("observer") => false,
        Some(_) => return Err(problem("its role is neither `participant` nor `observer`")),
    };
    let (host, client) = (String::from(host), client.filter(|text| !text.is_empty()).map(String::from));
    Ok(MemberConfig { number, host, peer_port, election_port, votes, client })
}

/// This server's number, as its data directory's file `myid` says.
pub(crate) fn own_number(data_dir: &Path) -> Checked<u64> {
    let file = data_dir.join("myid");
    let text = std::fs::read_to_string(&file).map_err(|error| {
        Problem::new(format!("cannot read `{}`: {error}", file.display()))
            .hint("several servers are named: write the number of this one into that file")
    })?;
    text.trim().parse().ok().filter(|number| NUMBERS.contains(number)).ok_or_else(|| {
        Problem::new(format!("`{}` holds `{}`", file.display(), text.trim()))
            .hint("write the number of this server into it, from 1 to 255, and nothing else")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(value: &str) -> Checked<MemberConfig> {
        member("server.3", "3", value)
    }

    #[test]
    fn every_form_of_zookeeper_is_understood() {
        let plain = parse("zk3:2888:3888").unwrap();
        assert_eq!((plain.host.as_str(), plain.peer_port, plain.election_port), ("zk3", 2888, 3888));
        assert!(plain.votes && plain.client.is_none());
        let full = parse("10.0.0.1:1:2:observer;127.0.0.1:2181").unwrap();
        assert!(!full.votes);
        assert_eq!(full.client.as_deref(), Some("127.0.0.1:2181"));
        let six = parse("[::1]:1:2:PARTICIPANT;2181").unwrap();
        assert_eq!((six.host.as_str(), six.votes), ("::1", true));
        assert_eq!(parse("a:5:6|b:7:8").unwrap().host, "a");
        assert_eq!(parse("a:5").unwrap().peer_port, 5);
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
            let problem = parse(value).unwrap_err();
            assert!(problem.what.contains(what), "{value}: {}", problem.what);
        }
        assert!(member("server.0", "0", "a:1:2").is_err());
        assert!(member("server.256", "256", "a:1:2").is_err());
    }
}
