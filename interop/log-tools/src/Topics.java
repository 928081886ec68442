import harness.Check;
import harness.Test;

/** `kafka-topics`, `kafka-delete-records`, `kafka-get-offsets`, `kafka-log-dirs`. */
public final class Topics {
    private Topics() {
    }

    public static void topicIsCreatedDescribedAlteredAndDeleted(Test test) throws Exception {
        String topic = test.fresh("topic");
        Tool.run(Tool.TOPICS, "--create", "--topic", topic, "--partitions", "3", "--replication-factor", "1", "--config",
            "retention.ms=7000").contains("Created topic " + topic);
        Tool.run(Tool.TOPICS, "--describe", "--topic", topic).contains("PartitionCount: 3", "ReplicationFactor: 1",
            "retention.ms=7000", "Partition: 2", "Leader: 1", "Isr: 1");
        Tool.run(Tool.TOPICS, "--alter", "--topic", topic, "--partitions", "5");
        Check.await("five partitions", () -> Tool.run(Tool.TOPICS, "--describe", "--topic", topic).output().contains("PartitionCount: 5"));
        Tool.fails(Tool.TOPICS, "--create", "--topic", topic).contains("already exists");
        Tool.run(Tool.TOPICS, "--create", "--if-not-exists", "--topic", topic);
        Check.that(Tool.run(Tool.TOPICS, "--list").lines().contains(topic), "it is listed");
        Check.that(!Tool.run(Tool.TOPICS, "--describe", "--unavailable-partitions").output().contains(topic), "it is available");
        Tool.run(Tool.TOPICS, "--delete", "--topic", topic);
        Check.await("its end", () -> !Tool.run(Tool.TOPICS, "--list").lines().contains(topic));
        Tool.fails(Tool.TOPICS, "--describe", "--topic", topic).contains("does not exist");
    }

    public static void offsetsAreListedAndRecordsDeleted(Test test) throws Exception {
        String topic = test.topic(2);
        Test.send(test.producer(), topic, 1, Test.numbers(0, 50));
        Check.equal(Tool.run(Tool.OFFSETS, "--topic", topic).lines(), java.util.List.of(topic + ":0:0", topic + ":1:50"));
        Tool.run(Tool.OFFSETS, "--topic", topic, "--time", "max-timestamp", "--partitions", "1").contains(topic + ":1:");
        String json = "{\"version\":1,\"partitions\":[{\"topic\":\"" + topic + "\",\"partition\":1,\"offset\":20}]}";
        Tool.run(Tool.DELETE_RECORDS, "--offset-json-file", Tool.file(json)).contains("low_watermark: 20");
        Check.equal(Tool.run(Tool.OFFSETS, "--topic", topic, "--time", "earliest").lines(),
            java.util.List.of(topic + ":0:0", topic + ":1:20"));
    }

    public static void sizesAreToldByDisk(Test test) throws Exception {
        String topic = test.topic(1);
        Test.send(test.producer(), topic, 0, java.util.List.of("x".repeat(5000)));
        Tool.run(Tool.LOG_DIRS, "--describe", "--topic-list", topic, "--broker-list", "1")
            .contains("\"broker\":1", topic + "-0", "\"error\":null", "\"size\":50");
    }
}
