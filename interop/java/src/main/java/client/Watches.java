package client;

import static client.Nodes.create;
import static harness.Check.equal;
import static harness.Check.fails;
import static harness.Check.that;

import harness.Events;
import harness.Proxy;
import harness.Server;
import harness.Test;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/** One-shot watches, also across reconnection: the client re-arms them with setWatches. */
public final class Watches {
    private Watches() {
    }

    /** Makes sure that whatever was going to be told has been: events and replies share one order. */
    static void flush(Test t) throws Exception {
        t.zk.sync(t.path);
        CountDownLatch done = new CountDownLatch(1);
        t.zk.exists(t.path, false, (code, path, context, stat) -> done.countDown(), null);
        that(done.await(10, TimeUnit.SECONDS), "no reply");
    }

    public static void dataWatch(Test t) throws Exception {
        String path = t.node("a");
        Events events = new Events();
        t.zk.getData(path, events, null);
        t.zk.setData(path, null, -1);
        t.zk.getData(path, events, null);
        t.zk.delete(path, -1);
        events.expect("NodeDataChanged " + path, "NodeDeleted " + path);
    }

    public static void existsWatch(Test t) throws Exception {
        String path = t.path + "/a";
        Events events = new Events();
        equal(t.zk.exists(path, events), null);
        t.node("a");
        t.zk.exists(path, events);
        t.zk.setData(path, null, -1);
        t.zk.exists(path, events);
        t.zk.delete(path, -1);
        events.expect("NodeCreated " + path, "NodeDataChanged " + path, "NodeDeleted " + path);
    }

    public static void childWatch(Test t) throws Exception {
        Events events = new Events();
        t.zk.getChildren(t.path, events);
        t.zk.setData(t.path, null, -1);
        String path = t.node("a");
        t.zk.getChildren(t.path, events);
        t.zk.setData(path, null, -1);
        t.node("a/b");
        t.zk.delete(path + "/b", -1);
        t.zk.delete(path, -1);
        t.zk.getChildren(t.path, events);
        t.zk.delete(t.path, -1);
        events.expect("NodeChildrenChanged " + t.path, "NodeChildrenChanged " + t.path, "NodeDeleted " + t.path);
    }

    public static void defaultWatcher(Test t) throws Exception {
        String path = t.node("a");
        t.zk.getData(path, true, null);
        t.zk.setData(path, null, -1);
        t.events.expect("NodeDataChanged " + path);
        Events registered = new Events();
        t.zk.register(registered);
        t.zk.exists(path, true);
        t.zk.delete(path, -1);
        registered.expect("NodeDeleted " + path);
    }

    public static void firesOnce(Test t) throws Exception {
        String path = t.node("a");
        Events events = new Events();
        t.zk.getData(path, events, null);
        t.zk.exists(path, events);
        t.zk.setData(path, null, -1);
        t.zk.setData(path, null, -1);
        flush(t);
        equal(events.changes(), List.of("NodeDataChanged " + path));
    }

    public static void dataAndChildWatchOnOneDeletion(Test t) throws Exception {
        String path = t.node("a");
        Events both = new Events();
        t.zk.getData(path, both, null);
        t.zk.getChildren(path, both);
        t.zk.delete(path, -1);
        flush(t);
        equal(both.changes(), List.of("NodeDeleted " + path));
    }

    public static void failedReadsLeaveNone(Test t) throws Exception {
        String path = t.path + "/a";
        Events events = new Events();
        fails(Code.NONODE, () -> t.zk.getData(path, events, null));
        fails(Code.NONODE, () -> t.zk.getChildren(path, events));
        t.node("a");
        flush(t);
        equal(events.changes(), List.of());
    }

    public static void setAclIsNoChange(Test t) throws Exception {
        String path = t.node("a");
        Events events = new Events();
        t.zk.getData(path, events, null);
        t.zk.getChildren(path, events);
        t.zk.setACL(path, Ids.OPEN_ACL_UNSAFE, -1);
        flush(t);
        equal(events.changes(), List.of());
    }

    public static void othersChanges(Test t) throws Exception {
        ZooKeeper other = t.client();
        String path = create(other, t.path + "/e", CreateMode.EPHEMERAL);
        Events node = new Events();
        Events parent = new Events();
        t.zk.exists(path, node);
        t.zk.getChildren(t.path, parent);
        other.close();
        node.expect("NodeDeleted " + path);
        parent.expect("NodeChildrenChanged " + t.path);
    }

    public static void multiFiresInOrder(Test t) throws Exception {
        String a = t.node("a");
        String b = t.node("b");
        Events events = new Events();
        t.zk.getData(a, events, null);
        t.zk.exists(t.path + "/c", events);
        t.zk.getData(b, events, null);
        t.zk.getChildren(t.path, events);
        t.zk.multi(List.of(Op.delete(b, -1), Op.setData(a, null, -1),
            Op.create(t.path + "/c", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT)));
        events.expect("NodeDeleted " + b, "NodeChildrenChanged " + t.path, "NodeDataChanged " + a,
            "NodeCreated " + t.path + "/c");
    }

    public static void eventComesBeforeTheNewData(Test t) throws Exception {
        String path = t.node("a");
        List<String> order = Collections.synchronizedList(new ArrayList<>());
        int rounds = 300;
        CountDownLatch done = new CountDownLatch(rounds);
        for (int n = 0; n < rounds; n++) {
            t.zk.getData(path, event -> order.add("event"), (c, p, x, data, stat) -> { }, null);
            t.zk.setData(path, null, -1, (c, p, x, stat) -> order.add("written"), null);
            t.zk.getData(path, false, (c, p, x, data, stat) -> {
                order.add("read");
                done.countDown();
            }, null);
        }
        that(done.await(20, TimeUnit.SECONDS), "reads");
        for (int n = 0; n < rounds; n++) {
            equal(order.subList(3 * n, 3 * n + 3), List.of("event", "written", "read"), "round " + n);
        }
    }

    public static void othersEventComesBeforeTheNewData(Test t) throws Exception {
        ZooKeeper other = t.client();
        String path = t.node("a", "0");
        for (int n = 1; n <= 50; n++) {
            Events events = new Events();
            t.zk.getData(path, events, null);
            other.setData(path, ("" + n).getBytes(), -1);
            List<String> seen = new ArrayList<>();
            CountDownLatch read = new CountDownLatch(1);
            byte[][] value = new byte[1][];
            t.zk.getData(path, false, (c, p, x, data, stat) -> {
                value[0] = data;
                seen.addAll(events.changes());
                read.countDown();
            }, null);
            that(read.await(10, TimeUnit.SECONDS), "no reply");
            if (new String(value[0]).equals("" + n)) {
                equal(seen, List.of("NodeDataChanged " + path), "told before the new value of round " + n);
            }
        }
    }

    public static void inAChroot(Test t) throws Exception {
        ZooKeeper inside = t.client(Server.CONNECT + t.path, 10_000, new Events());
        Events events = new Events();
        inside.exists("/a", events);
        inside.getChildren("/", events);
        t.node("a");
        events.expect("NodeCreated /a", "NodeChildrenChanged /");
    }

    public static void thousands(Test t) throws Exception {
        Events events = new Events();
        ZooKeeper other = t.client();
        int count = 3000;
        CountDownLatch armed = new CountDownLatch(count);
        for (int n = 0; n < count; n++) {
            t.zk.exists(t.path + "/n" + n, events, (c, p, x, stat) -> armed.countDown(), null);
        }
        that(armed.await(20, TimeUnit.SECONDS), "watches");
        List<String> expected = new ArrayList<>();
        for (int n = 0; n < count; n++) {
            other.create(t.path + "/n" + n, null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT,
                (c, p, x, name) -> { }, null);
            expected.add("NodeCreated " + t.path + "/n" + n);
        }
        events.awaitCount(count);
        equal(events.changes(), expected);
    }

    /** What changed while the client was away is told on its return; what did not, is armed again. */
    public static void reconnectionTellsWhatChanged(Test t) throws Exception {
        Proxy proxy = t.proxy();
        Events connection = new Events();
        ZooKeeper away = t.client(proxy.address(), 10_000, connection);
        for (String name : List.of("set", "deleted", "same", "children", "quiet", "doomed")) {
            t.node(name);
        }
        Events data = new Events();
        for (String name : List.of("set", "deleted", "same")) {
            away.getData(t.path + "/" + name, data, null);
        }
        Events exists = new Events();
        away.exists(t.path + "/created", exists);
        away.exists(t.path + "/later", exists);
        Events children = new Events();
        for (String name : List.of("children", "quiet", "doomed")) {
            away.getChildren(t.path + "/" + name, children);
        }
        proxy.shut();
        connection.settle("Disconnected");
        t.zk.setData(t.path + "/set", null, -1);
        t.zk.delete(t.path + "/deleted", -1);
        t.node("created");
        t.node("children/x");
        t.zk.delete(t.path + "/doomed", -1);
        proxy.open();
        connection.settle("SyncConnected");
        data.awaitCount(2);
        exists.awaitCount(1);
        children.awaitCount(2);
        equal(Nodes.sorted(data.changes()),
            List.of("NodeDataChanged " + t.path + "/set", "NodeDeleted " + t.path + "/deleted"));
        equal(exists.changes(), List.of("NodeCreated " + t.path + "/created"));
        equal(Nodes.sorted(children.changes()),
            List.of("NodeChildrenChanged " + t.path + "/children", "NodeDeleted " + t.path + "/doomed"));
        t.zk.setData(t.path + "/same", null, -1);
        t.node("later");
        t.node("quiet/x");
        data.awaitCount(3);
        exists.awaitCount(2);
        children.awaitCount(3);
    }

    /** More watches than fit into one setWatches request. */
    public static void reconnectionWithThousands(Test t) throws Exception {
        Proxy proxy = t.proxy();
        Events connection = new Events();
        ZooKeeper away = t.client(proxy.address(), 10_000, connection);
        Events events = new Events();
        String name = "/a-name-that-is-long-enough-to-need-several-requests-";
        int count = 3000;
        CountDownLatch armed = new CountDownLatch(count);
        for (int n = 0; n < count; n++) {
            away.exists(t.path + name + n, events, (c, p, x, stat) -> armed.countDown(), null);
        }
        that(armed.await(20, TimeUnit.SECONDS), "watches");
        proxy.shut();
        connection.settle("Disconnected");
        create(t.zk, t.path + name + 7, CreateMode.PERSISTENT);
        proxy.open();
        connection.settle("SyncConnected");
        events.expect("NodeCreated " + t.path + name + 7);
        create(t.zk, t.path + name + 2999, CreateMode.PERSISTENT);
        events.expect("NodeCreated " + t.path + name + 7, "NodeCreated " + t.path + name + 2999);
    }
}
