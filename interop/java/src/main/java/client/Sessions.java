package client;

import static client.Nodes.create;
import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.fails;
import static harness.Check.that;

import harness.Events;
import harness.Held;
import harness.Proxy;
import harness.Server;
import harness.Test;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooKeeper;

/** Sessions: negotiation, resumption, moves, expiry, and what becomes of their ephemerals. */
public final class Sessions {
    private Sessions() {
    }

    private static ZooKeeper resume(Test t, ZooKeeper owner, byte[] password, Events events) throws Exception {
        return t.closing(Server.client(Server.CONNECT, 10_000, events, owner.getSessionId(), password));
    }

    public static void identities(Test t) throws Exception {
        Set<Long> ids = new HashSet<>();
        for (int n = 0; n < 5; n++) {
            ZooKeeper zk = t.client();
            ids.add(zk.getSessionId());
            equal(zk.getSessionPasswd().length, 16);
        }
        equal(ids.size(), 5);
        that(!ids.contains(0L), ids);
    }

    public static void timeoutsAreClamped(Test t) throws Exception {
        equal(t.client(Server.CONNECT, 100, new Events()).getSessionTimeout(), 1_000);
        equal(t.client(Server.CONNECT, 4_000, new Events()).getSessionTimeout(), 4_000);
        equal(t.client(Server.CONNECT, 1_000_000, new Events()).getSessionTimeout(), 10_000);
    }

    public static void closeEndsTheSession(Test t) throws Exception {
        Events events = new Events();
        ZooKeeper zk = t.client(Server.CONNECT, 10_000, events);
        String path = create(zk, t.path + "/e", CreateMode.EPHEMERAL);
        zk.close();
        events.settle("Closed");
        equal(t.zk.exists(path, false), null);
        fails(Code.SESSIONEXPIRED, () -> zk.exists("/", false));
        Events late = new Events();
        resume(t, zk, zk.getSessionPasswd(), late);
        late.settle("Expired");
    }

    public static void reconnectionKeepsTheSession(Test t) throws Exception {
        Proxy proxy = t.proxy();
        Events events = new Events();
        ZooKeeper zk = t.client(proxy.address(), 10_000, events);
        long session = zk.getSessionId();
        String path = create(zk, t.path + "/e", CreateMode.EPHEMERAL);
        for (int n = 1; n <= 2; n++) {
            proxy.shut();
            events.settle("Disconnected");
            proxy.open();
            events.settle("SyncConnected");
            equal(zk.getSessionId(), session);
            equal(zk.exists(path, false).getEphemeralOwner(), session);
        }
        that(!events.states().contains("Expired"), events.states());
    }

    public static void resumedFromAnotherConnection(Test t) throws Exception {
        Proxy proxy = t.proxy();
        ZooKeeper first = t.client(proxy.address(), 10_000, new Events());
        String path = create(first, t.path + "/e", CreateMode.EPHEMERAL);
        proxy.shut();
        Events events = new Events();
        ZooKeeper second = resume(t, first, first.getSessionPasswd(), events);
        events.settle("SyncConnected");
        equal(second.getSessionId(), first.getSessionId());
        equal(second.getEphemerals(), List.of(path));
        second.setData(path, "mine".getBytes(), 0);
        second.close();
        equal(t.zk.exists(path, false), null);
    }

    public static void takenOverWhileConnected(Test t) throws Exception {
        Proxy proxy = t.proxy();
        Events firsts = new Events();
        ZooKeeper first = t.client(proxy.address(), 10_000, firsts);
        String path = create(first, t.path + "/e", CreateMode.EPHEMERAL);
        Events seconds = new Events();
        ZooKeeper second = resume(t, first, first.getSessionPasswd(), seconds);
        seconds.awaitState("SyncConnected");
        firsts.awaitState("Disconnected");
        proxy.shut();
        seconds.settle("SyncConnected");
        await("the session's own ephemeral", () -> {
            try {
                return second.exists(path, false).getEphemeralOwner() == second.getSessionId();
            } catch (org.apache.zookeeper.KeeperException.ConnectionLossException error) {
                return false;
            }
        });
    }

    public static void wrongPasswordIsExpired(Test t) throws Exception {
        Events owners = new Events();
        ZooKeeper owner = t.client(Server.CONNECT, 10_000, owners);
        String path = create(owner, t.path + "/e", CreateMode.EPHEMERAL);
        Events events = new Events();
        resume(t, owner, new byte[16], events);
        events.settle("Expired");
        owners.settle("SyncConnected");
        await("the owner to go on", () -> {
            try {
                return owner.exists(path, false).getEphemeralOwner() == owner.getSessionId();
            } catch (org.apache.zookeeper.KeeperException.ConnectionLossException error) {
                return false;
            }
        });
        that(!owners.states().contains("Expired"), owners.states());
    }

    public static void unknownSessionIsExpired(Test t) throws Exception {
        Events events = new Events();
        t.closing(Server.client(Server.CONNECT, 10_000, events, 0x123456789abcdefL, new byte[16]));
        events.settle("Expired");
    }

    public static void expiryOfWhoIsCutOff(Test t) throws Exception {
        Proxy proxy = t.proxy();
        Events events = new Events();
        ZooKeeper zk = t.client(proxy.address(), 1_000, events);
        String path = create(zk, t.path + "/e", CreateMode.EPHEMERAL);
        Events told = new Events();
        t.zk.exists(path, told);
        proxy.shut();
        told.expect("NodeDeleted " + path);
        proxy.open();
        events.settle("Expired");
        equal(events.states(), List.of("SyncConnected", "Disconnected", "Expired"));
        fails(Code.SESSIONEXPIRED, () -> zk.exists("/", false));
    }

    public static void expiryTellsItsWatchers(Test t) throws Exception {
        Proxy proxy = t.proxy();
        Events events = new Events();
        ZooKeeper zk = t.client(proxy.address(), 1_000, new Events());
        zk.getData(t.path, events, null);
        String path = create(zk, t.path + "/e", CreateMode.EPHEMERAL);
        proxy.shut();
        await("the session's end", () -> t.zk.exists(path, false) == null);
        proxy.open();
        events.settle("Expired");
        equal(events.changes(), List.of());
    }

    public static void expirySparesWhoPings(Test t) throws Exception {
        Events events = new Events();
        ZooKeeper idle = t.client(Server.CONNECT, 2_000, events);
        String path = create(idle, t.path + "/idle", CreateMode.EPHEMERAL);
        for (int n = 0; n < 3; n++) {
            Proxy proxy = t.proxy();
            String silent = create(t.client(proxy.address(), 1_000, new Events()), t.path + "/s" + n,
                CreateMode.EPHEMERAL);
            proxy.shut();
            await("the silent one's end", () -> t.zk.exists(silent, false) == null);
        }
        equal(events.states(), List.of("SyncConnected"));
        equal(t.zk.exists(path, false).getEphemeralOwner(), idle.getSessionId());
    }

    public static void expiryOfAStoppedProcess(Test t) throws Exception {
        String path = t.path + "/e";
        Held held = t.closing(new Held(path, 1_000));
        held.signal("STOP");
        await("the ephemeral's end", () -> t.zk.exists(path, false) == null);
        held.signal("CONT");
        String told = held.line();
        equal(told.equals("Disconnected") ? held.line() : told, "Expired");
    }

    public static void expiryEndsAllEphemeralsAtOnce(Test t) throws Exception {
        Proxy proxy = t.proxy();
        ZooKeeper zk = t.client(proxy.address(), 1_000, new Events());
        for (int n = 0; n < 200; n++) {
            create(zk, t.path + "/e", CreateMode.EPHEMERAL_SEQUENTIAL);
        }
        proxy.shut();
        Set<Integer> counts = new HashSet<>();
        await("the ephemerals' end", () -> {
            counts.add(t.zk.getChildren(t.path, false).size());
            return counts.contains(0);
        });
        equal(counts, Set.of(0, 200));
    }

    public static void serverListCanChange(Test t) throws Exception {
        Proxy proxy = t.proxy();
        Events events = new Events();
        ZooKeeper zk = t.client(proxy.address(), 10_000, events);
        long session = zk.getSessionId();
        zk.updateServerList(Server.CONNECT);
        proxy.shut();
        events.awaitState("Disconnected");
        events.settle("SyncConnected");
        equal(zk.getSessionId(), session);
        that(zk.exists("/", false) != null, "works");
    }

    public static void readOnlyClientsAreWelcome(Test t) throws Exception {
        Events events = new Events();
        ZooKeeper zk = t.closing(Server.client(Server.CONNECT, 10_000, events, true));
        events.settle("SyncConnected");
        create(zk, t.path + "/a", CreateMode.PERSISTENT);
    }

    public static void manyAtOnce(Test t) throws Exception {
        ZooKeeper[] clients = new ZooKeeper[40];
        Events[] events = new Events[clients.length];
        for (int n = 0; n < clients.length; n++) {
            events[n] = new Events();
            clients[n] = t.closing(Server.client(Server.CONNECT, 10_000, events[n], false));
        }
        for (int n = 0; n < clients.length; n++) {
            events[n].awaitState("SyncConnected");
            create(clients[n], t.path + "/e-", CreateMode.EPHEMERAL_SEQUENTIAL);
        }
        equal(t.zk.getChildren(t.path, false).size(), 40);
    }
}
