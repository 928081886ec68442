package curator;

import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.that;

import harness.Test;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.queue.DistributedDelayQueue;
import org.apache.curator.framework.recipes.queue.DistributedIdQueue;
import org.apache.curator.framework.recipes.queue.DistributedPriorityQueue;
import org.apache.curator.framework.recipes.queue.DistributedQueue;
import org.apache.curator.framework.recipes.queue.QueueBuilder;
import org.apache.curator.framework.recipes.queue.QueueConsumer;
import org.apache.curator.framework.recipes.queue.QueueSerializer;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.state.ConnectionState;

/** Distributed queues. */
public final class Queues {
    private static final QueueSerializer<String> TEXT = new QueueSerializer<>() {
        @Override
        public byte[] serialize(String item) {
            return item.getBytes();
        }

        @Override
        public String deserialize(byte[] bytes) {
            return new String(bytes);
        }
    };

    private Queues() {
    }

    private static QueueConsumer<String> into(List<String> list) {
        return new QueueConsumer<>() {
            @Override
            public void consumeMessage(String message) {
                list.add(message);
            }

            @Override
            public void stateChanged(CuratorFramework client, ConnectionState state) {
                // Nothing to do: the tests end before their connections do.
            }
        };
    }

    private static List<String> list() {
        return Collections.synchronizedList(new ArrayList<>());
    }

    public static void plainQueueKeepsOrder(Test t) throws Exception {
        List<String> got = list();
        DistributedQueue<String> queue = t.closing(
            QueueBuilder.builder(Clients.client(t), into(got), TEXT, "/q").buildQueue());
        queue.start();
        DistributedQueue<String> producer = t.closing(
            QueueBuilder.builder(Clients.client(t), null, TEXT, "/q").buildQueue());
        producer.start();
        List<String> sent = new ArrayList<>();
        for (int n = 0; n < 50; n++) {
            sent.add("m" + n);
            producer.put("m" + n);
        }
        await("all messages", () -> got.size() == 50);
        equal(got, sent);
    }

    public static void lockSafeQueueGivesEachOnce(Test t) throws Exception {
        List<String> got = list();
        for (int n = 0; n < 3; n++) {
            t.closing(QueueBuilder.builder(Clients.client(t), into(got), TEXT, "/q").lockPath("/locks").buildQueue()).start();
        }
        DistributedQueue<String> producer = t.closing(
            QueueBuilder.builder(Clients.client(t), null, TEXT, "/q").buildQueue());
        producer.start();
        for (int n = 0; n < 40; n++) {
            producer.put("m" + n);
        }
        that(producer.flushPuts(10, TimeUnit.SECONDS), "not flushed");
        await("all messages", () -> got.size() >= 40);
        equal(got.size(), new TreeSet<>(got).size());
    }

    public static void priorityQueue(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        DistributedPriorityQueue<String> producer = t.closing(
            QueueBuilder.builder(client, null, TEXT, "/q").buildPriorityQueue(0));
        producer.start();
        for (int priority : new int[] {30, -5, 10}) {
            producer.put("p" + priority, priority);
        }
        List<String> got = list();
        DistributedPriorityQueue<String> consumer = t.closing(
            QueueBuilder.builder(Clients.client(t), into(got), TEXT, "/q").buildPriorityQueue(0));
        consumer.start();
        await("all messages", () -> got.size() == 3);
        equal(got, List.of("p-5", "p10", "p30"));
    }

    public static void delayQueue(Test t) throws Exception {
        List<String> got = list();
        DistributedDelayQueue<String> queue = t.closing(
            QueueBuilder.builder(Clients.client(t), into(got), TEXT, "/q").buildDelayQueue());
        queue.start();
        long started = System.currentTimeMillis();
        queue.put("late", started + 600);
        queue.put("early", started + 1);
        await("both", () -> got.size() == 2);
        equal(got, List.of("early", "late"));
        that(System.currentTimeMillis() >= started + 600, "too early");
    }

    public static void idQueue(Test t) throws Exception {
        List<String> got = list();
        DistributedIdQueue<String> producer = t.closing(
            QueueBuilder.builder(Clients.client(t), null, TEXT, "/q").buildIdQueue());
        producer.start();
        producer.put("a", "id-a");
        producer.put("b", "id-b");
        equal(producer.remove("id-a"), 1);
        t.closing(QueueBuilder.builder(Clients.client(t), into(got), TEXT, "/q").buildIdQueue()).start();
        await("the other", () -> !got.isEmpty());
        equal(got, List.of("b"));
    }

    public static void simpleQueue(Test t) throws Exception {
        SimpleDistributedQueue queue = new SimpleDistributedQueue(Clients.client(t), "/q");
        SimpleDistributedQueue other = new SimpleDistributedQueue(Clients.client(t), "/q");
        for (int n = 0; n < 5; n++) {
            that(queue.offer(("" + n).getBytes()), "offer");
        }
        equal(other.peek(), "0".getBytes());
        for (int n = 0; n < 5; n++) {
            equal(other.take(), ("" + n).getBytes());
        }
        equal(other.poll(), null);
        List<String> got = list();
        Thread waiter = t.background(() -> got.add(new String(other.poll(10, TimeUnit.SECONDS))));
        queue.offer("late".getBytes());
        waiter.join(15_000);
        equal(got, List.of("late"));
    }
}
