package client;

import static client.Nodes.create;
import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.fails;
import static harness.Check.that;

import harness.Events;
import harness.Proxy;
import harness.Server;
import harness.Test;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;

/** What Diwan promises and ZooKeeper does not; skipped on ZooKeeper. */
public final class Beyond {
    private Beyond() {
    }

    private static ZooKeeper pretend(Test t, ZooKeeper owner, byte[] password, Events events) throws Exception {
        return t.closing(Server.client(Server.CONNECT, 10_000, events, owner.getSessionId(), password));
    }

    /** ZooKeeper's rule, by which anyone who sees a session's id knows its password. */
    private static byte[] computed(long session) {
        byte[] password = new byte[16];
        new Random(session ^ 0xB3415C00L).nextBytes(password);
        return password;
    }

    public static void passwordsCannotBeComputed(Test t) throws Exception {
        Server.needDiwan();
        ZooKeeper owner = t.client();
        that(!Arrays.equals(owner.getSessionPasswd(), computed(owner.getSessionId())), "computed");
        Events events = new Events();
        pretend(t, owner, computed(owner.getSessionId()), events);
        events.settle("Expired");
        that(owner.exists("/", false) != null, "the owner goes on");
    }

    public static void wrongPasswordsDisturbNobody(Test t) throws Exception {
        Server.needDiwan();
        Events owners = new Events();
        ZooKeeper owner = t.client(Server.CONNECT, 10_000, owners);
        create(owner, t.path + "/e", CreateMode.EPHEMERAL);
        for (int n = 0; n < 5; n++) {
            Events events = new Events();
            pretend(t, owner, new byte[16], events);
            events.settle("Expired");
        }
        equal(owner.getEphemerals(), List.of(t.path + "/e"));
        equal(owners.states(), List.of("SyncConnected"));
    }

    public static void persistentWatchesCatchUp(Test t) throws Exception {
        Server.needDiwan();
        Proxy proxy = t.proxy();
        Events connection = new Events();
        Events persistent = new Events();
        Events recursive = new Events();
        ZooKeeper away = t.client(proxy.address(), 10_000, connection);
        for (String name : List.of("p", "r", "r/set", "r/deleted", "r/same")) {
            t.node(name);
        }
        away.addWatch(t.path + "/p", persistent, AddWatchMode.PERSISTENT);
        away.addWatch(t.path + "/r", recursive, AddWatchMode.PERSISTENT_RECURSIVE);
        proxy.shut();
        connection.settle("Disconnected");
        t.zk.setData(t.path + "/p", null, -1);
        t.node("p/child");
        t.zk.setData(t.path + "/r/set", null, -1);
        t.zk.delete(t.path + "/r/deleted", -1);
        t.node("r/created");
        proxy.open();
        connection.settle("SyncConnected");
        persistent.awaitCount(2);
        recursive.awaitCount(3);
        equal(Set.copyOf(persistent.changes()),
            Set.of("NodeDataChanged " + t.path + "/p", "NodeChildrenChanged " + t.path + "/p"));
        equal(Set.copyOf(recursive.changes()), Set.of("NodeDataChanged " + t.path + "/r/set",
            "NodeDeleted " + t.path + "/r/deleted", "NodeCreated " + t.path + "/r/created"));
    }

    public static void caughtUpEventsAreFiltered(Test t) throws Exception {
        Server.needDiwan();
        Proxy proxy = t.proxy();
        Events connection = new Events();
        Events events = new Events();
        ZooKeeper away = t.client(proxy.address(), 10_000, connection);
        away.addWatch(t.path, events, AddWatchMode.PERSISTENT_RECURSIVE);
        proxy.shut();
        connection.settle("Disconnected");
        ZooKeeper alice = t.authenticated("alice:wonder");
        alice.create(t.path + "/hers", null, Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
        t.node("open");
        proxy.open();
        connection.settle("SyncConnected");
        events.expect("NodeCreated " + t.path + "/open");
    }

    public static void existsWatchOverCreationAndDeletion(Test t) throws Exception {
        Server.needDiwan();
        Proxy proxy = t.proxy();
        Events connection = new Events();
        Events events = new Events();
        ZooKeeper away = t.client(proxy.address(), 10_000, connection);
        away.exists(t.path + "/a", events);
        proxy.shut();
        connection.settle("Disconnected");
        t.zk.delete(t.node("a"), -1);
        proxy.open();
        connection.settle("SyncConnected");
        events.expect("NodeDeleted " + t.path + "/a");
    }

    public static void oversizedRequestsAreRefusedInOrder(Test t) throws Exception {
        Server.needDiwan();
        Events events = new Events();
        ZooKeeper zk = t.client(Server.CONNECT, 10_000, events);
        String path = t.node("a", "small");
        List<String> order = new ArrayList<>();
        CountDownLatch done = new CountDownLatch(3);
        zk.exists(path, false, (code, p, x, stat) -> {
            order.add("before " + code);
            done.countDown();
        }, null);
        zk.setData(path, new byte[3 << 20], -1, (code, p, x, stat) -> {
            order.add("oversized " + code);
            done.countDown();
        }, null);
        zk.getData(path, false, (code, p, x, data, stat) -> {
            order.add("after " + new String(data));
            done.countDown();
        }, null);
        that(done.await(15, TimeUnit.SECONDS), "replies: " + order);
        equal(order, List.of("before 0", "oversized " + Code.BADARGUMENTS.intValue(), "after small"));
        fails(Code.BADARGUMENTS, () -> zk.setData(path, new byte[20 << 20], -1));
        equal(events.states(), List.of("SyncConnected"));
    }

    public static void setAclBindsWhatFollows(Test t) throws Exception {
        Server.needDiwan();
        int count = 200;
        AtomicInteger refused = new AtomicInteger();
        CountDownLatch done = new CountDownLatch(count);
        List<ACL> readOnly = Arrays.asList(new ACL(Perms.READ, Ids.ANYONE_ID_UNSAFE));
        t.zk.setACL(t.path, readOnly, -1, (code, p, x, stat) -> { }, null);
        for (int n = 0; n < count; n++) {
            t.zk.create(t.path + "/n" + n, null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, (code, p, x, name) -> {
                refused.addAndGet(code == Code.NOAUTH.intValue() ? 1 : 0);
                done.countDown();
            }, null);
        }
        that(done.await(15, TimeUnit.SECONDS), "replies");
        equal(refused.get(), count);
    }

    public static void movedSessionsLeaveTheirOldConnection(Test t) throws Exception {
        Server.needDiwan();
        Proxy proxy = t.proxy();
        Events firsts = new Events();
        ZooKeeper first = t.client(proxy.address(), 10_000, firsts);
        Events seconds = new Events();
        ZooKeeper second = pretend(t, first, first.getSessionPasswd(), seconds);
        seconds.awaitState("SyncConnected");
        await("the old connection's end", () -> firsts.states().contains("Disconnected"));
        proxy.shut();
        seconds.settle("SyncConnected");
        that(second.getSessionId() == first.getSessionId(), "the same session");
    }
}
