//! Which files a broker starts with.

use log_config::{Given, StaticConfig};

use crate::golden;

const FILE: &[(&str, &str)] = &[
    ("process.roles", "broker,controller"),
    ("node.id", "1"),
    ("controller.quorum.voters", "1@127.0.0.1:9093"),
    ("listeners", "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"),
    ("controller.listener.names", "CONTROLLER"),
    (
        "listener.security.protocol.map",
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
    ),
    ("log.dirs", "/data"),
    // Kafka starts without a key, and fails when the first client connects.
    ("ssl.keystore.location", "/key"),
];

/// Lines that Kafka judges otherwise, with the reason.
const ON_PURPOSE: &[(&str, &str)] = &[
    ("advertised.listeners=PLAINTEXT://h:-1", PORT),
    ("advertised.listeners=PLAINTEXT://h:65536", PORT),
    ("listeners=PLAINTEXT://:65536,CONTROLLER://:9093", PORT),
    ("listeners=PLAINTEXT://h:-1,CONTROLLER://:9093", PORT),
    ("authorizer.class.name=x.Y", CLASS),
    ("replica.selector.class=x.Y", CLASS),
    ("broker.id=-1", "a number is not made up by the broker"),
    ("-node.id", "an option of the command line may give it"),
    ("-node.id broker.id=5", CONTROLLER),
    ("-process.roles", CONTROLLER),
    ("process.roles=broker,broker", CONTROLLER),
    ("controller.listener.names=CONTROLLER,FOO", CONTROLLER),
    ("controller.listener.names=PLAINTEXT", CONTROLLER),
    ("controller.quorum.voters= controller.quorum.bootstrap.servers=", CONTROLLER),
    ("controller.quorum.voters=2@h:9093", CONTROLLER),
    ("early.start.listeners=FOO", CONTROLLER),
    ("cordoned.log.dirs=*", DIRECTORY),
    ("cordoned.log.dirs=/data", DIRECTORY),
    ("log.dirs=/a,/b", DIRECTORY),
    ("listener.name.plaintext.max.connections=x", "Kafka reads it when the listener is opened"),
    ("listeners=SASL_PLAINTEXT://:9092,CONTROLLER://:9093", BETWEEN),
    (
        "listeners=SASL_PLAINTEXT://:9092,CONTROLLER://:9093 inter.broker.listener.name=SASL_PLAINTEXT \
         sasl.mechanism.inter.broker.protocol=PLAIN",
        BETWEEN,
    ),
    ("log.flush.interval.ms=-1", TOPICS),
    ("log.flush.interval.ms=-5", TOPICS),
    ("log.flush.scheduler.interval.ms=-1", TOPICS),
    ("remote.log.storage.system.enable=true", TIERED),
    ("remote.log.storage.system.enable=true log.local.retention.ms=999999999999", TIERED),
];

const PORT: &str = "Kafka fails when it opens the port";
const CLASS: &str = "Kafka fails when it loads the class; here no class is loaded";
const CONTROLLER: &str = "there is no controller here that could be configured wrongly";
const DIRECTORY: &str = "a broker has one directory";
const BETWEEN: &str = "brokers do not speak to each other at a listener";
const TOPICS: &str = "Kafka fails when it opens the first topic";
const TIERED: &str = "there is no tiered storage";

fn file(lines: &[String]) -> String {
    let kept = FILE.iter().filter(|(key, _)| {
        !lines.iter().any(|line| line.strip_prefix('-').unwrap_or(line).split('=').next() == Some(key))
    });
    let kept = kept.map(|(key, value)| format!("{key}={value}"));
    kept.chain(lines.iter().filter(|line| !line.starts_with('-')).cloned()).collect::<Vec<_>>().join("\n")
}

#[test]
fn files_are_taken_that_kafka_takes() {
    let given = Given { tls: true, sasl_mechanisms: &["PLAIN", "GSSAPI", "FOO"], acls: true };
    let mut wrong = Vec::new();
    let files = golden("files.tsv");
    assert!(files.len() > 200);
    for line in files {
        let ours = StaticConfig::read(file(&line[1..]).as_bytes(), &given);
        let is_on_purpose = ON_PURPOSE.iter().any(|(lines, _)| line[1..].join(" ") == *lines);
        if (ours.is_ok() == (line[0] == "taken")) == is_on_purpose {
            wrong.push(format!("{}: {ours:?}", line.join(" ")));
        }
    }
    assert!(ON_PURPOSE.iter().all(|(_, reason)| !reason.is_empty()));
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
