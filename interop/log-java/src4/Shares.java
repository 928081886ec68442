import harness.Check;
import harness.Test;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Queues: share groups (KIP-932). */
public final class Shares {
    private Shares() {
    }

    /** A group that begins with the first record, and has other settings if they are given. */
    static String group(Test test, String... settings) throws Exception {
        String group = test.fresh("share");
        List<AlterConfigOp> ops = new ArrayList<>();
        Map<String, String> set = Test.map(settings);
        set.put("share.auto.offset.reset", "earliest");
        set.forEach((name, value) -> ops.add(new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        Test.get(Test.admin().incrementalAlterConfigs(Map.of(resource, ops)).all());
        return group;
    }

    static KafkaShareConsumer<String, String> member(Test test, String topic, String group, String mode) {
        Properties properties = Test.properties("group.id", group, "share.acknowledgement.mode", mode);
        KafkaShareConsumer<String, String> member =
            test.closing(new KafkaShareConsumer<>(properties, new StringDeserializer(), new StringDeserializer()));
        member.subscribe(List.of(topic));
        return member;
    }

    /** Polls until there is something, and gives it. */
    static List<ConsumerRecord<String, String>> some(KafkaShareConsumer<String, String> member) {
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (records.isEmpty()) {
            Check.that(System.nanoTime() < deadline, "nothing came");
            member.poll(Duration.ofMillis(200)).forEach(records::add);
        }
        return records;
    }

    /** Takes so many records with an implicit acknowledgement, each once. */
    private static List<String> take(KafkaShareConsumer<String, String> member, int count) {
        List<String> values = new ArrayList<>();
        while (values.size() < count) {
            some(member).forEach(record -> values.add(record.value()));
        }
        member.commitSync().forEach((partition, error) -> Check.that(error.isEmpty(), error));
        return values;
    }

    public static void membersOfAGroupShareOnePartition(Test test) throws Exception {
        String topic = test.topic(1);
        String group = group(test);
        List<KafkaShareConsumer<String, String>> members = new ArrayList<>();
        for (int number = 0; number < 3; number++) {
            members.add(member(test, topic, group, "implicit"));
        }
        Test.send(test.producer(), topic, 0, Test.numbers(0, 300));
        Map<String, Integer> seen = new HashMap<>();
        long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (seen.size() < 300) {
            Check.that(System.nanoTime() < deadline, seen.size() + " of 300 came");
            for (KafkaShareConsumer<String, String> member : members) {
                member.poll(Duration.ofMillis(50)).forEach(record -> seen.merge(record.value(), 1, Integer::sum));
            }
        }
        members.forEach(KafkaShareConsumer::commitSync);
        Check.equal(new HashSet<>(seen.values()), Set.of(1));
    }

    public static void recordsAreReleasedAndRejected(Test test) throws Exception {
        String topic = test.topic(1);
        KafkaShareConsumer<String, String> member = member(test, topic, group(test), "explicit");
        Test.send(test.producer(), topic, 0, Test.numbers(0, 3));
        Map<String, Short> again = new HashMap<>();
        Set<String> done = new HashSet<>();
        while (done.size() < 3) {
            for (ConsumerRecord<String, String> record : some(member)) {
                short count = record.deliveryCount().orElseThrow();
                AcknowledgeType type = record.value().equals("1") ? AcknowledgeType.REJECT
                    : record.value().equals("2") && count < 3 ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT;
                member.acknowledge(record, type);
                if (type != AcknowledgeType.RELEASE) {
                    Check.that(done.add(record.value()), record.value() + " came again");
                    again.put(record.value(), count);
                }
            }
            member.commitSync().forEach((partition, error) -> Check.that(error.isEmpty(), error));
        }
        Check.equal(again, Map.of("0", (short) 1, "1", (short) 1, "2", (short) 3));
        Check.that(member.poll(Duration.ofSeconds(1)).isEmpty(), "nothing is left");
    }

    public static void lockOfASilentMemberEnds(Test test) throws Exception {
        String topic = test.topic(1);
        String group = group(test, "share.record.lock.duration.ms", "15000");
        KafkaShareConsumer<String, String> silent = member(test, topic, group, "explicit");
        Test.send(test.producer(), topic, 0, List.of("one"));
        Check.equal((int) some(silent).get(0).deliveryCount().orElseThrow(), 1);
        KafkaShareConsumer<String, String> other = member(test, topic, group, "implicit");
        Check.that(other.poll(Duration.ofSeconds(2)).isEmpty(), "it is locked");
        Check.equal((int) some(other).get(0).deliveryCount().orElseThrow(), 2);
    }

    public static void onlyCommittedRecordsAreDelivered(Test test) throws Exception {
        String topic = test.topic(1);
        KafkaShareConsumer<String, String> member =
            member(test, topic, group(test, "share.isolation.level", "read_committed"), "implicit");
        var producer = test.producer("transactional.id", test.fresh("transaction"));
        producer.initTransactions();
        for (String value : List.of("aborted", "committed")) {
            producer.beginTransaction();
            Test.send(producer, topic, 0, List.of(value));
            if (value.equals("aborted")) {
                producer.abortTransaction();
            } else {
                producer.commitTransaction();
            }
        }
        Check.equal(take(member, 1), List.of("committed"));
        Check.that(member.poll(Duration.ofSeconds(1)).isEmpty(), "nothing is left");
    }

    public static void renewedLocksAreKept(Test test) throws Exception {
        String topic = test.topic(1);
        String group = group(test, "share.record.lock.duration.ms", "15000");
        KafkaShareConsumer<String, String> member = member(test, topic, group, "explicit");
        KafkaShareConsumer<String, String> other = member(test, topic, group, "explicit");
        Test.send(test.producer(), topic, 0, List.of("one"));
        ConsumerRecord<String, String> record = some(member).get(0);
        for (int second = 0; second < 20; second++) {
            member.acknowledge(record, AcknowledgeType.RENEW);
            member.commitSync().forEach((partition, error) -> Check.that(error.isEmpty(), error));
            Check.that(other.poll(Duration.ofSeconds(1)).isEmpty(), "it is locked");
            member.poll(Duration.ofMillis(10));
        }
        member.acknowledge(record, AcknowledgeType.ACCEPT);
        member.commitSync().forEach((partition, error) -> Check.that(error.isEmpty(), error));
        Check.that(other.poll(Duration.ofSeconds(1)).isEmpty(), "it is accepted");
    }

    public static void groupsAreAdministered(Test test) throws Exception {
        String topic = test.topic(1);
        String group = group(test);
        TopicPartition partition = new TopicPartition(topic, 0);
        Test.send(test.producer(), topic, 0, Test.numbers(0, 10));
        KafkaShareConsumer<String, String> member = member(test, topic, group, "implicit");
        Check.equal(take(member, 10), Test.numbers(0, 10));
        var described = Test.get(Test.admin().describeShareGroups(List.of(group)).all()).get(group);
        Check.equal(described.groupState(), GroupState.STABLE);
        Check.equal(described.members().iterator().next().assignment().topicPartitions(), Set.of(partition));
        var listed = Test.get(Test.admin().listGroups(new ListGroupsOptions().withTypes(Set.of(GroupType.SHARE))).all());
        Check.that(listed.stream().anyMatch(each -> each.groupId().equals(group)), listed);
        Check.equal(start(group, partition), 10L);
        member.close();
        Test.get(Test.admin().alterShareGroupOffsets(group, Map.of(partition, 4L)).all());
        Check.equal(start(group, partition), 4L);
        Check.equal(take(member(test, topic, group, "implicit"), 6), Test.numbers(4, 10));
    }

    public static void emptyGroupsAreDeleted(Test test) throws Exception {
        String topic = test.topic(1);
        String group = group(test);
        Test.send(test.producer(), topic, 0, List.of("one"));
        KafkaShareConsumer<String, String> member = member(test, topic, group, "implicit");
        Check.equal(take(member, 1), List.of("one"));
        member.close();
        Test.get(Test.admin().deleteShareGroupOffsets(group, Set.of(topic)).all());
        Check.equal(take(member(test, topic, group, "implicit"), 1), List.of("one"));
    }

    private static long start(String group, TopicPartition partition) throws Exception {
        var specs = Map.of(group, new ListShareGroupOffsetsSpec().topicPartitions(List.of(partition)));
        return Test.get(Test.admin().listShareGroupOffsets(specs).partitionsToOffsetInfo(group)).get(partition).startOffset();
    }
}
