import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A work queue on a Diwan broker, with Apache Kafka's own client (4.2 or later): competing workers, retries, a delay, a time to
 * live, and a dead-letter topic.
 */
public final class WorkQueue {
    private final String bootstrap;
    private final String queue;
    private final String group;
    private final String deadLetters;

    public WorkQueue(String bootstrap, String queue, String group) {
        this.bootstrap = bootstrap;
        this.queue = queue;
        this.group = group;
        this.deadLetters = "dlq." + queue;
    }

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments.length > 0 ? arguments[0] : "127.0.0.1:9092";
        WorkQueue example = new WorkQueue(bootstrap, "invoices", "billing");
        example.create();
        example.send("invoice 1", Map.of());
        example.send("not an invoice", Map.of());
        example.send("invoice 2, in two seconds", Map.of("diwan.delay.ms", "2000"));
        example.send("invoice 3, which nobody wants any more", Map.of("diwan.ttl.ms", "0"));
        System.out.println("handled: " + example.work(2));
        System.out.println("dead letters: " + example.deadLetters(2));
    }

    /** The topic, and what holds for the group. */
    public void create() throws Exception {
        try (Admin admin = Admin.create(properties())) {
            NewTopic topic = new NewTopic(queue, Optional.of(1), Optional.empty());
            admin.createTopics(List.of(topic.configs(Map.of("diwan.queue.headers.enable", "true")))).all().get();
            Map<String, String> settings = Map.of(
                "share.auto.offset.reset", "earliest",
                "share.delivery.count.limit", "5",
                "errors.deadletterqueue.topic.name", deadLetters,
                "errors.deadletterqueue.copy.record.enable", "true");
            Collection<AlterConfigOp> set = new ArrayList<>();
            settings.forEach((name, value) -> set.add(new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
            admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, group), set)).all().get();
        }
    }

    /** Sends a message, and returns when it is durable. */
    public void send(String message, Map<String, String> headers) throws InterruptedException, ExecutionException {
        Properties properties = properties();
        try (var producer = new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
            var record = new ProducerRecord<String, String>(queue, message);
            headers.forEach((name, value) -> record.headers().add(name, value.getBytes()));
            producer.send(record).get();
        }
    }

    /** A worker that ends when it has handled so many messages. As many as you like may run. Gives what was handled, in order. */
    public List<String> work(int messages) {
        Properties properties = properties();
        properties.put("group.id", group);
        properties.put("share.acknowledgement.mode", "explicit");
        List<String> handled = new ArrayList<>();
        try (var worker = new KafkaShareConsumer<>(properties, new StringDeserializer(), new StringDeserializer())) {
            worker.subscribe(List.of(queue));
            while (handled.size() < messages) {
                for (ConsumerRecord<String, String> record : worker.poll(Duration.ofSeconds(1))) {
                    if (!record.value().startsWith("invoice")) {
                        // It will never be good: it becomes a dead letter.
                        worker.acknowledge(record, AcknowledgeType.REJECT);
                    } else if (record.deliveryCount().orElse((short) 1) == 1) {
                        // The first attempt fails: another worker, or this one, gets it again.
                        worker.acknowledge(record, AcknowledgeType.RELEASE);
                    } else {
                        handled.add(record.value());
                        worker.acknowledge(record, AcknowledgeType.ACCEPT);
                    }
                }
                worker.commitSync();
            }
        }
        return handled;
    }

    /** Waits for so many dead letters, and gives them with the reason of each. */
    public Map<String, String> deadLetters(int messages) {
        Map<String, String> letters = new TreeMap<>();
        try (var reader = new KafkaConsumer<>(properties(), new StringDeserializer(), new StringDeserializer())) {
            reader.assign(List.of(new TopicPartition(deadLetters, 0)));
            reader.seekToBeginning(reader.assignment());
            while (letters.size() < messages) {
                for (ConsumerRecord<String, String> record : reader.poll(Duration.ofSeconds(1))) {
                    String reason = new String(record.headers().lastHeader("diwan.dlq.reason").value());
                    letters.put(record.value(), reason);
                }
            }
        }
        return letters;
    }

    private Properties properties() {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        return properties;
    }
}
