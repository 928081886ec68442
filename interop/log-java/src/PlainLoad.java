import harness.Check;
import harness.Test;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Producers of single records: what was acknowledged is where the acknowledgement said. */
class PlainLoad extends Load {
    private static final int PARTITIONS = 3;
    final String topic;
    final Map<List<Long>, String> acknowledged = new ConcurrentHashMap<>();
    final List<Throwable> errors = new ArrayList<>();
    volatile int sent;

    PlainLoad(Test test) throws Exception {
        super(test);
        topic = test.topic(PARTITIONS);
    }

    String idempotence() {
        return "false";
    }

    @Override
    void work() throws Exception {
        try (KafkaProducer<String, String> producer = test.producer("enable.idempotence", idempotence(), "acks", "all",
            "delivery.timeout.ms", "60000", "request.timeout.ms", "5000", "max.block.ms", "60000", "linger.ms", "1",
            "buffer.memory", "1000000", "reconnect.backoff.max.ms", "200")) {
            while (!finishing) {
                String value = "" + sent;
                producer.send(new ProducerRecord<>(topic, sent % PARTITIONS, null, value), (place, error) -> {
                    if (error == null) {
                        String other = acknowledged.put(List.of((long) place.partition(), place.offset()), value);
                        if (other != null) {
                            errors.add(new AssertionError("two records at " + place));
                        }
                    } else {
                        errors.add(error);
                    }
                });
                sent++;
                if (sent % 50 == 0) {
                    Thread.sleep(5);
                }
            }
        }
    }

    List<ConsumerRecord<String, String>> found() throws Exception {
        Check.equal(errors, List.of(), "errors of a producer that may wait longer than the broker is down");
        List<ConsumerRecord<String, String>> records = test.readAll(topic, PARTITIONS, "read_uncommitted");
        Map<List<Long>, String> at = new HashMap<>();
        records.forEach(record -> at.put(List.of((long) record.partition(), record.offset()), record.value()));
        acknowledged.forEach((place, value) -> Check.equal(at.get(place), value, "at " + place));
        Check.equal(acknowledged.size(), sent, "acknowledgements");
        Check.that(hasDoneEnough(), "only " + sent + " records were sent");
        return records;
    }

    @Override
    boolean hasDoneEnough() {
        return sent > 500;
    }

    @Override
    void check() throws Exception {
        found();
    }
}
