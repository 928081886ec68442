import harness.Check;
import harness.Test;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;

/** Transactions over two partitions: all or nothing of each, in order, with a count that says which one it is. */
final class TransactionLoad extends Load {
    private final String topic;
    private final Set<Integer> committed = ConcurrentHashMap.newKeySet();
    private final Set<Integer> aborted = ConcurrentHashMap.newKeySet();
    /** Neither: the answer to the commit was lost. */
    private final Set<Integer> unknown = new HashSet<>();
    private final String id;

    TransactionLoad(Test test) throws Exception {
        super(test);
        topic = test.topic(2);
        id = test.fresh("tx");
    }

    private KafkaProducer<String, String> producer() {
        KafkaProducer<String, String> producer = test.producer("transactional.id", id, "delivery.timeout.ms", "60000",
            "request.timeout.ms", "5000", "max.block.ms", "30000", "transaction.timeout.ms", "60000",
            "reconnect.backoff.max.ms", "200");
        producer.initTransactions();
        return producer;
    }

    @Override
    void work() throws Exception {
        KafkaProducer<String, String> producer = producer();
        for (int number = 0; !finishing; number++) {
            boolean commit = number % 3 != 0;
            try {
                producer.beginTransaction();
                for (int part = 0; part < 4; part++) {
                    producer.send(new ProducerRecord<>(topic, part % 2, null, number + "." + part));
                }
                if (commit) {
                    producer.commitTransaction();
                    committed.add(number);
                } else {
                    producer.flush();
                    producer.abortTransaction();
                    aborted.add(number);
                }
            } catch (ProducerFencedException | OutOfOrderSequenceException error) {
                throw error;
            } catch (KafkaException error) {
                unknown.add(number);
                producer.close(Duration.ZERO);
                producer = producer();
            }
        }
        producer.close();
    }

    @Override
    boolean hasDoneEnough() {
        return committed.size() > 5 && aborted.size() > 2;
    }

    @Override
    void check() throws Exception {
        Map<Integer, Set<String>> seen = new TreeMap<>();
        Map<Integer, Integer> last = new HashMap<>();
        for (ConsumerRecord<String, String> record : test.readAll(topic, 2, "read_committed")) {
            int number = Integer.parseInt(record.value().split("\\.")[0]);
            Check.that(seen.computeIfAbsent(number, any -> new HashSet<>()).add(record.value()), record.value() + " is there twice");
            Check.that(last.getOrDefault(record.partition(), 0) <= number, record.value() + " is behind a later one");
            last.put(record.partition(), number);
        }
        for (var each : seen.entrySet()) {
            int number = each.getKey();
            Check.that(!aborted.contains(number), "transaction " + number + " was aborted and is seen");
            Check.equal(each.getValue().size(), 4, "records of transaction " + number);
            Check.that(committed.contains(number) || unknown.contains(number), "transaction " + number);
        }
        committed.forEach(number -> Check.that(seen.containsKey(number), "transaction " + number + " was committed and is lost"));
        Check.that(hasDoneEnough(), committed.size() + " committed, " + aborted.size() + " aborted");
    }
}
