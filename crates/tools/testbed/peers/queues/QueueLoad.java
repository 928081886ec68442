// Loads a queue of RabbitMQ (AMQP 0-9-1) or of ActiveMQ (OpenWire): one producer or one consumer on one connection.
//
// It takes one line of `key=value` words on standard input. At the edges of what is measured it says so in a line, and waits for
// an empty one. The last line is what it saw. `do` is one of
// - `produce`: publishes for a time with at most `window` messages unconfirmed;
// - `fill`: publishes `messages`;
// - `consume`: consumes for a time, or until the queue is empty;
// - `drain`: consumes until `expected` messages came, and no more come.

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.Envelope;
import jakarta.jms.BytesMessage;
import jakarta.jms.DeliveryMode;
import jakarta.jms.JMSException;
import jakarta.jms.Session;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.activemq.ActiveMQConnection;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.activemq.ActiveMQMessageProducer;
import org.apache.activemq.ActiveMQSession;
import org.apache.activemq.AsyncCallback;

public final class QueueLoad {
    private static final BufferedReader INPUT = new BufferedReader(new InputStreamReader(System.in));
    private static final long SILENCE_S = 20;

    /** What a queue is asked for. */
    interface Queue extends AutoCloseable {
        /** Publishes; `confirmed` runs once the broker has taken the message. */
        void publish(byte[] body, Runnable confirmed) throws Exception;

        /** Has `received` run for each message, which is acknowledged: by itself if `singly`. */
        void consume(Runnable received, boolean singly) throws Exception;
    }

    private static final class Rabbit implements Queue {
        private final com.rabbitmq.client.Connection connection;
        private final Channel channel;
        private final String queue;
        private final AMQP.BasicProperties properties;
        private final ConcurrentSkipListMap<Long, Runnable> unconfirmed = new ConcurrentSkipListMap<>();

        Rabbit(int port, String queue, boolean persistent) throws Exception {
            ConnectionFactory factory = new ConnectionFactory();
            factory.setHost("127.0.0.1");
            factory.setPort(port);
            this.connection = factory.newConnection();
            this.channel = connection.createChannel();
            this.queue = queue;
            this.properties = new AMQP.BasicProperties.Builder().deliveryMode(persistent ? 2 : 1).build();
            channel.queueDeclare(queue, true, false, false, null);
            channel.confirmSelect();
            channel.addConfirmListener((number, multiple) -> {
                var done = multiple ? unconfirmed.headMap(number, true) : unconfirmed.subMap(number, true, number, true);
                done.values().forEach(Runnable::run);
                done.clear();
            }, (number, multiple) -> fail("a message was refused"));
        }

        @Override
        public void publish(byte[] body, Runnable confirmed) throws Exception {
            unconfirmed.put(channel.getNextPublishSeqNo(), confirmed);
            channel.basicPublish("", queue, properties, body);
        }

        @Override
        public void consume(Runnable received, boolean singly) throws Exception {
            channel.basicQos(1000);
            channel.basicConsume(queue, false, new DefaultConsumer(channel) {
                private long count;

                @Override
                public void handleDelivery(String tag, Envelope envelope, AMQP.BasicProperties of, byte[] body)
                        throws java.io.IOException {
                    received.run();
                    if (singly) {
                        channel.basicAck(envelope.getDeliveryTag(), false);
                    } else if (++count % 250 == 0) {
                        channel.basicAck(envelope.getDeliveryTag(), true);
                    }
                }
            });
        }

        @Override
        public void close() throws Exception {
            connection.close();
        }
    }

    private static final class Active implements Queue {
        private final ActiveMQConnection connection;
        private final Session session;
        private final jakarta.jms.Queue queue;
        private final ActiveMQMessageProducer producer;

        Active(int port, String name, boolean persistent) throws Exception {
            String options = "?jms.prefetchPolicy.queuePrefetch=1000&jms.watchTopicAdvisories=false";
            ActiveMQConnectionFactory factory =
                    new ActiveMQConnectionFactory("tcp://127.0.0.1:" + port + options);
            this.connection = (ActiveMQConnection) factory.createConnection();
            connection.start();
            this.session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
            this.queue = session.createQueue(name);
            this.producer = (ActiveMQMessageProducer) session.createProducer(queue);
            producer.setDeliveryMode(persistent ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT);
        }

        @Override
        public void publish(byte[] body, Runnable confirmed) throws Exception {
            BytesMessage message = session.createBytesMessage();
            message.writeBytes(body);
            producer.send(message, new AsyncCallback() {
                @Override
                public void onSuccess() {
                    confirmed.run();
                }

                @Override
                public void onException(JMSException error) {
                    fail(error.toString());
                }
            });
        }

        @Override
        public void consume(Runnable received, boolean singly) throws Exception {
            int mode = singly ? ActiveMQSession.INDIVIDUAL_ACKNOWLEDGE : Session.AUTO_ACKNOWLEDGE;
            // A consumer has a session of its own: its thread gives out the messages.
            connection.createSession(false, mode).createConsumer(queue).setMessageListener(message -> {
                received.run();
                if (singly) {
                    try {
                        message.acknowledge();
                    } catch (JMSException error) {
                        fail(error.toString());
                    }
                }
            });
        }

        @Override
        public void close() throws Exception {
            connection.close();
        }
    }

    private static void fail(String what) {
        System.err.println(what);
        Runtime.getRuntime().halt(1);
    }

    private static void edge(String which) throws Exception {
        System.out.println("{\"edge\":\"" + which + "\",\"phase\":\"measured\"}");
        System.out.flush();
        INPUT.readLine();
    }

    private static void tell(long operations, double seconds, Map<Long, Long> latencies, long total) {
        StringBuilder each = new StringBuilder();
        latencies.forEach((us, count) ->
                each.append(each.length() == 0 ? "" : ",").append('[').append(us).append(',').append(count).append(']'));
        System.out.println("{\"phases\":[{\"name\":\"measured\",\"operations\":" + operations + ",\"errors\":0,\"elapsed_s\":"
                + seconds + ",\"latency_us\":[" + each + "]}],\"reads\":0,\"writes\":" + total
                + ",\"events\":0,\"barriers\":0,\"lost\":0}");
        System.out.flush();
    }

    /** Three digits are enough. */
    private static long rounded(long us) {
        long unit = 1;
        while (us / unit >= 1000) {
            unit *= 10;
        }
        return Math.max(1, us / unit * unit);
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> order = new HashMap<>();
        for (String word : INPUT.readLine().trim().split(" ")) {
            String[] parts = word.split("=", 2);
            order.put(parts[0], parts[1]);
        }
        int port = Integer.parseInt(order.get("port"));
        boolean persistent = Boolean.parseBoolean(order.get("persistent"));
        String name = order.get("queue");
        Queue queue = order.get("of").equals("rabbitmq")
                ? new Rabbit(port, name, persistent) : new Active(port, name, persistent);
        switch (order.get("do")) {
            case "produce" -> produce(queue, order);
            case "fill" -> fill(queue, order);
            case "consume" -> consume(queue, order);
            default -> drain(queue, order);
        }
        queue.close();
        System.exit(0);
    }

    private static long of(Map<String, String> order, String key) {
        return Long.parseLong(order.get(key));
    }

    private static void produce(Queue queue, Map<String, String> order) throws Exception {
        byte[] body = new byte[(int) of(order, "bytes")];
        int window = (int) of(order, "window");
        Semaphore free = new Semaphore(window);
        AtomicLong confirmed = new AtomicLong();
        Map<Long, Long> latencies = new TreeMap<>();
        boolean[] counts = {false};
        Phase publish = (until) -> {
            while (System.nanoTime() < until) {
                if (!free.tryAcquire(SILENCE_S, TimeUnit.SECONDS)) {
                    fail("messages were not confirmed");
                }
                long began = System.nanoTime();
                queue.publish(body, () -> {
                    confirmed.incrementAndGet();
                    free.release();
                    synchronized (latencies) {
                        if (counts[0]) {
                            latencies.merge(rounded((System.nanoTime() - began) / 1000), 1L, Long::sum);
                        }
                    }
                });
            }
        };
        publish.run(System.nanoTime() + of(order, "warm_up_ms") * 1_000_000);
        edge("begin");
        long before = confirmed.get();
        long began = System.nanoTime();
        synchronized (latencies) {
            counts[0] = true;
        }
        publish.run(began + of(order, "measured_ms") * 1_000_000);
        long done = confirmed.get() - before;
        double seconds = (System.nanoTime() - began) / 1e9;
        synchronized (latencies) {
            counts[0] = false;
        }
        edge("end");
        if (!free.tryAcquire(window, SILENCE_S, TimeUnit.SECONDS)) {
            fail("messages were not confirmed");
        }
        tell(done, seconds, latencies, confirmed.get());
    }

    interface Phase {
        void run(long until) throws Exception;
    }

    private static void fill(Queue queue, Map<String, String> order) throws Exception {
        byte[] body = new byte[(int) of(order, "bytes")];
        int window = (int) of(order, "window");
        Semaphore free = new Semaphore(window);
        long messages = of(order, "messages");
        edge("begin");
        long began = System.nanoTime();
        for (long sent = 0; sent < messages; sent++) {
            if (!free.tryAcquire(SILENCE_S, TimeUnit.SECONDS)) {
                fail("messages were not confirmed");
            }
            queue.publish(body, free::release);
        }
        if (!free.tryAcquire(window, SILENCE_S, TimeUnit.SECONDS)) {
            fail("messages were not confirmed");
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        edge("end");
        tell(messages, seconds, Map.of(), messages);
    }

    private static void consume(Queue queue, Map<String, String> order) throws Exception {
        AtomicLong received = new AtomicLong();
        long there = of(order, "expected");
        queue.consume(received::incrementAndGet, of(order, "singly") == 1);
        // Most of the messages are left to what counts.
        waitFor(received, there / 4, of(order, "warm_up_ms"));
        edge("begin");
        long before = received.get();
        long began = System.nanoTime();
        waitFor(received, there, of(order, "measured_ms"));
        long done = received.get() - before;
        double seconds = (System.nanoTime() - began) / 1e9;
        edge("end");
        drained(received, there);
        tell(done, seconds, Map.of(), received.get());
    }

    /** Until so many came, or for so long. */
    private static void waitFor(AtomicLong received, long count, long ms) throws Exception {
        long until = System.nanoTime() + ms * 1_000_000;
        while (received.get() < count && System.nanoTime() < until) {
            Thread.sleep(1);
        }
    }

    private static void drain(Queue queue, Map<String, String> order) throws Exception {
        AtomicLong received = new AtomicLong();
        queue.consume(received::incrementAndGet, false);
        drained(received, of(order, "expected"));
        tell(received.get(), 1, Map.of(), received.get());
    }

    /** Until all came, then a moment more: none may come twice. */
    private static void drained(AtomicLong received, long expected) throws Exception {
        long last = received.get();
        long since = System.nanoTime();
        while (last < expected && System.nanoTime() - since < SILENCE_S * 1_000_000_000L) {
            Thread.sleep(5);
            long now = received.get();
            if (now != last) {
                last = now;
                since = System.nanoTime();
            }
        }
        Thread.sleep(300);
    }
}
