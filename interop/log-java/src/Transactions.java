import harness.Check;
import harness.Test;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.FenceProducersOptions;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TransactionalIdNotFoundException;

/** Transactions: all or nothing, across partitions and with offsets; old producers are fenced; time-outs; administration. */
public final class Transactions {
    private Transactions() {
    }

    private static KafkaProducer<String, String> begun(Test test, String id, String... settings) {
        List<String> all = new ArrayList<>(List.of("transactional.id", id, "max.block.ms", "30000"));
        all.addAll(List.of(settings));
        KafkaProducer<String, String> producer = test.producer(all.toArray(String[]::new));
        producer.initTransactions();
        return producer;
    }

    private static void put(KafkaProducer<String, String> producer, String topic, int partition, String... values)
        throws Exception {
        Test.send(producer, topic, partition, List.of(values));
    }

    public static void committedRecordsAreReadAndAbortedAreNot(Test test) throws Exception {
        String topic = test.topic(2);
        var producer = begun(test, test.fresh("tx"));
        for (int number = 0; number < 20; number++) {
            producer.beginTransaction();
            put(producer, topic, 0, number + "a", number + "b");
            put(producer, topic, 1, number + "c");
            if (number % 2 == 0) {
                producer.commitTransaction();
            } else {
                producer.abortTransaction();
            }
        }
        List<String> committed = new ArrayList<>();
        for (int number = 0; number < 20; number += 2) {
            committed.addAll(List.of(number + "a", number + "b"));
        }
        for (int number = 0; number < 20; number += 2) {
            committed.add(number + "c");
        }
        Check.equal(test.valuesIn(topic, 2, "read_committed"), committed);
        Check.equal(test.valuesIn(topic, 2, "read_uncommitted").size(), 60);
    }

    public static void openTransactionHoldsReadersOfCommittedRecords(Test test) throws Exception {
        String topic = test.topic(1);
        TopicPartition partition = new TopicPartition(topic, 0);
        put(test.producer(), topic, 0, "before");
        var producer = begun(test, test.fresh("tx"));
        producer.beginTransaction();
        put(producer, topic, 0, "inside");
        put(test.producer(), topic, 0, "behind");
        KafkaConsumer<String, String> reader = test.consumer(null, "isolation.level", "read_committed");
        reader.assign(List.of(partition));
        Check.equal(Test.values(Test.take(reader, 1)), List.of("before"));
        Check.equal(reader.poll(Duration.ofMillis(500)).count(), 0);
        Check.equal(reader.endOffsets(List.of(partition)).get(partition), 1L);
        Check.equal(reader.currentLag(partition).orElse(-1), 0L);
        for (IsolationLevel level : IsolationLevel.values()) {
            long latest = Test.latest(partition, level);
            Check.equal(latest, level == IsolationLevel.READ_COMMITTED ? 1L : 3L, "latest, " + level);
        }
        producer.commitTransaction();
        Check.equal(Test.values(Test.take(reader, 2)), List.of("inside", "behind"));
        // The marker took an offset.
        Check.equal(reader.endOffsets(List.of(partition)).get(partition), 4L);
    }

    public static void offsetsCommitWithTheTransactionOrNotAtAll(Test test) throws Exception {
        String from = test.topic(1);
        String to = test.topic(1);
        test.fill(from, 100);
        TopicPartition partition = new TopicPartition(from, 0);
        String group = test.fresh("group");
        KafkaConsumer<String, String> reader = test.consumer(group);
        reader.subscribe(List.of(from));
        var producer = begun(test, test.fresh("tx"));
        int done = 0;
        for (int round = 0; done < 100; round++) {
            var records = Test.take(reader, 1);
            producer.beginTransaction();
            for (var record : records) {
                producer.send(new ProducerRecord<>(to, 0, null, record.value()));
            }
            long next = records.get(records.size() - 1).offset() + 1;
            producer.sendOffsetsToTransaction(Map.of(partition, new OffsetAndMetadata(next, "round " + round)),
                reader.groupMetadata());
            if (round == 0) {
                producer.abortTransaction();
                Check.that(reader.committed(Set.of(partition)).get(partition) == null, "no offset was committed");
                reader.seek(partition, 0);
            } else {
                producer.commitTransaction();
                done += records.size();
                Check.equal(reader.committed(Set.of(partition)).get(partition).offset(), next);
            }
        }
        Check.equal(test.valuesIn(to, 1, "read_committed"), Test.numbers(0, 100));
    }

    public static void offsetsOfAStaleMemberAreRefused(Test test) throws Exception {
        String topic = test.topic(1);
        String group = test.fresh("group");
        test.fill(topic, 1);
        KafkaConsumer<String, String> reader = test.consumer(group);
        reader.subscribe(List.of(topic));
        Test.take(reader, 1);
        ConsumerGroupMetadata known = reader.groupMetadata();
        var stale = new ConsumerGroupMetadata(group, known.generationId() + 5, known.memberId(), known.groupInstanceId());
        var producer = begun(test, test.fresh("tx"));
        producer.beginTransaction();
        var offsets = Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(1));
        Check.fails(CommitFailedException.class, () -> {
            producer.sendOffsetsToTransaction(offsets, stale);
            producer.commitTransaction();
        });
        producer.abortTransaction();
        producer.beginTransaction();
        producer.sendOffsetsToTransaction(offsets, known);
        producer.commitTransaction();
        Check.equal(reader.committed(offsets.keySet()).get(new TopicPartition(topic, 0)).offset(), 1L);
    }

    public static void successorFencesItsPredecessorAndAbortsWhatThatLeft(Test test) throws Exception {
        String topic = test.topic(1);
        String id = test.fresh("tx");
        var zombie = begun(test, id);
        zombie.beginTransaction();
        put(zombie, topic, 0, "left open");
        var successor = begun(test, id);
        Check.fails(KafkaException.class, () -> {
            put(zombie, topic, 0, "from the grave");
            zombie.commitTransaction();
        });
        successor.beginTransaction();
        put(successor, topic, 0, "alive");
        successor.commitTransaction();
        Check.equal(test.valuesIn(topic, 1, "read_committed"), List.of("alive"));
        Check.fails(KafkaException.class, zombie::beginTransaction);
    }

    public static void administratorFencesProducers(Test test) throws Exception {
        String topic = test.topic(1);
        String id = test.fresh("tx");
        var producer = begun(test, id);
        producer.beginTransaction();
        put(producer, topic, 0, "open");
        var fenced = Test.admin().fenceProducers(List.of(id), new FenceProducersOptions().timeoutMs(20_000));
        Test.get(fenced.all());
        Check.that(Test.get(fenced.producerId(id)) >= 0 && Test.get(fenced.epochId(id)) > 0, "the new epoch is told");
        Check.fails(KafkaException.class, () -> {
            put(producer, topic, 0, "more");
            producer.commitTransaction();
        });
        Check.await("the abort", () -> lastStable(topic) >= 2);
        Check.equal(test.valuesIn(topic, 1, "read_committed"), List.of());
    }

    private static long lastStable(String topic) throws Exception {
        return Test.latest(new TopicPartition(topic, 0), IsolationLevel.READ_COMMITTED);
    }

    public static void transactionThatTakesTooLongIsAborted(Test test) throws Exception {
        String topic = test.topic(1);
        var producer = begun(test, test.fresh("tx"), "transaction.timeout.ms", "1000");
        producer.beginTransaction();
        put(producer, topic, 0, "late");
        Check.await("the coordinator's abort", () -> lastStable(topic) == 2);
        Check.fails(KafkaException.class, producer::commitTransaction);
        Check.equal(test.valuesIn(topic, 1, "read_committed"), List.of());
    }

    public static void timeoutAboveTheBrokersLimitIsRefused(Test test) {
        KafkaException refusal = Check.fails(KafkaException.class,
            () -> begun(test, test.fresh("tx"), "transaction.timeout.ms", "9000000"));
        Check.that(refusal.getMessage().contains("timeout"), refusal);
    }

    public static void emptyTransactionsAreNothing(Test test) throws Exception {
        String topic = test.topic(1);
        var producer = begun(test, test.fresh("tx"));
        for (int number = 0; number < 5; number++) {
            producer.beginTransaction();
            producer.commitTransaction();
            producer.beginTransaction();
            producer.abortTransaction();
        }
        producer.beginTransaction();
        put(producer, topic, 0, "something");
        producer.commitTransaction();
        Check.equal(test.valuesIn(topic, 1, "read_committed"), List.of("something"));
    }

    public static void abortedRecordsInTheMiddleOfManyAreLeftOut(Test test) throws Exception {
        String topic = test.topic(1);
        var one = begun(test, test.fresh("tx"));
        var two = begun(test, test.fresh("tx"));
        var plain = test.producer();
        List<String> expected = new ArrayList<>();
        for (int number = 0; number < 30; number++) {
            one.beginTransaction();
            two.beginTransaction();
            put(one, topic, 0, "one" + number);
            put(plain, topic, 0, "plain" + number);
            put(two, topic, 0, "two" + number);
            put(one, topic, 0, "one again" + number);
            if (number % 3 == 0) {
                one.abortTransaction();
                two.commitTransaction();
                expected.addAll(List.of("plain" + number, "two" + number));
            } else {
                two.abortTransaction();
                one.commitTransaction();
                expected.addAll(List.of("one" + number, "plain" + number, "one again" + number));
            }
        }
        Check.equal(test.valuesIn(topic, 1, "read_committed"), expected);
        KafkaConsumer<String, String> small =
            test.consumer(null, "isolation.level", "read_committed", "max.partition.fetch.bytes", "100", "max.poll.records", "3");
        small.assign(Test.partitions(topic, 1));
        Check.equal(Test.values(Test.take(small, expected.size())), expected);
    }

    public static void transactionsAreListedAndDescribed(Test test) throws Exception {
        String topic = test.topic(2);
        String id = test.fresh("tx");
        var producer = begun(test, id, "transaction.timeout.ms", "54321");
        producer.beginTransaction();
        put(producer, topic, 1, "x");
        TransactionDescription open = Test.get(Test.admin().describeTransactions(List.of(id)).description(id));
        Check.equal(open.state(), TransactionState.ONGOING);
        Check.equal(open.topicPartitions(), Set.of(new TopicPartition(topic, 1)));
        Check.equal(open.transactionTimeoutMs(), 54321L);
        Check.that(open.transactionStartTimeMs().isPresent(), open);
        ProducerState state = Test.get(Test.admin().describeProducers(open.topicPartitions()).all())
            .get(new TopicPartition(topic, 1)).activeProducers().get(0);
        Check.equal(state.producerId(), open.producerId());
        Check.equal(state.currentTransactionStartOffset().orElse(-1), 0L);
        var filter = new ListTransactionsOptions().filterStates(Set.of(TransactionState.ONGOING));
        // All brokers are asked, one after the other: while some die, a coordinator may move from one that has not been asked to one that has.
        Check.await("it is listed", () -> Test.get(Test.admin().listTransactions(filter).all()).stream()
            .anyMatch(listing -> listing.transactionalId().equals(id) && listing.producerId() == open.producerId()));
        Check.await("it alone has its producer's number", () -> Test.get(Test.admin().listTransactions(new ListTransactionsOptions()
            .filterProducerIds(Set.of(open.producerId()))).all()).size() == 1);
        producer.commitTransaction();
        Check.await("its end", () -> Test.get(Test.admin().describeTransactions(List.of(id)).description(id)).state()
            == TransactionState.COMPLETE_COMMIT);
        Check.fails(TransactionalIdNotFoundException.class,
            () -> Test.get(Test.admin().describeTransactions(List.of("no-such-id")).all()));
    }

    public static void administratorAbortsATransaction(Test test) throws Exception {
        String topic = test.topic(1);
        TopicPartition partition = new TopicPartition(topic, 0);
        var producer = begun(test, test.fresh("tx"));
        producer.beginTransaction();
        put(producer, topic, 0, "hanging");
        ProducerState state = Test.get(Test.admin().describeProducers(List.of(partition)).all()).get(partition)
            .activeProducers().get(0);
        Test.get(Test.admin().abortTransaction(new AbortTransactionSpec(partition, state.producerId(),
            (short) state.producerEpoch(), state.coordinatorEpoch().orElse(0))).all());
        Check.await("the end of the transaction", () -> lastStable(topic) == 2);
        Check.equal(test.valuesIn(topic, 1, "read_committed"), List.of());
    }
}
