package curator;

import static harness.Check.await;
import static harness.Check.equal;

import harness.Test;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.x.discovery.ServiceCache;
import org.apache.curator.x.discovery.ServiceDiscovery;
import org.apache.curator.x.discovery.ServiceDiscoveryBuilder;
import org.apache.curator.x.discovery.ServiceInstance;
import org.apache.curator.x.discovery.ServiceProvider;
import org.apache.curator.x.discovery.strategies.RoundRobinStrategy;

/** Service discovery. */
public final class Discovery {
    private Discovery() {
    }

    private static ServiceInstance<Void> instance(int port) throws Exception {
        return ServiceInstance.<Void>builder().name("service").address("127.0.0.1").port(port).build();
    }

    private static ServiceDiscovery<Void> discovery(Test t, CuratorFramework client) throws Exception {
        ServiceDiscovery<Void> discovery = t.closing(
            ServiceDiscoveryBuilder.builder(Void.class).client(client).basePath("/services").build());
        discovery.start();
        return discovery;
    }

    public static void instancesComeAndGo(Test t) throws Exception {
        ServiceDiscovery<Void> observer = discovery(t, Clients.client(t));
        ServiceCache<Void> cache = t.closing(observer.serviceCacheBuilder().name("service").build());
        cache.start();
        CuratorFramework doomed = Clients.client(t);
        ServiceDiscovery<Void> one = discovery(t, doomed);
        ServiceDiscovery<Void> two = discovery(t, Clients.client(t));
        one.registerService(instance(1));
        ServiceInstance<Void> second = instance(2);
        two.registerService(second);
        await("two instances", () -> cache.getInstances().size() == 2);
        equal(observer.queryForNames(), List.of("service"));
        equal(observer.queryForInstance("service", second.getId()).getPort(), 2);
        doomed.close();
        await("one instance", () -> cache.getInstances().size() == 1);
        two.unregisterService(second);
        await("no instance", () -> cache.getInstances().isEmpty());
    }

    public static void providerTakesTurns(Test t) throws Exception {
        ServiceDiscovery<Void> discovery = discovery(t, Clients.client(t));
        discovery.registerService(instance(1));
        discovery.registerService(instance(2));
        ServiceProvider<Void> provider = t.closing(discovery.serviceProviderBuilder().serviceName("service")
            .providerStrategy(new RoundRobinStrategy<>()).build());
        provider.start();
        await("two instances", () -> provider.getAllInstances().size() == 2);
        equal(provider.getInstance().getPort() + provider.getInstance().getPort(), 3);
    }
}
