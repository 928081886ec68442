import harness.Test;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;

/** A member of a group on a thread of its own, which polls without a pause and keeps what it saw. */
final class Member implements AutoCloseable {
    final KafkaConsumer<String, String> consumer;
    final List<ConsumerRecord<String, String>> records = new CopyOnWriteArrayList<>();
    /** What the rebalance listener was told, as `assigned [..]`, `revoked [..]`, `lost [..]`. */
    final List<String> told = new CopyOnWriteArrayList<>();
    private final String group;
    private final Thread thread;
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile Set<Integer> owned = Set.of();
    private volatile boolean stopping;
    private volatile boolean commits;
    private volatile boolean abandoned;
    volatile Exception failure;

    Member(Test test, String topic, String group, String... settings) {
        this(test, group, (consumer, listener) -> consumer.subscribe(List.of(topic), listener), settings);
    }

    /** How a member subscribes. */
    interface Subscription {
        void to(KafkaConsumer<String, String> consumer, ConsumerRebalanceListener listener);
    }

    Member(Test test, String group, Subscription subscription, String... settings) {
        this.group = group;
        consumer = test.consumer(group, settings);
        subscription.to(consumer, new Listener());
        thread = new Thread(this::go, "member of " + group);
        thread.setDaemon(true);
        thread.start();
        test.closing(this);
    }

    /** Commits after each poll. */
    Member committing() {
        commits = true;
        return this;
    }

    private void go() {
        try {
            while (!stopping) {
                var batch = consumer.poll(Duration.ofMillis(50));
                batch.forEach(records::add);
                if (commits && !batch.isEmpty()) {
                    consumer.commitSync();
                }
            }
        } catch (WakeupException woken) {
            // It was told to end.
        } catch (Exception error) {
            failure = error;
        }
        if (!abandoned) {
            consumer.close();
        }
        ended.countDown();
    }

    /** The partitions that it has, as its listener was told. */
    Set<Integer> owned() {
        return owned;
    }

    /** What it was told, and how it ended if it did: for the report of a test that failed. */
    @Override
    public String toString() {
        String end = failure != null ? " ended by " + failure : hasEnded() ? " ended" : "";
        return told + " with " + records.size() + " records" + end;
    }

    /** What the broker says of its group: for the same. */
    String groupAtBroker() {
        try {
            return Test.get(Test.admin().describeConsumerGroups(List.of(group)).all()).get(group).toString();
        } catch (Exception error) {
            return "a group that cannot be described: " + error;
        }
    }

    boolean hasEnded() {
        return ended.getCount() == 0;
    }

    /** Leaves the group, as `close` of a consumer does. */
    @Override
    public void close() throws Exception {
        stopping = true;
        consumer.wakeup();
        ended.await();
    }

    /** Stops polling, so that the group must find out by itself. */
    void abandon() throws Exception {
        abandoned = true;
        close();
    }

    private final class Listener implements ConsumerRebalanceListener {
        private final Set<Integer> mine = new TreeSet<>();

        private void tell(String what, Collection<TopicPartition> partitions) {
            List<Integer> numbers = partitions.stream().map(TopicPartition::partition).sorted().toList();
            told.add(what + " " + numbers);
            if (what.equals("assigned")) {
                mine.addAll(numbers);
            } else {
                numbers.forEach(mine::remove);
            }
            owned = Set.copyOf(mine);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            tell("assigned", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            tell("revoked", partitions);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            tell("lost", partitions);
        }
    }
}
