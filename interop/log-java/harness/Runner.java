package harness;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Runs the tests (public static methods that take a Test) of some classes and reports them. A test's name begins with the
 * feature that it needs, which is the name of its class.
 */
public final class Runner {
    private static final int TESTS_AT_ONCE = Integer.getInteger("tests.at.once", 12);
    private static final long TEST_SECONDS_MAX = Long.getLong("test.seconds.max", 90);
    private static final ExecutorService BODIES = Executors.newCachedThreadPool(body -> {
        Thread thread = new Thread(body);
        thread.setDaemon(true);
        return thread;
    });

    private final String prefix;
    private final List<String> only;
    private boolean passed = true;

    /** `prefix` begins each name; `only` are parts of names, none for all tests. */
    public Runner(String prefix, String[] only) {
        this.prefix = prefix;
        this.only = List.of(only);
    }

    /** Most of a test is waiting, so several run at a time. */
    public Runner together(List<Class<?>> classes) throws Exception {
        run(classes, TESTS_AT_ONCE);
        return this;
    }

    /** Tests that take the broker down follow one by one. */
    public Runner alone(List<Class<?>> classes) throws Exception {
        run(classes, 1);
        return this;
    }

    /** Ends the process. */
    public void exit() {
        System.out.flush();
        System.exit(passed ? 0 : 1);
    }

    private void run(List<Class<?>> classes, int atOnce) throws Exception {
        ExecutorService executor = Executors.newFixedThreadPool(atOnce);
        List<Future<Boolean>> reports = new ArrayList<>();
        for (Class<?> type : classes) {
            Method[] methods = type.getDeclaredMethods();
            Arrays.sort(methods, Comparator.comparing(Method::getName));
            for (Method method : methods) {
                String name = prefix + feature(type) + "." + method.getName();
                if (isTest(method) && (only.isEmpty() || only.stream().anyMatch(name::contains))) {
                    reports.add(executor.submit(() -> report(name, method)));
                }
            }
        }
        executor.shutdown();
        for (Future<Boolean> report : reports) {
            passed &= report.get();
        }
    }

    private static String feature(Class<?> type) {
        String name = type.getSimpleName();
        return Character.toLowerCase(name.charAt(0)) + name.substring(1);
    }

    private static boolean isTest(Method method) {
        return Modifier.isPublic(method.getModifiers()) && Modifier.isStatic(method.getModifiers())
            && Arrays.equals(method.getParameterTypes(), new Class<?>[] {Test.class});
    }

    private static boolean report(String name, Method method) {
        long started = System.nanoTime();
        Throwable error = attempt(name, method);
        if (error == null) {
            System.out.println("ok " + name);
        } else if (error instanceof Skip) {
            System.out.println("skip " + name + " - " + error.getMessage());
        } else {
            error.printStackTrace();
            raiseBroker();
            System.out.println("not ok " + name + " - " + reason(error));
        }
        long tookMs = (System.nanoTime() - started) / 1_000_000;
        if (tookMs > 10_000) {
            System.out.println("# " + name + " took " + tookMs + " ms");
        }
        return error == null || error instanceof Skip;
    }

    private static String reason(Throwable error) {
        String reason = error instanceof AssertionError ? error.getMessage() : error.toString();
        return String.join(" ", String.valueOf(reason).split("\\s+"));
    }

    /** A test that failed may have left the broker down, which is not the next one's fault. */
    private static void raiseBroker() {
        for (String verb : List.of("resume", "start")) {
            try {
                Broker.control(verb);
            } catch (Exception | AssertionError error) {
                System.err.println(verb + ": " + error.getMessage());
            }
        }
    }

    private static Throwable attempt(String name, Method method) {
        Thread[] thread = new Thread[1];
        Future<?> body = BODIES.submit(() -> {
            thread[0] = Thread.currentThread();
            try (Test test = new Test(name)) {
                method.invoke(null, test);
            }
            return null;
        });
        try {
            body.get(TEST_SECONDS_MAX, TimeUnit.SECONDS);
            return null;
        } catch (ExecutionException error) {
            return error.getCause() instanceof InvocationTargetException inner ? inner.getCause() : error.getCause();
        } catch (TimeoutException | InterruptedException error) {
            AssertionError late = new AssertionError("not done after " + TEST_SECONDS_MAX + " s");
            if (thread[0] != null) {
                late.setStackTrace(thread[0].getStackTrace());
            }
            body.cancel(true);
            return late;
        }
    }
}
