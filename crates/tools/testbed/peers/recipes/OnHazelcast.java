import com.hazelcast.client.HazelcastClient;
import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.cp.CPSubsystem;
import com.hazelcast.cp.IAtomicLong;
import com.hazelcast.cp.ICountDownLatch;
import com.hazelcast.cp.lock.FencedLock;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Hazelcast's CP subsystem. All clients are threads of one Hazelcast client, which owners of a FencedLock are told apart by. */
final class OnHazelcast implements Recipes {
    private static final long OPEN_S = 60;

    private static HazelcastInstance instance;

    private final CPSubsystem objects;

    OnHazelcast(List<String> endpoints) {
        objects = connected(endpoints).getCPSubsystem();
    }

    private static synchronized HazelcastInstance connected(List<String> endpoints) {
        if (instance == null) {
            ClientConfig config = new ClientConfig();
            config.setClusterName(Member.CLUSTER);
            config.setProperty("hazelcast.logging.type", "none");
            config.getNetworkConfig().setAddresses(endpoints);
            instance = HazelcastClient.newHazelcastClient(config);
        }
        return instance;
    }

    @Override
    public Mutex mutex(String name) {
        FencedLock lock = objects.getLock(name);
        return new Mutex() {
            @Override
            public long acquire() {
                return lock.lockAndGetFence();
            }

            @Override
            public void release() {
                lock.unlock();
            }
        };
    }

    @Override
    public Counter counter(String name) {
        IAtomicLong counter = objects.getAtomicLong(name);
        return new Counter() {
            @Override
            public long increment() {
                return counter.incrementAndGet();
            }

            @Override
            public long get() {
                return counter.get();
            }
        };
    }

    @Override
    public Barrier barrier(String name, int parties) {
        return new Barrier() {
            @Override
            public void enter(int round) throws Exception {
                pass(objects.getCountDownLatch(name + "-in-" + round), parties);
            }

            @Override
            public void leave(int round) throws Exception {
                pass(objects.getCountDownLatch(name + "-out-" + round), parties);
            }
        };
    }

    /** The first client sets the count; it cannot reach 0 before each party has tried to. */
    private static void pass(ICountDownLatch latch, int parties) throws Exception {
        latch.trySetCount(parties);
        latch.countDown();
        if (!latch.await(OPEN_S, TimeUnit.SECONDS)) {
            throw new IOException("a latch did not open within " + OPEN_S + " s");
        }
    }

    @Override
    public void close() {
        instance.shutdown();
    }
}
