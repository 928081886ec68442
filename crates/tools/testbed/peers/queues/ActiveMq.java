// An ActiveMQ Classic with its usual store, KahaDB. Arguments: the port, the folder of its data, and whether its journal is
// flushed before a message is acknowledged: `always` or `never`.

import java.io.File;
import org.apache.activemq.broker.BrokerService;
import org.apache.activemq.broker.region.policy.PolicyEntry;
import org.apache.activemq.broker.region.policy.PolicyMap;
import org.apache.activemq.store.kahadb.KahaDBPersistenceAdapter;

public final class ActiveMq {
    public static void main(String[] arguments) throws Exception {
        KahaDBPersistenceAdapter store = new KahaDBPersistenceAdapter();
        store.setDirectory(new File(arguments[1]));
        store.setJournalDiskSyncStrategy(arguments[2]);
        BrokerService broker = new BrokerService();
        broker.setBrokerName("lab");
        broker.setUseJmx(false);
        broker.setAdvisorySupport(false);
        broker.setUseShutdownHook(false);
        broker.setPersistenceAdapter(store);
        broker.getSystemUsage().getStoreUsage().setLimit(64L << 30);
        broker.getSystemUsage().getMemoryUsage().setLimit(400L << 20);
        // As many as a consumer takes at once: by default a queue holds 200 ready, and a consumer waits for more.
        PolicyEntry policy = new PolicyEntry();
        policy.setMaxPageSize(4000);
        PolicyMap policies = new PolicyMap();
        policies.setDefaultEntry(policy);
        broker.setDestinationPolicy(policies);
        broker.addConnector("tcp://127.0.0.1:" + arguments[0]);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                broker.stop();
            } catch (Exception error) {
                error.printStackTrace();
            }
        }));
        broker.start();
        broker.waitUntilStopped();
    }
}
