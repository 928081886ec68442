package harness;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/** A client in a process of its own that can be stopped like one that hangs. */
public final class Held implements AutoCloseable {
    private final Process process;
    private final BufferedReader output;

    /** Starts it, and returns when its ephemeral node stands at `path`. */
    public Held(String path, int timeoutMs) throws Exception {
        process = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-XX:TieredStopAtLevel=1",
            "-Xmx64m", "-cp", System.getProperty("java.class.path"), Held.class.getName(), path, "" + timeoutMs)
            .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        output = new BufferedReader(new InputStreamReader(process.getInputStream()));
        Check.equal(line(), "SyncConnected");
        Check.equal(line(), "ready");
    }

    /** The next state it was told of. */
    public String line() throws Exception {
        return output.readLine();
    }

    public void signal(String name) throws Exception {
        Check.equal(new ProcessBuilder("kill", "-" + name, "" + process.pid()).start().waitFor(), 0, name);
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    public static void main(String[] arguments) throws Exception {
        var connected = new CountDownLatch(1);
        Watcher tell = (WatchedEvent event) -> {
            System.out.println(event.getState());
            System.out.flush();
            connected.countDown();
        };
        ZooKeeper zk = Server.client(Server.CONNECT, Integer.parseInt(arguments[1]), tell, false);
        // The node may be there before the client's thread for events has told of the connection.
        connected.await();
        zk.create(arguments[0], new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
        System.out.println("ready");
        System.out.flush();
        System.in.read();
    }
}
