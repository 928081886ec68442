package curator;

import static harness.Check.equal;
import static harness.Check.that;

import harness.Test;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.curator.framework.api.transaction.CuratorTransactionResult;
import org.apache.curator.x.async.AsyncCuratorFramework;
import org.apache.curator.x.async.AsyncStage;
import org.apache.curator.x.async.api.CreateOption;
import org.apache.curator.x.async.api.DeleteOption;
import org.apache.curator.x.async.migrations.Migration;
import org.apache.curator.x.async.migrations.MigrationManager;
import org.apache.curator.x.async.migrations.MigrationSet;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;

/** Curator's asynchronous DSL. */
public final class AsyncDsl {
    private AsyncDsl() {
    }

    private static <T> T get(CompletionStage<T> stage) throws Exception {
        return stage.toCompletableFuture().get(15, TimeUnit.SECONDS);
    }

    public static void operations(Test t) throws Exception {
        AsyncCuratorFramework async = AsyncCuratorFramework.wrap(Clients.client(t));
        equal(get(async.create().withOptions(Set.of(CreateOption.createParentsIfNeeded)).forPath("/a/b", "x".getBytes())),
            "/a/b");
        equal(get(async.getData().forPath("/a/b")), "x".getBytes());
        equal(get(async.setData().withVersion(0).forPath("/a/b", "y".getBytes())).getVersion(), 1);
        equal(get(async.getChildren().forPath("/a")), List.of("b"));
        equal(get(async.checkExists().forPath("/none")), null);
        get(async.delete().withOptions(Set.of(DeleteOption.deletingChildrenIfNeeded)).forPath("/a"));
        equal(get(async.checkExists().forPath("/a")), null);
    }

    public static void errors(Test t) throws Exception {
        AsyncCuratorFramework async = AsyncCuratorFramework.wrap(Clients.client(t));
        try {
            get(async.getData().forPath("/none"));
            throw new AssertionError("read what is not there");
        } catch (ExecutionException error) {
            that(error.getCause() instanceof KeeperException.NoNodeException, error.getCause());
        }
    }

    public static void watchedStages(Test t) throws Exception {
        AsyncCuratorFramework async = AsyncCuratorFramework.wrap(Clients.client(t));
        get(async.create().forPath("/a"));
        AsyncStage<byte[]> stage = async.watched().getData().forPath("/a");
        get(stage);
        get(async.setData().forPath("/a", "x".getBytes()));
        WatchedEvent event = get(stage.event());
        equal(event.getPath(), "/a");
    }

    public static void transactions(Test t) throws Exception {
        AsyncCuratorFramework async = AsyncCuratorFramework.wrap(Clients.client(t));
        List<CuratorTransactionResult> results = get(async.transaction().forOperations(List.of(
            async.transactionOp().create().withMode(CreateMode.PERSISTENT).forPath("/a"),
            async.transactionOp().check().withVersion(0).forPath("/a"))));
        equal(results.size(), 2);
    }

    public static void manyAtOnce(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        AsyncCuratorFramework async = AsyncCuratorFramework.wrap(client);
        List<CompletableFuture<String>> pending = new ArrayList<>();
        for (int n = 0; n < 1000; n++) {
            pending.add(async.create().withMode(CreateMode.EPHEMERAL).forPath("/n" + n).toCompletableFuture());
        }
        for (CompletableFuture<String> each : pending) {
            get(each);
        }
        equal(client.getChildren().forPath("/").size(), 1000);
    }

    public static void migrationsRunOnce(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        AsyncCuratorFramework async = AsyncCuratorFramework.wrap(client);
        CuratorOp creation = client.transactionOp().create().forPath("/made");
        Migration first = () -> List.of(creation);
        for (int n = 0; n < 2; n++) {
            MigrationManager manager = new MigrationManager(async, "/lock", "/meta", Runnable::run,
                Duration.ofSeconds(10));
            get(manager.migrate(MigrationSet.build("/migrations", List.of(first))));
        }
        that(client.checkExists().forPath("/made") != null, "not migrated");
    }
}
