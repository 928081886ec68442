//! A broker's figures under the names that Kafka's users know: those of the JMX exporter for what Kafka's beans hold, those of
//! `kafka_exporter` for groups. Our own begin with `diwan_log_`.

use log_broker::{Figures, GroupFigures, PartitionFigures, Traffic};
use node_metrics::{Distribution, Sample};

/// Gives the samples of a name one after the other, as Prometheus wants them.
pub(crate) fn samples(figures: &Figures, disk_turns: Distribution) -> Vec<Sample> {
    let mut samples = Vec::new();
    of_cluster(figures, &mut samples);
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
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
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
            figures.partitions.len(),
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

    use super::*;

    fn figures() -> Figures {
        let topic: Arc<str> = "orders".into();
        let traffic = Traffic { records_in: 3, bytes_in: 300, bytes_out: 200, refused: 1 };
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
            }],
            cluster: (1, 4),
            groups: 1,
            offsets: vec![
                GroupFigures {
                    group: "billing".into(),
                    topic: "orders".into(),
                    index: 2,
                    offset: 6,
                    lag: Some(3),
                },
                GroupFigures {
                    group: "billing".into(),
                    topic: "gone".into(),
                    index: 0,
                    offset: 1,
                    lag: None,
                },
            ],
            unflushed_bytes: 10,
        }
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
}
