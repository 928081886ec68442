package client;

import static client.Nodes.create;
import static client.Nodes.sorted;
import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.fails;
import static harness.Check.that;
import static harness.Check.throwsA;

import harness.Server;
import harness.Skip;
import harness.Test;
import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** The seven create modes and what becomes of their nodes. */
public final class Modes {
    private Modes() {
    }

    static String createTtl(ZooKeeper zk, String path, CreateMode mode, long ttlMs) throws Exception {
        return zk.create(path, new byte[0], Ids.OPEN_ACL_UNSAFE, mode, new Stat(), ttlMs);
    }

    private static void needReaper() {
        if (!Server.extra("containerCheck")) {
            throw new Skip("the server looks for containers once a minute");
        }
    }

    public static void ephemeralIsItsSessions(Test t) throws Exception {
        ZooKeeper other = t.client();
        String path = create(other, t.path + "/e", CreateMode.EPHEMERAL);
        equal(t.zk.exists(path, false).getEphemeralOwner(), other.getSessionId());
        other.close();
        equal(t.zk.exists(path, false), null);
    }

    public static void ephemeralCanBeDeletedByOthers(Test t) throws Exception {
        ZooKeeper other = t.client();
        String path = create(other, t.path + "/e", CreateMode.EPHEMERAL);
        t.zk.delete(path, -1);
        create(t.zk, path, CreateMode.EPHEMERAL);
        other.close();
        equal(t.zk.exists(path, false).getEphemeralOwner(), t.zk.getSessionId());
    }

    public static void sequences(Test t) throws Exception {
        equal(create(t.zk, t.path + "/n-", CreateMode.PERSISTENT_SEQUENTIAL), t.path + "/n-0000000000");
        equal(create(t.zk, t.path + "/e-", CreateMode.EPHEMERAL_SEQUENTIAL), t.path + "/e-0000000001");
        t.node("plain");
        equal(create(t.zk, t.path + "/n-", CreateMode.PERSISTENT_SEQUENTIAL), t.path + "/n-0000000003");
        t.zk.delete(t.path + "/n-0000000003", -1);
        equal(create(t.zk, t.path + "/", CreateMode.PERSISTENT_SEQUENTIAL), t.path + "/0000000004");
        fails(Code.NONODE, () -> create(t.zk, t.path + "/none/n-", CreateMode.PERSISTENT_SEQUENTIAL));
        equal(create(t.zk, t.path + "/n-", CreateMode.PERSISTENT_SEQUENTIAL), t.path + "/n-0000000005");
    }

    public static void sequencesOfSeveralClientsAreDistinct(Test t) throws Exception {
        Thread[] threads = new Thread[6];
        for (int n = 0; n < threads.length; n++) {
            ZooKeeper zk = t.client();
            threads[n] = t.background(() -> {
                for (int m = 0; m < 50; m++) {
                    create(zk, t.path + "/n-", CreateMode.PERSISTENT_SEQUENTIAL);
                }
            });
        }
        for (Thread thread : threads) {
            thread.join(20_000);
        }
        List<String> names = sorted(t.zk.getChildren(t.path, false));
        equal(names.size(), 300);
        equal(names.get(299), "n-0000000299");
    }

    public static void containerLooksPlain(Test t) throws Exception {
        Stat stat = new Stat();
        String path = t.zk.create(t.path + "/c", "x".getBytes(), Ids.OPEN_ACL_UNSAFE, CreateMode.CONTAINER, stat);
        equal(path, t.path + "/c");
        equal(stat.getEphemeralOwner(), 0L);
        equal(t.zk.exists(path, false), stat);
        t.node("c/child");
        equal(t.zk.getChildren(path, false), List.of("child"));
    }

    public static void containerIsReapedOnceEmptied(Test t) throws Exception {
        needReaper();
        String used = create(t.zk, t.path + "/used", CreateMode.CONTAINER);
        String full = create(t.zk, t.path + "/full", CreateMode.CONTAINER);
        String unused = create(t.zk, t.path + "/unused", CreateMode.CONTAINER);
        t.node("full/child");
        t.zk.delete(t.node("used/child"), -1);
        await("the container's end", () -> t.zk.exists(used, false) == null);
        that(t.zk.exists(full, false) != null, "a full container was reaped");
        that(t.zk.exists(unused, false) != null, "a container was reaped that never had a child");
        fails(Code.NONODE, () -> t.node("used/child"));
    }

    public static void ttlLooksPlain(Test t) throws Exception {
        String path = createTtl(t.zk, t.path + "/t", CreateMode.PERSISTENT_WITH_TTL, 3_600_000);
        equal(t.zk.exists(path, false).getEphemeralOwner(), 0L);
        equal(createTtl(t.zk, t.path + "/t-", CreateMode.PERSISTENT_SEQUENTIAL_WITH_TTL, 3_600_000),
            t.path + "/t-0000000001");
        createTtl(t.zk, t.path + "/long", CreateMode.PERSISTENT_WITH_TTL, 0xffffffffffL);
    }

    public static void ttlOutOfRangeRefused(Test t) throws Exception {
        throwsA(IllegalArgumentException.class,
            () -> createTtl(t.zk, t.path + "/t", CreateMode.PERSISTENT_WITH_TTL, 0));
        throwsA(IllegalArgumentException.class,
            () -> createTtl(t.zk, t.path + "/t", CreateMode.PERSISTENT_WITH_TTL, 0x10000000000L));
        throwsA(IllegalArgumentException.class, () -> createTtl(t.zk, t.path + "/t", CreateMode.PERSISTENT, 1000));
    }

    public static void ttlNodesEnd(Test t) throws Exception {
        needReaper();
        String brief = createTtl(t.zk, t.path + "/brief", CreateMode.PERSISTENT_WITH_TTL, 200);
        String parent = createTtl(t.zk, t.path + "/parent", CreateMode.PERSISTENT_WITH_TTL, 200);
        String lasting = createTtl(t.zk, t.path + "/lasting", CreateMode.PERSISTENT_WITH_TTL, 3_600_000);
        t.node("parent/child");
        await("the node's end", () -> t.zk.exists(brief, false) == null);
        that(t.zk.exists(parent, false) != null, "a TTL node with a child was reaped");
        that(t.zk.exists(lasting, false) != null, "a TTL node was reaped early");
        t.zk.delete(parent + "/child", -1);
        await("the parent's end", () -> t.zk.exists(parent, false) == null);
    }

    public static void ttlNodesEndIsWatched(Test t) throws Exception {
        needReaper();
        String path = createTtl(t.zk, t.path + "/t", CreateMode.PERSISTENT_WITH_TTL, 200);
        t.zk.exists(path, true);
        t.events.expect("NodeDeleted " + path);
    }

}
