package curator;

import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.that;

import harness.Server;
import harness.Test;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.data.Stat;

/** Members of the ensemble are killed one after the other and come back, and Curator's own retries do the rest. */
public final class Deaths {
    /** Connections that are lost under each test. */
    private static final int MOVES = 2;
    private static final long MAX_MS = 30_000;

    private Deaths() {
    }

    /** The classes, and this one where members die. */
    static List<Class<?>> or(List<Class<?>> classes) {
        List<Class<?>> all = new ArrayList<>(classes);
        if (Server.dies()) {
            all.add(Deaths.class);
        }
        return all;
    }

    private static AtomicInteger moves(CuratorFramework client) {
        AtomicInteger moves = new AtomicInteger();
        client.getConnectionStateListenable().addListener((framework, state) -> {
            if (state == ConnectionState.SUSPENDED) {
                moves.incrementAndGet();
            }
        });
        return moves;
    }

    public static void sessionAndProtectedNodesStay(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        AtomicInteger moves = moves(client);
        long session = Clients.session(client);
        client.create().idempotent().withMode(CreateMode.EPHEMERAL).forPath("/e");
        long deadline = System.currentTimeMillis() + MAX_MS;
        int made = 0;
        for (; moves.get() < MOVES || made < 100; made++) {
            that(System.currentTimeMillis() < deadline, made + " nodes, " + moves + " connections lost");
            client.create().withProtection().withMode(CreateMode.PERSISTENT_SEQUENTIAL).forPath("/n-");
            equal(client.checkExists().forPath("/e").getEphemeralOwner(), session);
        }
        // With protection a create that is tried again finds what the first try made.
        equal(client.getChildren().forPath("/").size(), made + 1);
        equal(Clients.session(client), session);
    }

    public static void aMutexHasOneHolder(Test t) throws Exception {
        CuratorFramework first = Clients.client(t);
        AtomicInteger moves = moves(first);
        first.create().idempotent().forPath("/count", "0".getBytes());
        AtomicReference<Throwable> failed = new AtomicReference<>();
        AtomicInteger added = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (CuratorFramework client : List.of(first, Clients.client(t), Clients.client(t))) {
            threads.add(t.background(() -> {
                try {
                    while (moves.get() < MOVES && failed.get() == null) {
                        add(client, added);
                    }
                } catch (Throwable error) {
                    failed.compareAndSet(null, error);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join(MAX_MS);
            that(!thread.isAlive(), moves + " connections lost, " + added + " added");
        }
        equal(failed.get(), null);
        first.sync().forPath("/count");
        equal(new String(first.getData().forPath("/count")), String.valueOf(added.get()));
    }

    private static void add(CuratorFramework client, AtomicInteger added) throws Exception {
        InterProcessMutex mutex = new InterProcessMutex(client, "/lock");
        that(mutex.acquire(MAX_MS, TimeUnit.MILLISECONDS), "no lock");
        try {
            client.sync().forPath("/count");
            Stat stat = new Stat();
            int count = Integer.parseInt(new String(client.getData().storingStatIn(stat).forPath("/count")));
            equal(stat.getVersion(), count);
            // A retry after an unknown outcome finds its own write.
            client.setData().idempotent().withVersion(count).forPath("/count", String.valueOf(count + 1).getBytes());
            added.incrementAndGet();
        } finally {
            mutex.release();
        }
    }

    public static void cachesAndPersistentNodesFollow(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        AtomicInteger moves = moves(client);
        PersistentNode node = t.closing(new PersistentNode(client, CreateMode.EPHEMERAL, false, "/own", new byte[0]));
        node.start();
        that(node.waitForInitialCreate(15, TimeUnit.SECONDS), "no node");
        long owner = client.checkExists().forPath("/own").getEphemeralOwner();
        CuratorCache cache = t.closing(CuratorCache.build(client, "/a"));
        client.create().idempotent().forPath("/a", "0".getBytes());
        cache.start();
        CuratorFramework other = Clients.client(t);
        long deadline = System.currentTimeMillis() + MAX_MS;
        for (int n = 1; moves.get() < MOVES || n < 50; n++) {
            that(System.currentTimeMillis() < deadline, n + " writes, " + moves + " connections lost");
            String value = String.valueOf(n);
            other.setData().forPath("/a", value.getBytes());
            await("the cache", () -> cache.get("/a").filter(data -> new String(data.getData()).equals(value)).isPresent());
        }
        equal(client.checkExists().forPath("/own").getEphemeralOwner(), owner);
    }
}
