package client;

import static client.Nodes.create;
import static client.Nodes.sorted;
import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.that;

import harness.Events;
import harness.Proxy;
import harness.Server;
import harness.Test;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.cli.SetQuotaCommand;
import org.apache.zookeeper.StatsTrack;
import org.apache.zookeeper.data.Stat;

/** The server dies, stops, hangs and comes back. */
public final class Outage {
    private Outage() {
    }

    private static void restart(Test t, String how) throws Exception {
        Server.control(how);
        t.events.settle("Disconnected");
        Server.control("start");
        t.events.settle("SyncConnected");
    }

    private static Map<String, Stat> stats(Test t) throws Exception {
        Map<String, Stat> stats = new HashMap<>();
        for (String name : t.zk.getChildren(t.path, false)) {
            stats.put(name, t.zk.exists(t.path + "/" + name, false));
        }
        return stats;
    }

    public static void killKeepsEverything(Test t) throws Exception {
        t.node("plain", "old");
        t.zk.setData(t.path + "/plain", "new".getBytes(), 0);
        t.zk.create(t.path + "/null", null, Ids.READ_ACL_UNSAFE, CreateMode.PERSISTENT);
        create(t.zk, t.path + "/e", CreateMode.EPHEMERAL);
        create(t.zk, t.path + "/c", CreateMode.CONTAINER);
        t.node("c/child");
        Modes.createTtl(t.zk, t.path + "/t", CreateMode.PERSISTENT_WITH_TTL, 3_600_000);
        create(t.zk, t.path + "/n-", CreateMode.PERSISTENT_SEQUENTIAL);
        Map<String, Stat> before = stats(t);
        long session = t.zk.getSessionId();
        restart(t, "kill");
        equal(t.zk.getSessionId(), session);
        equal(stats(t), before);
        equal(t.zk.getData(t.path + "/plain", false, null), "new".getBytes());
        equal(t.zk.getData(t.path + "/null", false, null), null);
        equal(t.zk.getACL(t.path + "/null", null), Ids.READ_ACL_UNSAFE);
        equal(t.zk.getEphemerals(), List.of(t.path + "/e"));
        equal(create(t.zk, t.path + "/n-", CreateMode.PERSISTENT_SEQUENTIAL), t.path + "/n-0000000006");
    }

    public static void stopKeepsEverything(Test t) throws Exception {
        create(t.zk, t.path + "/e", CreateMode.EPHEMERAL);
        t.node("a", "x");
        Map<String, Stat> before = stats(t);
        restart(t, "stop");
        equal(stats(t), before);
        equal(t.zk.getEphemerals(), List.of(t.path + "/e"));
    }

    public static void killDuringAFloodLosesNothingAcknowledged(Test t) throws Exception {
        Set<String> acknowledged = new ConcurrentSkipListSet<>();
        int count = 5000;
        CountDownLatch answered = new CountDownLatch(count);
        for (int n = 0; n < count; n++) {
            t.zk.create(t.path + "/n-", new byte[200], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_SEQUENTIAL,
                (code, path, context, name) -> {
                    if (code == 0) {
                        acknowledged.add(name.substring(t.path.length() + 1));
                    }
                    answered.countDown();
                }, null);
        }
        await("some acknowledgements", () -> acknowledged.size() > 500);
        Server.control("kill");
        that(answered.await(20, TimeUnit.SECONDS), answered.getCount() + " never answered");
        Server.control("start");
        t.events.settle("SyncConnected");
        Set<String> present = new TreeSet<>(t.zk.getChildren(t.path, false));
        Set<String> lost = new TreeSet<>(acknowledged);
        lost.removeAll(present);
        equal(lost, Set.of(), "acknowledged and lost");
        List<String> gapless = new ArrayList<>();
        for (int n = 0; n < present.size(); n++) {
            gapless.add(String.format("n-%010d", n));
        }
        equal(sorted(new ArrayList<>(present)), gapless, "what survived");
    }

    public static void watchesComeBack(Test t) throws Exception {
        String path = t.node("a");
        Events once = new Events();
        Events lasting = new Events();
        Events creation = new Events();
        t.zk.getData(path, once, null);
        t.zk.addWatch(t.path, lasting, AddWatchMode.PERSISTENT_RECURSIVE);
        t.zk.exists(t.path + "/later", creation);
        restart(t, "kill");
        t.zk.sync(t.path);
        ZooKeeper other = t.client();
        other.setData(path, null, -1);
        create(other, t.path + "/later", CreateMode.PERSISTENT);
        once.expect("NodeDataChanged " + path);
        creation.expect("NodeCreated " + t.path + "/later");
        lasting.expect("NodeDataChanged " + path, "NodeCreated " + t.path + "/later");
    }

    public static void absentSessionsExpireAfterwards(Test t) throws Exception {
        Proxy proxy = t.proxy();
        ZooKeeper gone = t.client(proxy.address(), 1_000, new Events());
        String path = create(gone, t.path + "/e", CreateMode.EPHEMERAL);
        proxy.shut();
        restart(t, "kill");
        await("the ephemeral's end", () -> t.zk.exists(path, false) == null);
    }

    public static void closedSessionsStayClosed(Test t) throws Exception {
        ZooKeeper closed = t.client();
        String path = create(closed, t.path + "/e", CreateMode.EPHEMERAL);
        closed.close();
        restart(t, "kill");
        equal(t.zk.exists(path, false), null);
        Events events = new Events();
        t.closing(Server.client(Server.CONNECT, 10_000, events, closed.getSessionId(), closed.getSessionPasswd()));
        events.settle("Expired");
    }

    public static void aPauseIsSurvived(Test t) throws Exception {
        Events events = new Events();
        ZooKeeper zk = t.client(Server.CONNECT, 1_500, events);
        Server.control("pause");
        try {
            events.settle("Disconnected");
        } finally {
            Server.control("resume");
        }
        // Whether the short session outlives the pause is the server's choice; a new one works at once.
        await("an answer", () -> events.states().contains("Expired") || zk.getState().isConnected());
        that(t.client().exists("/", false) != null, "a new client");
    }

    public static void zxidsGoOn(Test t) throws Exception {
        Stat before = new Stat();
        t.zk.create(t.path + "/a", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, before);
        restart(t, "kill");
        Stat after = new Stat();
        t.zk.create(t.path + "/b", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, after);
        that(after.getCzxid() > before.getCzxid(), before + " then " + after);
    }

    public static void quotasGoOn(Test t) throws Exception {
        String path = t.node("q", "123");
        StatsTrack limits = new StatsTrack();
        limits.setCount(10);
        SetQuotaCommand.createQuota(t.zk, path, limits);
        t.node("q/a", "4567");
        restart(t, "kill");
        t.node("q/b", "89");
        StatsTrack usage = new StatsTrack(t.zk.getData("/zookeeper/quota" + path + "/zookeeper_stats", false, null));
        equal(usage.getCount(), 3L);
        equal(usage.getBytes(), 9L);
    }
}
