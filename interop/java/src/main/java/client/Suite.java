package client;

import harness.Runner;
import java.util.List;

/** Apache ZooKeeper's own client, over its whole API. */
public final class Suite {
    private Suite() {
    }

    public static void main(String[] only) throws Exception {
        Runner.run("java", List.of(Nodes.class, Modes.class, Multi.class, Acls.class, Watches.class,
            PersistentWatches.class, RemovedWatches.class, Async.class, Quotas.class, Admin.class, Sessions.class, Tls.class,
            Sasl.class, Beyond.class), Deaths.or(List.of(Members.class, Outage.class, OtherSettings.class)), only);
    }
}
