package curator;

import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.that;

import harness.Proxy;
import harness.Test;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.zookeeper.CreateMode;

/** What the recipes make of lost connections and of expired sessions. */
public final class Connections {
    private Connections() {
    }

    /** A client behind a door, and the states it went through. */
    private record Behind(CuratorFramework client, Proxy proxy, List<ConnectionState> states) {
        static Behind start(Test t, int timeoutMs) throws Exception {
            Proxy proxy = t.proxy();
            List<ConnectionState> states = Collections.synchronizedList(new ArrayList<>());
            CuratorFramework client = Clients.start(t,
                Clients.builder(t).connectString(proxy.address()).sessionTimeoutMs(timeoutMs));
            client.getConnectionStateListenable().addListener((c, state) -> states.add(state));
            return new Behind(client, proxy, states);
        }

        void awaitState(ConnectionState state) throws Exception {
            await(state + ", after " + states, () -> states.contains(state));
        }

        /** Shuts the door until the session has ended, then opens it again. */
        void expire(Test t) throws Exception {
            String mark = client.create().withMode(CreateMode.EPHEMERAL).forPath("/mark");
            proxy.shut();
            await("the session's end", () -> t.zk.exists(t.path + mark, false) == null);
            proxy.open();
            awaitState(ConnectionState.RECONNECTED);
        }
    }

    public static void suspendedThenReconnected(Test t) throws Exception {
        Behind behind = Behind.start(t, 10_000);
        long session = Clients.session(behind.client);
        behind.client.create().withMode(CreateMode.EPHEMERAL).forPath("/e");
        behind.proxy.shut();
        behind.awaitState(ConnectionState.SUSPENDED);
        behind.proxy.open();
        behind.awaitState(ConnectionState.RECONNECTED);
        that(!behind.states.contains(ConnectionState.LOST), behind.states);
        equal(behind.client.checkExists().forPath("/e").getEphemeralOwner(), session);
    }

    public static void requestsWaitForReconnection(Test t) throws Exception {
        Behind behind = Behind.start(t, 10_000);
        behind.proxy.shut();
        behind.awaitState(ConnectionState.SUSPENDED);
        Thread worker = t.background(() -> behind.client.create().forPath("/a"));
        behind.proxy.open();
        worker.join(15_000);
        that(t.zk.exists(t.path + "/a", false) != null, "not created");
    }

    public static void lostThenANewSession(Test t) throws Exception {
        Behind behind = Behind.start(t, 1_000);
        long session = Clients.session(behind.client);
        behind.expire(t);
        that(behind.states.contains(ConnectionState.LOST), behind.states);
        await("a new session", () -> Clients.session(behind.client) != session);
        behind.client.create().withMode(CreateMode.EPHEMERAL).forPath("/again");
    }

    public static void lockPassesOnExpiry(Test t) throws Exception {
        Behind behind = Behind.start(t, 1_000);
        InterProcessMutex lock = new InterProcessMutex(behind.client, "/lock");
        lock.acquire();
        InterProcessMutex heir = new InterProcessMutex(Clients.client(t), "/lock");
        Thread waiter = t.background(heir::acquire);
        behind.proxy.shut();
        waiter.join(15_000);
        that(heir.isAcquiredInThisProcess(), "not passed on");
    }

    public static void leadershipIsLostAndWonAgain(Test t) throws Exception {
        Behind behind = Behind.start(t, 1_000);
        LeaderLatch latch = new LeaderLatch(behind.client, "/latch", "first");
        latch.start();
        await("leadership", latch::hasLeadership);
        LeaderLatch heir = new LeaderLatch(Clients.client(t), "/latch", "heir");
        heir.start();
        behind.proxy.shut();
        await("the loss", () -> !latch.hasLeadership());
        await("the heir's leadership", heir::hasLeadership);
        behind.proxy.open();
        behind.awaitState(ConnectionState.RECONNECTED);
        await("both to take part", () -> heir.getParticipants().size() == 2);
        heir.close();
        await("leadership again", latch::hasLeadership);
    }

    public static void persistentNodeIsCreatedAgain(Test t) throws Exception {
        Behind behind = Behind.start(t, 1_000);
        PersistentNode node = new PersistentNode(behind.client, CreateMode.EPHEMERAL, false, "/n", "x".getBytes());
        node.start();
        that(node.waitForInitialCreate(10, java.util.concurrent.TimeUnit.SECONDS), "not created");
        long first = t.zk.exists(t.path + "/n", false).getEphemeralOwner();
        behind.expire(t);
        await("the node again", () -> {
            org.apache.zookeeper.data.Stat stat = t.zk.exists(t.path + "/n", false);
            return stat != null && stat.getEphemeralOwner() != first;
        });
    }

    public static void cacheCatchesUp(Test t) throws Exception {
        Behind behind = Behind.start(t, 10_000);
        behind.client.create().creatingParentsIfNeeded().forPath("/tree/a", "1".getBytes());
        CuratorCache cache = t.closing(CuratorCache.build(behind.client, "/tree"));
        cache.start();
        await("the cache to fill", () -> cache.size() == 2);
        behind.proxy.shut();
        behind.awaitState(ConnectionState.SUSPENDED);
        t.zk.setData(t.path + "/tree/a", "2".getBytes(), -1);
        t.node("tree/b", "new");
        behind.proxy.open();
        await("what was missed", () -> cache.size() == 3
            && cache.get("/tree/a").filter(data -> Caches.holds(data, "2")).isPresent());
        t.zk.delete(t.path + "/tree/b", -1);
        await("what comes after", () -> cache.size() == 2);
    }
}
