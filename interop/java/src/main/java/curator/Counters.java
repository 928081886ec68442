package curator;

import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.that;

import harness.Test;
import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.CachedAtomicLong;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicInteger;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicValue;
import org.apache.curator.framework.recipes.atomic.PromotedToLock;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.SharedValue;
import org.apache.curator.framework.recipes.shared.VersionedValue;
import org.apache.curator.retry.RetryNTimes;
import org.apache.curator.retry.RetryOneTime;

/** Atomic numbers and shared values. */
public final class Counters {
    private Counters() {
    }

    public static void atomicLongAddsUp(Test t) throws Exception {
        List<Thread> threads = new ArrayList<>();
        PromotedToLock lock = PromotedToLock.builder().lockPath("/lock").retryPolicy(new RetryNTimes(50, 20)).build();
        for (int n = 0; n < 4; n++) {
            DistributedAtomicLong number = new DistributedAtomicLong(Clients.client(t), "/n", new RetryNTimes(2, 2), lock);
            threads.add(t.background(() -> {
                for (int m = 0; m < 15;) {
                    m += number.increment().succeeded() ? 1 : 0;
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join(30_000);
        }
        equal(new DistributedAtomicLong(Clients.client(t), "/n", new RetryOneTime(1)).get().postValue(), 60L);
    }

    public static void atomicInteger(Test t) throws Exception {
        DistributedAtomicInteger number = new DistributedAtomicInteger(Clients.client(t), "/n", new RetryNTimes(3, 10));
        that(number.initialize(5), "initialize");
        that(!number.initialize(6), "initialized twice");
        equal(number.add(3).postValue(), 8);
        equal(number.subtract(1).preValue(), 8);
        that(!number.compareAndSet(9, 1).succeeded(), "compared wrongly");
        that(number.compareAndSet(7, 1).succeeded(), "compareAndSet");
        equal(number.decrement().postValue(), 0);
        number.forceSet(42);
        equal(number.get().postValue(), 42);
    }

    public static void atomicValue(Test t) throws Exception {
        DistributedAtomicValue value = new DistributedAtomicValue(Clients.client(t), "/v", new RetryNTimes(3, 10));
        AtomicValue<byte[]> set = value.trySet("one".getBytes());
        that(set.succeeded(), "trySet");
        that(value.compareAndSet("one".getBytes(), "two".getBytes()).succeeded(), "compareAndSet");
        equal(value.get().postValue(), "two".getBytes());
    }

    public static void cachedLongHandsOutRanges(Test t) throws Exception {
        CachedAtomicLong one = new CachedAtomicLong(
            new DistributedAtomicLong(Clients.client(t), "/n", new RetryNTimes(3, 10)), 10);
        CachedAtomicLong two = new CachedAtomicLong(
            new DistributedAtomicLong(Clients.client(t), "/n", new RetryNTimes(3, 10)), 10);
        List<Long> numbers = new ArrayList<>();
        for (int n = 0; n < 15; n++) {
            numbers.add(one.next().postValue());
            numbers.add(two.next().postValue());
        }
        equal(numbers.stream().distinct().count(), 30L);
    }

    public static void sharedCountIsSeenByAll(Test t) throws Exception {
        SharedCount one = t.closing(new SharedCount(Clients.client(t), "/n", 7));
        SharedCount two = t.closing(new SharedCount(Clients.client(t), "/n", 7));
        one.start();
        two.start();
        equal(two.getCount(), 7);
        one.setCount(8);
        await("the change", () -> two.getCount() == 8);
        that(two.trySetCount(two.getVersionedValue(), 9), "trySetCount");
        await("the change back", () -> one.getCount() == 9);
    }

    public static void sharedValueRefusesStaleVersions(Test t) throws Exception {
        CuratorFramework client = Clients.client(t);
        SharedValue value = t.closing(new SharedValue(client, "/v", "start".getBytes()));
        value.start();
        VersionedValue<byte[]> old = value.getVersionedValue();
        value.setValue("changed".getBytes());
        that(!value.trySetValue(old, "stale".getBytes()), "a stale version was accepted");
        equal(client.getData().forPath("/v"), "changed".getBytes());
    }
}
