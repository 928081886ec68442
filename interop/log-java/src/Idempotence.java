import harness.Check;
import harness.Test;
import java.util.List;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;

/** Idempotent producers: sequence numbers, several requests in flight, and what the broker says of a producer. */
public final class Idempotence {
    private Idempotence() {
    }

    public static void manyRequestsInFlightKeepTheirOrder(Test test) throws Exception {
        String topic = test.topic(4);
        var producer = test.producer("max.in.flight.requests.per.connection", "5", "batch.size", "100");
        Future<RecordMetadata> last = null;
        for (int number = 0; number < 4000; number++) {
            last = producer.send(new ProducerRecord<>(topic, number % 4, null, "" + number));
        }
        last.get();
        producer.flush();
        for (int partition = 0; partition < 4; partition++) {
            int at = partition;
            List<Integer> values = test.readAll(topic, 4, "read_committed").stream()
                .filter(record -> record.partition() == at).map(record -> Integer.valueOf(record.value())).toList();
            Check.equal(values.size(), 1000);
            Check.equal(values, values.stream().sorted().distinct().toList());
        }
    }

    public static void stateOfProducersIsTold(Test test) throws Exception {
        String topic = test.topic(1);
        TopicPartition partition = new TopicPartition(topic, 0);
        var first = test.producer("linger.ms", "100");
        var second = test.producer("linger.ms", "100");
        Test.send(first, topic, 0, Test.numbers(0, 10));
        Test.send(first, topic, 0, Test.numbers(0, 10));
        Test.send(second, topic, 0, Test.numbers(0, 5));
        List<ProducerState> states = Test.get(Test.admin().describeProducers(List.of(partition)).all()).get(partition)
            .activeProducers();
        Check.equal(states.stream().map(ProducerState::lastSequence).sorted().toList(), List.of(4, 19));
        for (ProducerState state : states) {
            Check.equal(state.producerEpoch(), 0);
            Check.that(state.currentTransactionStartOffset().isEmpty(), state);
            Check.that(state.lastTimestamp() > 0 && state.producerId() >= 0, state);
        }
    }

    public static void numberOfAProducerIsGivenOnce(Test test) throws Exception {
        String topic = test.topic(1);
        for (int number = 0; number < 20; number++) {
            try (var producer = test.producer()) {
                Test.send(producer, topic, 0, List.of("x"));
            }
        }
        TopicPartition partition = new TopicPartition(topic, 0);
        List<ProducerState> states = Test.get(Test.admin().describeProducers(List.of(partition)).all()).get(partition)
            .activeProducers();
        Check.equal(states.stream().map(ProducerState::producerId).distinct().count(), 20L);
    }
}
