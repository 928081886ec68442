package suite;

import static suite.Harness.control;
import static suite.Harness.eventually;
import static suite.Harness.fresh;
import static suite.Harness.holds;
import static suite.Harness.refused;
import static suite.Harness.same;

import diwan.objects.Cluster;
import diwan.objects.Counter;
import diwan.objects.Held;
import diwan.objects.Lock;
import diwan.objects.Problem;
import diwan.objects.Wait;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;

/** Who asks, while members die: tokens by name, by a file and by the environment; wrong ones, revoked ones, and replaced ones. */
final class Tokens {
    private Tokens() {}

    static void add(Map<String, Harness.Test> tests) {
        tests.put("tokens.token_says_who_asks_while_leaders_die", own -> whileClosed(Tokens::deaths, "counter/*:*"));
        tests.put("tokens.environment_says_who_asks", own -> whileClosed(Tokens::environment, "counter/*:*"));
        tests.put("tokens.wrong_and_revoked_tokens_are_refused_at_once", own -> {
            wrong();
            whileClosed(Tokens::revoked, "counter/*:*", "lock/*:*");
        });
        tests.put("tokens.file_is_read_again_when_its_token_was_replaced",
                own -> whileClosed(Tokens::replaced, "counter/*:*", "lock/*:*"));
    }

    private interface Work {
        void of(String name, Path file) throws Exception;
    }

    /** Access is closed meanwhile, and a principal has these rights: its name, and a file with its token. */
    private static void whileClosed(Work work, String... rights) throws Exception {
        String name = fresh();
        Path file = Path.of(System.getenv("OBJECTS_CONTROL")).resolveSibling(name + ".token");
        List<String> words = new ArrayList<>(List.of("token", name, file.toString()));
        words.addAll(List.of(rights));
        control("close");
        try {
            control(words.toArray(String[]::new));
            work.of(name, file);
        } finally {
            control("open");
        }
    }

    private static String tokenIn(Path file) throws Exception {
        return Files.readString(file).strip();
    }

    private static Cluster by(String token, long ttlMs) {
        return new Cluster(Harness.SERVERS, Duration.ofMillis(ttlMs), Duration.ofSeconds(30), null, null, token);
    }

    private static Cluster byFile(Path file, long ttlMs) {
        return Cluster.byTokenIn(file, Harness.SERVERS, Duration.ofMillis(ttlMs), Duration.ofSeconds(30), null, null);
    }

    /** The part of a process that is told by its environment who asks. */
    static void count(String name) {
        try (Cluster cluster = new Cluster(Harness.SERVERS)) {
            System.out.println(cluster.object(Counter.class, name).increment());
        }
    }

    private static void deaths(String name, Path file) throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        List<Cluster> clusters = List.of(by(tokenIn(file), 10_000), byFile(file, 10_000));
        List<Future<Long>> counting = new ArrayList<>();
        for (Cluster of : clusters) {
            counting.add(Harness.POOL.submit(() -> {
                try (Cluster cluster = of) {
                    Counter counter = cluster.object(Counter.class, fresh());
                    long n = 0;
                    while (!stop.get()) {
                        same(counter.increment(), ++n);
                        same(counter.get(), n);
                    }
                    return n;
                }
            }));
        }
        for (int kill = 0; kill < 2; kill++) {
            Thread.sleep(500);
            control("kill", "leader");
            control("start");
        }
        stop.set(true);
        for (Future<Long> counted : counting) holds(counted.get() > 2, counted);
        try (Cluster cluster = by(tokenIn(file), 10_000)) {
            Lock lock = cluster.object(Lock.class, fresh());
            Problem problem = refused("forbidden", () -> lock.acquire(Wait.TRY));
            holds(!problem.isEffectUnknown() && problem.getMessage().contains("administrator"), problem);
            same(problem.retry(), "no");
        }
        try (Cluster nobody = new Cluster(Harness.SERVERS)) {
            Problem problem = refused("unauthenticated", nobody.object(Counter.class, fresh())::increment);
            holds(!problem.isEffectUnknown() && problem.getMessage().contains("Authorization"), problem);
        }
    }

    private static void environment(String name, Path file) throws Exception {
        Map<String, String> variables = Map.of("DIWAN_TOKEN", tokenIn(file), "DIWAN_TOKEN_FILE", file.toString());
        for (Map.Entry<String, String> variable : variables.entrySet()) {
            String java = ProcessHandle.current().info().command().orElse("java");
            ProcessBuilder builder =
                    new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), "suite.Main", "count", fresh());
            builder.environment().put(variable.getKey(), variable.getValue());
            Process process = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
            same(new String(process.getInputStream().readAllBytes()).strip(), "1");
            same(process.waitFor(), 0);
        }
        fails(() -> by("diwan_1", 1_000));
        fails(() -> byFile(Path.of("/nowhere"), 1_000));
    }

    private static void fails(Callable<Cluster> call) throws Exception {
        try (Cluster cluster = call.call()) {
            throw new AssertionError("it was taken: " + cluster);
        } catch (IllegalArgumentException | java.io.UncheckedIOException refused) {
            holds(refused.getMessage() != null, refused);
        }
    }

    private static void wrong() throws Exception {
        long began = System.nanoTime();
        try (Cluster cluster = by("diwan_" + "1".repeat(64), 5_000)) {
            Counter counter = cluster.object(Counter.class, "c");
            Lock lock = cluster.object(Lock.class, "l");
            for (Callable<?> call : List.<Callable<?>>of(counter::increment, counter::get, lock::acquire)) {
                Problem problem = refused("unauthenticated", call);
                same(problem.status(), 401);
                same(problem.retry(), "no");
                holds(!problem.isEffectUnknown(), problem);
            }
        }
        holds(System.nanoTime() - began < 10_000_000_000L, "what cannot change was tried again and again");
    }

    private static void revoked(String name, Path file) throws Exception {
        try (Cluster cluster = by(tokenIn(file), 2_000)) {
            Held held = cluster.object(Lock.class, fresh()).hold();
            control("revoke", name);
            Problem problem = refused("unauthenticated", cluster.object(Counter.class, fresh())::increment);
            holds(!problem.isEffectUnknown(), problem);
            eventually(held::lost);
        }
    }

    private static void replaced(String name, Path file) throws Exception {
        try (Cluster cluster = byFile(file, 4_000); Held held = cluster.object(Lock.class, fresh()).hold()) {
            Counter counter = cluster.object(Counter.class, fresh());
            long n = 0;
            for (int turn = 0; turn < 3; turn++) {
                String first = tokenIn(file);
                control("token", name, file.toString());
                holds(!tokenIn(file).equals(first), "it is the same token");
                for (long end = System.nanoTime() + 2_000_000_000L; System.nanoTime() < end; Thread.sleep(50)) {
                    same(counter.increment(), ++n);
                }
            }
            // Its heartbeats came by the new ones.
            same(held.lost(), false);
        }
    }
}
