package client;

import static harness.Check.equal;
import static harness.Check.that;

import harness.Test;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.BadVersionException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** Every asynchronous call, and thousands of them in flight. */
public final class Async {
    private Async() {
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(20, TimeUnit.SECONDS);
    }

    public static void creations(Test t) throws Exception {
        CompletableFuture<String> named = new CompletableFuture<>();
        t.zk.create(t.path + "/a", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT,
            (c, p, x, name) -> named.complete(c + " " + p + " " + x + " " + name), "context");
        equal(get(named), "0 " + t.path + "/a context " + t.path + "/a");
        CompletableFuture<Stat> stat = new CompletableFuture<>();
        t.zk.create(t.path + "/n-", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL_SEQUENTIAL,
            (c, p, x, name, s) -> stat.complete(s), null);
        equal(get(stat), t.zk.exists(t.path + "/n-0000000001", false));
        CompletableFuture<String> ttl = new CompletableFuture<>();
        t.zk.create(t.path + "/t", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_WITH_TTL,
            (c, p, x, name, s) -> ttl.complete(name), null, 3_600_000);
        equal(get(ttl), t.path + "/t");
        CompletableFuture<Integer> refused = new CompletableFuture<>();
        t.zk.create(t.path + "/a", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT,
            (c, p, x, name) -> refused.complete(c), null);
        equal(Code.get(get(refused)), Code.NODEEXISTS);
    }

    public static void readsAndWrites(Test t) throws Exception {
        String path = t.node("a", "x");
        CompletableFuture<Stat> exists = new CompletableFuture<>();
        t.zk.exists(path, false, (c, p, x, stat) -> exists.complete(stat), null);
        equal(get(exists), t.zk.exists(path, false));
        CompletableFuture<byte[]> data = new CompletableFuture<>();
        t.zk.getData(path, false, (c, p, x, d, stat) -> data.complete(d), null);
        equal(get(data), "x".getBytes());
        CompletableFuture<Stat> set = new CompletableFuture<>();
        t.zk.setData(path, "y".getBytes(), 0, (c, p, x, stat) -> set.complete(stat), null);
        equal(get(set).getVersion(), 1);
        CompletableFuture<List<String>> children = new CompletableFuture<>();
        t.zk.getChildren(t.path, false, (int c, String p, Object x, List<String> names) -> children.complete(names), null);
        equal(get(children), List.of("a"));
        CompletableFuture<Integer> counted = new CompletableFuture<>();
        t.zk.getChildren(t.path, false,
            (int c, String p, Object x, List<String> names, Stat s) -> counted.complete(s.getNumChildren()), null);
        equal(get(counted), 1);
        CompletableFuture<Integer> deleted = new CompletableFuture<>();
        t.zk.delete(path, 7, (c, p, x) -> deleted.complete(c), null);
        equal(Code.get(get(deleted)), Code.BADVERSION);
    }

    public static void theOthers(Test t) throws Exception {
        CompletableFuture<Object> acl = new CompletableFuture<>();
        t.zk.getACL(t.path, null, (c, p, x, list, stat) -> acl.complete(list), null);
        equal(get(acl), Ids.OPEN_ACL_UNSAFE);
        CompletableFuture<Stat> set = new CompletableFuture<>();
        t.zk.setACL(t.path, Ids.OPEN_ACL_UNSAFE, -1, (c, p, x, stat) -> set.complete(stat), null);
        equal(get(set).getAversion(), 1);
        CompletableFuture<Integer> number = new CompletableFuture<>();
        t.zk.getAllChildrenNumber(t.path, (c, p, x, n) -> number.complete(n), null);
        equal(get(number), 0);
        CompletableFuture<Object> ephemerals = new CompletableFuture<>();
        t.zk.getEphemerals((c, x, paths) -> ephemerals.complete(paths), null);
        equal(get(ephemerals), List.of());
        CompletableFuture<String> synced = new CompletableFuture<>();
        t.zk.sync(t.path, (c, p, x) -> synced.complete(p), null);
        equal(get(synced), t.path);
        CompletableFuture<Integer> watched = new CompletableFuture<>();
        t.zk.addWatch(t.path, t.events, AddWatchMode.PERSISTENT, (c, p, x) -> watched.complete(c), null);
        equal(get(watched), 0);
        CompletableFuture<byte[]> config = new CompletableFuture<>();
        t.zk.getConfig(false, (c, p, x, data, stat) -> config.complete(data), null);
        equal(get(config), t.zk.getConfig(false, null));
    }

    public static void repliesInTheOrderOfRequests(Test t) throws Exception {
        String path = t.node("a");
        int count = 5000;
        List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch done = new CountDownLatch(count);
        for (int n = 0; n < count; n++) {
            int number = n;
            switch (n % 4) {
                case 0 -> t.zk.setData(path, ("" + n).getBytes(), -1, (c, p, x, stat) -> {
                    order.add(number);
                    done.countDown();
                }, null);
                case 1 -> t.zk.getData(path, false, (c, p, x, data, stat) -> {
                    order.add(new String(data).equals("" + (number - 1)) ? number : -number);
                    done.countDown();
                }, null);
                case 2 -> t.zk.exists(t.path + "/none", false, (c, p, x, stat) -> {
                    order.add(c == Code.NONODE.intValue() ? number : -number);
                    done.countDown();
                }, null);
                default -> t.zk.sync(path, (c, p, x) -> {
                    order.add(number);
                    done.countDown();
                }, null);
            }
        }
        that(done.await(30, TimeUnit.SECONDS), done.getCount() + " replies missing");
        for (int n = 0; n < count; n++) {
            equal(order.get(n), n, "reply");
        }
    }

    public static void tenThousandCreations(Test t) throws Exception {
        int count = 10_000;
        CountDownLatch done = new CountDownLatch(count);
        AtomicInteger refused = new AtomicInteger();
        for (int n = 0; n < count; n++) {
            t.zk.create(t.path + "/n" + n, new byte[100], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT,
                (c, p, x, name) -> {
                    refused.addAndGet(c == 0 ? 0 : 1);
                    done.countDown();
                }, null);
        }
        that(done.await(30, TimeUnit.SECONDS), done.getCount() + " replies missing");
        equal(refused.get(), 0);
        equal(t.zk.getChildren(t.path, false).size(), count);
    }

    public static void writesNeverInterleaveWrongly(Test t) throws Exception {
        String path = t.node("n", "0");
        Thread[] threads = new Thread[8];
        for (int n = 0; n < threads.length; n++) {
            ZooKeeper zk = t.client();
            threads[n] = t.background(() -> {
                for (int done = 0; done < 25;) {
                    Stat stat = new Stat();
                    int value = Integer.parseInt(new String(zk.getData(path, false, stat)));
                    try {
                        zk.setData(path, ("" + (value + 1)).getBytes(), stat.getVersion());
                        done++;
                    } catch (BadVersionException error) {
                        // Another was faster.
                    }
                }
            });
        }
        for (Thread thread : threads) {
            thread.join(30_000);
        }
        equal(t.zk.getData(path, false, null), "200".getBytes());
        equal(t.zk.exists(path, false).getVersion(), 200);
    }

    public static void bigValuesInFlight(Test t) throws Exception {
        int count = 30;
        Semaphore done = new Semaphore(0);
        AtomicInteger good = new AtomicInteger();
        for (int n = 0; n < count; n++) {
            byte[] value = new byte[700_000];
            value[n] = 1;
            int number = n;
            String path = t.path + "/n" + n;
            t.zk.create(path, value, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, (c, p, x, name) -> { }, null);
            t.zk.getData(path, false, (c, p, x, data, stat) -> {
                good.addAndGet(c == 0 && data.length == 700_000 && data[number] == 1 ? 1 : 0);
                done.release();
            }, null);
        }
        that(done.tryAcquire(count, 30, TimeUnit.SECONDS), "replies missing");
        equal(good.get(), count);
    }
}
