import harness.Check;
import harness.Test;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;

/** What is sent is what is read: every way to send, every compression, keys, headers, times, and what is refused. */
public final class Records {
    private Records() {
    }

    public static void valuesAreReadBackInOrder(Test test) throws Exception {
        String topic = test.topic(1);
        List<RecordMetadata> places = Test.send(test.producer(), topic, 0, Test.numbers(0, 3000));
        for (int number = 0; number < 3000; number++) {
            Check.equal(places.get(number).offset(), (long) number);
        }
        Check.equal(test.valuesIn(topic, 1, "read_uncommitted"), Test.numbers(0, 3000));
    }

    public static void everyAcksIsHeeded(Test test) throws Exception {
        for (String acks : List.of("0", "1", "all")) {
            String topic = test.topic(1);
            var producer = test.producer("acks", acks, "enable.idempotence", "false");
            List<RecordMetadata> places = Test.send(producer, topic, 0, Test.numbers(0, 200));
            Check.equal(places.get(199).hasOffset(), !acks.equals("0"), "acks=" + acks);
            Check.await("all records with acks=" + acks,
                () -> test.valuesIn(topic, 1, "read_uncommitted").equals(Test.numbers(0, 200)));
        }
    }

    public static void everyCompressionIsReadBack(Test test) throws Exception {
        for (String type : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            String topic = test.topic(1);
            List<String> values = Test.numbers(0, 500).stream().map(number -> (type + " ").repeat(40) + number).toList();
            Test.send(test.producer("compression.type", type, "linger.ms", "20"), topic, 0, values);
            Check.equal(test.valuesIn(topic, 1, "read_committed"), values, type);
        }
    }

    public static void topicsCompressionIsAppliedByTheBroker(Test test) throws Exception {
        for (String type : List.of("uncompressed", "gzip", "snappy", "lz4", "zstd")) {
            String topic = test.topic(1, "compression.type", type);
            for (String sent : List.of("none", "gzip", "zstd")) {
                List<String> values = Test.numbers(0, 100).stream().map(number -> "same ".repeat(40) + number).toList();
                Test.send(test.producer("compression.type", sent, "linger.ms", "20"), topic, 0, values);
            }
            Check.equal(test.valuesIn(topic, 1, "read_committed").size(), 300, type);
        }
    }

    public static void keysHeadersTimesAndNullsAreKept(Test test) throws Exception {
        String topic = test.topic(1);
        var producer = test.producer();
        long time = System.currentTimeMillis() - 5_000;
        var full = new ProducerRecord<>(topic, 0, time, "key", "value");
        full.headers().add("a", "1".getBytes()).add("b", null).add("a", new byte[0]);
        for (var record : List.of(full, new ProducerRecord<String, String>(topic, "key", null),
            new ProducerRecord<String, String>(topic, null, ""))) {
            producer.send(record).get(Check.WAIT_MS, TimeUnit.MILLISECONDS);
        }
        List<ConsumerRecord<String, String>> records = test.readAll(topic, 1, "read_uncommitted");
        ConsumerRecord<String, String> first = records.get(0);
        Check.equal(first.timestamp(), time);
        Check.equal(first.timestampType(), TimestampType.CREATE_TIME);
        Check.equal(List.of(first.headers().toArray()), List.of(new RecordHeader("a", "1".getBytes()),
            new RecordHeader("b", (byte[]) null), new RecordHeader("a", new byte[0])));
        Check.equal(List.of(first.key(), first.value(), first.serializedValueSize()), List.of("key", "value", 5));
        Check.that(first.leaderEpoch().isPresent(), "a record has its leader epoch");
        Check.that(records.get(1).value() == null && records.get(1).key().equals("key"), "a tombstone");
        Check.that(records.get(2).key() == null && records.get(2).value().isEmpty(), "an empty value");
    }

    public static void partitionersSpreadRecords(Test test) throws Exception {
        String topic = test.topic(6);
        var hashing = test.producer();
        Map<String, Integer> ofKey = new HashMap<>();
        for (int round = 0; round < 3; round++) {
            for (int key = 0; key < 60; key++) {
                int partition = hashing.send(new ProducerRecord<>(topic, "key" + key, "x")).get().partition();
                Check.equal(partition, ofKey.computeIfAbsent("key" + key, any -> partition), "partition of a key");
            }
        }
        Check.equal(Set.copyOf(ofKey.values()).size(), 6);
        Check.equal(Test.send(hashing, topic, 4, List.of("given")).get(0).partition(), 4);
        var own = test.producer("partitioner.class", Last.class.getName());
        Check.equal(Test.send(own, topic, null, Test.numbers(0, 10)).stream().map(RecordMetadata::partition).distinct()
            .toList(), List.of(5));
        var sticky = test.producer("batch.size", "200", "partitioner.ignore.keys", "true", "linger.ms", "5");
        Set<Integer> used = new HashSet<>();
        Check.await("all partitions", () -> {
            Test.send(sticky, topic, null, Test.numbers(0, 300)).forEach(place -> used.add(place.partition()));
            return used.size() == 6;
        });
        Check.equal(hashing.partitionsFor(topic).size(), 6);
    }

    /** Chooses the last partition. */
    public static final class Last implements Partitioner {
        @Override
        public int partition(String topic, Object key, byte[] bytes, Object value, byte[] valueBytes, Cluster cluster) {
            return cluster.partitionCountForTopic(topic) - 1;
        }

        @Override
        public void close() {
        }

        @Override
        public void configure(Map<String, ?> settings) {
        }
    }

    public static void largeRecordsPassUpToTheTopicsLimit(Test test) throws Exception {
        String topic = test.topic(1, "max.message.bytes", "200000");
        var producer = test.producer("max.request.size", "4000000", "buffer.memory", "8000000");
        String big = "x".repeat(190_000);
        Test.send(producer, topic, 0, List.of(big));
        Check.fails(RecordTooLargeException.class, () -> Test.send(producer, topic, 0, List.of("y".repeat(210_000))));
        Check.fails(RecordTooLargeException.class, () -> Test.send(producer, topic, 0, List.of("z".repeat(5_000_000))));
        var reader = test.consumer(null, "max.partition.fetch.bytes", "1000", "fetch.max.bytes", "1000");
        reader.assign(Test.partitions(topic, 1));
        Check.equal(Test.take(reader, 1).get(0).value(), big);
    }

    /** The producer expects records to compress as well as the last ones did, so its batch turns out too large. */
    public static void batchAboveTheLimitIsSplitByTheProducer(Test test) throws Exception {
        String topic = test.topic(1, "max.message.bytes", "20000");
        var producer = test.producer("batch.size", "15000", "linger.ms", "200", "compression.type", "gzip");
        List<String> values = new ArrayList<>(Collections.nCopies(300, "v".repeat(4000)));
        Test.send(producer, topic, 0, values);
        Random random = new Random(1);
        List<String> incompressible = new ArrayList<>();
        for (int number = 0; number < 40; number++) {
            byte[] bytes = new byte[3000];
            random.nextBytes(bytes);
            incompressible.add(number + Base64.getEncoder().encodeToString(bytes));
        }
        Test.send(producer, topic, 0, incompressible);
        values.addAll(incompressible);
        Check.equal(test.valuesIn(topic, 1, "read_uncommitted"), values);
    }

    public static void wrongTopicIsRefused(Test test) {
        var producer = test.producer("max.block.ms", "10000");
        Check.fails(InvalidTopicException.class, () -> Test.send(producer, "no topic's name", null, List.of("x")));
    }

    public static void topicIsMadeByUse(Test test) throws Exception {
        String topic = test.fresh("made-by-use");
        Check.equal(Test.send(test.producer(), topic, null, List.of("x")).get(0).offset(), 0L);
    }

    public static void brokersClockIsUsedWhereTheTopicSaysSo(Test test) throws Exception {
        String topic = test.topic(1, "message.timestamp.type", "LogAppendTime");
        long before = System.currentTimeMillis() - 1_000;
        RecordMetadata place = test.producer().send(new ProducerRecord<>(topic, 0, 1000L, "k", "v")).get();
        Check.that(place.timestamp() >= before, "the broker's time " + place.timestamp());
        ConsumerRecord<String, String> record = test.readAll(topic, 1, "read_uncommitted").get(0);
        Check.equal(record.timestampType(), TimestampType.LOG_APPEND_TIME);
        Check.equal(record.timestamp(), place.timestamp());
    }

    public static void timesOutsideTheTopicsLimitsAreRefused(Test test) throws Exception {
        String topic = test.topic(1, "message.timestamp.before.max.ms", "60000", "message.timestamp.after.max.ms", "60000");
        var producer = test.producer();
        long now = System.currentTimeMillis();
        for (long time : new long[] {now - 120_000, now + 120_000}) {
            Check.fails(InvalidTimestampException.class,
                () -> producer.send(new ProducerRecord<>(topic, 0, time, "k", "v")).get());
        }
        producer.send(new ProducerRecord<>(topic, 0, now, "k", "v")).get();
    }

    public static void compactedTopicRefusesRecordsWithoutKey(Test test) throws Exception {
        String topic = test.topic(1, "cleanup.policy", "compact");
        var producer = test.producer();
        Check.fails(InvalidRecordException.class, () -> Test.send(producer, topic, 0, List.of("no key")));
        producer.send(new ProducerRecord<>(topic, 0, "key", "value")).get();
    }

    public static void producerToldToCloseDeliversFirst(Test test) throws Exception {
        String topic = test.topic(3);
        var producer = test.producer("linger.ms", "60000", "batch.size", "1000000");
        List<Future<RecordMetadata>> futures = new ArrayList<>();
        for (String value : Test.numbers(0, 100)) {
            futures.add(producer.send(new ProducerRecord<>(topic, value, value)));
        }
        producer.close();
        for (Future<RecordMetadata> future : futures) {
            Check.that(future.isDone() && future.get().hasOffset(), "each record was acknowledged");
        }
        Check.equal(test.valuesIn(topic, 3, "read_uncommitted").size(), 100);
    }

    public static void bytesOfAnyKindAreKept(Test test) throws Exception {
        String topic = test.topic(1);
        String kind = "org.apache.kafka.common.serialization.ByteBuffer";
        var properties = Test.properties("key.serializer", kind + "Serializer", "value.serializer", kind + "Serializer");
        byte[] bytes = new byte[256];
        for (int place = 0; place < 256; place++) {
            bytes[place] = (byte) place;
        }
        try (var producer = new org.apache.kafka.clients.producer.KafkaProducer<ByteBuffer, ByteBuffer>(properties)) {
            producer.send(new ProducerRecord<>(topic, ByteBuffer.wrap(bytes), ByteBuffer.wrap(bytes))).get();
        }
        String reads = "org.apache.kafka.common.serialization.ByteArrayDeserializer";
        var settings = Test.properties("key.deserializer", reads, "value.deserializer", reads, "auto.offset.reset", "earliest");
        try (var reader = new org.apache.kafka.clients.consumer.KafkaConsumer<byte[], byte[]>(settings)) {
            reader.assign(Test.partitions(topic, 1));
            ConsumerRecord<byte[], byte[]> record = Test.take(reader, 1).get(0);
            Check.equal(record.value(), bytes);
            Check.equal(record.key(), bytes);
        }
    }
}
