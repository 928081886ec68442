package interop.kafka;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.TopicExistsException;

/** Two brokers and an admin client: what the tests ask of the cluster as a whole. */
final class Cluster implements AutoCloseable {
    final List<Broker> brokers;
    final Admin admin;

    Cluster() throws IOException {
        Path run = Path.of("target", "run").toAbsolutePath();
        empty(run);
        int port = Integer.parseInt(Server.address().replaceFirst(".*:", "")) + 1;
        Broker first = new Broker(0, run, port);
        brokers = List.of(first, new Broker(1, run, first.port + 1));
        admin = Admin.create(Map.of(
                AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap(),
                AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, 5000,
                AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, 10000));
    }

    private static void empty(Path folder) throws IOException {
        if (Files.exists(folder)) {
            try (var paths = Files.walk(folder)) {
                for (Path path : (Iterable<Path>) paths.sorted(Comparator.reverseOrder())::iterator) {
                    Files.delete(path);
                }
            }
        }
    }

    String bootstrap() {
        return "127.0.0.1:" + brokers.get(0).port + ",127.0.0.1:" + brokers.get(1).port;
    }

    /** Returns when both brokers are members of the cluster. */
    void start() throws Exception {
        for (Broker broker : brokers) {
            broker.start();
        }
        awaitMembers(0, 1);
    }

    void awaitMembers(Integer... ids) throws Exception {
        Wait.until("members", new TreeSet<>(List.of(ids)), () -> {
            var seen = new TreeSet<Integer>();
            for (Node node : admin.describeCluster().nodes().get()) {
                seen.add(node.id());
            }
            return seen;
        });
    }

    Broker controller() throws Exception {
        return brokers.get(admin.describeCluster().controller().get().id());
    }

    Broker other(Broker broker) {
        return brokers.get(1 - broker.id);
    }

    /** Creates a topic with two replicas a partition, and returns when all of them are in sync. */
    void createTopic(String name, int partitions, Map<String, String> config) throws Exception {
        Wait.until("topic " + name + " created", true, () -> {
            var topic = new NewTopic(name, partitions, (short) 2).configs(config);
            try {
                admin.createTopics(List.of(topic)).all().get();
            } catch (ExecutionException error) {
                // An attempt whose answer was lost may have succeeded.
                if (!(error.getCause() instanceof TopicExistsException)) {
                    throw error;
                }
            }
            return true;
        });
        awaitInSync(name, partitions, 2);
    }

    List<TopicPartitionInfo> partitions(String topic) throws Exception {
        return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions();
    }

    /** Until every partition has a leader and so many replicas in sync. */
    void awaitInSync(String topic, int partitions, int replicas) throws Exception {
        var expected = new TreeMap<Integer, Integer>();
        for (int partition = 0; partition < partitions; partition++) {
            expected.put(partition, replicas);
        }
        Wait.until("in sync in " + topic, expected, () -> {
            var seen = new TreeMap<Integer, Integer>();
            for (TopicPartitionInfo info : partitions(topic)) {
                seen.put(info.partition(), info.leader() == null ? 0 : info.isr().size());
            }
            return seen;
        });
    }

    /** Until each partition is led by the given broker. */
    void awaitLeaders(String topic, Map<Integer, Integer> expected) throws Exception {
        Wait.until("leaders of " + topic, expected, () -> {
            var seen = new HashMap<Integer, Integer>();
            for (TopicPartitionInfo info : partitions(topic)) {
                if (expected.containsKey(info.partition())) {
                    seen.put(info.partition(), info.leader() == null ? -1 : info.leader().id());
                }
            }
            return seen;
        });
    }

    /** Until all partitions of the topic are led by this one broker. */
    void awaitLedBy(String topic, int partitions, Broker broker) throws Exception {
        var expected = new HashMap<Integer, Integer>();
        for (int partition = 0; partition < partitions; partition++) {
            expected.put(partition, broker.id);
        }
        awaitLeaders(topic, expected);
    }

    @Override
    public void close() throws InterruptedException {
        for (Broker broker : brokers) {
            broker.kill();
        }
        admin.close(java.time.Duration.ZERO);
    }
}
