package curator;

import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.that;

import harness.Test;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Locker;
import org.apache.curator.framework.recipes.locks.Revoker;

/** Mutexes, semaphores, read-write locks. */
public final class Locks {
    private Locks() {
    }

    private static boolean soon(InterProcessLock lock) throws Exception {
        return lock.acquire(10, TimeUnit.SECONDS);
    }

    private static boolean now(InterProcessLock lock) throws Exception {
        return lock.acquire(0, TimeUnit.MILLISECONDS);
    }

    public static void mutexExcludes(Test t) throws Exception {
        InterProcessMutex first = new InterProcessMutex(Clients.client(t), "/lock");
        InterProcessMutex second = new InterProcessMutex(Clients.client(t), "/lock");
        first.acquire();
        that(!now(second), "both hold it");
        first.release();
        that(soon(second), "not passed on");
        second.release();
    }

    public static void mutexIsReentrant(Test t) throws Exception {
        InterProcessMutex lock = new InterProcessMutex(Clients.client(t), "/lock");
        InterProcessMutex other = new InterProcessMutex(Clients.client(t), "/lock");
        lock.acquire();
        lock.acquire();
        lock.release();
        that(!now(other), "freed by the first release");
        lock.release();
        that(soon(other), "not freed");
    }

    public static void mutexKnowsItsContenders(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        InterProcessMutex lock = new InterProcessMutex(client, "/lock");
        lock.acquire();
        InterProcessMutex other = new InterProcessMutex(Clients.client(t), "/lock");
        t.background(() -> other.acquire());
        await("two contenders", () -> lock.getParticipantNodes().size() == 2);
        lock.release();
        await("the other to hold it", other::isAcquiredInThisProcess);
    }

    public static void mutexOfAClosedClientIsFree(Test t) throws Exception {
        CuratorFramework doomed = Clients.client(t);
        new InterProcessMutex(doomed, "/lock").acquire();
        InterProcessMutex heir = new InterProcessMutex(Clients.client(t), "/lock");
        Thread waiter = t.background(heir::acquire);
        doomed.close();
        waiter.join(10_000);
        that(heir.isAcquiredInThisProcess(), "not inherited");
    }

    public static void mutexProtects(Test t) throws Exception {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger total = new AtomicInteger();
        AtomicBoolean overlapped = new AtomicBoolean();
        List<Thread> threads = new ArrayList<>();
        for (int n = 0; n < 5; n++) {
            InterProcessMutex lock = new InterProcessMutex(Clients.client(t), "/lock");
            threads.add(t.background(() -> {
                for (int m = 0; m < 10; m++) {
                    try (Locker held = new Locker(lock)) {
                        overlapped.compareAndSet(false, inside.incrementAndGet() > 1);
                        total.incrementAndGet();
                        inside.decrementAndGet();
                    }
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join(30_000);
        }
        equal(total.get(), 50);
        that(!overlapped.get(), "two were inside");
    }

    public static void mutexCanBeRevoked(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        InterProcessMutex lock = new InterProcessMutex(client, "/lock");
        AtomicBoolean asked = new AtomicBoolean();
        lock.makeRevocable(held -> asked.set(true));
        lock.acquire();
        CuratorFramework other = Clients.client(t);
        Collection<String> nodes = new InterProcessMutex(other, "/lock").getParticipantNodes();
        Revoker.attemptRevoke(other, nodes.iterator().next());
        await("the request", asked::get);
    }

    public static void semaphoreMutex(Test t) throws Exception {
        InterProcessSemaphoreMutex first = new InterProcessSemaphoreMutex(Clients.client(t), "/lock");
        InterProcessSemaphoreMutex second = new InterProcessSemaphoreMutex(Clients.client(t), "/lock");
        first.acquire();
        that(!now(second), "both hold it");
        first.release();
        that(soon(second), "not passed on");
    }

    public static void semaphoreCounts(Test t) throws Exception {
        InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(Clients.client(t), "/s", 3);
        Collection<Lease> leases = semaphore.acquire(3);
        equal(leases.size(), 3);
        InterProcessSemaphoreV2 other = new InterProcessSemaphoreV2(Clients.client(t), "/s", 3);
        equal(other.acquire(10, TimeUnit.MILLISECONDS), null);
        Lease first = leases.iterator().next();
        semaphore.returnLease(first);
        Lease lease = other.acquire(10, TimeUnit.SECONDS);
        that(lease != null, "no lease");
        equal(semaphore.getParticipantNodes().size(), 3);
    }

    public static void readersShareAndWritersDoNot(Test t) throws Exception {
        InterProcessReadWriteLock one = new InterProcessReadWriteLock(Clients.client(t), "/rw");
        InterProcessReadWriteLock two = new InterProcessReadWriteLock(Clients.client(t), "/rw");
        that(soon(one.readLock()) && soon(two.readLock()), "readers");
        that(!now(two.writeLock()), "written while read");
        one.readLock().release();
        two.readLock().release();
        that(soon(one.writeLock()), "writer");
        that(!now(two.readLock()), "read while written");
        that(soon(one.readLock()), "downgrade");
        one.writeLock().release();
        that(soon(two.readLock()), "reader beside the downgraded writer");
    }

    public static void severalLocksAtOnce(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        InterProcessMultiLock both = new InterProcessMultiLock(client, List.of("/a", "/b"));
        InterProcessMutex b = new InterProcessMutex(Clients.client(t), "/b");
        b.acquire();
        that(!now(both), "held in part");
        b.release();
        that(soon(both), "not acquired");
        InterProcessMutex a = new InterProcessMutex(Clients.client(t), "/a");
        that(!now(a), "not held");
        both.release();
        that(soon(a), "not freed");
    }
}
