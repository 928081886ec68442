package client;

import static client.Watches.flush;
import static harness.Check.equal;
import static harness.Check.fails;

import harness.Events;
import harness.Proxy;
import harness.Test;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Watcher.WatcherType;
import org.apache.zookeeper.ZooKeeper;

/** removeWatches and removeAllWatches, of every type. */
public final class RemovedWatches {
    private RemovedWatches() {
    }

    public static void dataWatch(Test t) throws Exception {
        Events events = new Events();
        String path = t.node("a");
        t.zk.getData(path, events, null);
        t.zk.removeWatches(path, events, WatcherType.Data, false);
        t.zk.setData(path, null, -1);
        flush(t);
        equal(events.changes(), List.of("DataWatchRemoved " + path));
    }

    public static void childWatch(Test t) throws Exception {
        Events events = new Events();
        t.zk.getChildren(t.path, events);
        t.zk.removeWatches(t.path, events, WatcherType.Children, false);
        t.node("a");
        flush(t);
        equal(events.changes(), List.of("ChildWatchRemoved " + t.path));
    }

    public static void existsWatchIsADataWatch(Test t) throws Exception {
        Events events = new Events();
        t.zk.exists(t.path + "/none", events);
        t.zk.removeWatches(t.path + "/none", events, WatcherType.Data, false);
        t.node("none");
        flush(t);
        equal(events.changes(), List.of("DataWatchRemoved " + t.path + "/none"));
    }

    public static void onlyTheOneNamed(Test t) throws Exception {
        Events gone = new Events();
        Events kept = new Events();
        String path = t.node("a");
        t.zk.getData(path, gone, null);
        t.zk.getData(path, kept, null);
        t.zk.removeWatches(path, gone, WatcherType.Data, false);
        t.zk.setData(path, null, -1);
        kept.expect("NodeDataChanged " + path);
        equal(gone.changes(), List.of("DataWatchRemoved " + path));
    }

    public static void onlyTheTypeNamed(Test t) throws Exception {
        Events events = new Events();
        t.zk.getData(t.path, events, null);
        t.zk.getChildren(t.path, events);
        t.zk.removeWatches(t.path, events, WatcherType.Data, false);
        t.zk.setData(t.path, null, -1);
        t.node("a");
        events.expect("DataWatchRemoved " + t.path, "NodeChildrenChanged " + t.path);
    }

    public static void anyRemovesBoth(Test t) throws Exception {
        Events events = new Events();
        t.zk.getData(t.path, events, null);
        t.zk.getChildren(t.path, events);
        t.zk.removeWatches(t.path, events, WatcherType.Any, false);
        t.zk.setData(t.path, null, -1);
        t.node("a");
        flush(t);
        equal(Nodes.sorted(events.changes()), List.of("ChildWatchRemoved " + t.path, "DataWatchRemoved " + t.path));
    }

    public static void persistent(Test t) throws Exception {
        Events events = new Events();
        t.zk.addWatch(t.path, events, AddWatchMode.PERSISTENT);
        t.node("a");
        t.zk.removeWatches(t.path, events, WatcherType.Persistent, false);
        t.node("b");
        flush(t);
        equal(events.changes(), List.of("NodeChildrenChanged " + t.path, "PersistentWatchRemoved " + t.path));
    }

    public static void persistentRecursive(Test t) throws Exception {
        Events events = new Events();
        t.zk.addWatch(t.path, events, AddWatchMode.PERSISTENT_RECURSIVE);
        t.node("a");
        t.zk.removeWatches(t.path, events, WatcherType.PersistentRecursive, false);
        t.node("b");
        flush(t);
        equal(events.changes(), List.of("NodeCreated " + t.path + "/a", "PersistentWatchRemoved " + t.path));
    }

    public static void allOfThem(Test t) throws Exception {
        Events one = new Events();
        Events two = new Events();
        t.zk.getData(t.path, one, null);
        t.zk.getData(t.path, two, null);
        t.zk.removeAllWatches(t.path, WatcherType.Any, false);
        t.zk.setData(t.path, null, -1);
        flush(t);
        equal(one.changes(), List.of("DataWatchRemoved " + t.path));
        equal(two.changes(), List.of("DataWatchRemoved " + t.path));
    }

    public static void noneThere(Test t) throws Exception {
        Events events = new Events();
        fails(Code.NOWATCHER, () -> t.zk.removeWatches(t.path, events, WatcherType.Data, false));
        fails(Code.NOWATCHER, () -> t.zk.removeAllWatches(t.path, WatcherType.Any, false));
        t.zk.getData(t.path, events, null);
        fails(Code.NOWATCHER, () -> t.zk.removeWatches(t.path, events, WatcherType.Children, false));
        t.zk.setData(t.path, null, -1);
        events.expect("NodeDataChanged " + t.path);
        fails(Code.NOWATCHER, () -> t.zk.removeWatches(t.path, events, WatcherType.Data, false));
    }

    public static void locallyWithoutAServer(Test t) throws Exception {
        Proxy proxy = t.proxy();
        Events connection = new Events();
        Events events = new Events();
        ZooKeeper away = t.client(proxy.address(), 10_000, connection);
        away.getData(t.path, events, null);
        proxy.shut();
        connection.settle("Disconnected");
        away.removeWatches(t.path, events, WatcherType.Data, true);
        proxy.open();
        connection.settle("SyncConnected");
        t.zk.setData(t.path, null, -1);
        away.sync(t.path);
        equal(events.changes(), List.of("DataWatchRemoved " + t.path));
    }

    public static void asynchronously(Test t) throws Exception {
        CompletableFuture<Integer> removed = new CompletableFuture<>();
        CompletableFuture<Integer> again = new CompletableFuture<>();
        Events events = new Events();
        t.zk.getData(t.path, events, null);
        t.zk.removeWatches(t.path, events, WatcherType.Data, false, (c, p, x) -> removed.complete(c), null);
        equal(Code.get(removed.get(10, TimeUnit.SECONDS)), Code.OK);
        t.zk.removeAllWatches(t.path, WatcherType.Any, false, (c, p, x) -> again.complete(c), null);
        equal(Code.get(again.get(10, TimeUnit.SECONDS)), Code.NOWATCHER);
    }
}
