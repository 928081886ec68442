package harness;

import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/** One test's surroundings: a connected client, an empty node of its own, and what to close after. */
public final class Test implements AutoCloseable {
    public final ZooKeeper zk;
    public final Events events = new Events();
    public final String path;
    private final Deque<AutoCloseable> open = new ArrayDeque<>();

    Test(String suite, String name) throws Exception {
        zk = client(Server.CONNECT, 10_000, events);
        path = "/" + suite + "/" + name.replace('.', '-');
        for (String part : new String[] {"/" + suite, path}) {
            make(part, "", CreateMode.PERSISTENT);
        }
    }

    /** A node, whatever happens: one that is there already was made by the first try, or by an earlier test. */
    public String make(String node, String data, CreateMode mode) throws Exception {
        while (true) {
            try {
                return zk.create(node, data.getBytes(), Ids.OPEN_ACL_UNSAFE, mode);
            } catch (KeeperException.NodeExistsException error) {
                return node;
            } catch (KeeperException.ConnectionLossException error) {
                if (!Server.dies()) {
                    throw error;
                }
            }
        }
    }

    /** Closes it when the test ends, the latest first. */
    public synchronized <T extends AutoCloseable> T closing(T resource) {
        open.push(resource);
        return resource;
    }

    public ZooKeeper client() throws Exception {
        return client(Server.CONNECT, 10_000, new Events());
    }

    public ZooKeeper client(String connect, int timeoutMs, Events events) throws Exception {
        ZooKeeper client = closing(connect.startsWith(Server.CONNECT)
            ? Server.client(connect, timeoutMs, events, false) : new ZooKeeper(connect, timeoutMs, events));
        events.awaitState("SyncConnected");
        return client;
    }

    public ZooKeeper authenticated(String user) throws Exception {
        ZooKeeper client = client();
        client.addAuthInfo("digest", user.getBytes());
        return client;
    }

    public Proxy proxy() throws Exception {
        return closing(new Proxy());
    }

    /** Creates a persistent node below the test's own. */
    public String node(String name, String data) throws Exception {
        return zk.create(path + "/" + name, data.getBytes(), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    }

    public String node(String name) throws Exception {
        return node(name, "");
    }

    public Thread background(Check.Action action) {
        Thread thread = new Thread(() -> {
            try {
                action.run();
            } catch (Throwable error) {
                error.printStackTrace();
            }
        });
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Closing takes ZooKeeper's client a tenth of a second, which nobody needs to wait for. */
    @Override
    public synchronized void close() {
        Deque<AutoCloseable> resources = new ArrayDeque<>(open);
        open.clear();
        background(() -> {
            while (!resources.isEmpty()) {
                try {
                    resources.pop().close();
                } catch (Exception error) {
                    System.err.println("closing: " + error);
                }
            }
        });
    }
}
