//! Every key that a configuration may have, one row each: ZooKeeper's name, Diwan's own, and what it means here.
//!
//! ZooKeeper makes a system property of each key that it does not know itself, so one table holds both kinds.

mod access;
mod ensemble;
mod own;
mod server;
mod standards;
mod tls;
mod without_meaning;

use super::draft::Draft;
use super::value::{Checked, Setting};

/// Takes a setting into the draft.
pub(crate) type Apply = fn(&mut Draft, Setting<'_>) -> Checked<()>;

/// What a key means here.
#[derive(Clone, Copy)]
pub(crate) enum Meaning {
    /// It does what it says.
    Honoured(Apply),
    /// It does nothing, and the start goes on with a warning.
    NoMeaningHere(/* why */ &'static str),
    /// Nobody may believe that it was honoured.
    RefusesStart(/* why */ &'static str, /* what to do */ &'static str),
}

/// One key.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    /// ZooKeeper's name in a `zoo.cfg`; empty for what only Diwan has. One that ends in `*` stands for all with
    /// that beginning.
    pub(crate) zoo: &'static str,
    /// Diwan's name, `section.key`; empty for what only a `zoo.cfg` has.
    pub(crate) own: &'static str,
    /// What it is, in a few words.
    pub(crate) about: &'static str,
    /// What it means here.
    pub(crate) meaning: Meaning,
}

impl Row {
    const fn both(zoo: &'static str, own: &'static str, about: &'static str, apply: Apply) -> Self {
        Self { zoo, own, about, meaning: Meaning::Honoured(apply) }
    }

    const fn zoo(name: &'static str, about: &'static str, apply: Apply) -> Self {
        Self::both(name, "", about, apply)
    }

    const fn own(name: &'static str, about: &'static str, apply: Apply) -> Self {
        Self::both("", name, about, apply)
    }

    const fn nothing(zoo: &'static str, why: &'static str) -> Self {
        Self { zoo, own: "", about: "", meaning: Meaning::NoMeaningHere(why) }
    }

    const fn refuses(zoo: &'static str, why: &'static str, hint: &'static str) -> Self {
        Self { zoo, own: "", about: "", meaning: Meaning::RefusesStart(why, hint) }
    }

    fn is_zoo(&self, key: &str) -> bool {
        match self.zoo.strip_suffix('*') {
            Some(beginning) => key.starts_with(beginning),
            None => !self.zoo.is_empty() && self.zoo == key,
        }
    }
}

impl Row {
    /// What holds when nothing is said, if it can be said.
    pub(crate) fn standard(&self) -> Option<&'static str> {
        let name = if self.own.is_empty() { self.zoo } else { self.own };
        standards::STANDARDS.iter().find(|(key, _)| *key == name).map(|(_, standard)| *standard)
    }
}

/// Whose names a configuration uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// Those of a `zoo.cfg`.
    Zoo,
    /// Those of a `diwan.toml`.
    Own,
}

impl Names {
    const fn of(self, row: &Row) -> &'static str {
        match self {
            Self::Zoo => row.zoo,
            Self::Own => row.own,
        }
    }
}

/// All rows. Where two fit a key, the first does.
pub(crate) fn rows() -> impl Iterator<Item = &'static Row> {
    [server::ROWS, access::ROWS, ensemble::ROWS, tls::ROWS, without_meaning::ROWS, own::ROWS]
        .into_iter()
        .flatten()
}

/// The row of a key.
pub(crate) fn find(names: Names, key: &str) -> Option<&'static Row> {
    match names {
        Names::Zoo => rows().find(|row| row.is_zoo(key)),
        Names::Own => rows().find(|row| !row.own.is_empty() && row.own == key),
    }
}

/// Whether nearly every `zoo.cfg` has a key, so that a remark about it is no warning.
pub(crate) fn is_usual(key: &str) -> bool {
    without_meaning::USUAL.contains(&key)
}

/// What somebody who wrote an unknown `key` may have meant.
pub(crate) fn suggestion(names: Names, key: &str) -> Option<String> {
    let documented = without_meaning::DOCUMENTED_AS.iter().find(|(written, _)| *written == key);
    if let (Names::Zoo, Some((_, real))) = (names, documented) {
        return Some(format!("the key that does this is `{real}`"));
    }
    let bare = key.strip_prefix("zookeeper.").unwrap_or(key);
    if let Some(row) = find(Names::Zoo, bare) {
        if names == Names::Zoo {
            return Some(format!("leave out `zookeeper.`: `{bare}`"));
        }
        if let Some(own) = own_name(row) {
            return Some(format!("it is called `{own}` here"));
        }
    }
    if let (Names::Zoo, Some(row)) = (names, find(Names::Own, key)) {
        let own = "only a `diwan.toml` knows this key";
        return Some(if row.zoo.is_empty() {
            String::from(own)
        } else {
            format!("here it is `{}`", row.zoo)
        });
    }
    // Someone who left out the service, or wrote a name from before services had tables of their own.
    let of_council = format!("council.{key}");
    if let (Names::Own, Some(row)) = (names, find(Names::Own, &of_council)) {
        return Some(format!("it is called `{}` here", row.own));
    }
    let in_council = || (names == Names::Own && key.contains('.')).then(|| nearest(names, &of_council))?;
    if let Some(row) = nearest(names, key).or_else(in_council) {
        return Some(format!("did you mean `{}`?", names.of(row)));
    }
    // A name of ZooKeeper's, nearly, where only ours are known.
    let row = nearest(Names::Zoo, bare)?;
    Some(format!("did you mean `{}`? it is called `{}` here", row.zoo, own_name(row)?))
}

fn nearest(names: Names, key: &str) -> Option<&'static Row> {
    let lower = key.to_ascii_lowercase();
    rows()
        .filter(|row| !names.of(row).is_empty() && !names.of(row).ends_with('*'))
        .map(|row| (strsim::jaro_winkler(&lower, &names.of(row).to_ascii_lowercase()), row))
        .filter(|(likeness, _)| *likeness > 0.86)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, row)| row)
}

/// What a `diwan.toml` has for a row, under a key of its own if need be.
fn own_name(row: &Row) -> Option<&'static str> {
    if !row.own.is_empty() {
        return Some(row.own);
    }
    INSTEAD.iter().find(|(zoo, _)| *zoo == row.zoo).map(|(_, own)| *own)
}

/// Where a `diwan.toml` has one key for several of a `zoo.cfg`.
const INSTEAD: &[(&str, &str)] = &[
    ("clientPort", "council.listen.client"),
    ("clientPortAddress", "council.listen.client"),
    ("clientPortListenBacklog", "council.listen.backlog"),
    ("secureClientPort", "council.listen.secure"),
    ("secureClientPortAddress", "council.listen.secure"),
    ("snapSizeLimitInKb", "council.storage.snapshot-after-bytes"),
    ("preAllocSize", "council.storage.segment-bytes"),
    ("metricsProvider.httpHost", "metrics.listen"),
    ("metricsProvider.httpPort", "metrics.listen"),
    ("admin.enableServer", "admin.listen"),
    ("admin.serverAddress", "admin.listen"),
    ("admin.serverPort", "admin.listen"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The keys that a ZooKeeper 3.9.5 server reads, from its sources: `QuorumPeerConfig` and every property named
    /// `zookeeper.*`, without that prefix.
    const ZOOKEEPER_KEYS: &str = include_str!("zookeeper-3.9-keys.txt");

    #[test]
    fn every_key_of_zookeeper_has_a_row() {
        let missing: Vec<&str> =
            ZOOKEEPER_KEYS.lines().filter(|key| find(Names::Zoo, key).is_none()).collect();
        assert!(missing.is_empty(), "no row for {missing:?}");
        assert!(ZOOKEEPER_KEYS.lines().count() > 200);
    }

    #[test]
    fn no_name_stands_twice() {
        for names in [Names::Zoo, Names::Own] {
            let mut seen = BTreeSet::new();
            for name in rows().map(|row| names.of(row)).filter(|name| !name.is_empty()) {
                assert!(seen.insert(name), "`{name}` has two rows");
            }
        }
    }

    #[test]
    fn what_stands_instead_is_there() {
        for (zoo, own) in INSTEAD {
            let row = find(Names::Zoo, zoo).unwrap_or_else(|| panic!("there is no `{zoo}`"));
            assert!(row.own.is_empty() && find(Names::Own, own).is_some(), "`{zoo}`, `{own}`");
        }
    }

    #[test]
    fn every_row_says_what_it_is() {
        for row in rows() {
            let text = match row.meaning {
                Meaning::Honoured(_) => row.about,
                Meaning::NoMeaningHere(why) => why,
                Meaning::RefusesStart(why, hint) => {
                    assert!(!hint.is_empty(), "`{}`", row.zoo);
                    why
                }
            };
            assert!(!text.is_empty(), "`{}` `{}`", row.zoo, row.own);
            assert!(!row.zoo.is_empty() || !row.own.is_empty());
        }
    }

    #[test]
    fn every_standard_belongs_to_a_row() {
        for (key, _) in standards::STANDARDS {
            assert!(find(Names::Own, key).or_else(|| find(Names::Zoo, key)).is_some(), "`{key}`");
        }
    }

    #[test]
    fn a_suggestion_says_what_was_meant() {
        let of = |names, key| suggestion(names, key).unwrap_or_default();
        assert_eq!(of(Names::Zoo, "maxClientCnxn"), "did you mean `maxClientCnxns`?");
        assert_eq!(of(Names::Zoo, "dataDirectory"), "did you mean `dataDir`?");
        assert_eq!(of(Names::Zoo, "zookeeper.skipACL"), "leave out `zookeeper.`: `skipACL`");
        assert_eq!(
            of(Names::Zoo, "connectionMaxTokens"),
            "the key that does this is `connection_throttle_tokens`"
        );
        assert_eq!(of(Names::Own, "maxClientCnxns"), "it is called `council.limits.connections-per-ip` here");
        assert_eq!(of(Names::Own, "session.tick"), "did you mean `council.session.tick-ms`?");
        assert_eq!(suggestion(Names::Zoo, "favouriteColour"), None);
    }
}
