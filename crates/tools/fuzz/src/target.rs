//! What can be fuzzed, by name. Knows no driver.

use crate::targets::{
    auth, canary, command, connection, entries, kafka_codecs, kafka_connection, kafka_coordinators,
    kafka_recovery, kafka_request, kafka_sasl, names, peer, peer_canary, peer_wire, recovery,
    replication_wire, reply, request, server_properties, snapshot,
};

/// Something that takes any bytes.
pub struct Target {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What holds for any bytes, in a line.
    pub about: &'static str,
    /// Takes one input; panics when what must hold does not.
    pub run: fn(&[u8]),
    /// Inputs to begin with: whole, and of every kind.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Whether a bug was planted in it, which a driver must find.
    pub planted: bool,
}

/// All of them; the planted bugs come last.
pub const TARGETS: &[Target] = &[
    Target {
        name: "request",
        about: "requests of any operation, whole or not: decoding ends, and reads nothing that is not there",
        run: request::run,
        seeds: request::seeds,
        planted: false,
    },
    Target {
        name: "kafka-request",
        about: "requests of Kafka's clients and their record batches: decoding ends, and reads nothing that is not there",
        run: kafka_request::run,
        seeds: kafka_request::seeds,
        planted: false,
    },
    Target {
        name: "kafka-connection",
        about: "a client's bytes to a whole broker: frames, requests of all APIs and versions; others are served",
        run: kafka_connection::run,
        seeds: kafka_connection::seeds,
        planted: false,
    },
    Target {
        name: "kafka-codecs",
        about: "compressed records, bombs among them: what they become is bounded",
        run: kafka_codecs::run,
        seeds: kafka_codecs::seeds,
        planted: false,
    },
    Target {
        name: "kafka-coordinators",
        about: "records of the internal topics: read or refused, and what a coordinator writes it can read",
        run: kafka_coordinators::run,
        seeds: kafka_coordinators::seeds,
        planted: false,
    },
    Target {
        name: "kafka-recovery",
        about: "a broker's damaged directory: its store opens or says why not, and opens again",
        run: kafka_recovery::run,
        seeds: kafka_recovery::seeds,
        planted: false,
    },
    Target {
        name: "kafka-sasl",
        about: "tokens of PLAIN, SCRAM and OAUTHBEARER: nobody unknown is let in, and an exchange ends",
        run: kafka_sasl::run,
        seeds: kafka_sasl::seeds,
        planted: false,
    },
    Target {
        name: "server-properties",
        about: "files of brokers, and changes while they run: taken or refused, and no security is left out",
        run: server_properties::run,
        seeds: server_properties::seeds,
        planted: false,
    },
    Target {
        name: "names",
        about: "queries for names of objects: answered within the limits, and no answer is answered",
        run: names::run,
        seeds: names::seeds,
        planted: false,
    },
    Target {
        name: "reply",
        about: "what a server may send to a client: frames, headers, handshakes, events, results",
        run: reply::run,
        seeds: reply::seeds,
        planted: false,
    },
    Target {
        name: "command",
        about: "commands of the log: applied twice they make the same tree, and a snapshot taken meanwhile loads",
        run: command::run,
        seeds: command::seeds,
        planted: false,
    },
    Target {
        name: "snapshot",
        about: "snapshots of the tree: loaded or refused, wherever they are cut",
        run: snapshot::run,
        seeds: snapshot::seeds,
        planted: false,
    },
    Target {
        name: "recovery",
        about: "a damaged data directory: the journal opens or says why not, and what opened opens again",
        run: recovery::run,
        seeds: recovery::seeds,
        planted: false,
    },
    Target {
        name: "entries",
        about: "log entries of any content: a member starts from them or says why not",
        run: entries::run,
        seeds: entries::seeds,
        planted: false,
    },
    Target {
        name: "connection",
        about: "a client's bytes to a whole member: others are served, and a restart finds the same tree",
        run: connection::run,
        seeds: connection::seeds,
        planted: false,
    },
    Target {
        name: "peer",
        about: "a malicious member's messages to two others: they go on, and keep what they had applied",
        run: peer::run,
        seeds: peer::seeds,
        planted: false,
    },
    Target {
        name: "peer-wire",
        about: "bytes at the port between members: nobody is let in without proof, frames are cut and decoded alike",
        run: peer_wire::run,
        seeds: peer_wire::seeds,
        planted: false,
    },
    Target {
        name: "replication-wire",
        about: "messages between nodes of a replicated service: decoded in bounded memory, to the same bytes again",
        run: replication_wire::run,
        seeds: replication_wire::seeds,
        planted: false,
    },
    Target {
        name: "auth",
        about: "tokens of SASL, certificates and JAAS files: nobody unknown is let in, and an exchange ends",
        run: auth::run,
        seeds: auth::seeds,
        planted: false,
    },
    Target {
        name: "peer-canary",
        about: "a planted bug in who is let in as a member, which must be found",
        run: peer_canary::run,
        seeds: peer_wire::seeds,
        planted: true,
    },
    Target {
        name: "canary",
        about: "a planted bug, which must be found: shows that the driver bites",
        run: canary::run,
        seeds: canary::seeds,
        planted: true,
    },
];

/// The target of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Feeds the target of this name.
///
/// # Panics
/// When what must hold does not, or there is no such target.
pub fn feed(name: &str, bytes: &[u8]) {
    (find(name).expect("a target of that name").run)(bytes);
}
