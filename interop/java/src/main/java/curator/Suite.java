package curator;

import harness.Runner;
import java.util.List;

/** Apache Curator: its framework, recipes, discovery and asynchronous DSL. */
public final class Suite {
    private Suite() {
    }

    public static void main(String[] only) throws Exception {
        Runner.run("curator", List.of(Framework.class, Locks.class, Leaders.class, Caches.class, Queues.class,
            Counters.class, Barriers.class, LastingNodes.class, Discovery.class, AsyncDsl.class, Connections.class),
            Deaths.or(List.of(Ensemble.class, Outage.class)), only);
    }
}
