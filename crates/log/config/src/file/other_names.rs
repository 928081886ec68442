//! Keys of `server.properties` that are no configurations of a Kafka 4.3 broker: those of its authorizer, and those of earlier
//! versions. Kafka 4.3 starts with the latter and passes them over.

use crate::definition::Feature;

/// What becomes of such a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherName {
    /// It is read.
    Read,
    /// It is read where the program has the feature.
    ReadWith(Feature),
    /// It has no effect.
    Ignored,
    /// It asks for something that Diwan does not have: only these values are taken.
    Refused {
        /// Why others are not.
        why: &'static str,
        /// Without upper case.
        taken: &'static [&'static str],
    },
}

/// Where the council is: see [`Council`](super::Council).
pub(crate) const ZOOKEEPER_CONNECT: &str = "zookeeper.connect";
/// The session with it.
pub(crate) const ZOOKEEPER_SESSION_TIMEOUT: &str = "zookeeper.session.timeout.ms";
/// Who may do everything.
pub(crate) const SUPER_USERS: &str = "super.users";
/// Whether everybody may do what no access control list speaks of.
pub(crate) const ALLOW_EVERYONE: &str = "allow.everyone.if.no.acl.found";
/// How many of the partitions that prefer a broker may be led elsewhere before lead goes back, percent.
pub(crate) const LEADER_IMBALANCE_PERCENTAGE: &str = "leader.imbalance.per.broker.percentage";

const NOT_BY_FILE: OtherName = OtherName::Refused {
    why: "is not taken from this file: say how the broker authenticates with the council by its options",
    taken: &["", "false"],
};

/// What begins so is for classes that Kafka loads.
const IGNORED_PREFIXES: &[&str] = &["rsm.config.", "rlmm.config.", "metrics.jmx.", "password.encoder."];

const NAMES: &[(&str, OtherName)] = &[
    ("advertised.host.name", OtherName::Ignored),
    ("advertised.port", OtherName::Ignored),
    (ALLOW_EVERYONE, OtherName::ReadWith(Feature::Acls)),
    ("auto.include.jmx.reporter", OtherName::Ignored),
    ("broker.id.generation.enable", OtherName::Ignored),
    ("control.plane.listener.name", OtherName::Ignored),
    ("controlled.shutdown.max.retries", OtherName::Ignored),
    ("controlled.shutdown.retry.backoff.ms", OtherName::Ignored),
    (
        "delegation.token.master.key",
        OtherName::Refused { why: "is not taken: there are no delegation tokens", taken: &[""] },
    ),
    ("eligible.leader.replicas.enable", OtherName::Ignored),
    ("group.coordinator.new.enable", OtherName::Ignored),
    ("group.share.enable", OtherName::Ignored),
    ("host.name", OtherName::Ignored),
    ("inter.broker.protocol.version", OtherName::Ignored),
    (LEADER_IMBALANCE_PERCENTAGE, OtherName::Read),
    ("log.message.downconversion.enable", OtherName::Ignored),
    ("log.message.format.version", OtherName::Ignored),
    ("log.message.timestamp.difference.max.ms", OtherName::Ignored),
    ("offsets.commit.required.acks", OtherName::Ignored),
    ("port", OtherName::Ignored),
    ("quota.consumer.default", OtherName::Ignored),
    ("quota.producer.default", OtherName::Ignored),
    ("reserved.broker.max.id", OtherName::Ignored),
    (SUPER_USERS, OtherName::ReadWith(Feature::Acls)),
    ("zookeeper.clientCnxnSocket", OtherName::Ignored),
    (ZOOKEEPER_CONNECT, OtherName::Read),
    ("zookeeper.connection.timeout.ms", OtherName::Ignored),
    ("zookeeper.max.in.flight.requests", OtherName::Ignored),
    ("zookeeper.metadata.migration.enable", OtherName::Ignored),
    (ZOOKEEPER_SESSION_TIMEOUT, OtherName::Read),
    ("zookeeper.set.acl", NOT_BY_FILE),
    ("zookeeper.ssl.client.enable", NOT_BY_FILE),
    ("zookeeper.sync.time.ms", OtherName::Ignored),
];

impl OtherName {
    /// What becomes of a key; nothing if it is none of these.
    pub(crate) fn of(key: &str) -> Option<Self> {
        if let Ok(place) = NAMES.binary_search_by(|(name, _)| (*name).cmp(key)) {
            return NAMES.get(place).map(|(_, other)| *other);
        }
        // They say how to do what `zookeeper.ssl.client.enable` asks for.
        let is_ignored = key.starts_with("zookeeper.ssl.")
            || IGNORED_PREFIXES.iter().any(|prefix| key.starts_with(prefix));
        is_ignored.then_some(Self::Ignored)
    }

    /// All names, for the one that was meant.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_are_not_those_of_the_broker() {
        assert!(NAMES.is_sorted_by_key(|(name, _)| *name));
        for (name, other) in NAMES {
            assert_eq!(OtherName::of(name), Some(*other));
            assert!(crate::definitions::broker(name).is_none(), "{name}");
        }
        assert_eq!(OtherName::of("zookeeper.ssl.keystore.location"), Some(OtherName::Ignored));
        assert_eq!(OtherName::of("zookeeper"), None);
    }
}
