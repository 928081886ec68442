package client;

import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.fails;
import static harness.Check.that;

import harness.Events;
import harness.Server;
import harness.Test;
import java.io.StringReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Arrays;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.admin.ZooKeeperAdmin;
import org.apache.zookeeper.server.quorum.QuorumPeer.QuorumServer;
import org.apache.zookeeper.server.quorum.flexible.QuorumMaj;
import org.apache.zookeeper.server.util.ConfigUtils;

/** The configuration of an ensemble, read by the parser that ZooKeeper's own servers have, and changed. */
public final class Members {
    /** A further member that is not started; its clients are led to a member that is. */
    private static final int NEW = 9;

    private Members() {
    }

    private static QuorumMaj parsed(byte[] text) throws Exception {
        Properties properties = new Properties();
        properties.load(new StringReader(new String(text)));
        return new QuorumMaj(properties);
    }

    private static QuorumMaj present(Test t) throws Exception {
        return parsed(t.zk.getConfig(false, null));
    }

    private static ZooKeeperAdmin admin(Test t) throws Exception {
        Events events = new Events();
        ZooKeeperAdmin admin = t.closing(new ZooKeeperAdmin(Server.CONNECT, 10_000, events));
        events.awaitState("SyncConnected");
        admin.addAuthInfo("digest", "super:secret".getBytes());
        return admin;
    }

    private static int clientPort() {
        return Server.port();
    }

    public static void allAreReadByZooKeepersParser(Test t) throws Exception {
        Server.needEnsemble();
        QuorumMaj present = present(t);
        equal(present.getAllMembers().size(), Server.members().size());
        for (QuorumServer member : present.getAllMembers().values()) {
            that(member.clientAddr != null, member + " names no client address");
            boolean everywhere = member.clientAddr.getAddress().isAnyLocalAddress();
            String host = everywhere ? member.hostname : member.clientAddr.getHostString();
            try (Socket socket = new Socket()) {
                socket.connect(new InetSocketAddress(host, member.clientAddr.getPort()), 5_000);
            }
        }
        String clients = ConfigUtils.getClientConfigStr(new String(t.zk.getConfig(false, null))).split(" ")[1];
        equal(clients.split(",").length, Server.members().size());
    }

    public static void aChangeOfOneIsReadByZooKeepersParser(Test t) throws Exception {
        Server.needEnsemble();
        Server.needDiwan();
        ZooKeeperAdmin admin = admin(t);
        Events events = new Events();
        t.zk.getConfig(events, null);
        // One port, as Diwan's members need; ZooKeeper's servers would ask for two.
        String joining = "server." + NEW + "=127.0.0.1:2:observer;" + clientPort();
        QuorumMaj after = parsed(admin.reconfigure(joining, null, null, -1, null));
        equal(after.getObservingMembers().keySet().contains((long) NEW), true);
        equal(after.getAllMembers().get((long) NEW).clientAddr.getPort(), clientPort());
        events.expect("NodeDataChanged /zookeeper/config");
        equal(present(t).getAllMembers().size(), Server.members().size() + 1);
        QuorumMaj without = parsed(admin.reconfigure(null, "" + NEW, null, after.getVersion(), null));
        equal(without.getAllMembers().size(), Server.members().size());
    }

    public static void aChangeOfAllIsReadByZooKeepersParser(Test t) throws Exception {
        Server.needEnsemble();
        Server.needDiwan();
        String text = new String(t.zk.getConfig(false, null));
        String lines = Arrays.stream(text.split("\n")).filter(line -> line.startsWith("server."))
            .collect(Collectors.joining("\n"));
        String more = lines + "\nserver." + NEW + "=127.0.0.1:2:3:observer;127.0.0.1:" + clientPort();
        ZooKeeperAdmin admin = admin(t);
        QuorumMaj after = parsed(admin.reconfigure(null, null, more, -1, null));
        equal(after.getAllMembers().size(), Server.members().size() + 1);
        QuorumMaj without = parsed(admin.reconfigure(null, null, lines, after.getVersion(), null));
        equal(without.getAllMembers().size(), Server.members().size());
    }

    public static void aMemberOfTheProgramIsReadByZooKeepersParser(Test t) throws Exception {
        Server.needEnsemble();
        Server.needDiwan();
        String[] access = {"--server", Server.answering(), "--auth", "digest:super:secret"};
        for (String form : new String[] {":2:observer;", ":2:3:observer;", ":2:3:observer;127.0.0.1:"}) {
            String member = NEW + "=127.0.0.1" + form + clientPort();
            Server.program("member", "add", member, access[0], access[1], access[2], access[3]);
            await(member, () -> present(t).getAllMembers().containsKey((long) NEW));
            Server.program("member", "remove", "" + NEW, access[0], access[1], access[2], access[3]);
            await("removal", () -> !present(t).getAllMembers().containsKey((long) NEW));
        }
    }

    public static void whoMayNotChangeThemHearsThatFirst(Test t) throws Exception {
        Server.needEnsemble();
        Server.needDiwan();
        Events events = new Events();
        ZooKeeperAdmin nobody = t.closing(new ZooKeeperAdmin(Server.CONNECT, 10_000, events));
        events.awaitState("SyncConnected");
        for (String joining : new String[] {"server.300=127.0.0.1:2:3;4", "nonsense", "server.9=127.0.0.1:2:3;4"}) {
            fails(Code.NOAUTH, () -> nobody.reconfigure(joining, null, null, -1, null));
            fails(Code.NOAUTH, () -> nobody.reconfigure(joining, null, null, 12345, null));
        }
        ZooKeeperAdmin admin = admin(t);
        fails(Code.BADVERSION, () -> admin.reconfigure("server.9=127.0.0.1:2:3;4", null, null, 12345, null));
        fails(Code.BADARGUMENTS, () -> admin.reconfigure("nonsense", null, null, -1, null));
        fails(Code.BADARGUMENTS, () -> admin.reconfigure("server.9=127.0.0.1:2:3;port", null, null, -1, null));
    }
}
