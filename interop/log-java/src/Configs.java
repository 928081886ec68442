import harness.Check;
import harness.Test;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidRequestException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Settings of topics, brokers and client metrics: read, changed, put back. */
public final class Configs {
    private Configs() {
    }

    private static ConfigResource of(String topic) {
        return new ConfigResource(ConfigResource.Type.TOPIC, topic);
    }

    private static final ConfigResource BROKER = new ConfigResource(ConfigResource.Type.BROKER, "1");
    private static final ConfigResource ALL_BROKERS = new ConfigResource(ConfigResource.Type.BROKER, "");

    static Config described(ConfigResource resource) throws Exception {
        return Test.get(Test.admin().describeConfigs(List.of(resource)).all()).get(resource);
    }

    static void alter(ConfigResource resource, AlterConfigOp.OpType kind, String name, String value) throws Exception {
        Test.get(Test.admin().incrementalAlterConfigs(
            Map.of(resource, List.of(new AlterConfigOp(new ConfigEntry(name, value), kind)))).all());
    }

    public static void topicsSettingsAreDescribedWithTheirSources(Test test) throws Exception {
        String topic = test.topic(1, "retention.ms", "7000", "cleanup.policy", "compact,delete");
        Config config = described(of(topic));
        ConfigEntry own = config.get("retention.ms");
        Check.equal(List.of(own.value(), own.source(), own.type(), own.isReadOnly(), own.isDefault()),
            List.of("7000", ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, ConfigEntry.ConfigType.LONG, false, false));
        ConfigEntry other = config.get("max.message.bytes");
        Check.equal(List.of(other.value(), other.source(), other.type()), List.of("1048588",
            ConfigEntry.ConfigSource.DEFAULT_CONFIG, ConfigEntry.ConfigType.INT));
        Check.equal(config.get("cleanup.policy").type(), ConfigEntry.ConfigType.LIST);
        Check.equal(config.get("unclean.leader.election.enable").value(), "false");
        Set<String> names = config.entries().stream().map(ConfigEntry::name).collect(Collectors.toSet());
        Check.that(names.containsAll(Set.of("compression.type", "delete.retention.ms", "file.delete.delay.ms", "flush.messages",
            "flush.ms", "index.interval.bytes", "max.compaction.lag.ms", "message.timestamp.type", "min.compaction.lag.ms",
            "min.cleanable.dirty.ratio", "min.insync.replicas", "preallocate", "retention.bytes", "segment.bytes",
            "segment.index.bytes", "segment.jitter.ms", "segment.ms", "remote.storage.enable",
            "leader.replication.throttled.replicas", "message.timestamp.before.max.ms", "compression.zstd.level")), names);
    }

    public static void synonymsAndDocumentationAreToldWhenAskedFor(Test test) throws Exception {
        String topic = test.topic(1, "retention.ms", "7000");
        Config config = Test.get(Test.admin().describeConfigs(List.of(of(topic)), new DescribeConfigsOptions()
            .includeSynonyms(true).includeDocumentation(true)).all()).get(of(topic));
        List<String> synonyms = config.get("retention.ms").synonyms().stream().map(ConfigEntry.ConfigSynonym::name).toList();
        Check.equal(synonyms.get(0), "retention.ms");
        synonyms = config.get("max.message.bytes").synonyms().stream().map(ConfigEntry.ConfigSynonym::name).toList();
        Check.equal(synonyms, List.of("message.max.bytes"));
        Check.that(!config.get("retention.ms").documentation().isEmpty(), "documentation");
        Check.that(described(of(topic)).get("retention.ms").documentation() == null, "no documentation unless asked for");
    }

    public static void topicsSettingsAreSetExtendedAndDeleted(Test test) throws Exception {
        String topic = test.topic(1);
        String days = described(of(topic)).get("max.compaction.lag.ms").value();
        alter(of(topic), AlterConfigOp.OpType.SET, "max.compaction.lag.ms", "1234567");
        Check.await("the value", () -> described(of(topic)).get("max.compaction.lag.ms").value().equals("1234567"));
        alter(of(topic), AlterConfigOp.OpType.APPEND, "cleanup.policy", "compact");
        Check.await("both", () -> Set.of(described(of(topic)).get("cleanup.policy").value().split(","))
            .equals(Set.of("delete", "compact")));
        alter(of(topic), AlterConfigOp.OpType.SUBTRACT, "cleanup.policy", "delete");
        Check.await("one", () -> described(of(topic)).get("cleanup.policy").value().equals("compact"));
        alter(of(topic), AlterConfigOp.OpType.DELETE, "max.compaction.lag.ms", "");
        Check.await("the default", () -> described(of(topic)).get("max.compaction.lag.ms").value().equals(days));
    }

    public static void wrongSettingsAreRefused(Test test) throws Exception {
        String topic = test.topic(1);
        Check.fails(InvalidConfigurationException.class,
            () -> alter(of(topic), AlterConfigOp.OpType.SET, "no.such.setting", "1"));
        Check.fails(InvalidConfigurationException.class,
            () -> alter(of(topic), AlterConfigOp.OpType.SET, "retention.ms", "soon"));
        Check.fails(InvalidConfigurationException.class,
            () -> alter(of(topic), AlterConfigOp.OpType.APPEND, "retention.ms", "1"));
        Check.fails(UnknownTopicOrPartitionException.class,
            () -> alter(of("no-such-topic"), AlterConfigOp.OpType.SET, "retention.ms", "1"));
        Check.fails(UnknownTopicOrPartitionException.class, () -> described(of("no-such-topic")));
        Check.fails(InvalidRequestException.class, () -> Test.get(Test.admin().incrementalAlterConfigs(Map.of(of(topic),
            List.of(new AlterConfigOp(new ConfigEntry("retention.ms", "1"), AlterConfigOp.OpType.SET),
                new AlterConfigOp(new ConfigEntry("retention.ms", "2"), AlterConfigOp.OpType.SET)))).all()));
        Test.get(Test.admin().incrementalAlterConfigs(Map.of(of(topic), List.of(new AlterConfigOp(
            new ConfigEntry("retention.ms", "99"), AlterConfigOp.OpType.SET))), new AlterConfigsOptions().validateOnly(true)).all());
        Check.that(!described(of(topic)).get("retention.ms").value().equals("99"), "what is only checked changes nothing");
    }

    public static void changedLimitIsHeeded(Test test) throws Exception {
        String topic = test.topic(1);
        var producer = test.producer();
        Test.send(producer, topic, 0, List.of("x".repeat(5000)));
        alter(of(topic), AlterConfigOp.OpType.SET, "max.message.bytes", "2000");
        Check.eventually(() -> Check.fails(RecordTooLargeException.class,
            () -> Test.send(producer, topic, 0, List.of("x".repeat(5000)))));
        alter(of(topic), AlterConfigOp.OpType.DELETE, "max.message.bytes", "");
        Check.eventually(() -> Test.send(producer, topic, 0, List.of("x".repeat(5000))));
    }

    public static void brokersSettingsAreDescribed(Test test) throws Exception {
        Config config = described(BROKER);
        Check.equal(config.get("node.id").value(), "1");
        Check.that(config.get("node.id").isReadOnly(), "it cannot be changed");
        Check.equal(config.get("message.max.bytes").value(), "1048588");
        Check.equal(config.get("auto.create.topics.enable").value(), "true");
        Check.equal(config.get("log.cleanup.policy").value(), "delete");
        Check.that(!config.get("message.max.bytes").isReadOnly(), "it can be changed");
        Check.that(config.get("ssl.keystore.password").value() == null && config.get("ssl.keystore.password").isSensitive(),
            "secrets are not told");
        Check.that(config.entries().size() > 200, config.entries().size());
    }

    public static void brokersSettingsAreChangedForAllAndForOne(Test test) throws Exception {
        String topic = test.topic(1);
        // The clients of both versions are tested at a time, and there is one broker.
        boolean isOlder = test.name.startsWith("v3");
        String setting = isOlder ? "log.retention.ms" : "log.cleaner.delete.retention.ms";
        String ofTopics = isOlder ? "retention.ms" : "delete.retention.ms";
        alter(ALL_BROKERS, AlterConfigOp.OpType.SET, setting, "500000000");
        Check.await("the default of all", () -> "500000000".equals(described(BROKER).get(setting).value()));
        Check.equal(described(BROKER).get(setting).source(),
            ConfigEntry.ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG);
        Check.equal(described(of(topic)).get(ofTopics).value(), "500000000");
        alter(BROKER, AlterConfigOp.OpType.SET, setting, "400000000");
        Check.await("the broker's own", () -> "400000000".equals(described(BROKER).get(setting).value()));
        Check.equal(described(BROKER).get(setting).source(), ConfigEntry.ConfigSource.DYNAMIC_BROKER_CONFIG);
        alter(BROKER, AlterConfigOp.OpType.DELETE, setting, "");
        alter(ALL_BROKERS, AlterConfigOp.OpType.DELETE, setting, "");
        Check.fails(InvalidRequestException.class, () -> alter(BROKER, AlterConfigOp.OpType.SET, "node.id", "7"));
    }

    public static void settingsOfClientMetricsAreKept(Test test) throws Exception {
        var metrics = new ConfigResource(ConfigResource.Type.CLIENT_METRICS, test.fresh("metrics"));
        alter(metrics, AlterConfigOp.OpType.SET, "interval.ms", "10000");
        Check.await("the value", () -> described(metrics).get("interval.ms") != null
            && described(metrics).get("interval.ms").value().equals("10000"));
        alter(metrics, AlterConfigOp.OpType.DELETE, "interval.ms", "");
    }
}
