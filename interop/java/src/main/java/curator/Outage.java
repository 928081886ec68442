package curator;

import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.that;

import harness.Server;
import harness.Test;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.zookeeper.CreateMode;

/** The recipes live through a server that dies. */
public final class Outage {
    private Outage() {
    }

    private static void restart(CuratorFramework client) throws Exception {
        List<ConnectionState> states = Collections.synchronizedList(new ArrayList<>());
        client.getConnectionStateListenable().addListener((c, state) -> states.add(state));
        Server.control("kill");
        await("the loss", () -> states.contains(ConnectionState.SUSPENDED));
        Server.control("start");
        await("reconnection, after " + states, () -> states.contains(ConnectionState.RECONNECTED));
        that(!states.contains(ConnectionState.LOST), states);
    }

    public static void sessionAndEphemeralsStay(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        long session = Clients.session(client);
        client.create().withMode(CreateMode.EPHEMERAL).forPath("/e", "x".getBytes());
        restart(client);
        equal(Clients.session(client), session);
        equal(client.checkExists().forPath("/e").getEphemeralOwner(), session);
    }

    public static void lockStaysHeld(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        InterProcessMutex lock = new InterProcessMutex(client, "/lock");
        lock.acquire();
        CuratorFramework rivals = Clients.client(t);
        restart(client);
        InterProcessMutex rival = new InterProcessMutex(rivals, "/lock");
        that(!rival.acquire(10, TimeUnit.MILLISECONDS), "both hold it");
        lock.release();
        that(rival.acquire(10, TimeUnit.SECONDS), "not passed on");
    }

    public static void oneLeaderAfterwards(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        List<LeaderLatch> latches = List.of(new LeaderLatch(client, "/latch", "one"),
            new LeaderLatch(Clients.client(t), "/latch", "two"));
        for (LeaderLatch latch : latches) {
            latch.start();
        }
        await("a leader", () -> latches.stream().anyMatch(LeaderLatch::hasLeadership));
        restart(client);
        await("one leader", () -> latches.stream().filter(LeaderLatch::hasLeadership).count() == 1
            && latches.get(0).getParticipants().size() == 2);
        for (LeaderLatch latch : latches) {
            latch.close();
        }
    }

    public static void cacheGoesOn(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        client.create().creatingParentsIfNeeded().forPath("/tree/a", "1".getBytes());
        CuratorCache cache = t.closing(CuratorCache.build(client, "/tree"));
        cache.start();
        await("the cache to fill", () -> cache.size() == 2);
        restart(client);
        client.setData().forPath("/tree/a", "2".getBytes());
        await("the change", () -> cache.get("/tree/a").filter(data -> Caches.holds(data, "2")).isPresent());
    }

    public static void backgroundRequestsOutlastIt(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        // The first use of a namespace makes sure of its node, and waits for that.
        client.checkExists().forPath("/");
        Server.control("kill");
        List<Integer> codes = Collections.synchronizedList(new ArrayList<>());
        for (int n = 0; n < 20; n++) {
            client.create().inBackground((c, event) -> codes.add(event.getResultCode())).forPath("/n" + n);
        }
        Server.control("start");
        await("all answers", () -> codes.size() == 20);
        equal(client.getChildren().forPath("/").size(), 20);
    }
}
