package client;

import static client.Nodes.create;
import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.fails;
import static harness.Check.that;

import harness.Check;
import harness.Events;
import harness.Server;
import harness.Test;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.ClientInfo;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.server.auth.DigestAuthenticationProvider;

/** Who may do what. */
public final class Acls {
    private static final String ALICE = "alice:wonder";

    private Acls() {
    }

    /** The client asks whether the list holds null, which `List.of` resents. */
    private static List<ACL> list(ACL... entries) {
        return Arrays.asList(entries);
    }

    private static List<ACL> anyone(int permissions) {
        return list(new ACL(permissions, Ids.ANYONE_ID_UNSAFE));
    }

    private static Id digest(String user) throws Exception {
        return new Id("digest", DigestAuthenticationProvider.generateDigest(user));
    }

    private static List<ACL> hers() throws Exception {
        return list(new ACL(Perms.ALL, digest(ALICE)));
    }

    public static void setAndGet(Test t) throws Exception {
        String path = t.node("a");
        Stat stat = new Stat();
        equal(t.zk.getACL(path, stat), Ids.OPEN_ACL_UNSAFE);
        equal(stat.getAversion(), 0);
        Stat after = t.zk.setACL(path, anyone(Perms.READ | Perms.ADMIN), 0);
        equal(after.getAversion(), 1);
        equal(after.getVersion(), 0);
        equal(after.getMzxid(), stat.getMzxid());
        equal(t.zk.getACL(path, null), anyone(Perms.READ | Perms.ADMIN));
        fails(Code.BADVERSION, () -> t.zk.setACL(path, Ids.OPEN_ACL_UNSAFE, 0));
        t.zk.setACL(path, Ids.OPEN_ACL_UNSAFE, -1);
    }

    public static void invalidListsRefused(Test t) throws Exception {
        String path = t.node("a");
        for (Id id : List.of(new Id("nonsense", "x"), new Id("world", "bob"), new Id("ip", "1.2.3"),
            new Id("ip", "10.0.0.0/64"), new Id("digest", "nocolon"), new Id("digest", "two:co:lons"),
            new Id("super", "x"), new Id("auth", ""))) {
            List<ACL> list = list(new ACL(Perms.ALL, id));
            fails(Code.INVALIDACL, () -> t.zk.create(t.path + "/b", null, list, CreateMode.PERSISTENT));
            fails(Code.INVALIDACL, () -> t.zk.setACL(path, list, -1));
        }
        fails(Code.INVALIDACL, () -> t.zk.create(t.path + "/b", null, list(), CreateMode.PERSISTENT));
        fails(Code.INVALIDACL, () -> t.zk.setACL(path, list(), -1));
    }

    public static void eachPermissionIsItsOwn(Test t) throws Exception {
        ZooKeeper superuser = t.authenticated("super:secret");
        String path = t.node("a");
        t.node("a/child");
        for (int permission : new int[] {Perms.READ, Perms.WRITE, Perms.CREATE, Perms.DELETE, Perms.ADMIN}) {
            List<Check.Action> actions = switch (permission) {
                case Perms.READ -> List.of(() -> t.zk.getData(path, false, null), () -> t.zk.getChildren(path, false),
                    () -> t.zk.exists(path, false), () -> t.zk.getAllChildrenNumber(path),
                    () -> t.zk.multi(List.of(Op.check(path, -1))));
                case Perms.WRITE -> List.of(() -> t.zk.setData(path, null, -1));
                case Perms.CREATE -> List.of(() -> create(t.zk, path + "/n", CreateMode.EPHEMERAL_SEQUENTIAL));
                case Perms.DELETE -> List.of(() -> t.zk.delete(path + "/child", -1));
                default -> List.of(() -> t.zk.setACL(path, Ids.OPEN_ACL_UNSAFE, -1));
            };
            for (Check.Action action : actions) {
                superuser.setACL(path, anyone(Perms.ALL & ~permission), -1);
                fails(Code.NOAUTH, action);
                superuser.setACL(path, anyone(permission), -1);
                action.run();
            }
        }
    }

    public static void getAclNeedsReadOrAdmin(Test t) throws Exception {
        ZooKeeper superuser = t.authenticated("super:secret");
        String path = t.node("a");
        for (int permission : new int[] {Perms.READ, Perms.ADMIN}) {
            superuser.setACL(path, anyone(permission), -1);
            equal(t.zk.getACL(path, null).size(), 1);
        }
        superuser.setACL(path, anyone(Perms.ALL & ~Perms.READ & ~Perms.ADMIN), -1);
        fails(Code.NOAUTH, () -> t.zk.getACL(path, null));
    }

    public static void digestLocksOthersOut(Test t) throws Exception {
        ZooKeeper alice = t.authenticated(ALICE);
        String path = alice.create(t.path + "/hers", "secret".getBytes(), hers(), CreateMode.PERSISTENT);
        equal(alice.getData(path, false, null), "secret".getBytes());
        fails(Code.NOAUTH, () -> t.zk.getData(path, false, null));
        ZooKeeper mallory = t.authenticated("alice:guess");
        fails(Code.NOAUTH, () -> mallory.getData(path, false, null));
        t.zk.addAuthInfo("digest", ALICE.getBytes());
        equal(t.zk.getData(path, false, null), "secret".getBytes());
    }

    public static void authBecomesEveryIdentity(Test t) throws Exception {
        ZooKeeper both = t.authenticated(ALICE);
        both.addAuthInfo("digest", "bob:builder".getBytes());
        String path = both.create(t.path + "/both", null, Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
        List<ACL> list = new ArrayList<>(both.getACL(path, null));
        equal(list.size(), 2);
        that(list.contains(new ACL(Perms.ALL, digest(ALICE))), list);
        that(list.contains(new ACL(Perms.ALL, digest("bob:builder"))), list);
        fails(Code.INVALIDACL, () -> t.zk.create(t.path + "/x", null, Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT));
    }

    public static void digestIsMasked(Test t) throws Exception {
        ZooKeeper alice = t.authenticated(ALICE);
        List<ACL> list = list(new ACL(Perms.ALL, digest(ALICE)), new ACL(Perms.READ, Ids.ANYONE_ID_UNSAFE));
        String path = alice.create(t.path + "/a", null, list, CreateMode.PERSISTENT);
        equal(alice.getACL(path, null), list);
        equal(t.zk.getACL(path, null).get(0).getId(), new Id("digest", "alice:x"));
    }

    public static void addresses(Test t) throws Exception {
        for (String mine : List.of("127.0.0.1", "127.0.0.1/32", "127.0.0.0/8", "0.0.0.0/0")) {
            List<ACL> list = list(new ACL(Perms.ALL, new Id("ip", mine)));
            String path = t.zk.create(t.path + "/n", null, list, CreateMode.PERSISTENT_SEQUENTIAL);
            equal(t.zk.getData(path, false, null), null, mine);
        }
        List<ACL> list = list(new ACL(Perms.ALL, new Id("ip", "127.0.0.2/32")));
        String path = t.zk.create(t.path + "/theirs", null, list, CreateMode.PERSISTENT);
        fails(Code.NOAUTH, () -> t.zk.getData(path, false, null));
    }

    public static void superuserPasses(Test t) throws Exception {
        String path = t.zk.create(t.path + "/a", "x".getBytes(), hers(), CreateMode.PERSISTENT);
        ZooKeeper superuser = t.authenticated("super:secret");
        equal(superuser.getData(path, false, null), "x".getBytes());
        superuser.setData(path, null, -1);
        superuser.setACL(path, Ids.OPEN_ACL_UNSAFE, -1);
        ZooKeeper pretender = t.authenticated("super:guess");
        superuser.setACL(path, hers(), -1);
        fails(Code.NOAUTH, () -> pretender.getData(path, false, null));
    }

    public static void duplicatesAreRemoved(Test t) throws Exception {
        List<ACL> twice = new ArrayList<>(Ids.OPEN_ACL_UNSAFE);
        twice.addAll(Ids.OPEN_ACL_UNSAFE);
        String path = t.zk.create(t.path + "/a", null, twice, CreateMode.PERSISTENT);
        equal(t.zk.getACL(path, null), Ids.OPEN_ACL_UNSAFE);
    }

    public static void whoAmI(Test t) throws Exception {
        List<ClientInfo> before = t.zk.whoAmI();
        that(before.contains(new ClientInfo("ip", "127.0.0.1")), before);
        t.zk.addAuthInfo("digest", ALICE.getBytes());
        List<ClientInfo> after = t.zk.whoAmI();
        that(after.contains(new ClientInfo("digest", "alice")), after);
        equal(after.size(), before.size() + 1);
    }

    public static void unknownSchemeDropsTheClient(Test t) throws Exception {
        Events events = new Events();
        ZooKeeper zk = t.client(Server.CONNECT, 10_000, events);
        zk.addAuthInfo("nonsense", "x".getBytes());
        events.awaitState("AuthFailed");
        await("the client to be dead", () -> zk.getState() == ZooKeeper.States.AUTH_FAILED);
        fails(Code.AUTHFAILED, () -> zk.exists("/", false));
    }

    public static void multiIsChecked(Test t) throws Exception {
        String path = t.zk.create(t.path + "/a", null, hers(), CreateMode.PERSISTENT);
        KeeperException error = fails(Code.NOAUTH, () -> t.zk.multi(List.of(
            Op.create(t.path + "/b", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT), Op.setData(path, null, -1))));
        equal(error.getResults().size(), 2);
        equal(t.zk.exists(t.path + "/b", false), null);
    }

    public static void eventsAreFiltered(Test t) throws Exception {
        String open = t.node("open");
        Events events = new Events();
        t.zk.addWatch(t.path, events, AddWatchMode.PERSISTENT_RECURSIVE);
        ZooKeeper alice = t.authenticated(ALICE);
        String path = alice.create(t.path + "/hers", null, hers(), CreateMode.PERSISTENT);
        alice.setData(path, null, -1);
        alice.delete(path, -1);
        alice.setData(open, null, -1);
        events.expect("NodeDataChanged " + open);
    }

    public static void identityComesBackAfterReconnection(Test t) throws Exception {
        harness.Proxy proxy = t.proxy();
        Events events = new Events();
        ZooKeeper alice = t.client(proxy.address(), 10_000, events);
        alice.addAuthInfo("digest", ALICE.getBytes());
        String path = alice.create(t.path + "/hers", null, hers(), CreateMode.PERSISTENT);
        proxy.shut();
        events.settle("Disconnected");
        proxy.open();
        events.settle("SyncConnected");
        equal(alice.getData(path, false, null), null);
    }
}
