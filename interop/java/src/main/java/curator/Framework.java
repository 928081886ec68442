package curator;

import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.fails;
import static harness.Check.that;

import harness.Events;
import harness.Test;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.CuratorEvent;
import org.apache.curator.framework.api.CuratorEventType;
import org.apache.curator.framework.api.transaction.CuratorTransactionResult;
import org.apache.curator.framework.api.transaction.OperationType;
import org.apache.curator.utils.ZKPaths;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.data.Stat;

/** The fluent API. */
public final class Framework {
    private Framework() {
    }

    public static void createReadWriteDelete(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        equal(client.create().forPath("/a", "x".getBytes()), "/a");
        Stat stat = new Stat();
        equal(client.getData().storingStatIn(stat).forPath("/a"), "x".getBytes());
        equal(client.setData().withVersion(stat.getVersion()).forPath("/a", "y".getBytes()).getVersion(), 1);
        fails(Code.BADVERSION, () -> client.setData().withVersion(0).forPath("/a", "z".getBytes()));
        equal(client.getChildren().forPath("/"), List.of("a"));
        fails(Code.BADVERSION, () -> client.delete().withVersion(7).forPath("/a"));
        client.delete().forPath("/a");
        equal(client.checkExists().forPath("/a"), null);
    }

    public static void everyCreateMode(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        for (CreateMode mode : CreateMode.values()) {
            String path = mode.isTTL() ? client.create().withTtl(3_600_000).withMode(mode).forPath("/" + mode)
                : client.create().withMode(mode).forPath("/" + mode);
            equal(path.length() - mode.name().length() - 1, mode.isSequential() ? 10 : 0, mode + " suffix");
            long owner = mode.isEphemeral() ? Clients.session(client) : 0;
            equal(client.checkExists().forPath(path).getEphemeralOwner(), owner, mode + " owner");
        }
    }

    public static void createWithStat(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        Stat stat = new Stat();
        client.create().storingStatIn(stat).forPath("/a", "four".getBytes());
        equal(stat, client.checkExists().forPath("/a"));
    }

    public static void parents(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        client.create().creatingParentsIfNeeded().forPath("/a/b/c");
        client.create().creatingParentContainersIfNeeded().forPath("/d/e/f");
        client.checkExists().creatingParentContainersIfNeeded().forPath("/g/h");
        equal(t.zk.getAllChildrenNumber(t.path), 7);
        client.delete().deletingChildrenIfNeeded().forPath("/a");
        equal(client.checkExists().forPath("/a"), null);
        fails(Code.NOTEMPTY, () -> client.delete().forPath("/d"));
    }

    public static void createOrSet(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        client.create().orSetData().forPath("/a", "1".getBytes());
        client.create().orSetData().forPath("/a", "2".getBytes());
        equal(client.getData().forPath("/a"), "2".getBytes());
        equal(client.checkExists().forPath("/a").getVersion(), 1);
    }

    public static void idempotentOperations(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        client.create().idempotent().forPath("/a", "1".getBytes());
        client.setData().idempotent().withVersion(0).forPath("/a", "2".getBytes());
        client.delete().idempotent().forPath("/a");
        client.delete().idempotent().forPath("/a");
    }

    public static void quietly(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        client.delete().quietly().forPath("/none");
        client.delete().guaranteed().forPath(client.create().forPath("/a"));
    }

    public static void protection(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        String path = client.create().withProtection().withMode(CreateMode.EPHEMERAL_SEQUENTIAL).forPath("/n-");
        that(path.matches("/_c_[0-9a-f-]{36}-n-0000000000"), path);
    }

    public static void compression(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        byte[] value = new byte[500_000];
        client.create().compressed().forPath("/a", value);
        that(client.checkExists().forPath("/a").getDataLength() < 10_000, "not compressed");
        equal(client.getData().decompressed().forPath("/a"), value);
    }

    public static void accessControl(Test t) throws Exception {
        CuratorFramework alice = Clients.start(t, Clients.builder(t).authorization("digest", "alice:wonder".getBytes()));
        alice.create().withACL(Ids.CREATOR_ALL_ACL).forPath("/hers", "x".getBytes());
        CuratorFramework client = Clients.client(t);
        fails(Code.NOAUTH, () -> client.getData().forPath("/hers"));
        equal(alice.getACL().forPath("/hers").get(0).getId().getScheme(), "digest");
        equal(alice.setACL().withVersion(0).withACL(Ids.OPEN_ACL_UNSAFE).forPath("/hers").getAversion(), 1);
        equal(client.getData().forPath("/hers"), "x".getBytes());
    }

    public static void namespaces(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        client.usingNamespace(t.path.substring(1) + "/inner").create().forPath("/a");
        that(client.checkExists().forPath("/inner/a") != null, "created below the inner namespace");
        ZKPaths.mkdirs(t.zk, t.path + "/x/y");
        equal(ZKPaths.getSortedChildren(t.zk, t.path), List.of("inner", "x"));
    }

    public static void transactions(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        client.create().forPath("/a");
        List<CuratorTransactionResult> results = client.transaction().forOperations(
            client.transactionOp().create().withMode(CreateMode.EPHEMERAL_SEQUENTIAL).forPath("/n-", null),
            client.transactionOp().check().withVersion(0).forPath("/a"),
            client.transactionOp().setData().withVersion(0).forPath("/a", "x".getBytes()),
            client.transactionOp().delete().forPath("/a"));
        equal(results.get(0).getResultPath(), "/n-0000000001");
        equal(results.get(1).getType(), OperationType.CHECK);
        equal(results.get(2).getResultStat().getVersion(), 1);
        equal(client.getChildren().forPath("/"), List.of("n-0000000001"));
    }

    public static void failedTransactions(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        KeeperException error = fails(Code.NONODE, () -> client.transaction().forOperations(
            client.transactionOp().create().forPath("/a"), client.transactionOp().delete().forPath("/none")));
        equal(error.getResults().size(), 2);
        equal(client.checkExists().forPath("/a"), null);
    }

    public static void background(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        CompletableFuture<CuratorEvent> created = new CompletableFuture<>();
        client.create().inBackground((c, event) -> created.complete(event)).forPath("/a");
        equal(created.get(10, TimeUnit.SECONDS).getType(), CuratorEventType.CREATE);
        CompletableFuture<Integer> code = new CompletableFuture<>();
        client.getData().inBackground((c, event) -> code.complete(event.getResultCode())).forPath("/none");
        equal(Code.get(code.get(10, TimeUnit.SECONDS)), Code.NONODE);
        CompletableFuture<CuratorEvent> synced = new CompletableFuture<>();
        client.sync().inBackground((c, event) -> synced.complete(event)).forPath("/a");
        equal(synced.get(10, TimeUnit.SECONDS).getType(), CuratorEventType.SYNC);
    }

    public static void manyInBackground(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        List<String> names = Collections.synchronizedList(new ArrayList<>());
        for (int n = 0; n < 2000; n++) {
            client.create().withMode(CreateMode.PERSISTENT_SEQUENTIAL)
                .inBackground((c, event) -> names.add(event.getName())).forPath("/n-");
        }
        await("the replies", () -> names.size() == 2000);
        equal(new java.util.TreeSet<>(names).size(), 2000);
    }

    public static void watchers(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        Events events = new Events();
        client.create().forPath("/a");
        client.getData().usingWatcher(events).forPath("/a");
        client.getChildren().usingWatcher(events).forPath("/");
        client.checkExists().usingWatcher(events).forPath("/b");
        client.setData().forPath("/a", "x".getBytes());
        client.create().forPath("/b");
        events.expect("NodeDataChanged /a", "NodeCreated /b", "NodeChildrenChanged /");
    }

    public static void persistentWatchers(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        Events recursive = new Events();
        Events plain = new Events();
        client.watchers().add().withMode(AddWatchMode.PERSISTENT_RECURSIVE).usingWatcher((Watcher) recursive).forPath("/");
        client.watchers().add().withMode(AddWatchMode.PERSISTENT).usingWatcher((Watcher) plain).forPath("/");
        client.create().forPath("/a");
        client.create().forPath("/a/b");
        recursive.expect("NodeCreated /a", "NodeCreated /a/b");
        plain.expect("NodeChildrenChanged /");
    }

    public static void removedWatchers(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        Events events = new Events();
        client.create().forPath("/a");
        client.checkExists().usingWatcher(events).forPath("/a");
        client.watchers().remove(events).forPath("/a");
        events.awaitCount(1);
        client.setData().forPath("/a", "x".getBytes());
        client.sync().forPath("/a");
        equal(events.changes(), List.of("DataWatchRemoved /a"));
    }

    public static void configuration(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        equal(client.getConfig().forEnsemble(), t.zk.getConfig(false, null));
    }
}
