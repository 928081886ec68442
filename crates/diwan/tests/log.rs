//! `diwan topic`, `produce`, `consume` and `group` on a live broker, its own or the one that `KAFKA_CONNECT` names.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod server;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use server::{Folder, Server, diwan, said};

/// A broker on a council.
struct Broker {
    address: String,
    /// Where its metrics are.
    metrics: Option<String>,
    _own: Option<(Running, Server, Folder)>,
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Broker {
    fn start() -> Self {
        if let Ok(address) = std::env::var("KAFKA_CONNECT") {
            return Self { address, metrics: None, _own: None };
        }
        // Clients are told the port that the system chooses: every test here depends on it.
        Self::own(&["--listen", "127.0.0.1:0"])
    }

    fn own(options: &[&str]) -> Self {
        let (council, folder) = (Server::start(), Folder::new());
        let mut command = diwan();
        command.args(["log", "--metrics", "127.0.0.1:0"]).args(options);
        command.args(["--council", &council.address(), "--data-dir"]);
        let mut child = command.arg(folder.path()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let ready = lines.by_ref().find_map(|line| {
            let (_, after) = line.split_once("ready address=")?;
            let (address, after) = after.split_once(" metrics=\"")?;
            Some((String::from(address), String::from(after.split('"').next()?)))
        });
        let (address, metrics) = ready.expect("the broker is ready");
        std::thread::spawn(move || lines.for_each(drop));
        Self { address, metrics: Some(metrics), _own: Some((Running(child), council, folder)) }
    }

    fn run(&self, arguments: &[&str], input: &str) -> (bool, String, String) {
        let mut command = diwan();
        command.env("DIWAN_BOOTSTRAP_SERVER", &self.address).args(arguments);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        said(child.wait_with_output().unwrap())
    }

    /// The output of what goes well.
    fn done(&self, line: &str) -> String {
        let (fine, out, errors) = self.run(&line.split(' ').collect::<Vec<_>>(), "");
        assert!(fine, "{line}: {errors}");
        out
    }

    /// The errors of what does not.
    fn refused(&self, line: &str) -> String {
        let (fine, out, errors) = self.run(&line.split(' ').collect::<Vec<_>>(), "");
        assert!(!fine, "{line}: {out}");
        errors
    }
}

#[test]
fn topics_are_made_listed_and_deleted() {
    let broker = Broker::start();
    assert_eq!(broker.done("topic create orders --partitions 3"), "topic `orders` is created\n");
    let errors = broker.refused("topic create orders");
    assert!(errors.contains("TOPIC_ALREADY_EXISTS") && errors.contains("hint: "), "{errors}");
    broker.done("topic create orders --if-not-exists");
    assert_eq!(broker.done("topic list"), "TOPIC   PARTITIONS  REPLICAS\norders  3           1\n");
    let listed: serde_json::Value = serde_json::from_str(&broker.done("topic list --json")).unwrap();
    assert_eq!((&listed[0]["topic"], &listed[0]["partitions"]), (&"orders".into(), &3.into()));
    broker.done("topic delete orders");
    assert!(broker.refused("topic delete orders").contains("UNKNOWN_TOPIC_OR_PARTITION"));
    broker.done("topic delete orders --if-exists");
}

#[test]
fn topics_are_described_and_altered() {
    let broker = Broker::start();
    broker.done("topic create orders --partitions 2 --config retention.ms=60000");
    let described = |broker: &Broker| -> serde_json::Value {
        serde_json::from_str(&broker.done("topic describe orders --json")).unwrap()
    };
    let before = described(&broker);
    assert_eq!(before[0]["settings"]["retention.ms"], "60000");
    assert_eq!(before[0]["partitions"].as_array().unwrap().len(), 2);

    broker.done("topic alter orders --partitions 5 --set cleanup.policy=compact --unset retention.ms");
    let after = described(&broker);
    assert_eq!(after[0]["id"], before[0]["id"]);
    assert_eq!(after[0]["settings"]["cleanup.policy"], "compact");
    assert!(after[0]["settings"].get("retention.ms").is_none(), "{after}");
    assert_eq!(after[0]["partitions"].as_array().unwrap().len(), 5);
    assert!(broker.done("topic describe orders --all-settings").contains("retention.ms=604800000"));

    for (change, error) in [
        ("orders --partitions 3", "INVALID_PARTITIONS"),
        ("orders --set retention.ms=soon", "INVALID_CONFIG"),
        ("orders --set no.such=1", "INVALID_CONFIG"),
        ("nowhere --set retention.ms=1", "UNKNOWN_TOPIC_OR_PARTITION"),
    ] {
        let errors = broker.refused(&format!("topic alter {change}"));
        assert!(errors.contains(error), "{change}: {errors}");
    }
    assert_eq!(described(&broker), after);
}

#[test]
fn lines_become_records_and_are_printed() {
    let broker = Broker::start();
    broker.done("topic create letters --partitions 1");
    let produce = ["produce", "letters", "-K", ":", "-Z", "none", "-H", "from=test"];
    let (fine, _, errors) = broker.run(&produce, "a:one\nb:none\nc:three:3");
    assert!(fine && errors == "3 records are acknowledged\n", "{errors}");
    let (fine, _, errors) = broker.run(&produce, "d:4\nno separator\n");
    assert!(!fine && errors.contains("line 2") && errors.contains("1 record is acknowledged"), "{errors}");

    let printed = broker.done(r"consume letters --format %o/%k/%s/%S/%h\n");
    assert_eq!(
        printed,
        "0/a/one/3/from=test\n1/b//-1/from=test\n2/c/three:3/7/from=test\n3/d/4/1/from=test\n"
    );
    assert_eq!(broker.done("consume letters --offset -2 -n 1"), "three:3\n");
    assert_eq!(broker.done("consume letters --since 1h -n 1"), "one\n");
    let line: serde_json::Value =
        serde_json::from_str(&broker.done("consume letters --json -o 1 -n 1")).unwrap();
    assert_eq!((&line["key"], &line["value"]), (&"b".into(), &serde_json::Value::Null));
    assert!(broker.refused("consume nowhere").contains("diwan topic list"));
}

#[test]
fn a_group_goes_on_where_it_stopped_and_is_set_back() {
    let broker = Broker::start();
    broker.done("topic create work --partitions 2");
    broker.run(&["produce", "work", "-p", "0"], "one\ntwo\n");
    assert_eq!(broker.done("consume work --group audit -n 1"), "one\n");

    let mut command = diwan();
    let follow = ["consume", "work", "--group", "audit", "-f", "-b", &broker.address];
    let mut reader = command.args(follow).spawn().unwrap();
    let mut lines = BufReader::new(reader.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "two");
    let shown: serde_json::Value = serde_json::from_str(&broker.done("group describe audit --json")).unwrap();
    assert_eq!((&shown[0]["state"], &shown[0]["protocol"]), (&"Stable".into(), &"classic".into()));
    assert!(broker.refused("group delete audit").contains("NON_EMPTY_GROUP"));
    let set_back = "group reset-offsets audit --topic work --to-earliest --execute";
    assert!(broker.refused(set_back).contains("the group has members"));
    // A member that is asked to stop leaves at once.
    kill_process(Pid::from_child(&reader), Signal::INT).unwrap();
    assert!(reader.wait().unwrap().success());

    assert!(broker.done("group list").contains("audit  Empty"));
    let shown = broker.done("group describe audit");
    assert!(shown.contains("work   0          2          2    0    -"), "{shown}");
    let (_, shown, told) = broker.run(&set_back.split(' ').take(6).collect::<Vec<_>>(), "");
    assert!(
        shown.contains("work   0          2           0") && told.contains("nothing is changed"),
        "{told}"
    );
    broker.done(set_back);
    assert_eq!(broker.done("consume work --group audit"), "one\ntwo\n");
    broker.done("group delete audit");
    assert!(broker.refused("group describe audit").contains("GROUP_ID_NOT_FOUND"));
}

#[test]
fn metrics_show_traffic_and_the_lag_of_a_group() {
    let broker = Broker::start();
    // A Kafka has none.
    let Some(metrics) = broker.metrics.clone() else { return };
    broker.done("topic create orders --partitions 1");
    assert!(broker.run(&["produce", "orders"], "one\ntwo\nthree\n").0);
    broker.done("consume orders --group billing --max 2");
    let get = |path: &str| {
        let mut stream = std::net::TcpStream::connect(&metrics).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        std::io::read_to_string(stream).unwrap()
    };
    let page = get("/metrics");
    for line in [
        "kafka_server_brokertopicmetrics_messagesin_total{topic=\"orders\"} 3",
        "kafka_consumergroup_lag{consumergroup=\"billing\",topic=\"orders\",partition=\"0\"} 1",
    ] {
        assert!(page.lines().any(|other| other == line), "{line} is missing in:\n{page}");
    }
    assert!(get("/readyz").starts_with("HTTP/1.1 200"));
}

#[test]
fn the_shell_completes_names_of_topics() {
    let broker = Broker::start();
    broker.done("topic create orders");
    let mut command = diwan();
    command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "5").env("_CLAP_IFS", "\n");
    command.args(["--", "diwan", "topic", "describe", "-b", &broker.address, "or"]);
    let (_, out, errors) = said(command.output().unwrap());
    assert_eq!(out.trim(), "orders", "{errors}");
}

#[test]
fn a_broker_that_is_not_there_is_told_with_a_hint() {
    let mut command = diwan();
    let (fine, _, errors) =
        said(command.args(["topic", "list", "--bootstrap-server", "127.0.0.1:1"]).output().unwrap());
    assert!(!fine && errors.contains("127.0.0.1:1") && errors.contains("--bootstrap-server"), "{errors}");
}

#[test]
fn secured_broker_is_used_with_the_properties_of_a_kafka_client() {
    let folder = Folder::new();
    let store = folder.path().join("certs");
    let made =
        diwan().args(["certificates", "--member", "1=127.0.0.1", "--dir"]).arg(&store).output().unwrap();
    assert!(made.status.success());
    let module = "org.apache.kafka.common.security.plain.PlainLoginModule required";
    let server = folder.path().join("server.properties");
    let keys = store.join("member-1.pem");
    let text = format!(
        "listeners=SASL_SSL://127.0.0.1:0\nssl.keystore.type=PEM\nssl.keystore.location={}\n\
         sasl.enabled.mechanisms=PLAIN\nlistener.name.sasl_ssl.plain.sasl.jaas.config={module} user_bob=\"secret\";\n",
        keys.display()
    );
    std::fs::write(&server, text).unwrap();
    let broker = Broker::own(&["--config", server.to_str().unwrap()]);
    let client = |name: &str, password: &str| {
        let file = folder.path().join(name);
        let text = format!(
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nssl.truststore.type=PEM\nssl.truststore.location={}\n\
             sasl.jaas.config={module} username=\"bob\" password=\"{password}\";\n",
            store.join("ca.pem").display()
        );
        std::fs::write(&file, text).unwrap();
        format!("--command-config {}", file.display())
    };
    let (right, wrong) = (client("right", "secret"), client("wrong", "guessed"));
    broker.done(&format!("topic create orders {right}"));
    let line = format!("produce orders {right}");
    assert!(broker.run(&line.split(' ').collect::<Vec<_>>(), "one\ntwo\n").0);
    assert_eq!(broker.done(&format!("consume orders {right}")), "one\ntwo\n");
    assert!(broker.done(&format!("group list {right}")).contains("GROUP"));
    let errors = broker.refused(&format!("topic list {wrong}"));
    assert!(
        errors.contains("SASL_AUTHENTICATION_FAILED") && errors.contains("user and password"),
        "{errors}"
    );
    let errors = broker.refused("topic list");
    assert!(errors.contains("--command-config"), "{errors}");
}

#[test]
fn keys_of_a_broker_are_read_again_at_a_signal() {
    let folder = Folder::new();
    let store = folder.path().join("certs");
    let made =
        diwan().args(["certificates", "--member", "1=127.0.0.1", "--dir"]).arg(&store).output().unwrap();
    assert!(made.status.success());
    let council = Server::start();
    let alone = ["log", "--council", &council.address(), "--data-dir"].map(String::from).to_vec();
    let beside = "serve --objects off --listen 127.0.0.1:0 --metrics off --admin off --data-dir";
    let beside: Vec<_> = beside.split(' ').map(String::from).collect();
    for (prefix, data, arguments) in [("", "a", alone), ("log.", "b", beside)] {
        let keys = store.join(format!("{data}.pem"));
        std::fs::copy(store.join("member-1.pem"), &keys).unwrap();
        let settings = [
            String::from("listeners=SSL://127.0.0.1:0"),
            String::from("ssl.keystore.type=PEM"),
            format!("ssl.keystore.location={}", keys.display()),
        ];
        let mut command = diwan();
        command.args(arguments).arg(folder.path().join(data));
        for setting in &settings {
            command.args(["-D", &format!("{prefix}{setting}")]);
        }
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut child = Running(child);
        let signal = |child: &Running, signal| kill_process(Pid::from_child(&child.0), signal).unwrap();
        let ready = if prefix.is_empty() { "ready address=" } else { "the log is ready" };
        let mut told = |part: &str| lines.any(|line| line.contains(part));
        assert!(told(ready), "{data}");
        signal(&child, Signal::HUP);
        assert!(told("keys and certificates were read again"), "{data}");
        std::fs::write(&keys, "none").unwrap();
        signal(&child, Signal::HUP);
        assert!(told("those read before stay in force"), "{data}");
        signal(&child, Signal::TERM);
        assert!(told("asked to stop"), "{data}");
        std::thread::spawn(move || lines.for_each(drop));
        assert!(child.0.wait().unwrap().success(), "{data}");
    }
}
