package suite;

import diwan.objects.Cluster;
import diwan.objects.Problem;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

/** Tests by name, and the servers that they are given. */
final class Harness {
    static final String SERVERS = System.getenv("OBJECTS_SERVERS");
    static final ExecutorService POOL = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    });
    static final int KILLS = Integer.parseInt(System.getenv().getOrDefault("KILLS", "4"));
    private static final AtomicLong NAMES = new AtomicLong();

    private Harness() {}

    interface Test {
        void run(Cluster cluster) throws Exception;
    }

    static String fresh() {
        return "java-" + ProcessHandle.current().pid() + "-" + NAMES.incrementAndGet();
    }

    static Cluster connect(long ttlMs) {
        return new Cluster(SERVERS, Duration.ofMillis(ttlMs), Duration.ofSeconds(30), "suite");
    }

    static String control(String... words) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(System.getenv("OBJECTS_CONTROL")));
        command.addAll(List.of(words));
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        String out = new String(process.getInputStream().readAllBytes());
        if (process.waitFor() != 0) throw new AssertionError("control: " + command);
        return out.strip();
    }

    static void same(Object got, Object wanted) {
        if (!Objects.equals(got, wanted)) throw new AssertionError(got + " in place of " + wanted);
    }

    static void holds(boolean condition, Object told) {
        if (!condition) throw new AssertionError(String.valueOf(told));
    }

    static Problem refused(String slug, Callable<?> call) throws Exception {
        try {
            throw new AssertionError(call.call() + " in place of " + slug);
        } catch (Problem problem) {
            same(problem.slug(), slug);
            return problem;
        }
    }

    static void eventually(BooleanSupplier condition) throws InterruptedException {
        for (long end = System.nanoTime() + 20_000_000_000L; !condition.getAsBoolean(); Thread.sleep(20)) {
            holds(System.nanoTime() < end, "it did not become true in time");
        }
    }

    /** Calls so many times at once. */
    static <T> List<T> together(int n, java.util.function.IntFunction<T> call) throws Exception {
        List<Future<T>> futures = new ArrayList<>();
        for (int place = 0; place < n; place++) {
            int number = place;
            futures.add(POOL.submit(() -> call.apply(number)));
        }
        List<T> results = new ArrayList<>();
        for (Future<T> future : futures) results.add(future.get());
        return results;
    }

    /** Whether it passed. */
    static boolean play(String name, Test test) {
        try {
            control("start");
            try (Cluster cluster = connect(5_000)) {
                POOL.submit(() -> {
                    test.run(cluster);
                    return null;
                }).get(120 + 20 * KILLS, java.util.concurrent.TimeUnit.SECONDS);
            }
            System.out.println("ok " + name);
            return true;
        } catch (Exception | AssertionError failure) {
            failure.printStackTrace();
            System.out.println("not ok " + name + " - " + String.valueOf(failure).replace('\n', ' '));
            return false;
        }
    }
}
