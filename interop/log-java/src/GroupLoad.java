import harness.Check;
import harness.Test;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;

/** A group that reads what a producer sends and commits: it sees every record, and its offsets never go back. */
final class GroupLoad extends Load {
    private static final int PARTITIONS = 2;
    private final String topic;
    private final String group;
    private final String protocol;
    private final Set<String> seen = ConcurrentHashMap.newKeySet();
    private final Map<TopicPartition, Long> committed = new HashMap<>();
    private volatile int sent;

    GroupLoad(Test test, String protocol) throws Exception {
        super(test);
        this.protocol = protocol;
        topic = test.topic(PARTITIONS);
        group = test.fresh(protocol);
    }

    @Override
    void work() throws Exception {
        try (KafkaProducer<String, String> producer = test.producer("delivery.timeout.ms", "60000", "request.timeout.ms", "5000",
                "reconnect.backoff.max.ms", "200");
            KafkaConsumer<String, String> reader = test.consumer(group, "group.protocol", protocol,
                "reconnect.backoff.max.ms", "200", "request.timeout.ms", "5000", "default.api.timeout.ms", "40000")) {
            reader.subscribe(List.of(topic));
            long deadline = Long.MAX_VALUE;
            while (!finishing || seen.size() < sent) {
                if (!finishing) {
                    for (int count = 0; count < 5; count++) {
                        producer.send(new ProducerRecord<>(topic, sent % PARTITIONS, null, "" + sent++));
                    }
                } else if (deadline == Long.MAX_VALUE) {
                    producer.flush();
                    deadline = System.nanoTime() + Check.WAIT_MS * 1_000_000;
                }
                Check.that(System.nanoTime() < deadline, "the group saw " + seen.size() + " of " + sent + " records");
                step(reader);
            }
        }
    }

    private void step(KafkaConsumer<String, String> reader) throws Exception {
        var records = reader.poll(Duration.ofMillis(20));
        records.forEach(record -> seen.add(record.value()));
        if (records.isEmpty()) {
            return;
        }
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (TopicPartition partition : records.partitions()) {
            var part = records.records(partition);
            Check.that(part.get(0).offset() <= committed.getOrDefault(partition, 0L), "offsets were left out: "
                + committed.get(partition) + " was committed, then came " + part.get(0).offset());
            offsets.put(partition, new OffsetAndMetadata(part.get(part.size() - 1).offset() + 1));
        }
        try {
            reader.commitSync(offsets);
            offsets.forEach((partition, offset) -> committed.put(partition, offset.offset()));
        } catch (TimeoutException | org.apache.kafka.clients.consumer.CommitFailedException
            | org.apache.kafka.common.errors.RebalanceInProgressException error) {
            // The group goes on where it was, or further on: the answer may have been lost.
            offsets.forEach((partition, offset) -> committed.merge(partition, offset.offset(), Math::max));
        }
    }

    @Override
    boolean hasDoneEnough() {
        return sent > 50;
    }

    @Override
    void check() throws Exception {
        Check.equal(seen.size(), sent);
        Check.that(hasDoneEnough(), "only " + sent + " records were sent");
        try (KafkaConsumer<String, String> reader = test.consumer(group)) {
            var now = reader.committed(Set.copyOf(Test.partitions(topic, PARTITIONS)));
            committed.forEach((partition, offset) -> Check.that(now.get(partition) != null && now.get(partition).offset() >= offset,
                "offset of " + partition + " was committed as " + offset + ", is " + now.get(partition)));
        }
    }
}
