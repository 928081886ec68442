import harness.Broker;
import harness.Check;
import harness.Test;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TimeoutException;

/** The broker is killed, stopped and paused while clients of every kind use it. These tests run one by one. */
public final class Deaths {
    /** Kafka takes seconds to start. */
    private static final int KILLS = Integer.getInteger("kills", Broker.isKafka() ? 2 : 4);

    private Deaths() {
    }

    public static void everyPromiseOutlivesKills(Test test) throws Exception {
        List<Load> loads = List.of(new PlainLoad(test), new IdempotentLoad(test), new TransactionLoad(test),
            new GroupLoad(test, "classic"), new GroupLoad(test, "consumer"));
        loads.forEach(Load::start);
        for (int kill = 0; kill < KILLS; kill++) {
            Thread.sleep(1_000);
            Broker.killAndStart();
        }
        Broker.control("stop");
        Broker.control("start");
        Thread.sleep(1_000);
        for (Load load : loads) {
            load.finish();
        }
        List<String> wrong = new ArrayList<>();
        for (Load load : loads) {
            try {
                load.verify();
            } catch (Exception | AssertionError error) {
                error.printStackTrace();
                wrong.add(load.getClass().getSimpleName() + ": " + error.getMessage());
            }
        }
        Check.equal(wrong, List.of());
    }

    public static void topicsAndSettingsOutliveAKill(Test test) throws Exception {
        String topic = test.topic(3, "retention.ms", "123456789");
        Test.send(test.producer(), topic, 2, Test.numbers(0, 100));
        Broker.killAndStart();
        var described = Test.get(Test.admin().describeTopics(List.of(topic)).allTopicNames()).get(topic);
        Check.equal(described.partitions().size(), 3);
        Check.equal(test.valuesIn(topic, 3, "read_committed"), Test.numbers(0, 100));
        Check.equal(Test.send(test.producer(), topic, 2, List.of("next")).get(0).offset(), 100L);
    }

    public static void producerGivesUpAfterItsTimeoutAndGoesOnLater(Test test) throws Exception {
        String topic = test.topic(1);
        var producer = test.producer("delivery.timeout.ms", "3000", "request.timeout.ms", "2000", "retry.backoff.ms", "100",
            "enable.idempotence", "false");
        Test.send(producer, topic, 0, List.of("before"));
        Broker.control("pause");
        try {
            Check.fails(TimeoutException.class,
                () -> producer.send(new ProducerRecord<>(topic, 0, null, "during")).get(20, TimeUnit.SECONDS));
        } finally {
            Broker.control("resume");
        }
        Check.eventually(() -> Test.send(producer, topic, 0, List.of("after")));
        // Whether the one in the middle arrived is not known.
        var values = test.valuesIn(topic, 1, "read_committed");
        Check.that(values.contains("before") && values.contains("after"), values);
    }

    public static void memberOfAGroupGoesOnAfterAPause(Test test) throws Exception {
        String topic = test.topic(2);
        Member member = new Member(test, topic, test.fresh("group"), "request.timeout.ms", "3000",
            "default.api.timeout.ms", "20000");
        Groups.awaitShared(2, List.of(member));
        Broker.control("pause");
        Thread.sleep(Duration.ofSeconds(4).toMillis());
        Broker.control("resume");
        test.fill(topic, 50);
        Check.await("the records", () -> member.records.size() >= 50);
        Check.that(member.failure == null, member.failure);
    }
}
