package curator;

import static harness.Check.that;

import harness.Check;
import harness.Server;
import harness.Test;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryForever;

/** Connected Curator clients whose namespace is the test's own node. */
final class Clients {
    private Clients() {
    }

    static CuratorFrameworkFactory.Builder builder(Test t) {
        return CuratorFrameworkFactory.builder().connectString(Server.CONNECT).sessionTimeoutMs(10_000)
            .connectionTimeoutMs(10_000).retryPolicy(new RetryForever(50)).namespace(t.path.substring(1))
            .zookeeperFactory(Server::client);
    }

    static CuratorFramework start(Test t, CuratorFrameworkFactory.Builder builder) throws Exception {
        CuratorFramework client = t.closing(builder.build());
        client.start();
        that(client.blockUntilConnected((int) Check.WAIT_MS, TimeUnit.MILLISECONDS), "not connected");
        return client;
    }

    static CuratorFramework client(Test t) throws Exception {
        return start(t, builder(t));
    }

    static long session(CuratorFramework client) throws Exception {
        return client.getZookeeperClient().getZooKeeper().getSessionId();
    }
}
