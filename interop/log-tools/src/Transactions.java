import harness.Check;
import harness.Test;

/** `kafka-transactions`. */
public final class Transactions {
    private Transactions() {
    }

    public static void openTransactionIsListedDescribedAndAborted(Test test) throws Exception {
        String topic = test.topic(1);
        String id = test.fresh("tx");
        var producer = test.producer("transactional.id", id);
        producer.initTransactions();
        producer.beginTransaction();
        Test.send(producer, topic, 0, java.util.List.of("open"));
        Tool.run(Tool.TRANSACTIONS, "list").contains(id, "Ongoing");
        Tool.run(Tool.TRANSACTIONS, "describe", "--transactional-id", id).contains("Ongoing", topic + "-0");
        Tool.run(Tool.TRANSACTIONS, "describe-producers", "--topic", topic, "--partition", "0").contains("ProducerId");
        Tool.run(Tool.TRANSACTIONS, "find-hanging", "--broker-id", "1");
        Tool.run(Tool.TRANSACTIONS, "abort", "--topic", topic, "--partition", "0", "--start-offset", "0");
        Check.equal(test.valuesIn(topic, 1, "read_committed"), java.util.List.of());
    }
}
