package client;

import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.that;

import harness.Events;
import harness.Server;
import harness.Test;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** Members of the ensemble are killed one after the other and come back: what a client was told stays true. */
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

    private static long moves(Events events) {
        return events.states().stream().filter("Disconnected"::equals).count();
    }

    /** Asks again what may be asked twice. */
    private static <T> T ask(Callable<T> operation) throws Exception {
        while (true) {
            try {
                return operation.call();
            } catch (KeeperException.ConnectionLossException error) {
                // Again, of another member.
            }
        }
    }

    /** Writes once whatever happens: what a lost connection leaves unknown, the version tells. */
    private static void write(ZooKeeper zk, String path, int version) throws Exception {
        String next = String.valueOf(version + 1);
        while (true) {
            try {
                zk.setData(path, next.getBytes(), version);
                return;
            } catch (KeeperException.ConnectionLossException | KeeperException.BadVersionException error) {
                Stat stat = new Stat();
                byte[] data = ask(() -> zk.getData(path, false, stat));
                if (stat.getVersion() == version + 1) {
                    equal(new String(data), next);
                    return;
                }
                equal(stat.getVersion(), version);
            }
        }
    }

    public static void sessionEphemeralsAndWritesStay(Test t) throws Exception {
        long session = t.zk.getSessionId();
        String path = t.make(t.path + "/a", "0", CreateMode.PERSISTENT);
        String ephemeral = t.make(t.path + "/e", "", CreateMode.EPHEMERAL);
        long deadline = System.currentTimeMillis() + MAX_MS;
        for (int version = 0; moves(t.events) < MOVES || version < 100; version++) {
            that(System.currentTimeMillis() < deadline, version + " writes, " + t.events.states());
            write(t.zk, path, version);
            equal(ask(() -> t.zk.exists(ephemeral, false)).getEphemeralOwner(), session);
            equal(ask(() -> t.zk.exists(path, false)).getVersion(), version + 1);
        }
        equal(t.zk.getSessionId(), session);
        that(!t.events.states().contains("Expired"), t.events.states());
    }

    public static void sequencesHaveNoDoublesAndNoLosses(Test t) throws Exception {
        List<String> made = new ArrayList<>();
        long deadline = System.currentTimeMillis() + MAX_MS;
        while (moves(t.events) < MOVES || made.size() < 200) {
            that(System.currentTimeMillis() < deadline, made.size() + " nodes, " + t.events.states());
            try {
                String path = t.zk.create(t.path + "/n-", new byte[0], Ids.OPEN_ACL_UNSAFE,
                    CreateMode.PERSISTENT_SEQUENTIAL);
                made.add(path.substring(t.path.length() + 1));
            } catch (KeeperException.ConnectionLossException error) {
                // It may be there or not.
            }
        }
        equal(new HashSet<>(made).size(), made.size());
        made.removeAll(new HashSet<>(ask(() -> t.zk.getChildren(t.path, false))));
        equal(made, List.of(), "acknowledged and lost");
    }

    public static void watchesHearOfEachChange(Test t) throws Exception {
        ZooKeeper other = t.client();
        String path = t.make(t.path + "/a", "0", CreateMode.PERSISTENT);
        long deadline = System.currentTimeMillis() + MAX_MS;
        for (int version = 0; moves(t.events) < MOVES || version < 50; version++) {
            that(System.currentTimeMillis() < deadline, version + " writes, " + t.events.states());
            Events events = new Events();
            int expected = version;
            await("what was written", () -> ask(() -> t.zk.exists(path, events)).getVersion() == expected);
            write(other, path, version);
            events.awaitCount(1);
        }
    }
}
