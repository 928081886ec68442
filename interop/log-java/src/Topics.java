import harness.Broker;
import harness.Check;
import harness.Test;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.CreatePartitionsOptions;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.InvalidReplicaAssignmentException;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicIdException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Topics: made, described, listed, grown, emptied, deleted; and why not. */
public final class Topics {
    private Topics() {
    }

    private static void create(NewTopic topic) throws Exception {
        Test.get(Test.admin().createTopics(List.of(topic)).all());
        await(topic.name());
    }

    private static void await(String topic) throws Exception {
        Check.await("topic " + topic, () -> Test.get(Test.admin().listTopics().names()).contains(topic));
    }

    private static TopicDescription described(String topic) throws Exception {
        return Test.get(Test.admin().describeTopics(List.of(topic)).allTopicNames()).get(topic);
    }

    static int leader(String topic, int partition) throws Exception {
        return described(topic).partitions().get(partition).leader().id();
    }

    static List<Integer> replicas(String topic, int partition) throws Exception {
        return described(topic).partitions().get(partition).replicas().stream().map(Node::id).toList();
    }

    public static void topicIsMadeAsAskedFor(Test test) throws Exception {
        String topic = test.fresh("topic");
        var result = Test.admin().createTopics(List.of(new NewTopic(topic, 5, (short) 1).configs(
            Map.of("retention.ms", "123456"))));
        Check.equal(Test.get(result.numPartitions(topic)), 5);
        Check.equal(Test.get(result.replicationFactor(topic)), 1);
        Uuid id = Test.get(result.topicId(topic));
        var config = Test.get(result.config(topic));
        Check.equal(config.get("retention.ms").value(), "123456");
        Check.equal(config.get("cleanup.policy").value(), "delete");
        await(topic);
        TopicDescription description = described(topic);
        Check.equal(description.topicId(), id);
        Check.equal(description.partitions().size(), 5);
        description.partitions().forEach(partition -> {
            Check.that(Broker.has(partition.leader().id()), partition);
            Check.equal(partition.replicas(), List.of(partition.leader()));
            Check.equal(partition.isr(), List.of(partition.leader()));
        });
        Check.that(!description.isInternal(), "it is not internal");
        Check.equal(Test.get(Test.admin().describeTopics(TopicCollection.ofTopicIds(List.of(id))).allTopicIds()).get(id).name(),
            topic);
    }

    public static void defaultsAreTakenWhereNothingIsSaid(Test test) throws Exception {
        String topic = test.fresh("topic");
        create(new NewTopic(topic, java.util.Optional.empty(), java.util.Optional.empty()));
        Check.equal(described(topic).partitions().size(), 1);
    }

    public static void topicsAreListed(Test test) throws Exception {
        String topic = test.topic(2);
        var listings = Test.get(Test.admin().listTopics(new ListTopicsOptions().listInternal(true)).namesToListings());
        Check.that(listings.containsKey(topic) && !listings.get(topic).isInternal(), "it is listed");
        Check.equal(listings.get(topic).topicId(), described(topic).topicId());
        Check.that(Test.get(Test.admin().listTopics().names()).stream().noneMatch(name -> name.startsWith("__")),
            "internal topics are left out unless asked for");
    }

    public static void wrongTopicsAreRefusedWithTheReason(Test test) throws Exception {
        String topic = test.topic(1);
        Check.fails(TopicExistsException.class, () -> create(new NewTopic(topic, 1, (short) 1)));
        Check.fails(InvalidTopicException.class, () -> create(new NewTopic("not a name", 1, (short) 1)));
        Check.fails(InvalidTopicException.class, () -> create(new NewTopic("n".repeat(250), 1, (short) 1)));
        Check.fails(InvalidPartitionsException.class, () -> create(new NewTopic(topic + "0", 0, (short) 1)));
        short tooMany = (short) (Broker.ADDRESSES.size() + 1);
        Check.fails(InvalidReplicationFactorException.class, () -> create(new NewTopic(topic + "2", 1, tooMany)));
        Check.fails(InvalidConfigurationException.class,
            () -> create(new NewTopic(topic + "c", 1, (short) 1).configs(Map.of("no.such.setting", "1"))));
        Check.fails(InvalidConfigurationException.class,
            () -> create(new NewTopic(topic + "c", 1, (short) 1).configs(Map.of("retention.ms", "soon"))));
        Check.fails(InvalidReplicaAssignmentException.class,
            () -> create(new NewTopic(topic + "a", Map.of(0, List.of(77)))));
        Check.fails(InvalidTopicException.class, () -> {
            create(new NewTopic("same.name" + topic, 1, (short) 1));
            create(new NewTopic("same_name" + topic, 1, (short) 1));
        });
    }

    public static void assignmentMayBeGiven(Test test) throws Exception {
        String topic = test.fresh("topic");
        create(new NewTopic(topic, Map.of(0, List.of(1), 1, List.of(1))));
        Check.equal(described(topic).partitions().size(), 2);
    }

    public static void whatIsOnlyCheckedIsNotMade(Test test) throws Exception {
        String topic = test.fresh("topic");
        var result = Test.admin().createTopics(List.of(new NewTopic(topic, 3, (short) 1)),
            new CreateTopicsOptions().validateOnly(true));
        Check.equal(Test.get(result.numPartitions(topic)), 3);
        Check.fails(UnknownTopicOrPartitionException.class, () -> described(topic));
        String there = test.topic(1);
        Test.get(Test.admin().createPartitions(Map.of(there, NewPartitions.increaseTo(4)),
            new CreatePartitionsOptions().validateOnly(true)).all());
        Check.equal(described(there).partitions().size(), 1);
    }

    public static void topicGrowsAndDoesNotShrink(Test test) throws Exception {
        String topic = test.topic(2);
        Test.send(test.producer(), topic, 1, List.of("old"));
        Test.get(Test.admin().createPartitions(Map.of(topic, NewPartitions.increaseTo(6))).all());
        Check.await("six partitions", () -> described(topic).partitions().size() == 6);
        var producer = test.producer();
        Check.equal(Test.send(producer, topic, 5, List.of("new")).get(0).offset(), 0L);
        Check.equal(Set.copyOf(test.valuesIn(topic, 6, "read_committed")), Set.of("old", "new"));
        for (int count : new int[] {6, 3}) {
            Check.fails(InvalidPartitionsException.class,
                () -> Test.get(Test.admin().createPartitions(Map.of(topic, NewPartitions.increaseTo(count))).all()));
        }
        Check.fails(UnknownTopicOrPartitionException.class, () -> Test.get(Test.admin().createPartitions(
            Map.of("no-such-topic", NewPartitions.increaseTo(3))).all()));
    }

    public static void topicsAreDeletedByNameAndById(Test test) throws Exception {
        String byName = test.topic(1);
        String byId = test.topic(1);
        Uuid id = described(byId).topicId();
        Test.get(Test.admin().deleteTopics(List.of(byName)).all());
        Test.get(Test.admin().deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all());
        for (String topic : List.of(byName, byId)) {
            Check.eventually(() -> Check.fails(UnknownTopicOrPartitionException.class, () -> described(topic)));
            Check.fails(UnknownTopicOrPartitionException.class,
                () -> Test.get(Test.admin().deleteTopics(List.of(topic)).all()));
        }
        Check.fails(UnknownTopicIdException.class,
            () -> Test.get(Test.admin().deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all()));
    }

    public static void manyTopicsAreDescribedPageByPage(Test test) throws Exception {
        Set<String> names = new HashSet<>();
        for (int number = 0; number < 30; number++) {
            names.add(test.fresh("many"));
        }
        Test.get(Test.admin().createTopics(names.stream().map(name -> new NewTopic(name, 4, (short) 1)).toList()).all());
        for (String name : names) {
            await(name);
        }
        var all = Test.get(Test.admin().describeTopics(names, new DescribeTopicsOptions().partitionSizeLimitPerResponse(7)
            .includeAuthorizedOperations(true)).allTopicNames());
        Check.equal(all.keySet(), names);
        all.values().forEach(topic -> Check.equal(topic.partitions().size(), 4));
        Test.get(Test.admin().deleteTopics(names).all());
    }

    public static void recordsAreDeletedUpToAnOffset(Test test) throws Exception {
        String topic = test.topic(1);
        TopicPartition partition = new TopicPartition(topic, 0);
        Test.send(test.producer(), topic, 0, Test.numbers(0, 100));
        var result = Test.admin().deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(40)));
        Check.equal(Test.get(result.lowWatermarks().get(partition)).lowWatermark(), 40L);
        Check.equal(test.valuesIn(topic, 1, "read_uncommitted"), Test.numbers(40, 100));
        Check.fails(OffsetOutOfRangeException.class,
            () -> Test.get(Test.admin().deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(101))).all()));
        Test.get(Test.admin().deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(-1))).all());
        Check.equal(test.valuesIn(topic, 1, "read_uncommitted"), List.of());
        Check.equal(Test.send(test.producer(), topic, 0, List.of("next")).get(0).offset(), 100L);
    }

    public static void oldRecordsGoBySizeAndByTime(Test test) throws Exception {
        String bySize = test.topic(1, "segment.bytes", "1048576", "retention.bytes", "1048576");
        String byTime = test.topic(1, "segment.bytes", "1048576", "retention.ms", "1000");
        var producer = test.producer("batch.size", "100000", "linger.ms", "5");
        for (String topic : List.of(bySize, byTime)) {
            Test.send(producer, topic, 0, Collections.nCopies(500, "x".repeat(10_000)));
            var reader = test.consumer(null);
            var partitions = Test.partitions(topic, 1);
            Check.await("the start of " + topic + " to move",
                () -> reader.beginningOffsets(partitions).get(partitions.get(0)) > 100);
            Check.equal(reader.endOffsets(partitions).get(partitions.get(0)), 500L);
        }
    }

    public static void compactionKeepsTheLastOfEachKey(Test test) throws Exception {
        String topic = test.topic(1, "cleanup.policy", "compact", "segment.bytes", "1048576",
            "min.cleanable.dirty.ratio", "0.01", "delete.retention.ms", "100");
        try (var producer = test.producer("batch.size", "30000", "linger.ms", "5")) {
            for (int number = 0; number < 600; number++) {
                String value = number == 590 ? null : number + " " + "x".repeat(10_000);
                producer.send(new org.apache.kafka.clients.producer.ProducerRecord<>(topic, 0, "key" + number % 20, value));
            }
        }
        // What is in the segment that is written to stays as it is.
        Check.await("the older ones to go", () -> {
            var records = test.readAll(topic, 1, "read_uncommitted");
            Map<String, Long> last = new java.util.HashMap<>();
            records.forEach(record -> last.put(record.key(), record.offset()));
            Check.equal(last.size(), 20);
            last.forEach((key, offset) -> Check.equal("key" + offset % 20, key, "offsets stay"));
            Check.that(last.values().stream().allMatch(offset -> offset >= 580), last);
            return records.size() < 300;
        });
    }
}
