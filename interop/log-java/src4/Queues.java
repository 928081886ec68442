import harness.Broker;
import harness.Check;
import harness.Skip;
import harness.Test;
import java.util.List;
import java.util.Map;

/** What makes queues of share groups beyond KIP-932: dead letters (KIP-1191), times to live, delays. A Kafka 4.3 has none of it. */
public final class Queues {
    private Queues() {
    }

    private static void skipOnKafka() throws Skip {
        if (Broker.isKafka()) {
            throw new Skip("Kafka 4.3 has no dead letters, times to live and delays");
        }
    }

    public static void exampleDoesWhatItSays(Test test) throws Exception {
        skipOnKafka();
        WorkQueue example = new WorkQueue(Broker.CONNECT, test.fresh("invoices"), test.fresh("billing"));
        example.create();
        example.send("invoice 1", Map.of());
        example.send("not an invoice", Map.of());
        example.send("invoice 2, in two seconds", Map.of("diwan.delay.ms", "2000"));
        example.send("invoice 3, which nobody wants any more", Map.of("diwan.ttl.ms", "0"));
        Check.equal(example.work(2), List.of("invoice 1", "invoice 2, in two seconds"));
        Check.equal(example.deadLetters(2),
            Map.of("not an invoice", "rejected", "invoice 3, which nobody wants any more", "expired"));
    }

    public static void deadLettersOfABatchAreAllWritten(Test test) throws Exception {
        skipOnKafka();
        WorkQueue queue = new WorkQueue(Broker.CONNECT, test.fresh("queue"), test.fresh("group"));
        queue.create();
        for (int number = 0; number < 50; number++) {
            queue.send("bad " + number, Map.of());
        }
        queue.send("invoice", Map.of());
        Check.equal(queue.work(1), List.of("invoice"));
        Check.equal(queue.deadLetters(50).size(), 50);
    }
}
