import harness.Check;
import harness.Test;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** The same with sequence numbers: nothing is there twice, and each partition has its records in order. */
final class IdempotentLoad extends PlainLoad {
    IdempotentLoad(Test test) throws Exception {
        super(test);
    }

    @Override
    String idempotence() {
        return "true";
    }

    @Override
    void check() throws Exception {
        List<ConsumerRecord<String, String>> records = found();
        Check.equal(records.size(), sent, "records, of so many that were sent");
        Map<Integer, Integer> last = new HashMap<>();
        for (ConsumerRecord<String, String> record : records) {
            int value = Integer.parseInt(record.value());
            Integer before = last.put(record.partition(), value);
            Check.that(before == null || before < value, "record " + value + " is behind " + before);
        }
    }
}
