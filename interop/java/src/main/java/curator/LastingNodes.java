package curator;

import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.that;

import harness.Server;
import harness.Skip;
import harness.Test;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.framework.recipes.nodes.PersistentTtlNode;
import org.apache.zookeeper.CreateMode;

/** Nodes that Curator keeps alive. */
public final class LastingNodes {
    private LastingNodes() {
    }

    public static void nodeIsCreatedAgain(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        PersistentNode node = t.closing(new PersistentNode(client, CreateMode.EPHEMERAL, false, "/n", "x".getBytes()));
        node.start();
        that(node.waitForInitialCreate(10, TimeUnit.SECONDS), "not created");
        long first = client.checkExists().forPath("/n").getCzxid();
        t.zk.delete(t.path + "/n", -1);
        await("the node again", () -> {
            org.apache.zookeeper.data.Stat stat = client.checkExists().forPath("/n");
            return stat != null && stat.getCzxid() > first;
        });
        node.setData("y".getBytes());
        await("the new value", () -> "y".equals(new String(client.getData().forPath("/n"))));
    }

    public static void groupKnowsItsMembers(Test t) throws Exception {
        GroupMember one = t.closing(new GroupMember(Clients.client(t), "/group", "one", "1".getBytes()));
        CuratorFramework client = Clients.client(t);
        GroupMember two = new GroupMember(client, "/group", "two", "2".getBytes());
        one.start();
        two.start();
        await("two members", () -> one.getCurrentMembers().size() == 2);
        equal(one.getCurrentMembers().get("two"), "2".getBytes());
        two.close();
        await("one member", () -> one.getCurrentMembers().keySet().equals(Set.of("one")));
    }

    public static void ttlNodeLivesWhileTouched(Test t) throws Exception {
        if (!Server.extra("containerCheck")) {
            throw new Skip("the server looks for TTL nodes once a minute");
        }
        CuratorFramework client = Clients.client(t);
        PersistentTtlNode node = new PersistentTtlNode(client, "/ttl", 500, "x".getBytes());
        node.start();
        that(node.waitForInitialCreate(10, TimeUnit.SECONDS), "not created");
        client.create().withTtl(500).withMode(CreateMode.PERSISTENT_WITH_TTL).forPath("/untouched");
        await("the untouched one's end", () -> client.checkExists().forPath("/untouched") == null);
        that(client.checkExists().forPath("/ttl") != null, "the touched one is gone too");
        node.close();
        await("its end", () -> client.checkExists().forPath("/ttl") == null);
    }
}
