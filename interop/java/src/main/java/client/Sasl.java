package client;

import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.fails;
import static harness.Check.that;

import harness.Events;
import harness.Jaas;
import harness.Proxy;
import harness.Secure;
import harness.Server;
import harness.Test;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.ClientInfo;
import org.apache.zookeeper.data.Id;

/** SASL DIGEST-MD5, the client's user and password out of a JAAS file. */
public final class Sasl {
    private static final List<ACL> HERS = Arrays.asList(new ACL(Perms.ALL, new Id("sasl", "alice")));

    private Sasl() {
    }

    /** A client as this one of the JAAS file's sections. */
    private static ZooKeeper client(Test t, String section, String connect, Events events) throws Exception {
        return t.closing(new ZooKeeper(connect, 10_000, events, Jaas.section(section)));
    }

    static ZooKeeper client(Test t, String section) throws Exception {
        Events events = new Events();
        ZooKeeper client = client(t, section, Server.answering(), events);
        events.awaitState("SaslAuthenticated");
        return client;
    }

    private static void refused(Test t, String section) throws Exception {
        Events events = new Events();
        ZooKeeper zk = client(t, section, Server.answering(), events);
        events.awaitState("AuthFailed");
        await("the client to give up", () -> zk.getState() == ZooKeeper.States.AUTH_FAILED);
        fails(Code.AUTHFAILED, () -> zk.exists("/", false));
        equal(events.states().contains("SaslAuthenticated"), false, "authenticated");
    }

    public static void theUserIsAnIdentity(Test t) throws Exception {
        ZooKeeper alice = client(t, "alice");
        that(alice.whoAmI().contains(new ClientInfo("sasl", "alice")), alice.whoAmI());
        String path = alice.create(t.path + "/hers", "secret".getBytes(), HERS, CreateMode.PERSISTENT);
        equal(alice.getData(path, false, null), "secret".getBytes());
        equal(alice.getACL(path, null), HERS);
        fails(Code.NOAUTH, () -> t.zk.getData(path, false, null));
        equal(client(t, "alice").getData(path, false, null), "secret".getBytes());
    }

    public static void anotherUserIsAnotherIdentity(Test t) throws Exception {
        String path = t.zk.create(t.path + "/hers", null, HERS, CreateMode.PERSISTENT);
        ZooKeeper bob = client(t, "bob");
        fails(Code.NOAUTH, () -> bob.getData(path, false, null));
        fails(Code.NOAUTH, () -> bob.setData(path, null, -1));
        fails(Code.NOAUTH, () -> bob.setACL(path, Ids.OPEN_ACL_UNSAFE, -1));
    }

    public static void theCreatorIsTheUser(Test t) throws Exception {
        ZooKeeper alice = client(t, "alice");
        String path = alice.create(t.path + "/hers", null, Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
        equal(alice.getACL(path, null), HERS);
    }

    public static void aDigestOfTheSameNameIsNobodyElse(Test t) throws Exception {
        String path = t.zk.create(t.path + "/hers", null, HERS, CreateMode.PERSISTENT);
        ZooKeeper pretender = t.authenticated("alice:wonder");
        fails(Code.NOAUTH, () -> pretender.getData(path, false, null));
    }

    public static void anIdentityBesideItCountsToo(Test t) throws Exception {
        Events events = new Events();
        ZooKeeper both = t.closing(
            new ZooKeeper(Secure.address(), 10_000, events, Jaas.section("bob", Tls.alice().config())));
        events.awaitState("SaslAuthenticated");
        String path = both.create(t.path + "/both", null, Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
        Set<Id> ids = both.getACL(path, null).stream().map(ACL::getId).collect(Collectors.toSet());
        equal(ids, Set.of(new Id("x509", Tls.ALICE), new Id("sasl", "bob")));
    }

    public static void aWrongPasswordIsRefused(Test t) throws Exception {
        refused(t, "guess");
    }

    public static void anUnknownUserIsRefused(Test t) throws Exception {
        refused(t, "mallory");
    }

    public static void theSuperUserPasses(Test t) throws Exception {
        String path = t.zk.create(t.path + "/hers", "secret".getBytes(), HERS, CreateMode.PERSISTENT);
        ZooKeeper root = client(t, "root");
        equal(root.getData(path, false, null), "secret".getBytes());
        root.setACL(path, Ids.OPEN_ACL_UNSAFE, -1);
        equal(t.zk.getData(path, false, null), "secret".getBytes());
    }

    public static void theIdentityComesBackAfterReconnection(Test t) throws Exception {
        Proxy proxy = t.proxy();
        Events events = new Events();
        ZooKeeper alice = client(t, "alice", proxy.address(), events);
        events.awaitState("SaslAuthenticated");
        String path = alice.create(t.path + "/hers", null, HERS, CreateMode.PERSISTENT);
        proxy.shut();
        events.settle("Disconnected");
        proxy.open();
        events.settle("SaslAuthenticated");
        equal(alice.getData(path, false, null), null);
    }
}
