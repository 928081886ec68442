import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.curator.retry.RetryNTimes;

/** Curator's recipes: a client has a session and a connection of its own, as separate processes would. */
final class OnCurator implements Recipes {
    private static final int SESSION_MS = 40_000;
    private static final int CONNECT_MS = 15_000;

    private final CuratorFramework client;

    OnCurator(String endpoint) throws Exception {
        client = CuratorFrameworkFactory.newClient(endpoint, SESSION_MS, CONNECT_MS, new ExponentialBackoffRetry(100, 3));
        client.start();
        if (!client.blockUntilConnected(CONNECT_MS, java.util.concurrent.TimeUnit.MILLISECONDS)) {
            throw new java.io.IOException("no session at " + endpoint);
        }
    }

    @Override
    public Mutex mutex(String name) {
        InterProcessMutex mutex = new InterProcessMutex(client, "/" + name);
        return new Mutex() {
            @Override
            public long acquire() throws Exception {
                mutex.acquire();
                return 0;
            }

            @Override
            public void release() throws Exception {
                mutex.release();
            }
        };
    }

    @Override
    public Counter counter(String name) {
        // An attempt that met another client's is made again, at once at first.
        DistributedAtomicLong counter = new DistributedAtomicLong(client, "/" + name, new RetryNTimes(100, 1));
        return new Counter() {
            @Override
            public long increment() throws Exception {
                AtomicValue<Long> value = counter.increment();
                while (!value.succeeded()) {
                    value = counter.increment();
                }
                return value.postValue();
            }

            @Override
            public long get() throws Exception {
                client.sync().forPath("/" + name);
                return counter.get().postValue();
            }
        };
    }

    @Override
    public Barrier barrier(String name, int parties) {
        return new Barrier() {
            private DistributedDoubleBarrier barrier;

            @Override
            public void enter(int round) throws Exception {
                // A path of its own for each round: who is fast would meet the nodes of those who still leave.
                barrier = new DistributedDoubleBarrier(client, "/" + name + "-" + round, parties);
                barrier.enter();
            }

            @Override
            public void leave(int round) throws Exception {
                barrier.leave();
            }

            /** Any event wakes a client that has left, and a single node that is there then is taken for its own. */
            @Override
            public int stragglers() {
                return 1;
            }
        };
    }

    @Override
    public void close() {
        client.close();
    }
}
