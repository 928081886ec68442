package curator;

import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.that;

import harness.Server;
import harness.Test;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.admin.ZooKeeperAdmin;

/** Curator follows the configuration of an ensemble by itself (its EnsembleTracker), through ZooKeeper's own parser. */
public final class Ensemble {
    private static final int NEW = 8;

    private Ensemble() {
    }

    private static Set<String> servers(CuratorFramework client) {
        String connect = client.getZookeeperClient().getCurrentConnectionString();
        return new TreeSet<>(Arrays.asList(connect.split("/")[0].split(",")));
    }

    public static void isFollowedWithoutAnError(Test t) throws Exception {
        Server.needEnsemble();
        List<String> errors = new CopyOnWriteArrayList<>();
        CuratorFramework client = t.closing(Clients.builder(t).build());
        client.getUnhandledErrorListenable().addListener((message, error) -> errors.add(message + ": " + error));
        client.start();
        that(client.blockUntilConnected(10, TimeUnit.SECONDS), "not connected");
        int members = Server.members().size();
        await("all members", () -> client.getCurrentConfig().getAllMembers().size() == members);
        equal(servers(client), new TreeSet<>(Server.members()));
        equal(errors, List.of());
    }

    public static void isFollowedThroughAChange(Test t) throws Exception {
        Server.needEnsemble();
        Server.needDiwan();
        List<String> errors = new CopyOnWriteArrayList<>();
        // Of ZooKeeper's clients this one alone changes members.
        CuratorFramework client = t.closing(Clients.builder(t).authorization("digest", "super:secret".getBytes())
            .zookeeperFactory(ZooKeeperAdmin::new).build());
        client.getUnhandledErrorListenable().addListener((message, error) -> errors.add(message + ": " + error));
        client.start();
        that(client.blockUntilConnected(10, TimeUnit.SECONDS), "not connected");
        // Its clients are led to a member that runs.
        String member = "server." + NEW + "=127.0.0.1:2:observer;" + Server.port();
        client.reconfig().joining(member).forEnsemble();
        await("the new member", () -> client.getCurrentConfig().getAllMembers().containsKey((long) NEW));
        client.reconfig().leaving("" + NEW).forEnsemble();
        await("no new member", () -> !client.getCurrentConfig().getAllMembers().containsKey((long) NEW));
        equal(errors, List.of());
    }
}
