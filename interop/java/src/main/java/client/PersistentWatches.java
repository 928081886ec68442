package client;

import static client.Nodes.create;
import static client.Watches.flush;
import static harness.Check.equal;

import harness.Events;
import harness.Proxy;
import harness.Server;
import harness.Test;
import java.util.List;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/** Watches that stay: persistent and persistent recursive. */
public final class PersistentWatches {
    private PersistentWatches() {
    }

    public static void persistentStays(Test t) throws Exception {
        Events events = new Events();
        String path = t.node("a");
        t.zk.addWatch(path, events, AddWatchMode.PERSISTENT);
        t.zk.setData(path, null, -1);
        t.zk.setData(path, null, -1);
        t.node("a/b");
        t.zk.setData(path + "/b", null, -1);
        t.zk.delete(path + "/b", -1);
        t.zk.delete(path, -1);
        t.node("a");
        events.expect("NodeDataChanged " + path, "NodeDataChanged " + path, "NodeChildrenChanged " + path,
            "NodeChildrenChanged " + path, "NodeDeleted " + path, "NodeCreated " + path);
    }

    public static void recursiveSeesTheSubtree(Test t) throws Exception {
        Events events = new Events();
        String path = t.path + "/a";
        t.zk.addWatch(path, events, AddWatchMode.PERSISTENT_RECURSIVE);
        t.node("a");
        t.node("a/b");
        t.node("a/b/c");
        t.zk.setData(path + "/b/c", null, -1);
        t.zk.setData(path, null, -1);
        t.zk.delete(path + "/b/c", -1);
        t.node("ab");
        t.zk.setData(t.path, null, -1);
        t.zk.delete(path + "/b", -1);
        events.expect("NodeCreated " + path, "NodeCreated " + path + "/b", "NodeCreated " + path + "/b/c",
            "NodeDataChanged " + path + "/b/c", "NodeDataChanged " + path, "NodeDeleted " + path + "/b/c",
            "NodeDeleted " + path + "/b");
    }

    public static void onTheRoot(Test t) throws Exception {
        Events events = new Events();
        ZooKeeper inside = t.client(Server.CONNECT + t.path, 10_000, new Events());
        inside.addWatch("/", events, AddWatchMode.PERSISTENT_RECURSIVE);
        t.node("a");
        t.node("a/b");
        t.zk.setData(t.path, null, -1);
        events.expect("NodeCreated /a", "NodeCreated /a/b", "NodeDataChanged /");
    }

    public static void onTheTreesRoot(Test t) throws Exception {
        Events events = new Events();
        t.zk.addWatch("/", events, AddWatchMode.PERSISTENT_RECURSIVE);
        t.node("a");
        t.zk.delete(t.path + "/a", -1);
        flush(t);
        // Other tests run meanwhile; theirs are seen too.
        equal(events.changes().stream().filter(change -> change.endsWith(t.path + "/a")).toList(),
            List.of("NodeCreated " + t.path + "/a", "NodeDeleted " + t.path + "/a"));
    }

    public static void onAMissingNode(Test t) throws Exception {
        Events events = new Events();
        String path = t.path + "/none";
        t.zk.addWatch(path, events, AddWatchMode.PERSISTENT);
        t.node("none");
        t.zk.delete(path, -1);
        t.node("none");
        events.expect("NodeCreated " + path, "NodeDeleted " + path, "NodeCreated " + path);
    }

    public static void defaultWatcher(Test t) throws Exception {
        t.zk.addWatch(t.path, AddWatchMode.PERSISTENT);
        t.node("a");
        t.node("b");
        t.events.expect("NodeChildrenChanged " + t.path, "NodeChildrenChanged " + t.path);
    }

    public static void besideOneShot(Test t) throws Exception {
        Events lasting = new Events();
        Events once = new Events();
        String path = t.node("a");
        t.zk.addWatch(path, lasting, AddWatchMode.PERSISTENT);
        t.zk.getData(path, once, null);
        t.zk.setData(path, null, -1);
        t.zk.setData(path, null, -1);
        lasting.expect("NodeDataChanged " + path, "NodeDataChanged " + path);
        flush(t);
        equal(once.changes(), List.of("NodeDataChanged " + path));
    }

    public static void recursiveBesideChildWatch(Test t) throws Exception {
        Events recursive = new Events();
        Events children = new Events();
        t.zk.addWatch(t.path, recursive, AddWatchMode.PERSISTENT_RECURSIVE);
        t.zk.getChildren(t.path, children);
        t.node("a");
        t.node("b");
        recursive.expect("NodeCreated " + t.path + "/a", "NodeCreated " + t.path + "/b");
        flush(t);
        equal(children.changes(), List.of("NodeChildrenChanged " + t.path));
    }

    public static void bothModesOnOnePath(Test t) throws Exception {
        Events persistent = new Events();
        Events recursive = new Events();
        t.zk.addWatch(t.path, persistent, AddWatchMode.PERSISTENT);
        t.zk.addWatch(t.path, recursive, AddWatchMode.PERSISTENT_RECURSIVE);
        t.node("a");
        t.zk.setData(t.path + "/a", null, -1);
        persistent.expect("NodeChildrenChanged " + t.path);
        recursive.expect("NodeCreated " + t.path + "/a", "NodeDataChanged " + t.path + "/a");
    }

    public static void nestedRecursive(Test t) throws Exception {
        Events outer = new Events();
        Events inner = new Events();
        t.node("a");
        t.zk.addWatch(t.path, outer, AddWatchMode.PERSISTENT_RECURSIVE);
        t.zk.addWatch(t.path + "/a", inner, AddWatchMode.PERSISTENT_RECURSIVE);
        t.node("a/b");
        outer.expect("NodeCreated " + t.path + "/a/b");
        inner.expect("NodeCreated " + t.path + "/a/b");
    }

    public static void multiInOrder(Test t) throws Exception {
        Events events = new Events();
        t.zk.addWatch(t.path, events, AddWatchMode.PERSISTENT_RECURSIVE);
        String a = t.path + "/a";
        t.zk.multi(List.of(Op.create(a, null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT),
            Op.create(a + "/b", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL), Op.setData(a, null, -1),
            Op.delete(a + "/b", -1), Op.delete(a, -1)));
        events.expect("NodeCreated " + a, "NodeCreated " + a + "/b", "NodeDataChanged " + a, "NodeDeleted " + a + "/b",
            "NodeDeleted " + a);
    }

    public static void sessionsEnd(Test t) throws Exception {
        Events events = new Events();
        ZooKeeper other = t.client();
        create(other, t.path + "/e", CreateMode.EPHEMERAL);
        t.zk.addWatch(t.path, events, AddWatchMode.PERSISTENT_RECURSIVE);
        other.close();
        events.expect("NodeDeleted " + t.path + "/e");
    }

    public static void nothingIsMissedBetweenEvents(Test t) throws Exception {
        Events events = new Events();
        String path = t.node("a");
        t.zk.addWatch(path, events, AddWatchMode.PERSISTENT);
        ZooKeeper other = t.client();
        for (int n = 0; n < 1000; n++) {
            other.setData(path, null, -1, (c, p, x, stat) -> { }, null);
        }
        events.awaitCount(1000);
    }

    /** They are armed again; what happened meanwhile a real server does not tell, a better one may. */
    public static void reconnectionArmsThemAgain(Test t) throws Exception {
        Proxy proxy = t.proxy();
        Events connection = new Events();
        ZooKeeper away = t.client(proxy.address(), 10_000, connection);
        Events persistent = new Events();
        Events recursive = new Events();
        t.node("p");
        t.node("r");
        away.addWatch(t.path + "/p", persistent, AddWatchMode.PERSISTENT);
        away.addWatch(t.path + "/r", recursive, AddWatchMode.PERSISTENT_RECURSIVE);
        for (int round = 0; round < 3; round++) {
            proxy.shut();
            connection.settle("Disconnected");
            proxy.open();
            connection.settle("SyncConnected");
        }
        // The re-arming request was sent before this read, on the same connection.
        away.sync(t.path);
        t.zk.setData(t.path + "/p", null, -1);
        t.node("p/x");
        t.node("r/x");
        t.node("r/x/y");
        persistent.expect("NodeDataChanged " + t.path + "/p", "NodeChildrenChanged " + t.path + "/p");
        recursive.expect("NodeCreated " + t.path + "/r/x", "NodeCreated " + t.path + "/r/x/y");
    }
}
