//! Where what lies, below the path that the brokers of a cluster share.

/// Everything of the log.
pub const ROOT: &str = "/log";
/// The id of the cluster.
pub const CLUSTER: &str = "/log/cluster";
/// A node for each topic, by its name.
pub const TOPICS: &str = "/log/topics";
/// How many topics were ever deleted, by the version of its data. A topic's node may be deleted and made anew with the version that it
/// had; who changes or deletes one makes sure that none was deleted since it was read.
pub const TOPIC_DELETIONS: &str = "/log/topic-deletions";
/// The next producer id that no broker has.
pub const PRODUCER_IDS: &str = "/log/producer-ids";
/// A node for each user of SCRAM.
pub const USERS: &str = "/log/users";
/// A node for each pattern that has rules.
pub const ACLS: &str = "/log/acls";
/// A node for each entity that has quotas.
pub const QUOTAS: &str = "/log/quotas";
/// What all brokers of the cluster know and nobody else: 32 bytes in base64.
pub const SECRET: &str = "/log/secret";
/// What brokers prove to each other when they connect: 32 bytes in base64. Not [`SECRET`], whose keyed hashes clients see as
/// salts of users that they name: no answer to a client may be a proof to a broker.
pub const LINKS_SECRET: &str = "/log/links-secret";
/// An ephemeral node for each broker that runs, by its number.
pub const BROKERS: &str = "/log/brokers/ids";
/// The id of each broker's directory, by the broker's number.
pub const DIRECTORIES: &str = "/log/brokers/directories";

/// What is set for brokers while they run, by their numbers, and for all of them ([`ALL_BROKERS`]).
pub const BROKER_CONFIGS: &str = "/log/configs/brokers";
/// The name of the node below [`BROKER_CONFIGS`] that is for all brokers.
pub const ALL_BROKERS: &str = "default";
/// What groups set, by their names.
pub const GROUP_CONFIGS: &str = "/log/configs/groups";
/// What subscriptions to client metrics set, by their names.
pub const CLIENT_METRICS_CONFIGS: &str = "/log/configs/client-metrics";

/// The node of a topic.
#[must_use]
pub fn topic(name: &str) -> String {
    format!("{TOPICS}/{name}")
}

/// The topic whose node this is.
#[must_use]
pub fn topic_of(path: &str) -> Option<&str> {
    child_of(path, TOPICS)
}

/// The name of a child of a node.
#[must_use]
pub fn child_of<'p>(path: &'p str, parent: &str) -> Option<&'p str> {
    let name = path.strip_prefix(parent)?.strip_prefix('/')?;
    (!name.is_empty() && !name.contains('/')).then_some(name)
}

/// The node of a broker that runs.
#[must_use]
pub fn broker(id: i32) -> String {
    format!("{BROKERS}/{id}")
}

/// The broker whose node this is.
#[must_use]
pub fn broker_of(path: &str) -> Option<i32> {
    child_of(path, BROKERS)?.parse().ok()
}

/// The node of a broker's directory.
#[must_use]
pub fn directory(broker: i32) -> String {
    format!("{DIRECTORIES}/{broker}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broker_is_told_from_its_node_and_from_no_other() {
        assert_eq!(broker_of(&broker(7)), Some(7));
        for other in [BROKERS, "/log/brokers/ids/x", "/log/brokers/ids/7/8", "/log/brokers/directories/7"] {
            assert_eq!(broker_of(other), None, "{other}");
        }
    }

    #[test]
    fn topic_is_told_from_its_node_and_from_no_other() {
        assert_eq!(topic_of(&topic("a.b")), Some("a.b"));
        for other in [TOPICS, "/log/topics/", "/log/topics/a/b", "/log/topicsa", "/log/cluster"] {
            assert_eq!(topic_of(other), None, "{other}");
        }
    }
}
