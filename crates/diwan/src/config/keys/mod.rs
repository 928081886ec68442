//! Every key that a configuration may have, one row each: ZooKeeper's name, Diwan's own, and what it means here.
//!
//! ZooKeeper makes a system property of each key that it does not know itself, so one table holds both kinds.

mod access;
pub(crate) mod broker;
mod ensemble;
mod objects;
mod objects_tls;
mod own;
mod server;
mod standards;
mod tls;
mod without_meaning;

use node_config::{Keys, Names};

use super::draft::Draft;

/// One key of this program.
pub(crate) type Row = node_config::Row<Draft>;

/// All keys.
pub(crate) const KEYS: Keys<Draft> = Keys(&[
    server::ROWS,
    access::ROWS,
    ensemble::ROWS,
    tls::ROWS,
    without_meaning::ROWS,
    own::ROWS,
    broker::ROWS,
    objects::ROWS,
    objects_tls::ROWS,
]);

/// The default, if there is one.
pub(crate) fn standard(row: &Row) -> Option<&'static str> {
    let name = if row.own.is_empty() { row.foreign } else { row.own };
    standards::STANDARDS.iter().find(|(key, _)| *key == name).map(|(_, standard)| *standard)
}

/// Whether nearly every `zoo.cfg` has a key, so that a remark about it is no warning.
pub(crate) fn is_usual(key: &str) -> bool {
    without_meaning::USUAL.contains(&key)
}

/// The known key that an unknown `key` may mean.
pub(crate) fn suggestion(names: Names, key: &str) -> Option<String> {
    let documented = without_meaning::DOCUMENTED_AS.iter().find(|(written, _)| *written == key);
    if let (Names::Foreign, Some((_, real))) = (names, documented) {
        return Some(format!("the key that does this is `{real}`"));
    }
    let bare = key.strip_prefix("zookeeper.").unwrap_or(key);
    if let Some(row) = KEYS.find(Names::Foreign, bare) {
        if names == Names::Foreign {
            return Some(format!("leave out `zookeeper.`: `{bare}`"));
        }
        if let Some(own) = own_name(row) {
            return Some(format!("it is called `{own}` here"));
        }
    }
    if let (Names::Foreign, Some(row)) = (names, KEYS.find(Names::Own, key)) {
        let own = "only a `diwan.toml` knows this key";
        return Some(if row.foreign.is_empty() {
            String::from(own)
        } else {
            format!("here it is `{}`", row.foreign)
        });
    }
    if let (Names::Own, Some(near)) = (names, broker::nearest(key)) {
        return Some(format!("did you mean `{near}`?"));
    }
    // A key without the service's name, or a name from before services had tables of their own.
    let of_council = format!("council.{key}");
    if let (Names::Own, Some(row)) = (names, KEYS.find(Names::Own, &of_council)) {
        return Some(format!("it is called `{}` here", row.own));
    }
    let in_council =
        || (names == Names::Own && key.contains('.')).then(|| KEYS.nearest(names, &of_council))?;
    if let Some(row) = KEYS.nearest(names, key).or_else(in_council) {
        return Some(format!("did you mean `{}`?", names.of(row)));
    }
    // A name of ZooKeeper's, nearly, where only ours are known.
    let row = KEYS.nearest(Names::Foreign, bare)?;
    Some(format!("did you mean `{}`? it is called `{}` here", row.foreign, own_name(row)?))
}

/// What a `diwan.toml` has for a row, under a key of its own if need be.
fn own_name(row: &Row) -> Option<&'static str> {
    if !row.own.is_empty() {
        return Some(row.own);
    }
    INSTEAD.iter().find(|(zoo, _)| *zoo == row.foreign).map(|(_, own)| *own)
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

    use node_config::Meaning;

    use super::*;

    /// The keys that a ZooKeeper 3.9.5 server reads, from its sources: `QuorumPeerConfig` and every property named
    /// `zookeeper.*`, without that prefix.
    const ZOOKEEPER_KEYS: &str = include_str!("zookeeper-3.9-keys.txt");

    #[test]
    fn every_key_of_zookeeper_has_a_row() {
        let missing: Vec<&str> =
            ZOOKEEPER_KEYS.lines().filter(|key| KEYS.find(Names::Foreign, key).is_none()).collect();
        assert!(missing.is_empty(), "no row for {missing:?}");
        assert!(ZOOKEEPER_KEYS.lines().count() > 200);
    }

    #[test]
    fn no_name_stands_twice() {
        for names in [Names::Foreign, Names::Own] {
            let mut seen = BTreeSet::new();
            for name in KEYS.rows().map(|row| names.of(row)).filter(|name| !name.is_empty()) {
                assert!(seen.insert(name), "`{name}` has two rows");
            }
        }
    }

    #[test]
    fn what_stands_instead_is_there() {
        for (zoo, own) in INSTEAD {
            let row = KEYS.find(Names::Foreign, zoo).unwrap_or_else(|| panic!("there is no `{zoo}`"));
            assert!(row.own.is_empty() && KEYS.find(Names::Own, own).is_some(), "`{zoo}`, `{own}`");
        }
    }

    #[test]
    fn every_row_says_what_it_is() {
        for row in KEYS.rows() {
            let text = match row.meaning {
                Meaning::Honoured(_) => row.about,
                Meaning::NoMeaningHere(why) => why,
                Meaning::RefusesStart(why, hint) => {
                    assert!(!hint.is_empty(), "`{}`", row.foreign);
                    why
                }
            };
            assert!(!text.is_empty(), "`{}` `{}`", row.foreign, row.own);
            assert!(!row.foreign.is_empty() || !row.own.is_empty());
        }
    }

    #[test]
    fn every_standard_belongs_to_a_row() {
        for (key, _) in standards::STANDARDS {
            assert!(
                KEYS.find(Names::Own, key).or_else(|| KEYS.find(Names::Foreign, key)).is_some(),
                "`{key}`"
            );
        }
    }

    #[test]
    fn a_suggestion_says_what_was_meant() {
        let of = |names, key| suggestion(names, key).unwrap_or_default();
        assert_eq!(of(Names::Foreign, "maxClientCnxn"), "did you mean `maxClientCnxns`?");
        assert_eq!(of(Names::Foreign, "dataDirectory"), "did you mean `dataDir`?");
        assert_eq!(of(Names::Foreign, "zookeeper.skipACL"), "leave out `zookeeper.`: `skipACL`");
        assert_eq!(
            of(Names::Foreign, "connectionMaxTokens"),
            "the key that does this is `connection_throttle_tokens`"
        );
        assert_eq!(of(Names::Own, "maxClientCnxns"), "it is called `council.limits.connections-per-ip` here");
        assert_eq!(of(Names::Own, "session.tick"), "did you mean `council.session.tick-ms`?");
        assert_eq!(suggestion(Names::Foreign, "favouriteColour"), None);
    }
}
