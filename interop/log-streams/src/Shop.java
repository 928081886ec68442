import harness.Check;
import harness.Test;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.state.QueryableStoreTypes;

/**
 * An application with every kind of internal topic. Orders (key: a customer; value: the number of the order) are counted by
 * customer, counted by customer and window of time, and, joined with each customer's region, summed by region behind a
 * repartition. Each result goes to a topic of its own, and what is right can be computed.
 */
final class Shop implements AutoCloseable {
    static final int PARTITIONS = 2;
    private static final int CUSTOMERS = 12;
    private static final int REGIONS = 3;
    /** An hour ago, where a window begins: a broker deletes what is older than a changelog keeps, and a store that is restored lacks it. */
    private static final long BEGIN = (System.currentTimeMillis() - 3_600_000) / Application.WINDOW_MS * Application.WINDOW_MS;

    final String orders;
    final String counts;
    private final String customers;
    private final String windows;
    private final String sums;
    private final Test test;
    private final String id;
    private final String[] settings;
    private final Path directory;
    private final KafkaProducer<String, String> producer;
    private KafkaStreams streams;
    private Process apart;
    private int sent;

    Shop(Test test, String... settings) throws Exception {
        this.test = test;
        this.settings = settings;
        id = test.fresh("shop");
        // Longest first: a time is one that no retention has passed.
        String[] keeps = {"message.timestamp.before.max.ms", "" + Long.MAX_VALUE, "retention.ms", "-1"};
        orders = test.topic(PARTITIONS, keeps);
        customers = test.topic(PARTITIONS, keeps);
        counts = test.topic(PARTITIONS, keeps);
        windows = test.topic(PARTITIONS, keeps);
        sums = test.topic(PARTITIONS, keeps);
        directory = Files.createTempDirectory("streams");
        producer = test.producer("delivery.timeout.ms", "120000", "request.timeout.ms", "5000", "max.block.ms", "120000",
            "reconnect.backoff.max.ms", "200", "linger.ms", "5");
        List<Future<RecordMetadata>> futures = new ArrayList<>();
        for (int customer = 0; customer < CUSTOMERS; customer++) {
            futures.add(producer.send(new ProducerRecord<>(customers, null, BEGIN - 1000, "c" + customer, "r" + customer % REGIONS)));
        }
        for (Future<RecordMetadata> future : futures) {
            future.get(Check.WAIT_MS, TimeUnit.MILLISECONDS);
        }
        test.closing(this);
    }

    Shop start() throws Exception {
        Application application = application();
        streams = new KafkaStreams(application.topology(), application.properties());
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
        streams.start();
        return this;
    }

    private Application application() {
        return new Application(id, directory.toString(), List.of(orders, customers, counts, windows, sums), settings);
    }

    /** Starts the application as a process of its own, which can be killed. */
    Shop startApart() throws Exception {
        apart = application().start();
        return this;
    }

    /** SIGKILL: the application can say nothing any more, and its local state is as it was. */
    void killApart() throws Exception {
        apart.destroyForcibly();
        Check.that(apart.waitFor(30, TimeUnit.SECONDS), "the application does not die");
    }

    /** Waits until the application has written something since there were so many results, committed or not. */
    void awaitMoreThan(long results) throws Exception {
        Check.await("the application to work", () -> {
            Check.that(apart.isAlive(), "the application ended by itself");
            return written() > results;
        });
    }

    /** How many results by customer have been written, committed or not, markers included. */
    long written() throws Exception {
        try (var reader = reader()) {
            return reader.endOffsets(Test.partitions(counts, PARTITIONS)).values().stream().mapToLong(Long::longValue).sum();
        }
    }

    Shop awaitRunning() throws Exception {
        Check.await("the application to run", () -> streams.state() == KafkaStreams.State.RUNNING);
        return this;
    }

    /**
     * Stops the application, and throws its local state away if told to. Its members leave their group: the next start need not wait
     * for the end of their sessions.
     */
    void stop(boolean forget) {
        CloseOptions leaving = CloseOptions.timeout(Duration.ofSeconds(60))
            .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP);
        Check.that(streams.close(leaving), "the application does not stop");
        if (forget) {
            streams.cleanUp();
        }
    }

    /** Tells the application to stop, and waits so long for it. */
    void close(Duration patience) {
        streams.close(patience);
    }

    @Override
    public void close() {
        if (streams != null) {
            close(Duration.ofSeconds(5));
        }
        if (apart != null) {
            apart.destroyForcibly();
        }
    }

    /** Sends this many orders, and waits until they are acknowledged. */
    void order(int count) throws Exception {
        List<Future<RecordMetadata>> futures = new ArrayList<>();
        for (int end = sent + count; sent < end; sent++) {
            futures.add(producer.send(new ProducerRecord<>(orders, null, BEGIN + sent * 100L, customer(sent), "" + sent)));
        }
        for (Future<RecordMetadata> future : futures) {
            future.get(120, TimeUnit.SECONDS);
        }
    }

    private static String customer(int order) {
        return "c" + order * 7 % CUSTOMERS;
    }

    /** Compares the last result of each key with what it must be, once all are there. With `exact`, each result in between too. */
    void verify(boolean exact) throws Exception {
        Map<String, Long> count = new TreeMap<>();
        Map<String, Long> window = new TreeMap<>();
        Map<String, Long> sum = new TreeMap<>();
        for (int order = 0; order < sent; order++) {
            long time = BEGIN + order * 100L;
            count.merge(customer(order), 1L, Long::sum);
            window.merge(customer(order) + "@" + (time - time % Application.WINDOW_MS), 1L, Long::sum);
            sum.merge("r" + Integer.parseInt(customer(order).substring(1)) % REGIONS, (long) order, Long::sum);
        }
        for (var each : Map.of(counts, count, windows, window, sums, sum).entrySet()) {
            awaitResults(each.getKey(), each.getValue());
        }
        if (exact) {
            Map<String, Long> before = new HashMap<>();
            for (ConsumerRecord<String, Long> record : results(counts)) {
                Check.equal(record.value(), before.merge(record.key(), 1L, Long::sum), "next count of " + record.key());
            }
            Check.equal(results(sums).size(), sent, "results by region");
            Check.equal(results(windows).size(), sent, "results by window");
        }
    }

    /** Waits for these last results, as long as there are others from time to time: an application that starts restores its stores first. */
    private void awaitResults(String topic, Map<String, Long> wanted) throws Exception {
        Map<String, Long> seen = last(topic);
        while (!seen.equals(wanted)) {
            Map<String, Long> before = seen;
            Check.await(() -> "more results in " + topic + ": " + difference(before, wanted), () -> !last(topic).equals(before));
            seen = last(topic);
        }
    }

    private static String difference(Map<String, Long> seen, Map<String, Long> wanted) {
        Map<String, String> different = new TreeMap<>();
        wanted.forEach((key, value) -> {
            if (!value.equals(seen.get(key))) {
                different.put(key, seen.get(key) + " instead of " + value);
            }
        });
        return different.size() + " differ: " + different;
    }

    /** A query of the application's own store. */
    long stored(String customer) {
        Long value = streams.store(StoreQueryParameters.fromNameAndType("counts", QueryableStoreTypes.<String, Long>keyValueStore()))
            .get(customer);
        return value == null ? 0 : value;
    }

    private Map<String, Long> last(String topic) throws Exception {
        Map<String, Long> last = new TreeMap<>();
        results(topic).forEach(record -> last.put(record.key(), record.value()));
        return last;
    }

    private static KafkaConsumer<String, Long> reader() {
        return new KafkaConsumer<>(Test.properties("isolation.level", "read_uncommitted", "key.deserializer",
            "org.apache.kafka.common.serialization.StringDeserializer", "value.deserializer",
            "org.apache.kafka.common.serialization.LongDeserializer"));
    }

    private List<ConsumerRecord<String, Long>> results(String topic) throws Exception {
        Properties properties = Test.properties("isolation.level", "read_committed", "key.deserializer",
            "org.apache.kafka.common.serialization.StringDeserializer", "value.deserializer",
            "org.apache.kafka.common.serialization.LongDeserializer");
        List<ConsumerRecord<String, Long>> records = new ArrayList<>();
        try (var reader = new KafkaConsumer<String, Long>(properties)) {
            var partitions = Test.partitions(topic, PARTITIONS);
            reader.assign(partitions);
            reader.seekToBeginning(partitions);
            var ends = reader.endOffsets(partitions);
            while (partitions.stream().anyMatch(partition -> reader.position(partition) < ends.get(partition))) {
                reader.poll(Duration.ofMillis(100)).forEach(records::add);
            }
        }
        return records;
    }
}
