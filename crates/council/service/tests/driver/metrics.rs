//! Metrics: every name that a ZooKeeper shows, and what moves them.

use std::collections::{BTreeMap, BTreeSet};

use council_service::Server;
use council_wire::OpCode;

use crate::fixture::{Client, Directory, get, until, word};

/// One of ZooKeeper's metrics.
struct Metric {
    name: &'static str,
    kind: &'static str,
    by_key: bool,
}

fn zookeepers() -> Vec<Metric> {
    let lines = include_str!("zookeeper_metrics.txt").lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut words = line.split(' ');
            let (name, kind) = (words.next().unwrap(), words.next().unwrap());
            Metric { name, kind, by_key: words.next() == Some("by-key") }
        })
        .collect()
}

impl Metric {
    /// Its names in `mntr`.
    fn keys(&self) -> Vec<String> {
        let basic = ["avg", "min", "max", "cnt", "sum"];
        let percentiles: &[_] = if self.kind == "detailed" { &["p50", "p95", "p99", "p999"] } else { &[] };
        match self.kind {
            "gauge" | "counter" => vec![format!("zk_{}", self.name)],
            "summary" | "detailed" => {
                basic.iter().chain(percentiles).map(|prefix| format!("zk_{prefix}_{}", self.name)).collect()
            }
            kind => panic!("{kind} is no kind of metric"),
        }
    }
}

fn mntr(server: &Server) -> BTreeMap<String, String> {
    let lines = word(server, b"mntr");
    lines.lines().map(|line| line.split_once('\t').unwrap()).map(|(k, v)| (k.into(), v.into())).collect()
}

pub(crate) fn number(server: &Server, key: &str) -> f64 {
    mntr(server).get(key).unwrap_or_else(|| panic!("no {key}")).parse().unwrap()
}

/// A sample of the page, by its name and labels.
pub(crate) fn on_page(server: &Server, name: &str) -> f64 {
    let (_, page) = get(server.http_addr().unwrap(), "/metrics");
    let sample = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    sample.unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
}

#[test]
fn mntr_has_every_key_of_zookeepers_and_beside_them_only_our_own() {
    let directory = Directory::new();
    let server = Server::start(directory.config()).unwrap();
    let shown: BTreeSet<String> = mntr(&server).into_keys().collect();
    let mut expected: BTreeSet<_> =
        zookeepers().iter().filter(|metric| !metric.by_key).flat_map(Metric::keys).collect();
    expected.extend(["zk_version", "zk_server_state"].map(String::from));
    let missing: Vec<_> = expected.difference(&shown).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let ours = |key: &&String| {
        key.contains("diwan_") || key.starts_with("zk_process_") || *key == "zk_fsync_threshold_exceed_count"
    };
    let strange: Vec<_> = shown.difference(&expected).filter(|key| !ours(key)).collect();
    assert!(strange.is_empty(), "{strange:?}");
}

#[test]
fn prometheus_sees_zookeepers_names_and_types() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.metrics.address = Some(([127, 0, 0, 1], 0).into());
    let server = Server::start(config).unwrap();
    let (_, page) = get(server.http_addr().unwrap(), "/metrics");
    for metric in zookeepers().iter().filter(|metric| !metric.by_key) {
        let kind = if metric.kind == "detailed" { "summary" } else { metric.kind };
        let line = format!("# TYPE {} {kind}", metric.name);
        assert!(page.lines().any(|other| other == line), "{line} is missing");
    }
}

#[test]
fn what_is_read_and_written_counts_for_the_first_name_of_its_path() {
    let directory = Directory::new();
    let server = Server::start(directory.config()).unwrap();
    let mut client = Client::connect(&server);
    assert_eq!(client.create("/m", b"1234", 0), 0);
    assert_eq!(client.create("/m/n", b"", 0), 0);
    assert_eq!(client.get("/m").unwrap(), b"1234");
    // Bytes of path and data; a read has 68 of Stat besides.
    assert_eq!(number(&server, "zk_sum_m_write_per_namespace"), 6.0 + 4.0);
    assert_eq!(number(&server, "zk_cnt_m_write_per_namespace"), 2.0);
    assert_eq!(number(&server, "zk_sum_m_read_per_namespace"), 6.0 + 68.0);
}

#[test]
fn writes_are_counted_on_their_way() {
    let directory = Directory::new();
    let server = Server::start(directory.config()).unwrap();
    let mut client = Client::connect(&server);
    for number in 0..10 {
        assert_eq!(client.create(&format!("/m{number}"), b"", 0), 0);
    }
    for key in [
        "zk_prep_processor_request_queued",
        "zk_cnt_prep_processor_queue_time_ms",
        "zk_cnt_prep_process_time",
        "zk_cnt_proposal_process_time",
        "zk_sync_processor_request_queued",
        "zk_cnt_sync_processor_queue_time_ms",
        "zk_cnt_sync_process_time",
        "zk_sum_sync_processor_batch_size",
        "zk_cnt_sync_processor_queue_and_flush_time_ms",
        "zk_cnt_propagation_latency",
    ] {
        // Ten creates, and the session's.
        assert!(number(&server, key) >= 11.0, "{key}: {}", number(&server, key));
    }
}

#[test]
fn a_client_that_goes_without_a_word_is_counted_and_one_that_closes_its_session_is_not() {
    let directory = Directory::new();
    let server = Server::start(directory.config()).unwrap();
    let mut polite = Client::connect(&server);
    assert_eq!(polite.ask(OpCode::CloseSession, |_| {}).0, 0);
    let rude = Client::connect(&server);
    drop((polite, rude));
    until("both are gone", || {
        number(&server, "zk_num_alive_connections") <= 1.0
            && number(&server, "zk_connection_drop_count") >= 1.0
    });
    assert_eq!(number(&server, "zk_connection_drop_count"), 1.0);
    assert_eq!(number(&server, "zk_connection_request_count"), 2.0);
}

#[test]
fn watchers_are_counted_by_what_they_were_told() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.listen.shards = 1;
    let server = Server::start(config).unwrap();
    let mut clients = [Client::connect(&server), Client::connect(&server)];
    assert_eq!(clients[0].create("/w", b"", 0), 0);
    for client in &mut clients {
        let (error, _) = client.ask(OpCode::GetData, |writer| {
            writer.text("/w").bool(true);
        });
        assert_eq!(error, 0);
    }
    let [writer, other] = &mut clients;
    writer.send(OpCode::SetData, |body| {
        body.text("/w").buffer(Some(b"x")).i32(-1);
    });
    // Each is told in a frame of 30 bytes: 16 of header, type, state, and a path of two bytes.
    for client in [writer, other] {
        let (header, _) = client.reply().unwrap();
        assert_eq!(header.xid, -1);
    }
    assert_eq!(number(&server, "zk_cnt_node_changed_watch_count"), 1.0);
    assert_eq!(number(&server, "zk_sum_node_changed_watch_count"), 2.0);
    assert_eq!(number(&server, "zk_watch_bytes"), 60.0);
}
