//! A broker's figures under the names that Kafka's users know: those of the JMX exporter for what Kafka's beans hold, those of
//! `kafka_exporter` for groups. Our own begin with `diwan_log_`.

use log_broker::{ControllerFigures, Figures, GroupFigures, LedFigures, PartitionFigures, Traffic};
use log_links::{LinkFigures, RefusalCounts};
use node_metrics::{Distribution, Sample};

/// Gives the samples of a name one after the other, as Prometheus wants them.
pub(crate) fn samples(figures: &Figures, disk_turns: Distribution) -> Vec<Sample> {
    let mut samples = Vec::new();
    of_cluster(figures, &mut samples);
    of_replicas(figures, &mut samples);
    for (name, help, of) in TRAFFIC {
        let each = figures.topics.iter();
        samples.extend(
            each.map(|(topic, traffic)| Sample::counter(name, help, of(traffic)).labelled("topic", &**topic)),
        );
    }
    const REQUESTS: &str = "kafka_network_requestmetrics_requests_total";
    samples.extend(figures.requests.iter().map(|(api, count)| {
        Sample::counter(REQUESTS, "Requests, by API", *count).labelled("request", format!("{api:?}"))
    }));
    of_partitions(figures, &mut samples);
    of_groups(figures, &mut samples);
    samples.push(Sample::seconds(
        "diwan_log_disk_turn_seconds",
        "Time for which the disk wrote and flushed what waited for it together",
        disk_turns,
    ));
    samples
}

type OfTraffic = fn(&Traffic) -> u64;

const TRAFFIC: [(&str, &str, OfTraffic); 4] = [
    (
        "kafka_server_brokertopicmetrics_messagesin_total",
        "Records that producers have appended since this broker has led the partitions",
        |traffic| traffic.records_in,
    ),
    ("kafka_server_brokertopicmetrics_bytesin_total", "Bytes of their batches", |traffic| traffic.bytes_in),
    (
        "kafka_server_brokertopicmetrics_bytesout_total",
        "Bytes of batches that were given to consumers",
        |traffic| traffic.bytes_out,
    ),
    ("kafka_server_brokertopicmetrics_failedproducerequests_total", "Batches that were refused", |traffic| {
        traffic.refused
    }),
];

fn of_cluster(figures: &Figures, into: &mut Vec<Sample>) {
    let (topics, partitions) = figures.cluster;
    let gauges = [
        ("kafka_controller_kafkacontroller_globaltopiccount", "Topics of the cluster", topics),
        ("kafka_controller_kafkacontroller_globalpartitioncount", "Partitions of the cluster", partitions),
        (
            "kafka_server_replicamanager_partitioncount",
            "Partitions of which this broker has a replica",
            figures.partitions.len(),
        ),
        (
            "kafka_server_replicamanager_leadercount",
            "Partitions that this broker leads",
            led(figures).count(),
        ),
        (
            "kafka_coordinator_group_groupmetadatamanager_numgroups",
            "Groups whose coordinator is this broker",
            figures.groups,
        ),
        (
            "diwan_log_unflushed_bytes",
            "Bytes of batches that are not on the disk yet",
            figures.unflushed_bytes,
        ),
    ];
    into.extend(gauges.map(|(name, help, number)| Sample::gauge(name, help, count(number))));
}

/// What operators are woken for.
fn of_replicas(figures: &Figures, into: &mut Vec<Sample>) {
    let controller = figures.controller.unwrap_or_default();
    let gauges = [
        (
            "kafka_server_replicamanager_underreplicatedpartitions",
            "Partitions led here of which a replica is not in sync",
            led(figures).filter(|led| led.in_sync < led.replicas).count(),
        ),
        (
            "kafka_server_replicamanager_underminisrpartitioncount",
            "Partitions led here with fewer replicas in sync than min.insync.replicas: acks=all is refused",
            led(figures).filter(|led| led.in_sync < led.in_sync_min).count(),
        ),
        (
            "kafka_server_replicamanager_atminisrpartitioncount",
            "Partitions led here with just as many replicas in sync as min.insync.replicas",
            led(figures).filter(|led| led.in_sync == led.in_sync_min).count(),
        ),
        (
            "kafka_controller_kafkacontroller_activecontrollercount",
            "1 if this broker has the controller",
            usize::from(figures.controller.is_some()),
        ),
        (
            "kafka_controller_kafkacontroller_offlinepartitionscount",
            "Partitions of the cluster without a leader; 0 where the controller is not",
            controller.offline,
        ),
        (
            "kafka_controller_kafkacontroller_preferredreplicaimbalancecount",
            "Partitions of the cluster that the preferred replica does not lead; 0 where the controller is not",
            controller.not_preferred,
        ),
    ];
    into.extend(gauges.map(|(name, help, number)| Sample::gauge(name, help, count(number))));
    of_balance(&controller, into);
}

/// What the controller has changed without being asked.
fn of_balance(controller: &ControllerFigures, into: &mut Vec<Sample>) {
    into.push(Sample::counter(
        "diwan_log_balance_leaders_total",
        "Leaders that were changed since brokers carry unequal loads; 0 where the controller is not",
        controller.balanced_leaders,
    ));
    into.push(Sample::counter(
        "diwan_log_balance_moves_total",
        "Partitions of which a replica was moved for that; 0 where the controller is not",
        controller.balanced_replicas,
    ));
    into.push(gauge(
        "diwan_log_balance_under_way",
        "Partitions that are being changed for that; 0 where the controller is not",
        controller.balancing,
    ));
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn led(figures: &Figures) -> impl Iterator<Item = LedFigures> {
    figures.partitions.iter().filter_map(|partition| partition.led)
}

/// The links to other brokers, and the connections with them that were refused.
pub(crate) fn of_links(links: &[LinkFigures], refused: RefusalCounts) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (make, name, help, of) in LINKS {
        samples.extend(
            links.iter().map(|link| make(name, help, of(link)).labelled("broker", link.to.0.to_string())),
        );
    }
    const REFUSED: &str = "diwan_log_peers_refused_total";
    let RefusalCounts { secret, group, foreign, outdated, late, other } = refused;
    let reasons = [
        ("secret", secret),
        ("cluster", group),
        ("foreign", foreign),
        ("outdated", outdated),
        ("late", late),
        ("other", other),
    ];
    samples.extend(reasons.map(|(why, count)| {
        Sample::counter(REFUSED, "Connections with other brokers that were refused", count)
            .labelled("reason", why)
    }));
    samples
}

type OfLink =
    (fn(&'static str, &'static str, u64) -> Sample, &'static str, &'static str, fn(&LinkFigures) -> u64);

const LINKS: [OfLink; 5] = [
    (gauge, "diwan_log_peer_connected", "Whether that broker is connected", |link| link.is_connected.into()),
    (
        Sample::counter,
        "diwan_log_peer_lost_total",
        "How often the connection to that broker was lost",
        |link| link.lost,
    ),
    (gauge, "diwan_log_peer_waiting_bytes", "Bytes that wait to be sent to that broker", |link| {
        link.waiting_bytes
    }),
    (
        Sample::counter,
        "diwan_log_peer_sent_bytes_total",
        "Bytes for that broker that its link has taken",
        |link| link.sent_bytes,
    ),
    (Sample::counter, "diwan_log_peer_received_bytes_total", "Bytes of messages of that broker", |link| {
        link.received_bytes
    }),
];

fn gauge(name: &'static str, help: &'static str, value: u64) -> Sample {
    Sample::gauge(name, help, i64::try_from(value).unwrap_or(i64::MAX))
}

fn of_partitions(figures: &Figures, into: &mut Vec<Sample>) {
    let mut each = |name, help, of: fn(&PartitionFigures) -> i64| {
        into.extend(figures.partitions.iter().map(|partition| {
            Sample::gauge(name, help, of(partition))
                .labelled("topic", &*partition.topic)
                .labelled("partition", partition.index.to_string())
        }));
    };
    each("kafka_log_log_logstartoffset", "The first offset that can be read", |partition| partition.start);
    each("kafka_log_log_logendoffset", "The offset behind the last committed record", |partition| {
        partition.high_watermark
    });
    each("kafka_log_log_size", "Bytes of the partition's log", |partition| {
        i64::try_from(partition.bytes).unwrap_or(i64::MAX)
    });
}

fn of_groups(figures: &Figures, into: &mut Vec<Sample>) {
    let mut each = |name, help, of: fn(&GroupFigures) -> Option<i64>| {
        into.extend(figures.offsets.iter().filter_map(|group| {
            let sample = Sample::gauge(name, help, of(group)?)
                .labelled("consumergroup", group.group.clone())
                .labelled("topic", group.topic.clone())
                .labelled("partition", group.index.to_string());
            Some(sample)
        }));
    };
    each("kafka_consumergroup_current_offset", "The offset that a group has committed", |group| {
        Some(group.offset)
    });
    each("kafka_consumergroup_lag", "Records behind that offset", |group| group.lag);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use node_metrics::{Histogram, prometheus};
    use replication_appointed::ReplicaId;

    use super::*;

    fn figures() -> Figures {
        let topic: Arc<str> = "orders".into();
        let traffic = Traffic { records_in: 3, bytes_in: 300, bytes_out: 200, requests: 9, refused: 1 };
        Figures {
            requests: vec![(log_wire::ApiKey::Produce, 7)],
            topics: vec![(Arc::clone(&topic), traffic)],
            partitions: vec![PartitionFigures {
                topic,
                index: 2,
                start: 5,
                high_watermark: 9,
                end: 9,
                bytes: 400,
                led: Some(LedFigures { replicas: 3, in_sync: 2, in_sync_min: 2 }),
            }],
            cluster: (1, 4),
            controller: Some(ControllerFigures {
                offline: 2,
                not_preferred: 3,
                balanced_leaders: 4,
                balanced_replicas: 5,
                balancing: 6,
            }),
            groups: 1,
            offsets: vec![offset_of("orders", 2, 6, Some(3)), offset_of("gone", 0, 1, None)],
            unflushed_bytes: 10,
        }
    }

    fn offset_of(topic: &str, index: i32, offset: i64, lag: Option<i64>) -> GroupFigures {
        GroupFigures { group: "billing".into(), topic: topic.into(), index, offset, lag }
    }

    #[test]
    fn figures_have_the_names_that_dashboards_of_kafka_ask_for() {
        let figures = figures();
        let text = prometheus(&samples(&figures, Histogram::default().snapshot()));
        for line in [
            "kafka_server_brokertopicmetrics_messagesin_total{topic=\"orders\"} 3",
            "kafka_server_brokertopicmetrics_bytesin_total{topic=\"orders\"} 300",
            "kafka_server_brokertopicmetrics_bytesout_total{topic=\"orders\"} 200",
            "kafka_server_brokertopicmetrics_failedproducerequests_total{topic=\"orders\"} 1",
            "kafka_network_requestmetrics_requests_total{request=\"Produce\"} 7",
            "kafka_controller_kafkacontroller_globalpartitioncount 4",
            "kafka_server_replicamanager_leadercount 1",
            "kafka_server_replicamanager_underreplicatedpartitions 1",
            "kafka_server_replicamanager_underminisrpartitioncount 0",
            "kafka_server_replicamanager_atminisrpartitioncount 1",
            "kafka_controller_kafkacontroller_activecontrollercount 1",
            "kafka_controller_kafkacontroller_offlinepartitionscount 2",
            "kafka_controller_kafkacontroller_preferredreplicaimbalancecount 3",
            "diwan_log_balance_leaders_total 4",
            "diwan_log_balance_moves_total 5",
            "diwan_log_balance_under_way 6",
            "kafka_log_log_logstartoffset{topic=\"orders\",partition=\"2\"} 5",
            "kafka_log_log_logendoffset{topic=\"orders\",partition=\"2\"} 9",
            "kafka_log_log_size{topic=\"orders\",partition=\"2\"} 400",
            "kafka_consumergroup_lag{consumergroup=\"billing\",topic=\"orders\",partition=\"2\"} 3",
            "kafka_consumergroup_current_offset{consumergroup=\"billing\",topic=\"gone\",partition=\"0\"} 1",
            "diwan_log_unflushed_bytes 10",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} is missing in:\n{text}");
        }
        assert!(!text.contains("kafka_consumergroup_lag{consumergroup=\"billing\",topic=\"gone\""));
        let families = text.lines().filter(|line| line.starts_with("# TYPE"));
        let names: std::collections::BTreeSet<_> = families.clone().collect();
        assert_eq!(names.len(), families.count(), "the samples of a name stand together");
    }

    #[test]
    fn broker_that_follows_does_not_count_as_leader() {
        let mut figures = figures();
        (figures.partitions[0].led, figures.controller) = (None, None);
        let text = prometheus(&samples(&figures, Histogram::default().snapshot()));
        for line in [
            "kafka_server_replicamanager_partitioncount 1",
            "kafka_server_replicamanager_leadercount 0",
            "kafka_server_replicamanager_underreplicatedpartitions 0",
            "kafka_controller_kafkacontroller_activecontrollercount 0",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} is missing in:\n{text}");
        }
    }

    #[test]
    fn links_are_told_by_broker_and_refusals_by_reason() {
        let link = LinkFigures {
            to: ReplicaId(7),
            is_connected: true,
            lost: 2,
            waiting_bytes: 30,
            sent_bytes: 400,
            received_bytes: 500,
        };
        let text = prometheus(&of_links(&[link], RefusalCounts { late: 6, ..RefusalCounts::default() }));
        for line in [
            "diwan_log_peer_connected{broker=\"7\"} 1",
            "diwan_log_peer_lost_total{broker=\"7\"} 2",
            "diwan_log_peer_waiting_bytes{broker=\"7\"} 30",
            "diwan_log_peer_sent_bytes_total{broker=\"7\"} 400",
            "diwan_log_peer_received_bytes_total{broker=\"7\"} 500",
            "diwan_log_peers_refused_total{reason=\"late\"} 6",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} is missing in:\n{text}");
        }
    }
}
