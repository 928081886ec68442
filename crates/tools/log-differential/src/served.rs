//! Which APIs and versions both brokers advertise, as they say themselves: what is played grows with what ours serves.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;

use crate::play::{Seen, Stage, play};
use crate::schema::{Schemas, Versions};
use crate::script::{Action, Call, Script, Step};

/// APIs that both serve and no script for one broker plays: scripts have no members of share groups, whose answers depend on when they ask.
/// The suite `log-java` and the model of `log-share` test them instead.
const UNPLAYED: &[&str] = &[
    "ShareGroupHeartbeat",
    "ShareGroupDescribe",
    "ShareFetch",
    "ShareAcknowledge",
    "DescribeShareGroupOffsets",
    "AlterShareGroupOffsets",
    "DeleteShareGroupOffsets",
];

/// APIs by name, with the versions that are served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served(BTreeMap<String, Versions>);

impl Served {
    /// What a broker says of itself.
    ///
    /// # Errors
    /// It does not answer.
    pub fn ask(schemas: &Schemas, address: SocketAddr, deadline: Duration) -> Result<Self, String> {
        let call = Call { api: "ApiVersions".into(), ..Call::default() };
        let steps = vec![Step { broker: 1, connection: 0, action: Action::Call(call) }];
        let script =
            Script { seed: 0, number: 0, scene: "what is served".into(), steps, ..Script::default() };
        let stage = Stage { schemas, addresses: &[address], cluster: None, deadline, run: 0, now: 0 };
        let record = play(&script, &stage)?;
        let Some(Seen::Reply(exchange)) = record.steps.first() else {
            return Err(format!("no answer to ApiVersions: {:?}", record.steps));
        };
        let entries = exchange.body["ApiKeys"].as_array().into_iter().flatten();
        Ok(Self(entries.filter_map(|entry| versions(schemas, entry)).collect()))
    }

    /// All of these, in more versions than there are.
    #[cfg(test)]
    pub(crate) fn everything<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        Self(names.map(|name| (name.to_owned(), Versions { lowest: 0, highest: 20 })).collect())
    }

    /// What both of them serve, and scripts for one broker play.
    #[must_use]
    pub fn in_common(&self, other: &Self) -> Self {
        let mut both = self.all_in_common(other);
        both.0.retain(|name, _| !UNPLAYED.contains(&name.as_str()));
        both
    }

    /// What both of them serve.
    #[must_use]
    pub fn all_in_common(&self, other: &Self) -> Self {
        let both = self.0.iter().filter_map(|(name, own)| {
            let its = other.0.get(name)?;
            let (lowest, highest) = (own.lowest.max(its.lowest), own.highest.min(its.highest));
            (lowest <= highest).then(|| (name.clone(), Versions { lowest, highest }))
        });
        Self(both.collect())
    }

    /// The versions of an API.
    #[must_use]
    pub fn versions(&self, api: &str) -> Option<Versions> {
        self.0.get(api).copied()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Versions)> {
        self.0.iter().map(|(name, versions)| (name.as_str(), *versions))
    }

    /// What this one serves and `other` does not, as text.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Vec<String> {
        let lacking = self.0.iter().filter_map(|(name, own)| match other.0.get(name) {
            Some(its) if its.lowest <= own.lowest && own.highest <= its.highest => None,
            Some(its) => {
                Some(format!("{name} {}-{} of {}-{}", its.lowest, its.highest, own.lowest, own.highest))
            }
            None => Some(format!("{name} {}-{}", own.lowest, own.highest)),
        });
        lacking.collect()
    }
}

/// Produce is advertised from version 0 on and served from the first that the definitions have.
fn versions(schemas: &Schemas, entry: &Value) -> Option<(String, Versions)> {
    let number = |name: &str| entry[name].as_i64().and_then(|number| i16::try_from(number).ok());
    let api = schemas.api(number("ApiKey")?)?;
    let (lowest, highest) = (number("MinVersion")?, number("MaxVersion")?);
    Some((api.name.clone(), Versions { lowest: lowest.max(api.versions.lowest), highest }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(all: &[(&str, i16, i16)]) -> Served {
        let versions = |(name, lowest, highest): &(&str, i16, i16)| {
            ((*name).to_owned(), Versions { lowest: *lowest, highest: *highest })
        };
        Served(all.iter().map(versions).collect())
    }

    #[test]
    fn common_versions_are_played_and_the_rest_is_listed() {
        let kafka = served(&[("Produce", 3, 13), ("Fetch", 4, 18), ("EndTxn", 0, 5)]);
        let ours = served(&[("Produce", 3, 13), ("Fetch", 4, 17)]);
        let common = kafka.in_common(&ours);
        assert_eq!(common, ours);
        let unplayed = served(&[("ShareFetch", 1, 2)]);
        assert_eq!(unplayed.in_common(&unplayed), served(&[]));
        assert_eq!(kafka.beyond(&common), ["EndTxn 0-5", "Fetch 4-17 of 4-18"]);
    }
}
