package suite;

import static suite.Harness.KILLS;
import static suite.Harness.POOL;
import static suite.Harness.connect;
import static suite.Harness.control;
import static suite.Harness.eventually;
import static suite.Harness.fresh;
import static suite.Harness.holds;
import static suite.Harness.refused;
import static suite.Harness.same;
import static suite.Harness.together;

import diwan.objects.Cluster;
import diwan.objects.Counter;
import diwan.objects.Held;
import diwan.objects.Latch;
import diwan.objects.Lock;
import diwan.objects.Member;
import diwan.objects.Membership;
import diwan.objects.NotAcquired;
import diwan.objects.Problem;
import diwan.objects.Queue;
import diwan.objects.Wait;
import java.io.BufferedReader;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** Waits, cancellation, the loss of sessions, the deaths of leaders. */
final class Waits {
    private Waits() {}

    static void add(Map<String, Harness.Test> tests) {
        tests.put("waits.cancelled_wait_leaves_no_waiter", Waits::cancelledWait);
        tests.put("waits.cancelled_grant_is_given_back", Waits::cancelledGrant);
        tests.put("waits.wait_ends_in_time", Waits::waitEnds);
        tests.put("waits.queue_gives_each_item_once", Waits::itemsOnce);
        tests.put("waits.call_that_waits_holds_up_no_commands", Waits::waitingCommands);
        tests.put("waits.call_that_waits_holds_up_no_call_of_its_session", Waits::waitingSession);
        tests.put("waits.parallel_first_calls_open_one_session", Waits::oneSession);
        tests.put("sessions.lock_outlives_its_time_to_live", Waits::outlives);
        tests.put("sessions.dead_holder_is_followed_in_time", Waits::deadHolder);
        tests.put("sessions.stopped_holder_knows_that_it_lost", Waits::stoppedHolder);
        tests.put("sessions.stolen_lock_is_lost", Waits::stolen);
        tests.put("sessions.closed_cluster_frees_at_once", Waits::closed);
        tests.put("sessions.holder_counts_lock_as_lost_before_servers_do", Waits::silent);
        tests.put("deaths.increment_and_get_are_right_while_leaders_die", Waits::deaths);
        tests.put("deaths.wait_outlives_the_leader", Waits::waitOutlives);
    }

    private static Wait seconds(long seconds) {
        return Wait.of(Duration.ofSeconds(seconds));
    }

    /** The part of a process that holds a lock until it is lost. */
    static void hold(String name) throws InterruptedException {
        Held held = connect(2_000).object(Lock.class, name).hold();
        System.out.println(held.fence());
        CountDownLatch lost = new CountDownLatch(1);
        held.onLost(lost::countDown);
        lost.await();
        System.out.println("lost " + held.lost());
        System.exit(0);
    }

    private record Holder(Process process, BufferedReader lines, long fence) {
        static Holder start(String name) throws IOException {
            String java = ProcessHandle.current().info().command().orElse("java");
            String path = System.getProperty("java.class.path");
            Process process = new ProcessBuilder(java, "-cp", path, "suite.Main", "hold", name)
                    .redirectError(ProcessBuilder.Redirect.INHERIT).start();
            BufferedReader lines = process.inputReader();
            return new Holder(process, lines, Long.parseLong(lines.readLine()));
        }

        void signal(String name) throws IOException, InterruptedException {
            same(new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor(), 0);
        }
    }

    private static void cancelledWait(Cluster cluster) throws Exception {
        Lock lock = cluster.object(Lock.class, fresh());
        try (Held held = lock.hold()) {
            Future<?> waiting = POOL.submit(() -> lock.acquire());
            eventually(() -> lock.holder().waiting() == 1);
            waiting.cancel(true);
            eventually(() -> lock.holder().waiting() == 0);
            same(held.lost(), false);
        }
    }

    private static void cancelledGrant(Cluster cluster) throws Exception {
        Lock lock = cluster.object(Lock.class, fresh());
        for (long delay : new long[] {0, 1, 2, 5, 10}) {
            Future<?> acquiring = POOL.submit(() -> lock.hold(Wait.FOREVER, "x" + delay).close());
            Thread.sleep(delay);
            acquiring.cancel(true);
            Lock.AcquireResult got = lock.acquire(seconds(10), "y");
            same(got.acquired(), true);
            lock.release(got.fence());
        }
    }

    private static void waitEnds(Cluster cluster) throws Exception {
        Lock lock = cluster.object(Lock.class, fresh());
        long began = System.nanoTime();
        try (Held held = lock.hold()) {
            try (Held other = lock.hold(Wait.of(Duration.ofMillis(500)), "other")) {
                throw new AssertionError("two hold it: " + held.fence() + ", " + other.fence());
            } catch (NotAcquired expected) {
                holds(System.nanoTime() - began >= 450_000_000, "too early");
            }
        }
    }

    private static void itemsOnce(Cluster cluster) throws Exception {
        Queue queue = cluster.object(Queue.class, fresh());
        POOL.submit(() -> IntStream.range(0, 10).forEach(queue::put));
        List<Object> taken = together(10, place -> queue.take().get(0).item());
        same(taken.stream().sorted().toList(), LongStream.range(0, 10).boxed().toList());
    }

    private static void waitingCommands(Cluster cluster) throws Exception {
        Queue queue = cluster.object(Queue.class, fresh());
        Counter counter = cluster.object(Counter.class, fresh());
        Future<Integer> taking = POOL.submit(() -> queue.take().size());
        for (long n = 1; n <= 150; n++) same(counter.increment(), n);
        queue.put(1);
        same(taking.get(20, TimeUnit.SECONDS), 1);
        List<Long> values = together(200, place -> counter.increment());
        same(values.stream().sorted().toList(), LongStream.rangeClosed(151, 350).boxed().toList());
    }

    private static void waitingSession(Cluster cluster) throws Exception {
        String name = fresh();
        Lock wanted = cluster.object(Lock.class, name);
        Lock mine = cluster.object(Lock.class, fresh());
        Future<Lock.AcquireResult> waiting;
        String session = null;
        try (Cluster other = connect(5_000)) {
            try (Held held = other.object(Lock.class, name).hold()) {
                waiting = POOL.submit(() -> wanted.acquire());
                eventually(() -> wanted.holder().waiting() == 1);
                for (int n = 0; n < 100; n++) {
                    Lock.AcquireResult got = mine.acquire(seconds(10), "x");
                    session = mine.holder().session();
                    same(mine.release(got.fence()), 0L);
                }
                same(held.lost() || waiting.isDone(), false);
            }
            same(waiting.get(20, TimeUnit.SECONDS).acquired(), true);
        }
        same(wanted.holder().session(), session);
    }

    private static void oneSession(Cluster unused) throws Exception {
        try (Cluster cluster = connect(5_000)) {
            Membership group = cluster.object(Membership.class, fresh());
            together(30, place -> group.join("m" + place));
            List<Member> members = group.members().members();
            same(members.size(), 30);
            same(members.stream().map(Member::session).distinct().count(), 1L);
        }
    }

    private static void outlives(Cluster other) {
        String name = fresh();
        try (Cluster cluster = connect(1_000); Held held = cluster.object(Lock.class, name).hold()) {
            same(other.object(Lock.class, name).acquire(seconds(3)).acquired(), false);
            same(held.lost(), false);
        }
    }

    private static void deadHolder(Cluster cluster) throws Exception {
        String name = fresh();
        Holder dead = Holder.start(name);
        dead.signal("KILL");
        long began = System.nanoTime();
        Lock.AcquireResult got = cluster.object(Lock.class, name).acquire(seconds(20));
        long tookMs = (System.nanoTime() - began) / 1_000_000;
        holds(got.acquired() && got.fence() > dead.fence() && tookMs > 1_000 && tookMs < 10_000, got + " after " + tookMs + " ms");
    }

    private static void stoppedHolder(Cluster cluster) throws Exception {
        String name = fresh();
        Holder stopped = Holder.start(name);
        stopped.signal("STOP");
        Lock.AcquireResult got = cluster.object(Lock.class, name).acquire(seconds(30));
        stopped.signal("CONT");
        holds(got.acquired() && got.fence() > stopped.fence(), got);
        same(stopped.lines().readLine(), "lost true");
    }

    private static void stolen(Cluster other) throws Exception {
        String name = fresh();
        try (Cluster cluster = connect(3_000); Held held = cluster.object(Lock.class, name).hold()) {
            CountDownLatch lost = new CountDownLatch(1);
            held.onLost(lost::countDown);
            other.object(Lock.class, name).steal();
            holds(lost.await(10, TimeUnit.SECONDS) && held.lost(), "it was not told");
        }
    }

    private static void closed(Cluster other) throws Exception {
        String name = fresh();
        Cluster cluster = connect(60_000);
        cluster.object(Lock.class, name).acquire();
        cluster.close();
        same(other.object(Lock.class, name).acquire(seconds(5)).acquired(), true);
        refused("closed", () -> cluster.object(Counter.class, name).increment());
    }

    /** All members stand still: nobody answers, and none can let the session expire meanwhile. */
    private static void silent(Cluster unused) throws Exception {
        try (Cluster cluster = connect(2_000)) {
            Held held = cluster.object(Lock.class, fresh()).hold();
            CountDownLatch lost = new CountDownLatch(1);
            held.onLost(lost::countDown);
            for (String member : List.of("1", "2", "3")) control("pause", member);
            try {
                holds(lost.await(1_800, TimeUnit.MILLISECONDS) && held.lost(), "too late");
            } finally {
                for (String member : List.of("1", "2", "3")) control("resume", member);
            }
        }
    }

    /** The longest time that a loop went without an answer, for each kill. */
    private static final class Gaps {
        private long open;
        private long calls;
        private final List<Long> ofKills = new java.util.ArrayList<>();

        /** Gives the time of this answer. */
        synchronized long answered(long since) {
            long now = System.nanoTime();
            open = Math.max(open, now - since);
            calls++;
            return now;
        }

        synchronized void begin() {
            open = 0;
        }

        synchronized void end() {
            ofKills.add(open / 1_000_000);
        }

        @Override
        public synchronized String toString() {
            ofKills.sort(null);
            return calls + " calls, 0 wrong answers over " + ofKills.size() + " kills of leaders; gap: median "
                    + ofKills.get(ofKills.size() / 2) + " ms, longest " + ofKills.get(ofKills.size() - 1) + " ms";
        }
    }

    private static void deaths(Cluster unused) throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        Gaps gaps = new Gaps();
        Future<List<Long>> counting = POOL.submit(() -> together(3, place -> {
            try (Cluster cluster = connect(10_000)) {
                Counter counter = cluster.object(Counter.class, fresh());
                long last = System.nanoTime();
                long n = 0;
                while (!stop.get()) {
                    same(counter.increment(), ++n);
                    last = gaps.answered(last);
                    same(counter.get(), n);
                    last = gaps.answered(last);
                }
                return n;
            } finally {
                // A wrong answer ends the kills.
                stop.set(true);
            }
        }));
        for (int kill = 0; kill < KILLS && !stop.get(); kill++) {
            Thread.sleep(500);
            gaps.begin();
            control("kill", "leader");
            control("start");
            Thread.sleep(500);
            gaps.end();
        }
        stop.set(true);
        counting.get();
        System.out.println("# " + gaps);
    }

    private static void waitOutlives(Cluster cluster) throws Exception {
        Latch latch = cluster.object(Latch.class, fresh());
        Future<Boolean> opened = POOL.submit(() -> latch.await());
        eventually(() -> {
            try {
                return Long.valueOf(1).equals(latch.describe().get("waiting"));
            } catch (Problem notYet) {
                return false;
            }
        });
        control("kill", "leader");
        control("start");
        latch.countDown();
        same(opened.get(30, TimeUnit.SECONDS), true);
    }
}
