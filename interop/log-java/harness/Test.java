package harness;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnsupportedVersionException;

/** One test's surroundings: names of its own, clients that are closed when it ends, and what tests do all the time. */
public final class Test implements AutoCloseable {
    private static Admin shared;
    /** Names that belong to this test begin with this. */
    public final String name;
    private final Deque<AutoCloseable> open = new ArrayDeque<>();
    private int names;

    Test(String name) {
        this.name = name.replaceAll("[^A-Za-z0-9]", "-") + "-" + UUID.randomUUID().toString().substring(0, 4);
    }

    /** Closes it when the test ends, the latest first. */
    public synchronized <T extends AutoCloseable> T closing(T resource) {
        open.push(resource);
        return resource;
    }

    public synchronized String fresh(String what) {
        return what + "-" + ++names + "-" + name;
    }

    /** The admin client of all tests. */
    public static synchronized Admin admin() {
        if (shared == null) {
            shared = Admin.create(properties("request.timeout.ms", "15000", "default.api.timeout.ms", "30000"));
        }
        return shared;
    }

    public static Properties properties(String... settings) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", Broker.CONNECT);
        for (int place = 0; place < settings.length; place += 2) {
            properties.put(settings[place], settings[place + 1]);
        }
        return properties;
    }

    public static Map<String, String> map(String... pairs) {
        Map<String, String> map = new HashMap<>();
        for (int place = 0; place < pairs.length; place += 2) {
            map.put(pairs[place], pairs[place + 1]);
        }
        return map;
    }

    /**
     * Skips the test if the broker is ours and does not know yet the API that this calls. Once it does, the test runs, and what is
     * wrong fails.
     */
    public static void needs(String what, Check.Action call) throws Exception {
        try {
            call.run();
        } catch (Exception error) {
            if (!Broker.isKafka() && Check.unwrapped(error) instanceof UnsupportedVersionException) {
                throw new Skip("the broker has no " + what + " yet");
            }
        }
    }

    /** The same for a feature that the cluster has finalized. */
    public static void needsFeature(String feature) throws Exception {
        boolean has = get(admin().describeFeatures().featureMetadata()).finalizedFeatures().containsKey(feature);
        if (!has && !Broker.isKafka()) {
            throw new Skip("the broker has no " + feature + " yet");
        }
    }

    public static <T> T get(KafkaFuture<T> future) throws Exception {
        return future.get(Check.WAIT_MS, TimeUnit.MILLISECONDS);
    }

    /**
     * A new topic with these settings, on three brokers if there are so many. A reply to its creation comes before the broker itself serves the topic, and idempotent
     * producers of 3.9 may hang when they meet it earlier.
     */
    public String topic(int partitions, String... settings) throws Exception {
        String topic = fresh("topic");
        short replicas = (short) Math.min(3, Broker.ADDRESSES.size());
        NewTopic asked = new NewTopic(topic, partitions, replicas).configs(map(settings));
        if (replicas == 1) {
            get(admin().createTopics(List.of(asked)).all());
        } else {
            Check.eventually(() -> createWhileBrokersDie(asked));
        }
        Check.eventually(() -> {
            for (TopicPartition partition : partitions(topic, partitions)) {
                latest(partition, IsolationLevel.READ_UNCOMMITTED);
            }
        });
        return topic;
    }

    /** There may be too few brokers for a moment; and one that dies before it answers has made the topic. */
    private static void createWhileBrokersDie(NewTopic asked) throws Exception {
        try {
            get(admin().createTopics(List.of(asked)).all());
        } catch (ExecutionException error) {
            if (!(error.getCause() instanceof TopicExistsException)) {
                throw error;
            }
        }
    }

    public static List<TopicPartition> partitions(String topic, int count) {
        return IntStream.range(0, count).mapToObj(number -> new TopicPartition(topic, number)).toList();
    }

    public KafkaProducer<String, String> producer(String... settings) {
        Properties properties = properties("linger.ms", "0", "key.serializer", STRING + "Serializer",
            "value.serializer", STRING + "Serializer");
        properties.putAll(map(settings));
        return closing(new KafkaProducer<>(properties));
    }

    private static final String STRING = "org.apache.kafka.common.serialization.String";

    /** A consumer that begins at the earliest offset and commits nothing by itself. `group` may be null. */
    public KafkaConsumer<String, String> consumer(String group, String... settings) {
        Properties properties = properties("auto.offset.reset", "earliest", "enable.auto.commit", "false",
            "key.deserializer", STRING + "Deserializer", "value.deserializer", STRING + "Deserializer");
        if (group != null) {
            properties.put("group.id", group);
        }
        properties.putAll(map(settings));
        // These two are the broker's to say for the consumer protocol.
        if (!"consumer".equals(properties.get("group.protocol"))) {
            properties.putIfAbsent("session.timeout.ms", "6000");
            properties.putIfAbsent("heartbeat.interval.ms", "300");
        }
        return closing(new KafkaConsumer<>(properties));
    }

    /** Sends values one after the other, keys being null, and returns where they are. */
    public static List<RecordMetadata> send(Producer<String, String> producer, String topic, Integer partition,
        Collection<String> values) throws Exception {
        List<Future<RecordMetadata>> futures = new ArrayList<>();
        for (String value : values) {
            futures.add(producer.send(new ProducerRecord<>(topic, partition, null, value)));
        }
        producer.flush();
        List<RecordMetadata> places = new ArrayList<>();
        for (Future<RecordMetadata> future : futures) {
            places.add(future.get(Check.WAIT_MS, TimeUnit.MILLISECONDS));
        }
        return places;
    }

    /** Sends numbered values through a producer of its own, with the numbers as keys. */
    public void fill(String topic, int count, String... settings) throws Exception {
        try (KafkaProducer<String, String> producer = producer(settings)) {
            List<Future<RecordMetadata>> futures = new ArrayList<>();
            for (int number = 0; number < count; number++) {
                futures.add(producer.send(new ProducerRecord<>(topic, "" + number, "" + number)));
            }
            producer.flush();
            for (Future<RecordMetadata> future : futures) {
                future.get(Check.WAIT_MS, TimeUnit.MILLISECONDS);
            }
        }
    }

    /** The next records of a consumer, at least this many. */
    public static <K, V> List<ConsumerRecord<K, V>> take(Consumer<K, V> consumer, int count) throws Exception {
        List<ConsumerRecord<K, V>> records = new ArrayList<>();
        long deadline = System.nanoTime() + Check.WAIT_MS * 1_000_000;
        while (records.size() < count) {
            consumer.poll(Duration.ofMillis(100)).forEach(records::add);
            Check.that(System.nanoTime() < deadline, "only " + records.size() + " of " + count + " records came");
        }
        return records;
    }

    public static List<String> values(List<ConsumerRecord<String, String>> records) {
        return records.stream().map(ConsumerRecord::value).toList();
    }

    /**
     * Everything that a reader of this isolation finds in a topic, up to the ends that it is told, by partition and order. A
     * reader of committed records waits first until no transaction is open: a commit is acknowledged before its records
     * can be read.
     */
    public List<ConsumerRecord<String, String>> readAll(String topic, int partitions, String isolation) throws Exception {
        if (isolation.equals("read_committed")) {
            for (TopicPartition partition : partitions(topic, partitions)) {
                Check.await("the end of the transactions in " + partition, () -> latest(partition, IsolationLevel.READ_COMMITTED)
                    == latest(partition, IsolationLevel.READ_UNCOMMITTED));
            }
        }
        try (KafkaConsumer<String, String> reader = consumer(null, "isolation.level", isolation)) {
            List<ConsumerRecord<String, String>> records = new ArrayList<>();
            for (TopicPartition partition : partitions(topic, partitions)) {
                reader.assign(List.of(partition));
                reader.seekToBeginning(List.of(partition));
                long end = reader.endOffsets(List.of(partition)).get(partition);
                long deadline = System.nanoTime() + Check.WAIT_MS * 1_000_000;
                while (reader.position(partition) < end) {
                    reader.poll(Duration.ofMillis(100)).forEach(records::add);
                    Check.that(System.nanoTime() < deadline,
                        partition + " is read up to " + reader.position(partition) + ", not to its end " + end);
                }
            }
            return records;
        }
    }

    /** The offset behind the last record that a reader of this isolation may read. */
    public static long latest(TopicPartition partition, IsolationLevel isolation) throws Exception {
        return get(admin().listOffsets(Map.of(partition, OffsetSpec.latest()), new ListOffsetsOptions(isolation))
            .partitionResult(partition)).offset();
    }

    public List<String> valuesIn(String topic, int partitions, String isolation) throws Exception {
        return values(readAll(topic, partitions, isolation));
    }

    /** Numbers from `first` up to, without, `end`, as texts. */
    public static List<String> numbers(int first, int end) {
        return IntStream.range(first, end).mapToObj(Integer::toString).toList();
    }

    /** Closing takes clients a while, which nobody needs to wait for. */
    @Override
    public synchronized void close() {
        Deque<AutoCloseable> resources = new ArrayDeque<>(open);
        open.clear();
        Thread thread = new Thread(() -> {
            while (!resources.isEmpty()) {
                AutoCloseable resource = resources.pop();
                try {
                    if (resource instanceof KafkaProducer<?, ?> producer) {
                        producer.close(Duration.ofSeconds(1));
                    } else {
                        resource.close();
                    }
                } catch (Exception error) {
                    System.err.println("closing: " + error);
                }
            }
        });
        thread.setDaemon(true);
        thread.start();
    }
}
