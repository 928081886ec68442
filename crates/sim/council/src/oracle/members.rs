//! The members that `/zookeeper/config` names, read and changed as ZooKeeper's documents on dynamic reconfiguration say it:
//! written apart from `tree`, so that its reading of them can be held against this one.

use std::collections::BTreeMap;

use council_wire::ErrorCode;

/// What a change of members asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish<'a> {
    /// Who joins, or changes.
    pub joining: Option<&'a str>,
    /// Who leaves.
    pub leaving: Option<&'a str>,
    /// Exactly who is to be a member.
    pub members: Option<&'a str>,
    /// The version that is to be changed; -1 for whatever there is.
    pub version: i64,
}

/// What is said of one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its address among members: the host and its ports.
    pub address: String,
    /// Whether it votes.
    pub votes: bool,
    /// Where its clients come, if that is told.
    pub client: Option<String>,
}

/// All of them, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Who they are.
    pub places: BTreeMap<u64, Place>,
    /// The transaction that made it so.
    pub version: i64,
}

impl Members {
    /// Reads the text of the node.
    #[must_use]
    pub fn read(text: &[u8]) -> Option<Self> {
        let mut members = Self::default();
        for line in std::str::from_utf8(text).ok()?.lines() {
            match line.strip_prefix("version=") {
                Some(version) => members.version = i64::from_str_radix(version, 16).ok()?,
                None => members.places.extend([server(line)?]),
            }
        }
        (!members.places.is_empty()).then_some(members)
    }

    /// The text of the node.
    #[must_use]
    pub fn text(&self) -> String {
        let line = |(number, place): (&u64, &Place)| {
            let role = if place.votes { "participant" } else { "observer" };
            let client = place.client.as_ref().map_or_else(String::new, |client| format!(";{client}"));
            format!("server.{number}={}:{role}{client}\n", place.address)
        };
        self.places.iter().map(line).collect::<String>() + &format!("version={:x}", self.version)
    }

    /// The numbers of those who vote.
    #[must_use]
    pub fn voters(&self) -> Vec<u64> {
        self.places.iter().filter(|(_, place)| place.votes).map(|(number, _)| *number).collect()
    }

    /// What a change makes of them.
    ///
    /// # Errors
    /// It is of another version than the present one, or nonsense.
    pub fn changed(&self, wish: &Wish<'_>) -> Result<Self, ErrorCode> {
        if ![-1, self.version].contains(&wish.version) {
            return Err(ErrorCode::BadVersion);
        }
        let mut next = self.clone();
        if let Some(all) = wish.members {
            next.places = servers(all)?;
        } else {
            for number in words(wish.leaving.unwrap_or_default()) {
                next.places.remove(&number.parse().map_err(|_| ErrorCode::BadArguments)?);
            }
            next.places.append(&mut servers(wish.joining.unwrap_or_default())?);
        }
        if next.voters().is_empty() { Err(ErrorCode::BadArguments) } else { Ok(next) }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', '\n']).map(str::trim).filter(|word| !word.is_empty())
}

/// Servers separated by commas or lines, of which no two have one address.
fn servers(text: &str) -> Result<BTreeMap<u64, Place>, ErrorCode> {
    let (mut places, mut addresses) = (BTreeMap::new(), Vec::new());
    for word in words(text).filter(|word| !word.starts_with("version=")) {
        let (number, place) = server(word).ok_or(ErrorCode::BadArguments)?;
        let two: Vec<_> = place.address.split(':').take(2).map(str::to_owned).collect();
        if addresses.contains(&two) {
            return Err(ErrorCode::BadArguments);
        }
        addresses.push(two);
        places.insert(number, place);
    }
    Ok(places)
}

/// `server.N=host:port[:port][:role][;[host:]port]`: of names and IPv4 addresses alone, for no client here has others.
fn server(line: &str) -> Option<(u64, Place)> {
    let (number, rest) = line.strip_prefix("server.")?.split_once('=')?;
    let number: u64 = number.parse().ok().filter(|number| (1..256).contains(number))?;
    let (address, client) =
        rest.split_once(';').map_or((rest, None), |(address, client)| (address, Some(client)));
    let mut parts: Vec<_> = address.split(':').collect();
    let votes = match *parts.last()? {
        "participant" => Some(true),
        "observer" => Some(false),
        _ => None,
    };
    parts.truncate(parts.len() - usize::from(votes.is_some()));
    let ports = parts.get(1..).filter(|ports| (1..=2).contains(&ports.len()))?;
    if parts[0].is_empty() || ports.iter().any(|port| port.parse::<u16>().is_err()) {
        return None;
    }
    let client = client.map(|client| match client.contains(':') {
        true => client.to_owned(),
        false => format!("0.0.0.0:{client}"),
    });
    Some((number, Place { address: parts.join(":"), votes: votes.unwrap_or(true), client }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Members {
        let text = b"server.1=a:1:2:participant;0.0.0.0:9\nserver.2=b:1:participant\nserver.3=c:1:observer\nversion=1f";
        let members = Members::read(text).expect("three members");
        assert_eq!(members.text().as_bytes(), text);
        members
    }

    #[test]
    fn members_change_their_part_and_their_address() {
        let joining = Some("server.3=c:1,server.2=d:7:observer;5");
        let next = three().changed(&Wish { joining, leaving: Some("9"), version: 0x1f, ..Wish::default() });
        let next = next.expect("it is fine");
        assert_eq!(next.voters(), [1, 3]);
        assert_eq!(next.places[&2].address, "d:7");
        assert_eq!(next.places[&2].client.as_deref(), Some("0.0.0.0:5"));
    }

    #[test]
    fn members_are_refused_with_zookeepers_codes() {
        let refused = |wish: Wish<'_>| three().changed(&Wish { version: -1, ..wish }).expect_err("refused");
        let wish = Wish::default();
        assert_eq!(three().changed(&Wish { version: 7, ..wish }), Err(ErrorCode::BadVersion));
        assert_eq!(refused(Wish { leaving: Some("1,2"), ..wish }), ErrorCode::BadArguments);
        assert_eq!(refused(Wish { joining: Some("server.4=a"), ..wish }), ErrorCode::BadArguments);
        assert_eq!(
            refused(Wish { joining: Some("server.4=x:1,server.5=x:1"), ..wish }),
            ErrorCode::BadArguments
        );
        assert_eq!(refused(Wish { members: Some("server.3=c:1:observer"), ..wish }), ErrorCode::BadArguments);
    }
}
