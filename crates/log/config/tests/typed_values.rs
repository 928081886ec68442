//! Configurations as typed values: Kafka's defaults where nothing is set, and what is set where it is.

use log_config::{
    BrokerLayers, Durability, GroupConfig, GroupLayers, GroupSettings, InternalTopic, LeaderSettings,
    LogMaintenance, MemberTimes, NetworkLimits, OffsetReset, Overrides, QuotaWindow, QuotaWindows,
    ThrottledReplicas, TopicCompression, TopicConfig, TopicCreation, TopicLayers, TransactionSettings,
};
use log_partition::{PartitionConfig, ProducerLimits};
use log_wire::{Compression, TimestampType};

fn set(pairs: &[(&str, &str)]) -> Overrides {
    pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

/// What is in force with these in the file.
fn with_file<T>(pairs: &[(&str, &str)], of: impl FnOnce(&BrokerLayers<'_>) -> T) -> T {
    let (file, nothing) = (set(pairs), Overrides::new());
    of(&BrokerLayers { broker: &nothing, cluster: &nothing, file: &file })
}

fn topic(own: &[(&str, &str)], file: &[(&str, &str)]) -> TopicConfig {
    with_file(file, |broker| TopicConfig::of(&TopicLayers { topic: &set(own), broker: *broker }))
}

#[test]
fn topic_has_kafkas_defaults() {
    let config = topic(&[], &[]);
    assert!(config.deletes && !config.compacts);
    assert_eq!((config.retention_ms, config.retention_bytes), (Some(604_800_000), None));
    assert_eq!(
        (config.segment_bytes, config.segment_ms, config.segment_jitter_ms),
        (1 << 30, 604_800_000, 0)
    );
    assert_eq!(config.batch_bytes_max, 1_048_588);
    assert_eq!(config.timestamp_type, TimestampType::CreateTime);
    assert_eq!((config.timestamp_before_max_ms, config.timestamp_after_max_ms), (i64::MAX, 3_600_000));
    assert_eq!((config.min_insync_replicas, config.unclean_leader_election), (1, false));
    assert_eq!(config.compression, TopicCompression::AsProduced);
    let compaction = config.compaction;
    assert_eq!((compaction.lag_min_ms, compaction.lag_max_ms), (0, i64::MAX));
    assert_eq!((compaction.dirty_ratio_min, compaction.delete_retention_ms), (0.5, 86_400_000));
    assert_eq!(config.durability, Durability::Flushed);
    assert_eq!((config.flush_messages, config.flush_ms), (u64::MAX, u64::MAX));
    assert_eq!(config.leader_throttled, ThrottledReplicas::These(Vec::new()));
    assert_eq!(config.partition_config(ProducerLimits::default()), PartitionConfig::default());
}

#[test]
fn topic_takes_what_it_sets_and_then_what_the_broker_says() {
    let file =
        &[("log.retention.hours", "1"), ("log.roll.hours", "2"), ("log.flush.scheduler.interval.ms", "70")];
    let config = topic(&[], file);
    assert_eq!((config.retention_ms, config.segment_ms, config.flush_ms), (Some(3_600_000), 7_200_000, 70));
    let config = topic(&[("retention.ms", "5"), ("segment.ms", " 6 ")], file);
    assert_eq!((config.retention_ms, config.segment_ms), (Some(5), 6));
    let config = topic(&[], &[("log.retention.minutes", "-3"), ("log.retention.bytes", "-9")]);
    assert_eq!((config.retention_ms, config.retention_bytes), (None, None));
}

#[test]
fn partition_keeps_everything_without_the_policy_delete() {
    let sized = ("retention.bytes", "9");
    for policy in ["compact", ""] {
        let config = topic(&[("cleanup.policy", policy), sized], &[]);
        let partition = config.partition_config(ProducerLimits::default());
        assert_eq!((partition.retention_ms, partition.retention_bytes), (None, None), "{policy}");
    }
    let config = topic(&[("cleanup.policy", "compact, delete"), sized], &[]);
    let partition = config.partition_config(ProducerLimits::default());
    assert_eq!((partition.retention_ms, partition.retention_bytes), (Some(604_800_000), Some(9)));
}

#[test]
fn codec_has_the_level_of_its_own_configuration() {
    let compression = |codec, more: &[(&str, &str)]| {
        topic(&[&[("compression.type", codec)], more].concat(), &[]).compression
    };
    let with = TopicCompression::With;
    assert_eq!(compression("uncompressed", &[]), with(Compression::None, None));
    assert_eq!(compression("snappy", &[]), with(Compression::Snappy, None));
    assert_eq!(compression("gzip", &[]), with(Compression::Gzip, None));
    assert_eq!(compression("gzip", &[("compression.gzip.level", "9")]), with(Compression::Gzip, Some(9)));
    assert_eq!(compression("lz4", &[]), with(Compression::Lz4, Some(9)));
    assert_eq!(compression("zstd", &[("compression.zstd.level", "-7")]), with(Compression::Zstd, Some(-7)));
}

#[test]
fn durability_is_a_configuration_of_topics_and_of_the_broker() {
    let replicated = ("diwan.durability", "replicated");
    assert_eq!(topic(&[replicated], &[]).durability, Durability::Replicated);
    assert_eq!(topic(&[], &[replicated]).durability, Durability::Replicated);
    let flushed = ("diwan.durability", "flushed");
    assert_eq!(topic(&[flushed], &[replicated]).durability, Durability::Flushed);
    let config = topic(&[replicated, ("flush.messages", "5"), ("flush.ms", "0")], &[]);
    assert_eq!((config.flush_messages, config.flush_ms), (5, 0));
}

#[test]
fn value_that_cannot_be_read_is_passed_over() {
    let config =
        topic(&[("segment.bytes", "1"), ("retention.ms", "soon")], &[("log.segment.bytes", "2097152")]);
    assert_eq!((config.segment_bytes, config.retention_ms), (2_097_152, Some(604_800_000)));
}

#[test]
fn throttled_replicas_are_all_or_these() {
    let throttled = |value| topic(&[("leader.replication.throttled.replicas", value)], &[]).leader_throttled;
    assert_eq!(throttled("*"), ThrottledReplicas::All);
    assert_eq!(throttled("0:1,,99999999999:1, 2:3"), ThrottledReplicas::These(vec![(0, 1), (2, 3)]));
}

#[test]
fn network_has_kafkas_defaults() {
    with_file(&[], |broker| {
        assert_eq!(
            NetworkLimits::of(broker),
            NetworkLimits {
                threads: 3,
                rest_us_max: 500,
                request_bytes_max: 104_857_600,
                backlog: 50,
                send_buffer_bytes: Some(102_400),
                receive_buffer_bytes: Some(102_400),
                idle_ms_max: Some(600_000),
                connections_max: None,
                connections_per_address_max: None,
                connections_per_address_overrides: Vec::new(),
                connections_per_second_max: None,
                failed_authentication_delay_ms: 100,
                fetch_bytes_max: 57_671_680,
                fetch_sessions_max: 1_000,
                described_partitions_max: 2_000,
            }
        );
    });
}

#[test]
fn topics_and_quotas_have_kafkas_defaults() {
    with_file(&[], |broker| {
        let creation = TopicCreation {
            creates_when_asked: true,
            may_delete: true,
            partitions: 1,
            replication_factor: 1,
        };
        assert_eq!(TopicCreation::of(broker), creation);
        let windows = QuotaWindows::of(broker);
        assert_eq!(
            [windows.clients, windows.changes, windows.replication],
            [QuotaWindow { count: 11, seconds: 1 }; 3]
        );
        assert_eq!((windows.leader_bytes_per_second, windows.follower_bytes_per_second), (None, None));
        assert_eq!(
            LogMaintenance::of(broker),
            LogMaintenance {
                retention_check_ms: 300_000,
                compacts: true,
                key_bytes_max: 134_217_728,
                bytes_per_second_max: None,
                compaction_check_ms: 15_000,
            }
        );
    });
}

#[test]
fn coordinators_have_kafkas_defaults() {
    let internal = InternalTopic { partitions: 50, replication_factor: 3, segment_bytes: 104_857_600 };
    with_file(&[], |broker| {
        let groups = GroupSettings::of(broker);
        assert!(groups.kinds.consumer && groups.kinds.streams && !groups.kinds.share);
        assert_eq!((groups.session_timeout_min_ms, groups.session_timeout_max_ms), (6_000, 1_800_000));
        assert_eq!((groups.initial_rebalance_delay_ms, groups.classic_size_max), (3_000, None));
        assert_eq!(groups.consumer_assignors, ["uniform", "range"]);
        assert!(groups.migration.to_consumer && groups.migration.to_classic);
        assert_eq!(
            (groups.regex_refresh_ms, groups.share_size_max, groups.share_sessions_max),
            (600_000, 200, 2_000)
        );
        assert_eq!((groups.offset_metadata_bytes_max, groups.offsets_retention_ms), (4_096, 604_800_000));
        assert_eq!((groups.offsets_retention_check_ms, groups.commit_timeout_ms), (600_000, 5_000));
        assert_eq!(groups.offsets_topic, internal);
        assert_eq!(
            TransactionSettings::of(broker),
            TransactionSettings {
                timeout_max_ms: 900_000,
                id_expiration_ms: 604_800_000,
                timeout_check_ms: 10_000,
                expiration_check_ms: 3_600_000,
                verifies_partitions: true,
                topic: internal,
                topic_min_insync_replicas: 2,
                producer_expiration_ms: 86_400_000,
            }
        );
    });
}

#[test]
fn limits_are_read_as_they_are_set() {
    let file = &[
        ("max.connections", "0"),
        ("max.connections.per.ip.overrides", "10.0.0.1:5,host:-3,::1:7"),
        ("connections.max.idle.ms", "-1"),
        ("socket.send.buffer.bytes", "-1"),
        ("group.consumer.migration.policy", "Upgrade"),
        ("group.consumer.assignors", "org.apache.kafka.coordinator.group.assignor.RangeAssignor"),
        ("leader.replication.throttled.rate", "8"),
        ("log.cleaner.io.max.bytes.per.second", "1e6"),
    ];
    with_file(file, |broker| {
        let network = NetworkLimits::of(broker);
        assert_eq!(
            (network.connections_max, network.idle_ms_max, network.send_buffer_bytes),
            (Some(0), None, None)
        );
        let overrides = [("10.0.0.1", 5), ("host", 0), ("::1", 7)].map(|(host, count)| (host.into(), count));
        assert_eq!(network.connections_per_address_overrides, overrides);
        let groups = GroupSettings::of(broker);
        assert!(groups.migration.to_consumer && !groups.migration.to_classic);
        assert_eq!(groups.consumer_assignors, ["range"]);
        assert_eq!(QuotaWindows::of(broker).leader_bytes_per_second, Some(8));
        assert_eq!(LogMaintenance::of(broker).bytes_per_second_max, Some(1e6));
    });
}

#[test]
fn group_takes_what_it_sets_and_then_what_the_broker_says() {
    let own =
        set(&[("share.auto.offset.reset", "by_duration:PT1M"), ("consumer.session.timeout.ms", "50000")]);
    let config = with_file(&[("group.consumer.heartbeat.interval.ms", "7000")], |broker| {
        GroupConfig::of(&GroupLayers { group: &own, broker: *broker })
    });
    let times = |session_timeout_ms, heartbeat_interval_ms| MemberTimes {
        session_timeout_ms,
        heartbeat_interval_ms,
        assignment_interval_ms: 1_000,
    };
    assert_eq!(config.consumer, times(50_000, 7_000));
    assert_eq!((config.share.members, config.streams.members), (times(45_000, 5_000), times(45_000, 5_000)));
    assert_eq!(config.share.offset_reset, OffsetReset::ByDuration(core::time::Duration::from_secs(60)));
    assert_eq!((config.share.record_lock_ms, config.share.delivery_count_max), (30_000, 5));
    assert_eq!((config.share.record_locks_max, config.share.reads_committed), (2_000, false));
    assert!(config.share.renews_locks);
    assert_eq!((config.streams.initial_rebalance_delay_ms, config.streams.standby_replicas), (3_000, 0));
}

#[test]
fn lead_goes_back_as_the_file_says() {
    let leaders = |file| with_file(file, |broker| LeaderSettings::of(broker).with_file(&set(file)));
    let unset = LeaderSettings {
        preferred_after_ms: Some(60_000),
        imbalance_percent: 0,
        lag_ms: 1_000,
        reads_by_rack: false,
    };
    assert_eq!(leaders(&[]), unset);
    let file = &[
        ("leader.imbalance.check.interval.seconds", "300"),
        ("leader.imbalance.per.broker.percentage", " 10 "),
        ("replica.lag.time.max.ms", "30000"),
        ("replica.selector.class", "org.apache.kafka.common.replica.RackAwareReplicaSelector"),
    ];
    let all = LeaderSettings {
        preferred_after_ms: Some(300_000),
        imbalance_percent: 10,
        lag_ms: 30_000,
        reads_by_rack: true,
    };
    assert_eq!(leaders(file), all);
    assert_eq!(leaders(&[("auto.leader.rebalance.enable", "false")]).preferred_after_ms, None);
    assert_eq!(leaders(&[("leader.imbalance.per.broker.percentage", "many")]), unset);
}
