//! Files of operators: what is read of them, what they are warned of, and why a broker does not start with one.

use log_config::{Advertised, ClientAuth, Council, Given, Problem, Protocol, StaticConfig};

const ALL: Given<'_> = Given { tls: true, sasl_mechanisms: &["PLAIN", "SCRAM-SHA-512"], acls: true };

fn read(text: &str) -> StaticConfig {
    StaticConfig::read(text.as_bytes(), &Given::default()).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn problems(text: &str, given: &Given<'_>) -> Vec<Problem> {
    StaticConfig::read(text.as_bytes(), given).expect_err("a broker does not start with it")
}

/// The one problem of a file, as its operator sees it.
fn problem(text: &str, given: &Given<'_>) -> String {
    let problems = problems(text, given);
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    problem.to_string()
}

#[test]
fn empty_file_starts_a_broker_with_kafkas_listener() {
    let config = read("");
    let [listener] = &config.listeners[..] else { panic!("{config:?}") };
    assert_eq!((listener.name.as_str(), listener.protocol), ("PLAINTEXT", Protocol::Plaintext));
    assert_eq!((&listener.host, listener.port), (&None, 9092));
    assert_eq!(listener.advertised, Some(Advertised { host: None, port: Some(9092) }));
    assert_eq!((config.node_id, config.directory, config.council), (None, None, None));
    assert!(config.warnings.is_empty() && config.file.is_empty());
}

#[test]
fn file_of_a_kraft_broker_is_taken() {
    let config = read(
        "process.roles=broker,controller\n\
         node.id=4\n\
         controller.quorum.bootstrap.servers=localhost:9093\n\
         listeners=PLAINTEXT://:9092,CONTROLLER://:9093\n\
         inter.broker.listener.name=PLAINTEXT\n\
         advertised.listeners=PLAINTEXT://one.example:9092,CONTROLLER://one.example:9093\n\
         controller.listener.names=CONTROLLER\n\
         listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL\n\
         num.network.threads=3\n\
         num.io.threads=16\n\
         log.dirs=/var/kafka\n\
         num.partitions=6\n\
         num.recovery.threads.per.data.dir=1\n\
         offsets.topic.replication.factor=1\n\
         log.retention.hours=24\n\
         broker.rack=a\n",
    );
    let [listener] = &config.listeners[..] else { panic!("{config:?}") };
    let advertised = Advertised { host: Some("one.example".into()), port: Some(9092) };
    assert_eq!((listener.name.as_str(), &listener.advertised), ("PLAINTEXT", &Some(advertised)));
    assert_eq!((config.node_id, config.rack.as_deref()), (Some(4), Some("a")));
    assert_eq!(config.directory.as_deref(), Some("/var/kafka"));
    assert_eq!(config.file.get("broker.id").map(String::as_str), Some("4"));
    assert_eq!(
        config.warnings,
        [
            "ignored, for they have no effect here: `num.io.threads`, \
             `num.recovery.threads.per.data.dir`",
            "ignored, for the council does the controller's work: `controller.quorum.bootstrap.servers`",
        ]
    );
}

#[test]
fn file_of_a_broker_on_zookeeper_is_taken() {
    let config = read(
        "broker.id=0\n\
         log.dirs=/tmp/kafka-logs\n\
         zookeeper.connect=a:2181,b,[::1]:2182/kafka/one/\n\
         zookeeper.connection.timeout.ms=18000\n\
         zookeeper.session.timeout.ms = 9000\n\
         inter.broker.protocol.version=3.6\n\
         delete.topic.enable=false\n",
    );
    let council = Council {
        servers: ["a:2181", "b:2181", "[::1]:2182"].map(String::from).into(),
        path: Some("/kafka/one".into()),
        session_timeout_ms: Some(9_000),
    };
    assert_eq!((config.node_id, config.council), (Some(0), Some(council)));
    assert_eq!(
        config.warnings,
        ["ignored, for they have no effect here: `zookeeper.connection.timeout.ms`, \
          `inter.broker.protocol.version`"]
    );
}

#[test]
fn council_has_to_be_named_as_servers_and_a_path() {
    for wrong in ["", "/path", "a:0", "a:x", ":1", "a:1/b//c", "a:1/../b"] {
        let shown = problem(&format!("zookeeper.connect={wrong}"), &ALL);
        assert!(shown.starts_with("`zookeeper.connect` (line 1) ") && shown.contains("\nhint: "), "{shown}");
    }
    assert_eq!(read("zookeeper.connect=a:1/").council.and_then(|council| council.path), None);
}

#[test]
fn likely_mistakes_are_named_with_what_was_meant() {
    let config = read(
        "num.partition=3\nretention.ms=5\nleader.replication.throttled.replicas=*\nfoo.bar=1\nport=9\nport=8\nport=7",
    );
    assert_eq!(
        config.warnings,
        [
            "`port` is set in line 5 and in line 6: line 6 counts",
            "`port` is set in line 6 and in line 7: line 7 counts",
            "`num.partition` (line 1) is unknown and ignored: did you mean `num.partitions`?",
            "`retention.ms` (line 2) is ignored, for it is a configuration of topics: for the broker it is \
             `log.retention.ms`",
            "`leader.replication.throttled.replicas` (line 3) is ignored, for it is a configuration of topics",
            "`foo.bar` (line 4) is unknown and ignored",
            "ignored, for they have no effect here: `port`",
        ]
    );
    assert_eq!(config.file.get("port").map(String::as_str), Some("7"));
}

#[test]
fn all_problems_are_told_at_once() {
    let problems = problems("num.partitions=x\n\nlog.segment.bytes=1\nlog.dirs=/a,/b\n", &ALL);
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "`log.segment.bytes` (line 3) has the value `1`, which is below 1048576, the least",
            "`num.partitions` (line 1) has the value `x`, which is no whole number of 32 bits",
            "`log.dirs` (line 4) names 2 directories, and a broker has one\n\
             hint: name one of them; to use several disks, join them below it (LVM, RAID, ZFS)",
        ]
    );
}

#[test]
fn security_that_is_not_given_refuses_the_start() {
    let none = Given::default();
    for (text, starts) in [
        (
            "listeners=SSL://:9093",
            "`listeners` (line 1) has `SSL` with TLS, which this broker does not serve",
        ),
        (
            "listeners=SASL_PLAINTEXT://:9093\nsasl.enabled.mechanisms=PLAIN",
            "`listeners` (line 1) asks for the mechanism `PLAIN` at `SASL_PLAINTEXT`, which is not served",
        ),
        (
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "`authorizer.class.name` (line 1) asks for access control lists",
        ),
        (
            "zookeeper.ssl.client.enable=true",
            "`zookeeper.ssl.client.enable` (line 1) is not taken from this file",
        ),
        ("zookeeper.set.acl=TRUE", "`zookeeper.set.acl` (line 1) is not taken from this file"),
        ("delegation.token.secret.key=k", "`delegation.token.secret.key` (line 1) is not taken"),
        ("delegation.token.master.key=k", "`delegation.token.master.key` (line 1) is not taken"),
        ("principal.builder.class=a.B", "`principal.builder.class` (line 1) is not taken"),
        ("ssl.engine.factory.class=a.B", "`ssl.engine.factory.class` (line 1) is not taken"),
        ("security.providers=a.B", "`security.providers` (line 1) is not taken"),
    ] {
        let shown = problem(text, &none);
        assert!(shown.starts_with(starts) && shown.contains("\nhint: "), "{shown}");
    }
}

#[test]
fn mechanism_that_is_not_given_is_named_beside_those_that_are() {
    let shown = problem("listeners=SASL_PLAINTEXT://:9093", &ALL);
    assert_eq!(
        shown,
        "`sasl.enabled.mechanisms` asks for the mechanism `GSSAPI` at `SASL_PLAINTEXT`, which is not served\n\
         hint: this broker serves PLAIN, SCRAM-SHA-512"
    );
    let empty = problem("listeners=SASL_PLAINTEXT://:9093\nsasl.enabled.mechanisms=", &ALL);
    assert!(empty.contains("nobody could authenticate"), "{empty}");
}

const SECURED: &[u8] = b"listeners=IN://:9092,OUT://:9093\n\
          advertised.listeners=OUT://h:9093\n\
          listener.security.protocol.map=IN:SASL_PLAINTEXT,OUT:SASL_SSL\n\
          sasl.enabled.mechanisms=PLAIN\n\
          listener.name.out.sasl.enabled.mechanisms=SCRAM-SHA-512,PLAIN\n\
          listener.name.in.plain.sasl.jaas.config=of-in;\n\
          sasl.jaas.config=of-all;\n\
          ssl.client.auth=requested\n\
          listener.name.out.ssl.client.auth=required\n\
          ssl.keystore.location=/all.jks\n\
          listener.name.out.ssl.keystore.location=/out.p12\n\
          listener.name.out.ssl.keystore.type=PKCS12\n\
          ssl.keystore.password=pw\n\
          connections.max.reauth.ms=60000\n\
          authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n\
          super.users=User:a; User:CN=b,O=c\n\
          allow.everyone.if.no.acl.found=True\n";

#[test]
fn listener_has_the_security_that_is_set_for_it() {
    let config = StaticConfig::read(SECURED, &ALL).unwrap_or_else(|problems| panic!("{problems:?}"));
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    let [inside, outside] = &config.security[..] else { panic!("{config:?}") };
    let jaas = |own: &log_config::ListenerSecurity| {
        let sasl = own.sasl.as_ref().expect("it has SASL");
        assert_eq!((sasl.receive_bytes_max, sasl.reauthentication_ms), (524_288, Some(60_000)));
        let secret = |secret: &Option<base::Secret>| secret.as_ref().map(|secret| secret.0.clone());
        sasl.mechanisms.iter().map(|(name, jaas)| (name.clone(), secret(jaas))).collect::<Vec<_>>()
    };
    assert!(inside.tls.is_none());
    assert_eq!(jaas(inside), [("PLAIN".into(), Some("of-in;".into()))]);
    let of_all = Some(String::from("of-all;"));
    assert_eq!(jaas(outside), [("SCRAM-SHA-512".into(), of_all.clone()), ("PLAIN".into(), of_all)]);
    let tls = outside.tls.as_ref().expect("it has TLS");
    assert_eq!((tls.client_auth, tls.key_store.kind.as_str()), (ClientAuth::Required, "PKCS12"));
    assert_eq!(tls.key_store.location.as_deref(), Some("/out.p12"));
    assert_eq!(tls.key_store.password, Some(base::Secret("pw".into())));
    assert_eq!(tls.protocols, ["TLSv1.2", "TLSv1.3"]);
    let authorizer = config.authorizer.as_ref().expect("there is one");
    assert_eq!(authorizer.super_users, ["User:a", "User:CN=b,O=c"]);
    assert!(authorizer.allows_what_no_acl_names);
    assert_eq!(config.listeners[0].advertised, None);
    let shown = format!("{config:?}");
    assert!(!shown.contains("of-all") && !shown.contains("\"pw\""), "{shown}");
}

#[test]
fn security_that_no_listener_uses_is_named_as_ignored() {
    let config = read(
        "ssl.keystore.location=/k\nssl.client.auth=none\nsuper.users=User:a\nsasl.enabled.mechanisms=PLAIN\n\
         listener.name.x.ssl.client.auth=required\nlistener.name.plaintext.max.connections=5\n",
    );
    assert_eq!(
        config.warnings,
        ["ignored, for they have no effect here: `ssl.keystore.location`, `super.users`, \
          `sasl.enabled.mechanisms`, `listener.name.x.ssl.client.auth`"],
        "and the limit of the one listener is kept"
    );
}

#[test]
fn tls_without_a_key_refuses_the_start() {
    let shown = problem("listeners=SSL://:9093", &ALL);
    assert!(shown.contains("there is no key for it\nhint: set `ssl.keystore.location`"), "{shown}");
    let pem =
        "listeners=SSL://:9093\nssl.keystore.type=PEM\nssl.keystore.key=k\nssl.keystore.certificate.chain=c";
    assert!(StaticConfig::read(pem.as_bytes(), &ALL).is_ok());
}

#[test]
fn secrets_are_not_repeated_in_problems() {
    let text = "ssl.keystore.password=hush\nlisteners=SSL://:9093\nsuper.users=hush\nnum.partitions=0";
    assert!(problems(text, &Given::default()).iter().all(|problem| !problem.to_string().contains("hush")));
}

#[test]
fn process_that_is_a_controller_only_is_not_needed() {
    let shown = problem("process.roles=controller\nnode.id=1", &ALL);
    assert!(shown.contains("names no `broker`\nhint: the council does"), "{shown}");
}

#[test]
fn options_of_the_command_line_count_before_the_file() {
    let mut properties = log_config::properties::read(b"num.partitions=3\nnode.id=1").expect("it is a file");
    let option = |key: &str, value: &str| log_config::properties::Property {
        key: key.into(),
        value: value.into(),
        line: 0,
    };
    properties.extend([option("num.partitions", "4"), option("log.dirs", "/d")]);
    let config = StaticConfig::of(&properties, &ALL).unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(config.file.get("num.partitions").map(String::as_str), Some("4"));
    assert!(config.directory.as_deref() == Some("/d") && config.warnings.is_empty());
    properties.push(option("num.partitions", "x"));
    let problems = StaticConfig::of(&properties, &ALL).expect_err("it is no number");
    assert_eq!(
        problems[0].to_string(),
        "`num.partitions` has the value `x`, which is no whole number of 32 bits"
    );
}

#[test]
fn file_that_cannot_be_read_is_told_with_its_line() {
    let shown = problem("a=b\nc=\\u12", &ALL);
    assert!(shown.starts_with("line 2 of the file cannot be read: "), "{shown}");
}
