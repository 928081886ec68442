package interop.kafka;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.zookeeper.ZooKeeper;

/** Brokers and the server die, stand still and return; nothing acknowledged is lost, and work goes on. */
final class FailureTests {
    private static final Pattern IN_SYNC = Pattern.compile("\"isr\":\\[([0-9,]*)\\]");

    private final Cluster cluster;
    private final Messages orders;

    FailureTests(Cluster cluster, Messages orders) {
        this.cluster = cluster;
        this.orders = orders;
    }

    void run(Report report) {
        report.test("a_killed_controllers_partitions_are_led_by_the_other_and_it_returns", this::brokerKilled);
        report.test("brokers_serve_while_the_server_is_dead_and_survive_its_return", this::serverKilled);
        report.test("topics_being_created_while_the_server_dies_come_to_be", this::serverKilledUnderLoad);
        report.test("brokers_survive_a_server_that_stands_still", this::serverPaused);
        report.test("a_broker_paused_past_its_session_joins_again", this::brokerPaused);
        report.test("a_broker_stopped_in_order_hands_over_at_once", this::brokerStopped);
        report.test("stopped_brokers_leave_nothing_ephemeral", this::allStopped);
    }

    private void brokerKilled() throws Exception {
        int partitions = cluster.partitions("orders").size();
        Broker dead = cluster.controller();
        Broker heir = cluster.other(dead);
        dead.kill();
        cluster.awaitMembers(heir.id);
        cluster.awaitLedBy("orders", partitions, heir);
        orders.send(100);
        orders.readAll("group-3");
        dead.start();
        cluster.awaitMembers(0, 1);
        cluster.awaitInSync("orders", partitions, 2);
        orders.send(100);
        orders.readAll("group-4");
    }

    private void serverKilled() throws Exception {
        long[] before = pids();
        Server.control("kill");
        orders.send(100);
        orders.readAll("group-5");
        Server.control("start");
        cluster.createTopic("after-restart", 2, Map.of());
        try (var messages = new Messages(cluster, "after-restart")) {
            messages.send(100);
            messages.readAll("group-6");
        }
        sameProcesses(before);
        cluster.awaitMembers(0, 1);
        awaitInSync("orders", cluster.partitions("orders").size(), Set.of(0, 1));
    }

    private void serverKilledUnderLoad() throws Exception {
        long[] before = pids();
        int count = 20;
        var some = new CompletableFuture<Void>();
        var creator = CompletableFuture.runAsync(() -> {
            try {
                for (int i = 0; i < count; i++) {
                    cluster.createTopic("loaded-" + i, 1, Map.of());
                    if (i == 3) {
                        some.complete(null);
                    }
                }
            } catch (Exception error) {
                some.completeExceptionally(error);
                throw new IllegalStateException(error);
            } catch (AssertionError error) {
                some.completeExceptionally(error);
                throw error;
            }
        });
        some.get();
        for (String end : List.of("kill", "stop", "kill")) {
            Server.control(end);
            Server.control("start");
        }
        creator.get(2 * Wait.PATIENCE.toSeconds(), TimeUnit.SECONDS);
        sameProcesses(before);
    }

    private void serverPaused() throws Exception {
        long[] before = pids();
        long[] logged = {cluster.brokers.get(0).logged(), cluster.brokers.get(1).logged()};
        Server.control("pause");
        try {
            for (Broker broker : cluster.brokers) {
                broker.awaitLogged("Client session timed out", logged[broker.id]);
            }
            orders.send(10);
        } finally {
            Server.control("resume");
        }
        // Whether the sessions outlived the pause or were opened anew, both are members again.
        cluster.createTopic("after-pause", 2, Map.of());
        cluster.awaitMembers(0, 1);
        awaitInSync("orders", cluster.partitions("orders").size(), Set.of(0, 1));
        orders.send(100);
        orders.readAll("group-9");
        sameProcesses(before);
    }

    private void brokerPaused() throws Exception {
        int partitions = cluster.partitions("orders").size();
        Broker still = cluster.controller();
        Broker heir = cluster.other(still);
        still.pause();
        try {
            Wait.until("the members that the other broker sees", List.of(String.valueOf(heir.id)), () -> ids());
            awaitInSync("orders", partitions, Set.of(heir.id));
        } finally {
            still.resume();
        }
        cluster.awaitMembers(0, 1);
        awaitInSync("orders", partitions, Set.of(0, 1));
        orders.send(100);
        orders.readAll("group-7");
    }

    private void brokerStopped() throws Exception {
        Broker leaving = cluster.brokers.get(0);
        leaving.stop();
        // It has closed its session: nobody waits for an expiry.
        if (!ids().equals(List.of("1"))) {
            throw new AssertionError("a stopped broker is still registered: " + ids());
        }
        cluster.awaitLedBy("orders", cluster.partitions("orders").size(), cluster.other(leaving));
        try {
            orders.send(100);
        } catch (ExecutionException failed) {
            throw new AssertionError(failed.getCause() + "; in the tree: " + statesInTree("orders"), failed);
        }
        orders.readAll("group-8");
    }

    private void allStopped() throws Exception {
        for (Broker broker : cluster.brokers) {
            broker.stop();
        }
        try (var client = client()) {
            var ephemerals = new ArrayList<String>();
            findEphemerals(client, Server.CHROOT, ephemerals);
            if (!ephemerals.isEmpty()) {
                throw new AssertionError("left behind: " + ephemerals);
            }
            if (client.exists(Server.CHROOT + "/brokers/topics/orders", false) == null) {
                throw new AssertionError("the topic `orders` is not in the tree");
            }
        }
    }

    private void findEphemerals(ZooKeeper client, String path, List<String> found) throws Exception {
        for (String child : client.getChildren(path, false)) {
            String below = path + "/" + child;
            var stat = client.exists(below, false);
            if (stat != null && stat.getEphemeralOwner() != 0) {
                found.add(below);
            }
            findEphemerals(client, below, found);
        }
    }

    /** The brokers registered in the tree. */
    private static List<String> ids() throws Exception {
        try (var client = client()) {
            var ids = client.getChildren(Server.CHROOT + "/brokers/ids", false);
            ids.sort(null);
            return ids;
        }
    }

    /**
     * Until the tree says so of each partition. A broker that stood still may answer of what it knew before, so its own word is
     * not asked.
     */
    private static void awaitInSync(String topic, int partitions, Set<Integer> replicas) throws Exception {
        Wait.until("in sync in the tree in " + topic, Collections.nCopies(partitions, replicas), () -> {
            var seen = new ArrayList<Set<Integer>>();
            for (String state : statesInTree(topic)) {
                seen.add(inSync(state));
            }
            return seen;
        });
    }

    private static Set<Integer> inSync(String state) {
        var list = IN_SYNC.matcher(state);
        if (!list.find()) {
            throw new AssertionError("no replicas in sync in " + state);
        }
        return Stream.of(list.group(1).split(",")).filter(id -> !id.isEmpty()).map(Integer::valueOf).collect(Collectors.toSet());
    }

    /** Leader, epochs and replicas in sync of each partition. */
    private static List<String> statesInTree(String topic) throws Exception {
        String partitions = Server.CHROOT + "/brokers/topics/" + topic + "/partitions";
        var states = new ArrayList<String>();
        try (var client = client()) {
            for (String partition : client.getChildren(partitions, false)) {
                byte[] state = client.getData(partitions + "/" + partition + "/state", false, null);
                states.add(partition + ": " + new String(state, StandardCharsets.UTF_8));
            }
        }
        return states;
    }

    private static ZooKeeper client() throws Exception {
        return new ZooKeeper(Server.address(), 5000, event -> {});
    }

    private long[] pids() {
        return cluster.brokers.stream().mapToLong(Broker::pid).toArray();
    }

    private void sameProcesses(long[] before) {
        for (Broker broker : cluster.brokers) {
            if (!broker.alive() || broker.pid() != before[broker.id]) {
                throw new AssertionError("broker " + broker.id + " has died");
            }
        }
    }
}
