package curator;

import static harness.Check.await;
import static harness.Check.equal;
import static harness.Check.that;

import harness.Test;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;

/** Barriers. */
public final class Barriers {
    private Barriers() {
    }

    public static void barrierHolds(Test t) throws Exception {
        DistributedBarrier barrier = new DistributedBarrier(Clients.client(t), "/barrier");
        barrier.setBarrier();
        List<String> passed = Collections.synchronizedList(new ArrayList<>());
        for (int n = 0; n < 3; n++) {
            DistributedBarrier waiter = new DistributedBarrier(Clients.client(t), "/barrier");
            that(!waiter.waitOnBarrier(10, TimeUnit.MILLISECONDS), "passed a standing barrier");
            t.background(() -> {
                waiter.waitOnBarrier();
                passed.add("passed");
            });
        }
        equal(passed, List.of());
        barrier.removeBarrier();
        await("three to pass", () -> passed.size() == 3);
    }

    public static void doubleBarrierGathersAndParts(Test t) throws Exception {
        List<String> log = Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        for (int n = 0; n < 4; n++) {
            DistributedDoubleBarrier barrier = new DistributedDoubleBarrier(Clients.client(t), "/double", 4);
            threads.add(t.background(() -> {
                barrier.enter();
                log.add("in");
                barrier.leave();
                log.add("out");
            }));
        }
        for (Thread thread : threads) {
            thread.join(20_000);
        }
        Collections.sort(log);
        equal(log, List.of("in", "in", "in", "in", "out", "out", "out", "out"));
    }

    public static void doubleBarrierTimesOut(Test t) throws Exception {
        that(!new DistributedDoubleBarrier(Clients.client(t), "/double", 2).enter(200, TimeUnit.MILLISECONDS), "entered alone");
    }
}
