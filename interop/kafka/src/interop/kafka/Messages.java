package interop.kafka;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Messages of one topic: everything acknowledged must be read, once. */
final class Messages implements AutoCloseable {
    private final String bootstrap;
    private final String topic;
    private final KafkaProducer<String, String> producer;
    private int sent;

    Messages(Cluster cluster, String topic) {
        this.bootstrap = cluster.bootstrap();
        this.topic = topic;
        // Idempotent by default: its producer id comes from a block that the brokers claim in the tree.
        this.producer = new KafkaProducer<>(
                Map.of(
                        ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap,
                        ProducerConfig.ACKS_CONFIG, "all",
                        // It looks who is there each second: a client that has last looked while one broker was dead would know
                        // of that broker alone, and of none once the other stops.
                        ProducerConfig.METADATA_MAX_AGE_CONFIG, 1000,
                        ProducerConfig.MAX_BLOCK_MS_CONFIG, (int) Wait.PATIENCE.toMillis(),
                        ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, 3000,
                        ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, (int) Wait.PATIENCE.toMillis()),
                new StringSerializer(),
                new StringSerializer());
    }

    /** Sends so many, and returns when all are acknowledged by every replica in sync. */
    void send(int count) throws Exception {
        var acknowledgements = new java.util.ArrayList<Future<RecordMetadata>>();
        for (int i = 0; i < count; i++) {
            String number = String.valueOf(sent++);
            acknowledgements.add(producer.send(new ProducerRecord<>(topic, "key-" + number, number)));
        }
        for (var acknowledgement : acknowledgements) {
            acknowledgement.get();
        }
    }

    /** Reads everything ever sent, as a new group, and commits; each message must be there exactly once. */
    void readAll(String group) {
        var expected = new TreeMap<String, Integer>();
        for (int i = 0; i < sent; i++) {
            expected.put(String.valueOf(i), 1);
        }
        var read = read(group, sent);
        if (!read.equals(expected)) {
            var wrong = new TreeMap<>(read);
            expected.forEach((number, times) -> wrong.merge(number, -times, Integer::sum));
            wrong.values().removeIf(times -> times == 0);
            throw new AssertionError(topic + ": read too often (or, below 0, not at all): " + wrong);
        }
    }

    /** How often each message is read, until the given number has come, or nothing comes any more. */
    Map<String, Integer> read(String group, int count) {
        var read = new TreeMap<String, Integer>();
        try (var consumer = new KafkaConsumer<>(
                Map.<String, Object>of(
                        ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap,
                        ConsumerConfig.GROUP_ID_CONFIG, group,
                        ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest",
                        ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false),
                new StringDeserializer(),
                new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            long deadline = System.nanoTime() + Wait.PATIENCE.toNanos();
            for (int seen = 0; seen < count && System.nanoTime() < deadline; ) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    read.merge(record.value(), 1, Integer::sum);
                    seen++;
                }
            }
            consumer.commitSync();
        }
        return read;
    }

    @Override
    public void close() {
        producer.close(Duration.ZERO);
    }
}
