package curator;

import static harness.Check.await;
import static harness.Check.equal;

import harness.Test;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.cache.NodeCache;
import org.apache.curator.framework.recipes.cache.PathChildrenCache;
import org.apache.curator.framework.recipes.cache.TreeCache;
import org.apache.curator.framework.recipes.watch.PersistentWatcher;

/** The caches: of a node, of children, of a tree, over one-shot and over persistent watches. */
public final class Caches {
    private Caches() {
    }

    static boolean holds(ChildData data, String value) {
        return data != null && value.equals(new String(data.getData()));
    }

    public static void curatorCacheMirrors(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        client.create().creatingParentsIfNeeded().forPath("/tree/a/b", "1".getBytes());
        CuratorCache cache = t.closing(CuratorCache.build(client, "/tree"));
        List<String> told = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch ready = new CountDownLatch(1);
        cache.listenable().addListener(CuratorCacheListener.builder()
            .forCreates(node -> told.add("+" + node.getPath()))
            .forChanges((old, node) -> told.add(new String(old.getData()) + ">" + new String(node.getData())))
            .forDeletes(node -> told.add("-" + node.getPath()))
            .forInitialized(ready::countDown).build());
        cache.start();
        ready.await();
        equal(cache.size(), 3);
        equal(told, List.of("+/tree", "+/tree/a", "+/tree/a/b"));
        CuratorFramework other = Clients.client(t);
        other.setData().forPath("/tree/a/b", "2".getBytes());
        other.create().forPath("/tree/c");
        // The cache reads a node after it was told of it, so it must not be gone by then.
        await("the creation", () -> told.contains("+/tree/c"));
        other.delete().forPath("/tree/c");
        await("the deletion", () -> told.size() == 6);
        equal(told.subList(3, 6), List.of("1>2", "+/tree/c", "-/tree/c"));
        other.delete().deletingChildrenIfNeeded().forPath("/tree");
        await("an empty cache", () -> cache.size() == 0);
    }

    public static void curatorCacheOfOneNode(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        CuratorCache cache = t.closing(CuratorCache.build(client, "/a", CuratorCache.Options.SINGLE_NODE_CACHE));
        cache.start();
        client.create().forPath("/a", "1".getBytes());
        client.create().forPath("/a/b");
        await("the value", () -> cache.get("/a").filter(data -> holds(data, "1")).isPresent());
        client.setData().forPath("/a", "2".getBytes());
        await("the change", () -> cache.get("/a").filter(data -> holds(data, "2")).isPresent());
        equal(cache.size(), 1);
    }

    public static void curatorCacheUnderLoad(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        CuratorCache cache = t.closing(CuratorCache.build(client, "/tree"));
        cache.start();
        CuratorFramework other = Clients.client(t);
        other.create().forPath("/tree");
        for (int n = 0; n < 500; n++) {
            other.create().inBackground().forPath("/tree/n" + n, "old".getBytes());
            other.setData().inBackground().forPath("/tree/n" + n, ("v" + n).getBytes());
        }
        await("all values", () -> cache.stream().filter(d -> new String(d.getData()).startsWith("v")).count() == 500);
        for (int n = 0; n < 500; n++) {
            equal(cache.get("/tree/n" + n).orElseThrow().getData(), ("v" + n).getBytes());
        }
    }

    public static void nodeCache(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        NodeCache cache = t.closing(new NodeCache(client, "/a"));
        cache.start(true);
        equal(cache.getCurrentData(), null);
        client.create().forPath("/a", "1".getBytes());
        await("the creation", () -> holds(cache.getCurrentData(), "1"));
        client.setData().forPath("/a", "2".getBytes());
        await("the change", () -> holds(cache.getCurrentData(), "2"));
        client.delete().forPath("/a");
        await("the deletion", () -> cache.getCurrentData() == null);
        client.create().forPath("/a", "3".getBytes());
        await("the second creation", () -> holds(cache.getCurrentData(), "3"));
    }

    public static void pathChildrenCache(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        client.create().creatingParentsIfNeeded().forPath("/p/a", "1".getBytes());
        List<String> told = Collections.synchronizedList(new ArrayList<>());
        PathChildrenCache cache = t.closing(new PathChildrenCache(client, "/p", true));
        cache.getListenable().addListener((c, event) -> told.add(event.getType() + " "
            + (event.getData() == null ? "" : event.getData().getPath())));
        cache.start(PathChildrenCache.StartMode.BUILD_INITIAL_CACHE);
        equal(cache.getCurrentData().size(), 1);
        client.create().forPath("/p/b");
        await("the addition", () -> told.contains("CHILD_ADDED /p/b"));
        client.setData().forPath("/p/a", "2".getBytes());
        await("the update", () -> told.contains("CHILD_UPDATED /p/a"));
        client.delete().forPath("/p/b");
        await("the removal", () -> told.contains("CHILD_REMOVED /p/b"));
        equal(cache.getCurrentData().size(), 1);
    }

    public static void treeCache(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        client.create().creatingParentsIfNeeded().forPath("/t/a/b", "1".getBytes());
        CountDownLatch ready = new CountDownLatch(1);
        TreeCache cache = t.closing(TreeCache.newBuilder(client, "/t").setMaxDepth(3).build());
        cache.getListenable().addListener((c, event) -> {
            if (event.getType() == org.apache.curator.framework.recipes.cache.TreeCacheEvent.Type.INITIALIZED) {
                ready.countDown();
            }
        });
        cache.start();
        ready.await();
        equal(cache.getCurrentChildren("/t/a").keySet(), java.util.Set.of("b"));
        client.setData().forPath("/t/a/b", "2".getBytes());
        await("the change", () -> holds(cache.getCurrentData("/t/a/b"), "2"));
        client.delete().deletingChildrenIfNeeded().forPath("/t/a");
        await("the deletion", () -> cache.getCurrentData("/t/a") == null);
    }

    public static void persistentWatcher(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        List<String> told = Collections.synchronizedList(new ArrayList<>());
        PersistentWatcher watcher = t.closing(new PersistentWatcher(client, "/w", true));
        CountDownLatch armed = new CountDownLatch(1);
        watcher.getResetListenable().addListener(armed::countDown);
        watcher.getListenable().addListener(event -> told.add(event.getType() + " " + event.getPath()));
        watcher.start();
        armed.await();
        client.create().forPath("/w");
        client.create().forPath("/w/a");
        client.delete().forPath("/w/a");
        await("three events", () -> told.size() == 3);
        equal(told, List.of("NodeCreated /w", "NodeCreated /w/a", "NodeDeleted /w/a"));
    }
}
