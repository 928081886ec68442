import harness.Broker;
import harness.Check;
import harness.Test;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** MirrorMaker 2 between a real Kafka (`other`) and the broker under test (`here`), in both directions. */
public final class Mirror {
    static final String OTHER = System.getenv("OTHER_CONNECT");
    private static final String STRING = "org.apache.kafka.common.serialization.String";

    private Mirror() {
    }

    static Process start(String topics, String groups) throws Exception {
        return Tool.start("", "org.apache.kafka.connect.mirror.MirrorMaker", Tool.file("clusters=other,here\n"
            + "other.bootstrap.servers=" + OTHER + "\nhere.bootstrap.servers=" + Broker.CONNECT + "\n"
            + "other->here.enabled=true\nhere->other.enabled=true\ntopics=" + topics + "\ngroups=" + groups + "\n"
            + "replication.factor=1\ncheckpoints.topic.replication.factor=1\nheartbeats.topic.replication.factor=1\n"
            + "offset-syncs.topic.replication.factor=1\noffset.storage.replication.factor=1\nstatus.storage.replication.factor=1\n"
            + "config.storage.replication.factor=1\nrefresh.topics.interval.seconds=1\nrefresh.groups.interval.seconds=1\n"
            + "sync.topic.configs.interval.seconds=1\nsync.group.offsets.enabled=true\nsync.group.offsets.interval.seconds=1\n"
            + "emit.checkpoints.interval.seconds=1\nemit.heartbeats.interval.seconds=1\ntasks.max=2\noffset.lag.max=0\n"
            + "offset.storage.partitions=2\nstatus.storage.partitions=2\nreconnect.backoff.max.ms=200\n"
            + "other.plugin.discovery=service_load\nhere.plugin.discovery=service_load\n"
            // Its workers take this under a cluster's name only. Syncs of offsets that it has put off wait for it.
            + "other.offset.flush.interval.ms=500\nhere.offset.flush.interval.ms=500\n"));
    }

    /** Ends it; what it printed is kept beside the program. */
    static void stop(Process mirror) throws Exception {
        mirror.destroy();
        if (!mirror.waitFor(20, TimeUnit.SECONDS)) {
            mirror.destroyForcibly();
        }
        Files.writeString(Path.of("target", "mirror.log"), Tool.output(mirror));
    }

    static Properties of(String connect) {
        Properties properties = Test.properties("key.serializer", STRING + "Serializer", "value.serializer", STRING + "Serializer",
            "key.deserializer", STRING + "Deserializer", "value.deserializer", STRING + "Deserializer", "auto.offset.reset",
            "earliest");
        properties.put("bootstrap.servers", connect);
        return properties;
    }

    static void fill(String connect, String topic, int first, int end) throws Exception {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(of(connect))) {
            for (int number = first; number < end; number++) {
                producer.send(new ProducerRecord<>(topic, 0, "" + number, "" + number)).get(Check.WAIT_MS, TimeUnit.MILLISECONDS);
            }
        }
    }

    /** The values in the first partition of a topic, from the start up to this many. */
    static List<String> values(String connect, String topic, int count, boolean once) throws Exception {
        List<String> values = new ArrayList<>();
        try (KafkaConsumer<String, String> reader = new KafkaConsumer<>(of(connect))) {
            reader.assign(List.of(new TopicPartition(topic, 0)));
            Check.await(count + " records in " + topic, () -> {
                reader.poll(Duration.ofMillis(200)).forEach(record -> values.add(record.value()));
                return (once ? values.size() : values.stream().distinct().count()) >= count;
            });
        }
        return values;
    }

    public static void topicsSettingsAndOffsetsAreMirroredBothWays(Test test) throws Exception {
        String name = test.fresh("mirrored");
        String group = test.fresh("group");
        try (Admin other = Admin.create(of(OTHER))) {
            for (Admin admin : List.of(other, Test.admin())) {
                Test.get(admin.createTopics(List.of(new NewTopic(name, 2, (short) 1).configs(Map.of("retention.ms", "123456789")))).all());
            }
            fill(OTHER, name, 0, 300);
            fill(Broker.CONNECT, name, 1000, 1200);
            Process mirror = start(name, group);
            try {
                Check.equal(values(Broker.CONNECT, "other." + name, 300, true), Test.numbers(0, 300));
                Check.equal(values(OTHER, "here." + name, 200, true), Test.numbers(1000, 1200));
                Check.await("the partitions", () -> Test.get(Test.admin().describeTopics(List.of("other." + name)).allTopicNames())
                    .get("other." + name).partitions().size() == 2);
                TopicPartition there = new TopicPartition(name, 0);
                Test.get(other.alterConsumerGroupOffsets(group, Map.of(there, new OffsetAndMetadata(300))).all());
                Object[] seen = {null};
                Check.await(() -> "the translated offset, which is " + seen[0], () -> {
                    var offset = Test.get(Test.admin().listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata())
                        .get(new TopicPartition("other." + name, 0));
                    seen[0] = offset;
                    return offset != null && offset.offset() == 300;
                });
                var resource = new org.apache.kafka.common.config.ConfigResource(
                    org.apache.kafka.common.config.ConfigResource.Type.TOPIC, "other." + name);
                Check.await("the topic's settings", () -> Test.get(Test.admin().describeConfigs(List.of(resource)).all()).get(resource)
                    .get("retention.ms").value().equals("123456789"));
            } finally {
                stop(mirror);
            }
        }
    }
}
