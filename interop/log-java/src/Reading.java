import harness.Broker;
import harness.Check;
import harness.Skip;
import harness.Test;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.NoOffsetForPartitionException;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.OffsetMetadataTooLarge;
import org.apache.kafka.common.errors.WakeupException;

/** A consumer's positions: seeking, pausing, offsets by time, commits, and what happens where there is no offset. */
public final class Reading {
    private static final String DESERIALIZER = "org.apache.kafka.common.serialization.StringDeserializer";

    private Reading() {
    }

    private static KafkaConsumer<String, String> at(Test test, String topic, int partitions, String... settings) {
        KafkaConsumer<String, String> reader = test.consumer(test.fresh("group"), settings);
        reader.assign(Test.partitions(topic, partitions));
        return reader;
    }

    private static TopicPartition numbered(Test test, int count) throws Exception {
        String topic = test.topic(1);
        Test.send(test.producer(), topic, 0, Test.numbers(0, count));
        return new TopicPartition(topic, 0);
    }

    public static void readerSeeksAnywhere(Test test) throws Exception {
        TopicPartition partition = numbered(test, 500);
        KafkaConsumer<String, String> reader = at(test, partition.topic(), 1);
        for (int offset : new int[] {0, 499, 123, 250, 1}) {
            reader.seek(partition, offset);
            Check.equal(reader.position(partition), (long) offset);
            Check.equal(Test.take(reader, 1).get(0).value(), "" + offset);
        }
        reader.seekToBeginning(List.of(partition));
        Check.equal(reader.position(partition), 0L);
        reader.seekToEnd(List.of(partition));
        Check.equal(reader.position(partition), 500L);
        reader.seek(partition, new OffsetAndMetadata(77, Optional.of(0), ""));
        Check.equal(Test.take(reader, 1).get(0).offset(), 77L);
        Check.equal(reader.beginningOffsets(List.of(partition)), Map.of(partition, 0L));
        Check.equal(reader.endOffsets(List.of(partition)), Map.of(partition, 500L));
    }

    public static void pausedPartitionsAreNotRead(Test test) throws Exception {
        String topic = test.topic(2);
        var producer = test.producer();
        for (int partition = 0; partition < 2; partition++) {
            Test.send(producer, topic, partition, Collections.nCopies(50, "in " + partition));
        }
        KafkaConsumer<String, String> reader = at(test, topic, 2);
        reader.pause(List.of(new TopicPartition(topic, 0)));
        Check.equal(Set.copyOf(Test.values(Test.take(reader, 50))), Set.of("in 1"));
        Check.equal(reader.paused(), Set.of(new TopicPartition(topic, 0)));
        reader.resume(reader.paused());
        Check.equal(Set.copyOf(Test.values(Test.take(reader, 50))), Set.of("in 0"));
    }

    public static void offsetsAreFoundByTime(Test test) throws Exception {
        String topic = test.topic(1);
        TopicPartition partition = new TopicPartition(topic, 0);
        var producer = test.producer("linger.ms", "5");
        long begin = System.currentTimeMillis() - 1_000_000;
        for (int number = 0; number < 100; number++) {
            producer.send(new ProducerRecord<>(topic, 0, begin + number * 1000L, null, "" + number));
            if (number % 7 == 6) {
                producer.flush();
            }
        }
        producer.flush();
        KafkaConsumer<String, String> reader = at(test, topic, 1);
        long[][] cases = {{-5, 0}, {0, 0}, {1, 1}, {13_500, 14}, {55_000, 55}, {98_001, 99}, {99_000, 99}};
        for (long[] each : cases) {
            OffsetAndTimestamp found = reader.offsetsForTimes(Map.of(partition, begin + each[0])).get(partition);
            Check.equal(found.offset(), each[1], "at " + each[0]);
            Check.equal(found.timestamp(), begin + each[1] * 1000, "time of " + each[1]);
        }
        Check.that(reader.offsetsForTimes(Map.of(partition, begin + 99_001)).get(partition) == null, "none is later");
    }

    public static void offsetsInCompressedBatchesAreFoundByTime(Test test) throws Exception {
        String topic = test.topic(1);
        TopicPartition partition = new TopicPartition(topic, 0);
        var producer = test.producer("linger.ms", "500", "batch.size", "100000", "compression.type", "lz4");
        long begin = System.currentTimeMillis() - 1_000_000;
        for (int number = 0; number < 100; number++) {
            producer.send(new ProducerRecord<>(topic, 0, begin + number * 1000L, null, "" + number));
        }
        producer.flush();
        OffsetAndTimestamp found = at(test, topic, 1).offsetsForTimes(Map.of(partition, begin + 41_500)).get(partition);
        Check.equal(found.offset(), 42L);
    }

    public static void committedOffsetsAreRegisters(Test test) throws Exception {
        TopicPartition partition = numbered(test, 100);
        KafkaConsumer<String, String> reader = at(test, partition.topic(), 1);
        Check.that(reader.committed(Set.of(partition)).get(partition) == null, "nothing is committed at first");
        reader.commitSync(Map.of(partition, new OffsetAndMetadata(10, Optional.of(0), "ten")));
        Check.equal(reader.committed(Set.of(partition)).get(partition), new OffsetAndMetadata(10, Optional.of(0), "ten"));
        reader.commitSync(Map.of(partition, new OffsetAndMetadata(5)));
        Check.equal(reader.committed(Set.of(partition)).get(partition).offset(), 5L);
        List<Object> answers = Collections.synchronizedList(new ArrayList<>());
        for (int offset = 20; offset < 40; offset++) {
            reader.commitAsync(Map.of(partition, new OffsetAndMetadata(offset)),
                (offsets, error) -> answers.add(error == null ? offsets.get(partition).offset() : error));
        }
        Check.await("all answers", () -> {
            reader.poll(Duration.ofMillis(10));
            return answers.size() == 20;
        });
        Check.equal(answers, Test.numbers(20, 40).stream().map(Long::valueOf).toList());
        Check.equal(reader.committed(Set.of(partition)).get(partition).offset(), 39L);
        Check.fails(OffsetMetadataTooLarge.class,
            () -> reader.commitSync(Map.of(partition, new OffsetAndMetadata(1, "x".repeat(5000)))));
    }

    public static void readerCommitsByItself(Test test) throws Exception {
        TopicPartition partition = numbered(test, 100);
        String group = test.fresh("group");
        for (boolean atClose : new boolean[] {false, true}) {
            KafkaConsumer<String, String> reader = test.consumer(group, "enable.auto.commit", "true",
                "auto.commit.interval.ms", atClose ? "60000" : "200", "max.poll.records", "10");
            reader.subscribe(List.of(partition.topic()));
            int taken = Test.take(reader, 10).size();
            if (atClose) {
                reader.close();
            } else {
                Check.await("a commit", () -> {
                    reader.pause(reader.assignment());
                    reader.poll(Duration.ofMillis(50));
                    OffsetAndMetadata committed = reader.committed(Set.of(partition)).get(partition);
                    return committed != null && committed.offset() == taken;
                });
                reader.close();
            }
        }
        KafkaConsumer<String, String> last = test.consumer(group);
        Check.equal(last.committed(Set.of(partition)).get(partition).offset(), 20L);
    }

    public static void groupGoesOnWhereItWas(Test test) throws Exception {
        TopicPartition partition = numbered(test, 100);
        String group = test.fresh("group");
        for (int round = 0; round < 5; round++) {
            try (KafkaConsumer<String, String> reader = test.consumer(group, "max.poll.records", "20")) {
                reader.subscribe(List.of(partition.topic()));
                Check.equal(Test.values(Test.take(reader, 20)), Test.numbers(round * 20, round * 20 + 20));
                reader.commitSync();
            }
        }
    }

    public static void readerWithoutAnOffsetDoesWhatItsResetSays(Test test) throws Exception {
        TopicPartition partition = numbered(test, 10);
        KafkaConsumer<String, String> none = at(test, partition.topic(), 1, "auto.offset.reset", "none");
        Check.fails(NoOffsetForPartitionException.class, () -> Test.take(none, 1));
        none.seek(partition, 99);
        Check.fails(OffsetOutOfRangeException.class, () -> Test.take(none, 1));
        KafkaConsumer<String, String> latest = at(test, partition.topic(), 1, "auto.offset.reset", "latest");
        Check.equal(latest.position(partition), 10L);
        KafkaConsumer<String, String> earliest = at(test, partition.topic(), 1);
        earliest.seek(partition, 99);
        Check.equal(Test.take(earliest, 1).get(0).offset(), 0L);
    }

    public static void readerWaitsForWhatComes(Test test) throws Exception {
        String topic = test.topic(1);
        KafkaConsumer<String, String> reader = at(test, topic, 1, "fetch.max.wait.ms", "20000");
        Check.equal(reader.poll(Duration.ofMillis(300)).count(), 0);
        long begin = System.nanoTime();
        Test.send(test.producer(), topic, 0, List.of("now"));
        Check.equal(Test.take(reader, 1).get(0).value(), "now");
        Check.that(System.nanoTime() - begin < 10_000_000_000L, "a fetch that waits ends when a record comes");
    }

    public static void leastBytesAreWaitedFor(Test test) throws Exception {
        String topic = test.topic(1);
        var producer = test.producer();
        Test.send(producer, topic, 0, List.of("small"));
        KafkaConsumer<String, String> reader =
            at(test, topic, 1, "fetch.min.bytes", "50000", "fetch.max.wait.ms", "15000");
        Check.equal(reader.poll(Duration.ofMillis(500)).count(), 0);
        Test.send(producer, topic, 0, List.of("x".repeat(60_000)));
        long begin = System.nanoTime();
        Check.equal(Test.take(reader, 2).size(), 2);
        Check.that(System.nanoTime() - begin < 10_000_000_000L, "enough bytes end the wait");
    }

    public static void onlySoManyRecordsComeAtATime(Test test) throws Exception {
        TopicPartition partition = numbered(test, 100);
        KafkaConsumer<String, String> reader = at(test, partition.topic(), 1, "max.poll.records", "7");
        List<String> values = new ArrayList<>();
        Check.await("all", () -> {
            var batch = reader.poll(Duration.ofMillis(100));
            Check.that(batch.count() <= 7, batch.count());
            batch.forEach(record -> values.add(record.value()));
            return values.size() == 100;
        });
        Check.equal(values, Test.numbers(0, 100));
    }

    public static void manyPartitionsAreReadByOne(Test test) throws Exception {
        String topic = test.topic(60);
        test.fill(topic, 3000);
        KafkaConsumer<String, String> reader = at(test, topic, 60);
        Check.equal(Set.copyOf(Test.values(Test.take(reader, 3000))), Set.copyOf(Test.numbers(0, 3000)));
        // The broker keeps what was asked for; what changes is told.
        test.fill(topic, 100);
        Check.equal(Test.take(reader, 100).size(), 100);
        reader.assign(Test.partitions(topic, 5));
        reader.seekToEnd(List.of());
        Test.partitions(topic, 5).forEach(reader::position);
        Test.send(test.producer(), topic, 4, List.of("four"));
        Check.equal(Test.take(reader, 1).get(0).value(), "four");
    }

    public static void waitingReaderIsWokenUp(Test test) throws Exception {
        KafkaConsumer<String, String> reader = at(test, test.topic(1), 1);
        Thread waker = new Thread(reader::wakeup);
        waker.start();
        Check.fails(WakeupException.class, () -> reader.poll(Duration.ofSeconds(20)));
    }

    public static void topicsAreListedForAReader(Test test) throws Exception {
        String topic = test.topic(3);
        KafkaConsumer<String, String> reader = test.consumer(test.fresh("group"));
        Check.equal(reader.partitionsFor(topic).size(), 3);
        Check.that(reader.listTopics().containsKey(topic), "it is listed");
        Check.that(reader.partitionsFor(topic).get(0).leader() != null, "it has a leader");
    }

    public static void deletedTopicIsNotReadUnderItsNewNamesake(Test test) throws Exception {
        String topic = test.topic(1);
        Test.send(test.producer(), topic, 0, Test.numbers(0, 10));
        KafkaConsumer<String, String> reader = at(test, topic, 1, "metadata.max.age.ms", "300");
        Check.equal(Test.take(reader, 10).size(), 10);
        Test.get(Test.admin().deleteTopics(List.of(topic)).all());
        Check.eventually(() -> Test.get(Test.admin().createTopics(
            List.of(new org.apache.kafka.clients.admin.NewTopic(topic, 1, (short) 1))).all()));
        var producer = test.producer();
        Check.eventually(() -> Check.equal(Test.send(producer, topic, 0, List.of("new")).get(0).topic(), topic));
        Check.equal(Test.take(reader, 1).get(0).value(), "new");
    }

    public static void commitOutsideAGroupIsRefused(Test test) throws Exception {
        TopicPartition partition = numbered(test, 1);
        KafkaConsumer<String, String> reader = test.consumer(null);
        reader.assign(List.of(partition));
        Check.fails(KafkaException.class, () -> reader.commitSync(Map.of(partition, new OffsetAndMetadata(1))));
    }

    /** What is read is the same, and comes from the replica in the reader's rack, unless a broker dies meanwhile. */
    public static void readerInARackReadsTheReplicaThere(Test test) throws Exception {
        if (Broker.ADDRESSES.size() == 1) {
            throw new Skip("the broker is alone");
        }
        String topic = test.topic(1);
        List<String> sent = Collections.nCopies(500, "x".repeat(1000));
        Test.send(test.producer(), topic, 0, sent);
        Check.eventually(() -> {
            Node follower = follower(topic);
            try (KafkaConsumer<String, String> reader = inRack(follower.rack(), topic)) {
                Check.equal(Test.values(Test.take(reader, sent.size())), sent);
                Check.that(received(reader, follower) > 500 * 1000, "the follower was not read");
            }
        });
    }

    private static Node follower(String topic) throws Exception {
        var partition = Test.get(Test.admin().describeTopics(List.of(topic)).allTopicNames()).get(topic).partitions().get(0);
        var followers = partition.isr().stream().filter(node -> !node.equals(partition.leader())).toList();
        Check.that(!followers.isEmpty(), "no follower is in sync");
        return followers.get(0);
    }

    private static KafkaConsumer<String, String> inRack(String rack, String topic) {
        KafkaConsumer<String, String> reader = new KafkaConsumer<>(Test.properties("client.rack", rack, "auto.offset.reset",
            "earliest", "key.deserializer", DESERIALIZER, "value.deserializer", DESERIALIZER));
        reader.assign(Test.partitions(topic, 1));
        return reader;
    }

    /** How many bytes came from that broker. */
    private static double received(KafkaConsumer<String, String> reader, Node from) {
        return reader.metrics().entrySet().stream()
            .filter(of -> of.getKey().name().equals("incoming-byte-total"))
            .filter(of -> ("node-" + from.id()).equals(of.getKey().tags().get("node-id")))
            .mapToDouble(of -> ((Number) of.getValue().metricValue()).doubleValue())
            .sum();
    }
}
